#include "runs/metrics.h"

#include <cmath>

#include "base/error.h"

namespace darope {
namespace {

constexpr int64_t kMaxLogBytes = int64_t{4} << 30;

bool belongs(const std::string& line, int64_t last_step) {
  try {
    const Json json = parse_json(line, "metrics");
    return json.is_object() && (!json.contains("global_step") || json["global_step"] <= last_step);
  } catch (const Error&) {
    return false;
  }
}

const std::filesystem::path& cut_back(const std::filesystem::path& path, std::optional<int64_t> last_step) {
  if (!last_step || !std::filesystem::exists(path)) return path;
  const std::string before = read_file(path, kMaxLogBytes);
  std::string after;
  for (size_t begin = 0, end; (end = before.find('\n', begin)) != std::string::npos; begin = end + 1)
    if (belongs(before.substr(begin, end - begin), *last_step)) after.append(before, begin, end + 1 - begin);
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
