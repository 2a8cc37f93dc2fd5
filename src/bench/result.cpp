#include "bench/result.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/version.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "experiments/run.h"
#include "train/device.h"

namespace darope {
namespace {

using Object = nlohmann::ordered_json;

Object to_json(const Result& r, const Conditions& c) {
  Object out{{"date", c.date},         {"machine", c.machine},
             {"torch", c.torch},       {"cuda", c.cuda},
             {"commit", c.commit},     {"dtype", c.dtype},
             {"bench", r.bench},       {"size", r.size},
             {"encoding", r.encoding}, {"what", r.what},
             {"who", r.who},           {"batch", r.batch},
             {"length", r.length},     {"seconds", r.rounds.seconds}};
  out["best_seconds"] = r.rounds.best(), out["spread"] = r.rounds.spread();
  out["tokens_per_second"] = r.tokens / r.rounds.best();
  out["operations"] = r.cost.operations, out["bytes"] = r.cost.bytes;
  out["floor_seconds"] = r.floor, out["peak_bytes"] = nullptr, out["ratio"] = r.ratio;
  if (r.rounds.peak_bytes) out["peak_bytes"] = *r.rounds.peak_bytes;
  out["copy_bytes_per_second"] = c.speeds.bytes, out["operations_per_second"] = c.speeds.operations;
  return out;
}

// Rounds apart by blanks.
std::string cell(const Object& value) {
  if (value.is_array()) return fmt::format("{}", fmt::join(value.get<std::vector<double>>(), " "));
  if (value.is_null()) return "";
  return value.is_string() ? csv_cell(value) : value.dump();
}

std::string csv_head() {
  Result any;
  any.rounds.seconds = {1};
  const Object row = to_json(any, {});
  std::vector<std::string> names;
  for (const auto& [name, value] : row.items()) names.push_back(name);
  return fmt::format("{}\n", fmt::join(names, ","));
}

void check_csv(const std::filesystem::path& file) {
  check_writable(file);
  if (std::filesystem::exists(file) && size_of_file(file) > 0 && !read_file(file).starts_with(csv_head()))
    throw Error(fmt::format("--csv {}: it has other columns than 'darope bench' writes; give another file",
                            file.string()));
}

}  // namespace

Conditions conditions_now(at::Device device, at::ScalarType type) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return {.date = fmt::format("{:%FT%TZ}", fmt::gmtime(now)),
          .machine = device_name(device),
          .torch = TORCH_VERSION,
          .cuda = cuda_versions(),
          .commit = build_commit(),
          .dtype = type == at::kBFloat16 ? "bf16" : "fp32",
          .speeds = measure_speeds(device, type)};
}

std::string table_head() {
  return fmt::format("{:<34} {:<20} {:>10} {:>7} {:>10} {:>9} {:>8} {:>7}", "", "", "ms", "spread",
                     "ktokens/s", "MiB", "x floor", "ratio");
}

std::string table_line(const Result& r) {
  const double best = r.rounds.best();
  const std::string of =
      r.encoding.empty() || r.what.empty() ? r.encoding + r.what : r.encoding + ", " + r.what;
  return fmt::format("{:<34} {:<20} {:>10.3f} {:>6.1f}% {:>10} {:>9} {:>8.2f} {:>7}", of, r.who, best * 1e3,
                     100 * r.rounds.spread(),
                     r.tokens > 0 ? fmt::format("{:.1f}", r.tokens / best / 1e3) : "",
                     r.rounds.peak_bytes ? fmt::format("{:.0f}", double(*r.rounds.peak_bytes) / 0x1p20) : "",
                     best / r.floor, r.ratio > 0 ? fmt::format("{:.2f}", r.ratio) : "");
}

std::string json_line(const Result& result, const Conditions& conditions) {
  return to_json(result, conditions).dump();
}

CsvFile::CsvFile(const std::filesystem::path& path) : file_((check_csv(path), path)) {
  if (size_of_file(path) == 0) file_.append(csv_head());
}

void CsvFile::append(const Result& result, const Conditions& conditions) {
  const Object row = to_json(result, conditions);
  std::vector<std::string> cells;
  for (const auto& [name, value] : row.items()) cells.push_back(cell(value));
  file_.append(fmt::format("{}\n", fmt::join(cells, ",")));
}

}  // namespace darope
