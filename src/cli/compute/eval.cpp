#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/config.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/signals.h"
#include "cli/common/run_verbs.h"
#include "cli/common/table.h"
#include "cli/compute/verbs.h"
#include "data/open.h"
#include "data/prepared/manifest.h"
#include "eval/evaluate.h"
#include "experiments/asked.h"
#include "experiments/past.h"
#include "experiments/saved_run.h"
#include "runs/facts.h"
#include "runs/score_means.h"
#include "stats/summary.h"

namespace darope {
namespace {

struct EvalSettings {
  std::string run, scores;
  Which which;
  std::vector<std::string> only;
  Asked asked;
  bool json = false, list = false;
};

// Letters, digits, '.' and '-' stay; what that changes is told apart by a hash, so that no two evaluations
// share a folder.
std::string folder_name(const std::string& text) {
  std::string out = text.substr(0, 100);
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  return out == text ? out : out + "-" + sha256(text).substr(0, 8);
}

bool name_one(const std::vector<std::string>& overrides, const std::vector<std::string>& keys) {
  return std::ranges::any_of(overrides, [&](const std::string& each) {
    const std::string bare = each.starts_with("--") ? each.substr(2) : each;
    return std::ranges::find(keys, bare.substr(0, bare.find('='))) != keys.end();
  });
}

// The run's own data may have changed since it was trained.
void warn_of_changed_data(const RunFolder& folder) {
  RunConfig own;
  try {
    read_config_file(list_fields(own), folder.config());
    own.dump_dir = folder.path().string();  // it may have been moved
    check_data(own);
  } catch (const Error& e) {
    fmt::print(stderr, "darope: WARNING: {}; these scores are of the data as they are now\n", e.what());
  }
}

std::string kind_at(const std::string& folder) {
  return is_prepared(folder) ? read_manifest(folder).kind : "";
}

// The ids of other data must mean to the model what those mean that it learned from. Where the size was given
// by hand, or ids stand for themselves, some may not occur.
void check_vocabulary(const SavedRun& run, const Dataset& data, const RunFolder& folder) {
  RunConfig given;
  if (std::filesystem::exists(folder.given_config()))
    read_config_file(list_fields(given), folder.given_config());
  const int64_t trained = run.config.model.vocab_size;
  RunConfig own;
  read_config_file(list_fields(own), folder.config());
  const std::string kind = kind_at(own.data.root_dir), asked = kind_at(run.config.data.root_dir);
  const bool others = !kind.empty() && !asked.empty() && kind != asked,
             fewer = (given.model.vocab_size > 0 && !others) || holds_ids(run.config.data.path);
  if (data.vocabulary > trained || (data.vocabulary < trained && !fewer))
    throw Error(
        fmt::format("{} has a vocabulary of {}, and {} was trained on one of {}: the same ids mean "
                    "other things; score it on data of the kind it learned from",
                    data.name, data.vocabulary, folder.path().string(), trained));
}

void print_list(const Dataset& data, const Decoder& model) {
  for (const Evaluation& each : evaluations()) {
    fmt::print("{:<18} {}\n", each.traits.name, each.traits.summary);
    if (const std::string lack = lacking(each.traits.needs, data, model); !lack.empty()) {
      fmt::print("{:<18} needs {}\n", "", lack);
      continue;
    }
    for (const Metric& metric : each.metrics(data))
      fmt::print("{:<18} {} along {}, {}: {}\n", "", metric.name, metric.axis.name, metric.unit,
                 metric.meaning);
    if (!each.traits.ends_a_run) fmt::print("{:<18} only where it is asked for with --only\n", "");
  }
}

std::string variant_of(const EvalSettings& settings, const std::vector<std::string>& overrides) {
  std::string variant = settings.which.encoding.empty() ? "as-trained" : settings.which.encoding;
  if (settings.which.best) variant += "-best";
  for (const std::string& each : settings.only) variant += "-" + each;
  for (const std::string& each : overrides) variant += "-" + each;
  return folder_name(variant);
}

void print_json(const SavedRun& run, const Dataset& data, const std::vector<ScoreMean>& means) {
  for (const ScoreMean& row : means)
    fmt::print("{}\n", nlohmann::ordered_json{{"dataset", data.name},
                                              {"encoding", run.config.model.encoding},
                                              {"step", run.step},
                                              {"axis", row.key.axis},
                                              {"x", row.at},
                                              {"metric", row.key.metric},
                                              {"mean", row.mean},
                                              {"deviation", row.deviation},
                                              {"examples", row.examples}}
                           .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// Of answers that are right or wrong, the share with Wilson's interval.
void print_shares(const std::vector<ScoreMean>& means, const std::vector<Metric>& metrics) {
  for (const ScoreMean& each : means)
    for (const Metric& metric : metrics)
      if (key_of(metric) == each.key && metric.unit == kYesOrNo) {
        const stats::Interval share =
            stats::wilson(std::lround(each.mean * double(each.examples)), each.examples);
        fmt::print("{} at {} {}: {:.1f} %, 95 % interval {:.1f} to {:.1f}\n", metric.title, metric.axis.name,
                   each.at, 100 * each.mean, 100 * share.low, 100 * share.high);
      }
}

std::string lines_of(const EvalSettings& settings, SavedRun& run, const Dataset& data,
                     const std::vector<const Evaluation*>& chosen) {
  std::string lines;
  evaluate(*run.model, data, chosen, [&](const Score& s) {
    if (!std::isfinite(s.value))
      throw Error(fmt::format("the scores of {} are not finite, {} first: score another checkpoint with "
                              "--step, or train it again with a smaller optim.lr",
                              settings.run, s.metric),
                  kNonFinite);
    lines += to_line(s);
  });
  return lines;
}

// One evaluation that stands apart from the test of the run's own data.
void eval_apart(const EvalSettings& settings, SavedRun& run, const Dataset& data,
                const Evaluation& evaluation, const std::vector<std::string>& overrides) {
  const std::string lines = lines_of(settings, run, data, {&evaluation});
  EvalSettings named = settings;
  named.only = {std::string(evaluation.traits.name)};
  if (!data.extent.empty()) named.only.push_back(data.extent);
  const std::vector<ScoreMean> means = means_of(read_scores(lines, std::string(evaluation.traits.name)));
  const std::vector<Metric> metrics = evaluation.metrics(data);
  if (settings.json) {
    print_json(run, data, means);
  } else {
    fmt::print("{}{} at step {}, {}\n{}", data.asked.empty() ? "" : data.asked + ": ", evaluation.traits.name,
               run.step, run.config.model.encoding, table_of(means, metrics));
    print_shares(means, metrics);
  }
  std::fflush(stdout);
  const Found found = found_by(evaluation, data, lines);
  const RunFolder folder = keep_apart(run, RunFolder(settings.run), found, variant_of(named, overrides),
                                      settings.which.best || !overrides.empty());
  if (!settings.json) fmt::print("each example's scores: {}\n", folder.scores().string());
}

// Those that are named, or that read what was asked for, or that a training ends with.
std::vector<const Evaluation*> chosen_by(const std::vector<std::string>& only, Needs opened,
                                         const Dataset& data, const Decoder& model) {
  if (only.empty())
    return opened.any() ? evaluations_reading(opened, data, model) : evaluations_of(data, model);
  std::vector<const Evaluation*> chosen = evaluations_named(only, data, model);
  const auto reads = [&](const Evaluation* each) { return (each->traits.needs & opened).any(); };
  if (opened.any() && std::ranges::none_of(chosen, reads))
    throw Error(fmt::format("none of the evaluations of --only reads what {} opens: leave one of them away",
                            how_to_ask_for(opened)));
  return chosen;
}

// Scores that another program found, with the checkpoint it names or the newest one.
void keep_scores(const EvalSettings& settings) {
  const Found found = read_found(settings.scores);
  const SavedRun run = open_run(RunFolder(settings.run), {.step = found.step});
  const RunFolder folder =
      keep_apart(run, RunFolder(settings.run), found, folder_name("lm-eval-" + found.evaluation), false);
  fmt::print(
      "{} at step {}, {}\n{}each example's scores: {}\n", found.dataset, run.step, run.config.model.encoding,
      table_of(means_of(read_scores(found.lines, settings.scores)), found.metrics), folder.scores().string());
}

// Scores of one checkpoint: a table, and each example's in a folder of the run.
void eval_verb(const EvalSettings& settings, const std::vector<std::string>& overrides) {
  if (!settings.scores.empty()) return keep_scores(settings);
  SavedRun run = open_run(RunFolder(settings.run), settings.which, overrides);
  Dataset data =
      open_dataset(run.config.data, uint64_t(run.config.seed), run.config.steps * run.config.grad_acc_steps);
  check_vocabulary(run, data, RunFolder(settings.run));
  if (name_one(overrides, {"data.test_examples"})) check_examples(run.config.data);
  const Needs opened = open_asked(settings.asked, run, RunFolder(settings.run), data);
  if (settings.list) return print_list(data, *run.model);
  std::vector<const Evaluation*> chosen = chosen_by(settings.only, opened, data, *run.model);
  if (!name_one(overrides, {"data.task", "data.path", "data.test_path", "data.root_dir"}))
    warn_of_changed_data(RunFolder(settings.run));
  watch_signals();
  std::erase_if(chosen, [&](const Evaluation* each) {
    if (each->traits.of_its_own) eval_apart(settings, run, data, *each, overrides);
    return each->traits.of_its_own;
  });
  if (chosen.empty()) return;
  const std::string lines = lines_of(settings, run, data, chosen);
  const Found found{data.name, "", "", metrics_of(chosen, data), lines};
  const std::vector<ScoreMean> means = means_of(read_scores(lines, data.name));
  if (settings.json)
    print_json(run, data, means);
  else
    fmt::print("{} at step {}, {}\n{}", data.name, run.step, run.config.model.encoding,
               table_of(means, found.metrics));
  std::fflush(stdout);  // hours of work are said before a disk can refuse to keep them
  const RunFolder folder = keep(run, RunFolder(settings.run), found, variant_of(settings, overrides));
  if (!settings.json) fmt::print("each example's scores: {}\n", folder.scores().string());
}

}  // namespace

void add_eval(CLI::App& app) {
  auto settings = std::make_shared<EvalSettings>();
  CLI::App* verb = app.add_subcommand(
      "eval",
      "score a run's checkpoint on its test data; a.b=c changes a setting, such as data.test_examples");
  verb->add_option("RUN", settings->run, "a run's folder")->required();
  verb->add_option("--step", settings->which.step, "the checkpoint of this step; default: the newest")
      ->check(CLI::NonNegativeNumber);
  verb->add_flag("--best", settings->which.best, "the checkpoint of the lowest validation loss");
  verb->add_option("--encoding", settings->which.encoding,
                   "evaluate with another encoding that the weights fit, such as yarn:factor=8 for rope");
  verb->add_option("--only", settings->only,
                   "these evaluations, comma-separated, instead of those a training ends with")
      ->delimiter(',')
      ->type_name(kListValue)
      ->allow_extra_args(false);
  verb->add_option("--positions", settings->asked.positions,
                   "the loss at so many positions of long documents, each in a single pass");
  verb->add_flag("--retrieval", settings->asked.retrieval,
                 "return from digression and key-value recall, with a look at every layer");
  verb->add_option(
      "--documents", settings->asked.documents,
      "what --positions and --retrieval read: a prepared text (its test split), or files of .txt "
      "and .jsonl; default: the run's own");
  verb->add_option(
      "--prompts", settings->asked.prompts,
      "the file that keeps the prompts of --retrieval; default: beside the run, for its neighbours "
      "too");
  verb->add_flag("--allow-quadratic", settings->asked.allow_quadratic,
                 "with --positions: also where attention keeps a score for every pair of tokens");
  verb->add_option("--scores", settings->scores,
                   "keep the scores of this file with the run, for its report; `lm-eval` writes such files")
      ->excludes("--step")
      ->excludes("--best")
      ->excludes("--encoding");
  verb->add_flag("--list", settings->list,
                 "name the evaluations there are, what they say, and which this run cannot have, and stop");
  verb->add_flag("--json", settings->json, "one JSON object per line");
  take_settings(*verb);
  verb->callback([settings, verb] { eval_verb(*settings, verb->remaining()); });
}

}  // namespace darope
