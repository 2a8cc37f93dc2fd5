#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace darope {

// EDF files as a recorder writes them, for tests: fields in the order of the format's description.
struct EdfToWrite {
  struct Signal {
    std::string label;
    int64_t samples = 100;             // in a record
    std::vector<int16_t> values = {};  // all records; raw bytes of annotations as they stand
    std::string physical_min = "-200", physical_max = "200", digital_min = "-2048", digital_max = "2047";
  };
  std::string patient = "X F X Female_33yr", date = "24.04.89", time = "16.13.00", reserved = "",
              seconds = "1", version = "0";
  std::string records = {};  // counted where it is empty
  std::vector<Signal> signals = {};
};

inline std::string padded(const std::string& text, size_t width) {
  return (text + std::string(width, ' ')).substr(0, width);
}

inline std::string edf_bytes(const EdfToWrite& file) {
  const size_t count = file.signals.size();
  const int64_t records =
      file.signals[0].samples == 0 ? 0 : int64_t(file.signals[0].values.size()) / file.signals[0].samples;
  std::string out = padded(file.version, 8) + padded(file.patient, 80) +
                    padded("Startdate 24-APR-1989 X X X", 80) + padded(file.date, 8) + padded(file.time, 8) +
                    padded(std::to_string(256 * (1 + count)), 8) + padded(file.reserved, 44) +
                    padded(file.records.empty() ? std::to_string(records) : file.records, 8) +
                    padded(file.seconds, 8) + padded(std::to_string(count), 4);
  const auto block = [&](size_t width, auto text) {
    for (const EdfToWrite::Signal& each : file.signals) out += padded(text(each), width);
  };
  block(16, [](auto& s) { return s.label; });
  block(80, [](auto&) { return std::string("Ag-AgCl electrodes"); });
  block(8, [](auto&) { return std::string("uV"); });
  block(8, [](auto& s) { return s.physical_min; });
  block(8, [](auto& s) { return s.physical_max; });
  block(8, [](auto& s) { return s.digital_min; });
  block(8, [](auto& s) { return s.digital_max; });
  block(80, [](auto&) { return std::string("HP:0.5Hz LP:100Hz"); });
  block(8, [](auto& s) { return std::to_string(s.samples); });
  block(32, [](auto&) { return std::string(); });
  for (int64_t record = 0; record < records; ++record)
    for (const EdfToWrite::Signal& each : file.signals)
      out.append(reinterpret_cast<const char*>(each.values.data() + record * each.samples),
                 size_t(2 * each.samples));
  return out;
}

// Annotation bytes as samples, filled with zeros to `samples`.
inline std::vector<int16_t> annotation_samples(const std::string& bytes, int64_t samples) {
  std::vector<int16_t> out(size_t(samples), 0);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace darope
