#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

struct EdfSignal {
  std::string label;
  double physical_min = 0,
         physical_max = 0;  // physical_min is what digital_min stands for: the first may be the larger
  int digital_min = 0, digital_max = 0;
  int64_t samples = 0;  // in a record
  int64_t offset = 0;   // in bytes, from a record's start

  bool is_annotations() const { return label == "EDF Annotations"; }
  bool is_inverted() const { return physical_max < physical_min; }
};

// A text with its time in seconds from the file's start.
struct EdfAnnotation {
  double onset = 0, duration = 0;  // 0 where none is given
  std::string text = {};
};

// An EDF or EDF+ file (Kemp et al. 1992, Kemp and Olivan 2003) in memory that outlives it. Whatever does not
// fit the file's size or the format is BadInput; so is EDF+D, with gaps between its records.
class EdfFile {
 public:
  explicit EdfFile(std::span<const std::byte> bytes);

  const std::string& patient() const { return patient_; }
  std::string patient_code() const;                    // "" where the header names nobody
  const std::string& start() const { return start_; }  // "24.04.89 16.13.00"
  const std::vector<EdfSignal>& signals() const { return signals_; }
  int64_t records() const { return records_; }

  const EdfSignal& signal(std::string_view label) const;        // an Error that lists the labels there are
  double rate(const EdfSignal& signal) const;                   // samples a second
  std::vector<int16_t> samples(const EdfSignal& signal) const;  // digital values, all records
  std::vector<EdfAnnotation> annotations() const;               // in the file's order

 private:
  void read_header();
  void read_signals(int64_t count);
  void check_size();
  std::string field(int64_t offset, int64_t width) const;
  double number(int64_t offset, int64_t width, std::string_view what) const;
  int64_t integer(int64_t offset, int64_t width, std::string_view what, int64_t least, int64_t most) const;

  std::span<const std::byte> bytes_;
  std::string patient_, start_;
  bool plus_ = false;  // EDF+, whose patient has a code, sex, birthday and name; X: unknown
  std::vector<EdfSignal> signals_;
  int64_t header_bytes_ = 0, record_bytes_ = 0, records_ = 0;
  double record_seconds_ = 0;
};

// The lists of one record's annotation bytes, in order; `offset` is where they stand in the file. A list
// without a text keeps time.
void parse_annotations(std::string_view bytes, int64_t offset, std::vector<EdfAnnotation>& out);

}  // namespace darope
