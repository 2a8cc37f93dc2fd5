#include "data/eeg/edf.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/names.h"
#include "data/bad_input.h"

namespace darope {
namespace {

constexpr int64_t kFixedHeader = 256, kSignalHeader = 256;
static_assert(std::endian::native == std::endian::little, "samples are copied as they stand");

[[noreturn]] void fail(int64_t offset, const std::string& what) { throw BadInput(what, offset); }

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

bool read_number(std::string_view text, double& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size() && std::isfinite(out);
}

}  // namespace

EdfFile::EdfFile(std::span<const std::byte> bytes) : bytes_(bytes) {
  if (bytes_.empty()) fail(0, "an empty file; it should be EDF");
  read_header();
  check_size();
}

std::string EdfFile::field(int64_t offset, int64_t width) const {
  return std::string(trimmed({reinterpret_cast<const char*>(bytes_.data()) + offset, size_t(width)}));
}
double EdfFile::number(int64_t offset, int64_t width, std::string_view what) const {
  const std::string text = field(offset, width);
  double value = 0;
  if (!read_number(text, value))
    fail(offset, fmt::format("{} should be a number, not {}", what, shown(text)));
  return value;
}
int64_t EdfFile::integer(int64_t offset, int64_t width, std::string_view what, int64_t least,
                         int64_t most) const {
  const double value = number(offset, width, what);
  if (value != std::floor(value) || value < double(least) || value > double(most))
    fail(offset, fmt::format("{} should be a whole number from {} to {}, not {}", what, least, most, value));
  return int64_t(value);
}

void EdfFile::read_header() {
  const int64_t size = int64_t(bytes_.size());
  if (std::to_integer<int>(bytes_[0]) == 0xFF) fail(0, "this is a BDF file; EDF alone is read");
  if (size < kFixedHeader)
    fail(size, fmt::format("the file ends within its header of {} bytes", kFixedHeader));
  if (field(0, 8) != "0")
    fail(0, fmt::format("an EDF file begins with '0' and seven blanks, not {}", shown(field(0, 8))));
  patient_ = field(8, 80);
  start_ = field(168, 8) + " " + field(176, 8);
  plus_ = field(192, 44).starts_with("EDF+");
  if (field(192, 44).starts_with("EDF+D"))
    fail(192, "EDF+D, a recording with gaps; export it as EDF+C, without them");
  const int64_t count = integer(252, 4, "the number of signals", 1, 9999);
  header_bytes_ = integer(184, 8, "the header's size", 0, 99999999);
  if (header_bytes_ != kFixedHeader + count * kSignalHeader)
    fail(184, fmt::format("a header of {} bytes does not hold {} signals, which take {}", header_bytes_,
                          count, kFixedHeader + count * kSignalHeader));
  if (size < header_bytes_)
    fail(size, fmt::format("the file ends within its header of {} bytes", header_bytes_));
  records_ = integer(236, 8, "the number of records", -1, 99999999);
  record_seconds_ = number(244, 8, "the seconds of a record");
  if (record_seconds_ < 0) fail(244, fmt::format("a record lasts {} seconds", record_seconds_));
  read_signals(count);
}

std::string EdfFile::patient_code() const {
  const std::string first = patient_.substr(0, patient_.find(' '));
  return first == "X" ? "" : plus_ ? first : patient_;
}

// Each property stands in a block of its own, signal after signal.
void EdfFile::read_signals(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto at = [&](int64_t before, int64_t width) { return kFixedHeader + before * count + i * width; };
    EdfSignal signal{.label = field(at(0, 16), 16)};
    signal.samples = integer(at(216, 8), 8, "the number of samples in a record", 0, 99999999);
    signal.offset = record_bytes_;
    record_bytes_ += 2 * signal.samples;
    if (!signal.is_annotations()) {  // theirs are only fillers
      signal.physical_min = number(at(104, 8), 8, "the physical minimum");
      signal.physical_max = number(at(112, 8), 8, "the physical maximum");
      signal.digital_min = int(integer(at(120, 8), 8, "the digital minimum", INT16_MIN, INT16_MAX));
      signal.digital_max = int(integer(at(128, 8), 8, "the digital maximum", INT16_MIN, INT16_MAX));
      if (signal.digital_max <= signal.digital_min)
        fail(at(128, 8), fmt::format("the digital maximum {} is not above the minimum {}", signal.digital_max,
                                     signal.digital_min));
      if (signal.physical_max == signal.physical_min)
        fail(at(112, 8), "the physical maximum equals the minimum");
    }
    signals_.push_back(std::move(signal));
  }
}

void EdfFile::check_size() {
  const int64_t data = int64_t(bytes_.size()) - header_bytes_;
  if (record_bytes_ == 0) fail(kFixedHeader, "the records hold no sample");
  if (records_ < 0)
    records_ = data / record_bytes_;  // a recorder that was never stopped
  else if (data != records_ * record_bytes_)
    fail(int64_t(bytes_.size()),
         fmt::format("the file should end at byte {}: it promises {} records of {} bytes",
                     header_bytes_ + records_ * record_bytes_, records_, record_bytes_));
  if (records_ == 0) fail(236, "the file has no record");
}

const EdfSignal& EdfFile::signal(std::string_view label) const {
  std::vector<std::string> labels;
  for (const EdfSignal& each : signals_) {
    if (each.label == label) return each;
    if (!each.is_annotations()) labels.push_back(each.label);
  }
  throw Error(unknown_name("channel", label, labels));
}

double EdfFile::rate(const EdfSignal& signal) const {
  if (record_seconds_ == 0) fail(244, "a record lasts 0 seconds, so there is no sampling rate");
  return double(signal.samples) / record_seconds_;
}

std::vector<int16_t> EdfFile::samples(const EdfSignal& signal) const {
  std::vector<int16_t> out(size_t(records_ * signal.samples));
  const std::byte* from = bytes_.data() + header_bytes_ + signal.offset;
  for (int64_t record = 0; record < records_ && signal.samples > 0; ++record)
    std::memcpy(out.data() + record * signal.samples, from + record * record_bytes_,
                size_t(2 * signal.samples));
  return out;
}

std::vector<EdfAnnotation> EdfFile::annotations() const {
  std::vector<EdfAnnotation> out;
  for (int64_t record = 0; record < records_; ++record)
    for (const EdfSignal& signal : signals_) {
      if (!signal.is_annotations()) continue;
      const int64_t offset = header_bytes_ + record * record_bytes_ + signal.offset;
      parse_annotations({reinterpret_cast<const char*>(bytes_.data()) + offset, size_t(2 * signal.samples)},
                        offset, out);
    }
  return out;
}

// Time-stamped annotation lists: +onset [0x15 duration] 0x14 text 0x14 ... text 0x14 0x00; zeros fill the
// rest.
void parse_annotations(std::string_view bytes, int64_t offset, std::vector<EdfAnnotation>& out) {
  const char* begin = bytes.data();
  const auto refuse = [&](const std::string& what) { fail(offset + (bytes.data() - begin), what); };
  const auto take_seconds = [&](const char* what, std::string_view ends) {
    const size_t end = bytes.find_first_of(ends);
    double value = 0;
    if (end == std::string_view::npos || !read_number(bytes.substr(0, end), value))
      refuse(fmt::format("an annotation's {} should be seconds", what));
    bytes.remove_prefix(end);
    return value;
  };
  while (!bytes.empty()) {
    if (bytes[0] == 0) {
      bytes.remove_prefix(1);
      continue;
    }
    if (bytes[0] != '+' && bytes[0] != '-') refuse("an annotation should begin with + or -");
    EdfAnnotation list{.onset = take_seconds("onset", "\x14\x15")};
    if (bytes[0] == '\x15') {
      bytes.remove_prefix(1);
      list.duration = take_seconds("duration", "\x14");
    }
    bytes.remove_prefix(1);
    while (bytes.empty() || bytes[0] != 0) {
      const size_t end = bytes.find('\x14');
      if (end == std::string_view::npos) refuse("an annotation does not end");
      list.text = bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (!list.text.empty()) out.push_back(list);
    }
  }
}

}  // namespace darope
