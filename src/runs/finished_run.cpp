#include "runs/finished_run.h"

#include "runs/lines.h"

namespace darope {

FinishedRun read_finished(const RunFiles& files) {
  const RunFolder folder(files.folder);
  const std::string facts_file = folder.facts().string(), file = folder.scores().string();
  const Json facts = parse_json(files.facts, facts_file);
  FinishedRun run;
  static_cast<RunFacts&>(run) = parse_facts(facts, facts_file);
  run.curve = read_curve(files.metrics, folder.metrics().string());
  if (run.diverged) return run;
  if (files.scores.empty()) throw Error(file + " is missing or empty, though the run is finished");
  run.scores = read_scores(files.scores, file);
  if (schema_of(facts, facts_file) == kFirstRunSchema)
    run.metrics = metrics_of_first_version(run.scores, facts, file);
  check_described(run.scores, run.metrics, file);
  if (!files.best_scores.empty())
    run.best_scores = read_scores(files.best_scores, folder.best_scores().string());
  return run;
}

void write_finished(const RunFolder& folder, const RunFacts& facts) {
  const FileHashes hashes = hashes_of(folder);
  for (const auto& [name, hash] : hashes)  // what run.json speaks of is safe before it is
    if (const std::filesystem::path file = folder.path() / name; std::filesystem::exists(file))
      sync_file(file);
  write_file(folder.facts(), to_text(facts, hashes));
}

}  // namespace darope
