#include "runs/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/error.h"
#include "runs/lines.h"

namespace darope {
namespace {

constexpr int64_t kMaxLogBytes = int64_t{4} << 30;

enum class Fate { kKept, kLater, kDamaged };

Fate judge(const std::string& line, int64_t last_step) {
  try {
    const Json json = parse_json(line, "metrics");
    if (!json.is_object()) return Fate::kDamaged;
    return get_or<int64_t>(json, "global_step", 0, "metrics") <= last_step ? Fate::kKept : Fate::kLater;
  } catch (const Error&) {
    return Fate::kDamaged;
  }
}

std::filesystem::path free_name(const std::filesystem::path& path) {
  std::filesystem::path name = path.string() + ".damaged";
  for (int i = 2; std::filesystem::exists(std::filesystem::symlink_status(name)); ++i)
    name = fmt::format("{}.damaged-{}", path.string(), i);
  return name;
}

void keep_damaged(const std::filesystem::path& path, const std::string& text,
                  const std::vector<size_t>& lines) {
  if (lines.empty()) return;
  const std::filesystem::path kept = free_name(path);
  write_file(kept, text);
  constexpr size_t kShown = 10;
  fmt::print(stderr,
             "darope: WARNING: {}: {} damaged (line {}{}) and left out; the file as it was is kept as {}\n",
             path.string(), lines.size() == 1 ? "one line is" : fmt::format("{} lines are", lines.size()),
             fmt::join(lines.begin(), lines.begin() + ptrdiff_t(std::min(lines.size(), kShown)), ", "),
             lines.size() > kShown ? ", ..." : "", kept.string());
}

std::filesystem::path cut_back(const std::filesystem::path& path, std::optional<int64_t> last_step) {
  if (!last_step || !std::filesystem::exists(path)) return path;
  const std::string before = read_file(path, kMaxLogBytes);
  std::string after;  // without the end of a line that was being written
  std::vector<size_t> damaged;
  size_t number = 0;
  for (size_t begin = 0, end; (end = before.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++number;
    const Fate line = judge(before.substr(begin, end - begin), *last_step);
    if (line == Fate::kKept) after.append(before, begin, end + 1 - begin);
    if (line == Fate::kDamaged) damaged.push_back(number);
  }
  keep_damaged(path, before, damaged);
  if (after != before) write_file(path, after);
  return path;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, std::optional<int64_t> resumed_from)
    : file_(cut_back(path, resumed_from)) {}

void MetricsLog::write(nlohmann::ordered_json line) {
  bool finite = true;
  for (auto& [key, value] : line.items()) {
    if (!value.is_number_float() || std::isfinite(value.get<double>())) continue;
    value = nullptr;
    finite = false;
  }
  if (!finite) line["nonfinite"] = true;
  file_.append(line.dump() + "\n");
}

}  // namespace darope
