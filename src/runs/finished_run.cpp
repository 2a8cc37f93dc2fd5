#include "runs/finished_run.h"

#include "runs/lines.h"

namespace darope {

FinishedRun read_finished(const RunFiles& files) {
  const auto path = [&](const char* file) { return (files.folder / file).string(); };
  const Json facts = parse_json(files.facts, path("run.json"));
  FinishedRun run;
  static_cast<RunFacts&>(run) = parse_facts(facts, path("run.json"));
  run.curve = read_curve(files.metrics, path("metrics.jsonl"));
  if (run.diverged) return run;
  const std::string file = path("results.jsonl");
  if (files.scores.empty()) throw Error(file + " is missing or empty, though the run is finished");
  run.scores = read_scores(files.scores, file);
  if (is_first_version(facts, path("run.json")))
    run.metrics = metrics_of_first_version(run.scores, facts, file);
  check_described(run.scores, run.metrics, file);
  return run;
}

}  // namespace darope
