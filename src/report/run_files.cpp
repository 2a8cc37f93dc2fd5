#include "report/run_files.h"

#include <algorithm>

#include "runs/lines.h"

namespace darope::report {
namespace {

constexpr int64_t kRunSchema = 1;

double multiple(const std::string& text, const std::string& where) {
  try {
    return std::stod(text);
  } catch (const std::exception&) {
    throw Error(fmt::format("{}: '{}' is not a length multiple", where, text.substr(0, 40)));
  }
}

Run read_facts(const std::string& text, const std::string& where) {
  const Json json = parse_json(text, where);
  if (const auto schema = need<int64_t>(json, "schema", where); schema != kRunSchema)
    throw Error(fmt::format("{}: schema {} is not the {} this version reads", where, schema, kRunSchema));
  Run run;
  run.dataset = need<std::string>(json, "dataset", where);
  run.typed = run.encoding = need<std::string>(json, "encoding", where);
  run.seed = need<int64_t>(json, "seed", where);
  const auto status = need<std::string>(json, "status", where);
  if (status != "finished" && status != "diverged")
    throw Error(fmt::format("{}: status '{}' is neither finished nor diverged", where, status));
  run.diverged = status == "diverged";
  run.shared_init = need<std::string>(json, "shared_init", where);
  run.data_order = need<std::string>(json, "data_order", where);
  run.config_without_encoding = need<std::string>(json, "config_without_encoding", where);
  run.dtype = get_or<std::string>(json, "dtype", "", where);
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

void read_scores(const std::string& text, const std::string& file, Run& run) {
  struct Score {
    double value, tokens;  // tokens: 0 where they are not told
  };
  std::map<std::string, std::map<double, std::map<int64_t, Score>>> found;
  each_line(text, file, [&](const Json& line, const std::string& where) {
    const Score score{need<double>(line, "value", where), get_or<double>(line, "tokens", 0, where)};
    const auto example = need<int64_t>(line, "example", where);
    if (score.tokens < 0)
      throw Error(fmt::format("{}: 'tokens' is {}, and should be at least 1", where, score.tokens));
    auto& examples = found[need<std::string>(line, "metric", where)][need<double>(line, "x", where)];
    if (!examples.emplace(example, score).second)
      throw Error(fmt::format("{}: example {} is scored twice", where, example));
  });
  for (const auto& [metric, lengths] : found)
    for (const auto& [x, examples] : lengths) {
      if (examples.begin()->first != 0 || examples.rbegin()->first != int64_t(examples.size()) - 1)
        throw Error(fmt::format("{}: {} at {}x has {} examples that do not count up from 0", file, metric, x,
                                examples.size()));
      const bool told = std::all_of(examples.begin(), examples.end(),
                                    [](const auto& each) { return each.second.tokens > 0; });
      for (const auto& [example, score] : examples) {
        run.scores[metric][x].push_back(score.value);
        if (told) run.scored_tokens[metric][x].push_back(score.tokens);
      }
    }
}

}  // namespace

Run read_run(const RunFiles& files) {
  const auto path = [&](const char* file) { return (files.folder / file).string(); };
  Run run = read_facts(files.facts, path("run.json"));
  run.facts = files.facts;
  run.folder = files.folder;
  run.bundled = files.bundled;
  if (!run.diverged && files.scores.empty())
    throw Error(path("results.jsonl") + " is missing or empty, though the run is finished");
  if (!run.diverged) read_scores(files.scores, path("results.jsonl"), run);
  run.curve = read_curve(files.metrics, path("metrics.jsonl"));
  run.config = files.config;
  return run;
}

}  // namespace darope::report
