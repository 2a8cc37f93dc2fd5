#include "experiments/asked.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "data/documents.h"
#include "data/open.h"
#include "data/prompts.h"
#include "model/quadratic.h"
#include "ops/head.h"
#include "runs/finished_run.h"
#include "runs/lines.h"
#include "runs/lock.h"
#include "train/device.h"

namespace darope {
namespace {

constexpr int64_t kDocuments = 256;  // the first so many that are long enough, as in the paper
constexpr uint64_t kPromptSeed = 1;
constexpr int64_t kMostPositions = 1 << 20;

// What one pass over so many tokens takes at its fullest, the model's weights aside: the streams of a layer,
// and a chunk of logits with their float copies.
double bytes_of_pass(const Decoder& model, int64_t tokens) {
  const DecoderConfig& config = model.config();
  const double width = model.device().is_cuda() ? 2 : 4;
  constexpr double kStreams = 10, kHidden = 3;  // of the model's width and of the feed-forward part's
  return double(tokens) * width * (kStreams * double(config.dim) + kHidden * double(config.hidden())) +
         3 * std::min(double(kLogitsAtOnce), double(tokens) * double(config.vocab_size) * width);
}

void check_memory(const Decoder& model, int64_t positions) {
  constexpr double kGiB = double(int64_t{1} << 30);
  const double need = bytes_of_pass(model, positions), there = double(free_memory(model.device()));
  if (need > there)
    throw Error(
        fmt::format("--positions {}: a pass over so many tokens takes about {:.1f} GiB, and {} has {:.1f} "
                    "GiB to give: ask for fewer, or on a larger machine",
                    positions, need / kGiB, device_name(model.device()), there / kGiB));
}

void open_positions(const Asked& asked, const SavedRun& run, Dataset& data) {
  const int64_t trained = run.config.model.max_seqlen;
  if (asked.positions < trained || asked.positions > kMostPositions)
    throw Error(fmt::format("--positions {}: at least the training length, {}, and at most {}",
                            asked.positions, trained, kMostPositions));
  refuse_quadratic(run.config.model, asked.positions, asked.allow_quadratic, "--allow-quadratic");
  check_memory(*run.model, asked.positions);
  const Documents documents(asked.documents, run.config.data);
  data.documents = long_documents(documents, asked.positions, kDocuments);
  data.asked = documents.name();
  data.asked_hash = hash_of(*data.documents);
  data.extent = fmt::format(" to {}", asked.positions);
  data.train_length = trained;
}

void open_prompts(const Asked& asked, const SavedRun& run, const RunFolder& folder, Dataset& data) {
  const Documents prose(asked.documents, run.config.data);
  const int64_t length = run.config.model.max_seqlen;
  const Prompts prompts =
      kept_prompts(asked.prompts.empty() ? folder.prompts_beside(prose.name(), length) : asked.prompts, prose,
                   length, kPromptSeed);
  for (const std::string& each : prompts.left_out)
    fmt::print(stderr, "left out: {} does not fit the context of {}\n", each, length);
  data.asked = prose.name();
  data.asked_hash = prompts.sha256;
  data.prompts = std::make_shared<const Prompts>(prompts);
}

}  // namespace

Needs open_asked(const Asked& asked, const SavedRun& run, const RunFolder& folder, Dataset& data) {
  if (asked.positions != 0 && asked.retrieval)
    throw Error("--positions and --retrieval are two evaluations: ask for one at a time");
  if (asked.positions != 0) {
    open_positions(asked, run, data);
    return Need::documents;
  }
  if (asked.retrieval) {
    open_prompts(asked, run, folder, data);
    return Need::prompts;
  }
  return {};
}

Found found_by(const Evaluation& evaluation, const Dataset& data, std::string lines) {
  const std::string name(evaluation.traits.name);
  const std::string& asked = data.asked.empty() ? data.name : data.asked;
  return {fmt::format("{}: {}{}", asked, name, data.extent), name, data.asked_hash, evaluation.metrics(data),
          std::move(lines)};
}

Found read_found(const std::filesystem::path& file) {
  const std::string where = file.string();
  const Json json = parse_json(read_file(file), where);
  const auto name = need<std::string>(json, "name", where);
  Found found{.dataset = name,
              .evaluation = name,
              .hash = need<std::string>(json, "hash", where),
              .metrics = read_metrics(need<Json>(json, "metrics", where), where),
              .lines = ""};
  if (json.contains("step")) found.step = need<int64_t>(json, "step", where);
  for (const Json& each : need<std::vector<Json>>(json, "scores", where)) found.lines += each.dump() + "\n";
  check_described(read_scores(found.lines, where), found.metrics, where);
  return found;
}

RunFolder keep(const SavedRun& run, const RunFolder& folder, const Found& found, const std::string& variant,
               const std::optional<RunFacts>& facts) {
  no_longer(found.dataset, kLongestName, "dataset", "what was evaluated");  // or no report would read it
  no_longer(found.evaluation, kLongestName, "evaluation", "what was evaluated");
  RunFolder out = folder.evaluation(run.checkpoint.filename().string(), variant);
  out.require_version();
  make_directories_in(folder.path(), out.path());
  const Lock lock(out.lock(), "keeping the scores of " + out.path().string());
  remove_leftovers(out.path());
  remove_file(out.facts());  // until the scores are those it speaks of
  write_file(out.scores(), found.lines);
  write_file(out.manifest(), nlohmann::ordered_json{{"schema", kRunSchema},
                                                    {"dataset", found.dataset},
                                                    {"encoding", run.config.model.encoding},
                                                    {"step", run.step},
                                                    {"metrics", to_json(found.metrics)}}
                                     .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                                 "\n");
  if (facts) {
    write_file(out.config(), read_file(folder.config()));
    write_finished(out, *facts);
  }
  return out;
}

// What an evaluation says of itself that is compared as a run: one of a finished run's last weights, as they
// were trained.
static std::optional<RunFacts> facts_apart(const SavedRun& run, const RunFolder& folder, const Found& found) {
  if (!folder.is_finished()) return {};
  RunFacts facts =
      parse_facts(parse_json(read_file(folder.facts()), folder.facts().string()), folder.facts().string());
  if (facts.diverged || facts.steps != run.step) return {};
  facts.dataset = found.dataset;
  facts.family = found.evaluation;
  facts.encoding = run.config.model.encoding;
  facts.evaluation = found.evaluation;
  if (!found.hash.empty()) facts.data_order = found.hash;
  facts.metrics = found.metrics;
  return facts;
}

RunFolder keep_apart(const SavedRun& run, const RunFolder& folder, const Found& found,
                     const std::string& variant, bool changed) {
  return keep(run, folder, found, variant, changed ? std::nullopt : facts_apart(run, folder, found));
}

}  // namespace darope
