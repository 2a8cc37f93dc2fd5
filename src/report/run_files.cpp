#include "report/run_files.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"

namespace darope::report {
namespace {

constexpr int64_t kSchema = 1;

template <class T> T need(const Json& object, const char* key, const std::string& where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) throw Error(fmt::format("{}: '{}' is missing", where, key));
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    throw Error(fmt::format("{}: '{}' is {}, which does not fit", where, key, found->dump().substr(0, 80)));
  }
}

template <class T> T get_or(const Json& object, const char* key, T fallback, const std::string& where) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? fallback : need<T>(object, key, where);
}

std::optional<double> optional_number(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return need<double>(object, key, where);
}

double multiple(const std::string& text, const std::string& where) {
  try {
    return std::stod(text);
  } catch (const std::exception&) {
    throw Error(fmt::format("{}: '{}' is not a length multiple", where, text.substr(0, 40)));
  }
}

// Calls use(object, where) for every line. A last line without its end is still being written, and is left alone.
template <class Use> void each_line(const std::filesystem::path& path, const Use& use) {
  const std::string text = read_file(path, int64_t{1} << 30);
  size_t number = 0;
  for (size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string where = fmt::format("{} line {}", path.string(), ++number);
    const std::string_view line(text.data() + start, end - start);
    if (!line.empty()) use(parse_json(line, where), where);
  }
}

Run read_facts(const std::filesystem::path& path) {
  const std::string where = path.string();
  const Json json = parse_json(read_file(path), where);
  if (const auto schema = need<int64_t>(json, "schema", where); schema != kSchema)
    throw Error(fmt::format("{}: schema {} is not the {} this version reads", where, schema, kSchema));
  Run run;
  run.dataset = need<std::string>(json, "dataset", where);
  run.encoding = need<std::string>(json, "encoding", where);
  run.seed = need<int64_t>(json, "seed", where);
  const auto status = need<std::string>(json, "status", where);
  if (status != "finished" && status != "diverged")
    throw Error(fmt::format("{}: status '{}' is neither finished nor diverged", where, status));
  run.diverged = status == "diverged";
  run.shared_init = need<std::string>(json, "shared_init", where);
  run.data_order = need<std::string>(json, "data_order", where);
  run.config_without_encoding = need<std::string>(json, "config_without_encoding", where);
  run.tokens = need<int64_t>(json, "tokens", where);
  run.family = get_or<std::string>(json, "family", "", where);
  run.steps = get_or<int64_t>(json, "steps", 0, where);
  run.parameters = get_or<int64_t>(json, "parameters", 0, where);
  run.peak_memory_bytes = get_or<int64_t>(json, "peak_memory_bytes", 0, where);
  run.seconds = get_or<double>(json, "seconds", 0, where);
  run.tokens_per_second = get_or<double>(json, "tokens_per_second", 0, where);
  run.commit = get_or<std::string>(json, "commit", "", where);
  run.machine = get_or<std::string>(json, "machine", "", where);
  run.torch = get_or<std::string>(json, "torch", "", where);
  run.chance = optional_number(json, "chance", where);
  run.true_chance = optional_number(json, "true_chance", where);
  for (const auto& [x, value] : get_or<std::map<std::string, double>>(json, "best_constant", {}, where))
    run.best_constant[multiple(x, where)] = value;
  return run;
}

std::map<std::string, Run::Scores> read_scores(const std::filesystem::path& path) {
  std::map<std::string, std::map<double, std::map<int64_t, double>>> found;
  each_line(path, [&](const Json& line, const std::string& where) {
    const auto value = need<double>(line, "value", where);
    const auto example = need<int64_t>(line, "example", where);
    auto& examples = found[need<std::string>(line, "metric", where)][need<double>(line, "x", where)];
    if (!examples.emplace(example, value).second) throw Error(fmt::format("{}: example {} is scored twice", where, example));
  });
  std::map<std::string, Run::Scores> scores;
  for (const auto& [metric, lengths] : found)
    for (const auto& [x, examples] : lengths) {
      if (examples.begin()->first != 0 || examples.rbegin()->first != int64_t(examples.size()) - 1)
        throw Error(fmt::format("{}: {} at {}x has {} examples that do not count up from 0", path.string(), metric, x, examples.size()));
      for (const auto& [example, value] : examples) scores[metric][x].push_back(value);
    }
  return scores;
}

// Means over stretches of equal length: the picture keeps its shape and loses only its noise.
std::vector<Run::Point> thinned(const std::vector<Run::Point>& points) {
  if (points.size() <= kCurvePoints) return points;
  std::vector<Run::Point> kept;
  for (size_t bin = 0; bin < kCurvePoints; ++bin) {
    const size_t begin = bin * points.size() / kCurvePoints, end = (bin + 1) * points.size() / kCurvePoints;
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += points[i].loss;
    kept.push_back({points[end - 1].step, sum / double(end - begin)});
  }
  return kept;
}

std::vector<Run::Point> read_curve(const std::filesystem::path& path) {
  std::vector<Run::Point> points;
  if (!exists(path)) return points;
  each_line(path, [&](const Json& line, const std::string& where) {
    const std::optional<double> loss = line.is_object() ? optional_number(line, "loss/out", where) : std::nullopt;
    if (loss && std::isfinite(*loss)) points.push_back({need<int64_t>(line, "global_step", where), *loss});
  });
  return thinned(points);
}

}  // namespace

bool finished_or_diverged(const std::filesystem::path& folder) { return exists(folder / "run.json"); }

Run read_run(const std::filesystem::path& folder) {
  Run run = read_facts(folder / "run.json");
  run.folder = folder;
  if (!run.diverged) run.scores = read_scores(folder / "results.jsonl");
  run.curve = read_curve(folder / "metrics.jsonl");
  if (exists(folder / "config.yaml")) run.config = read_file(folder / "config.yaml");
  return run;
}

}  // namespace darope::report
