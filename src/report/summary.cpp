#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "report/falling.h"
#include "report/paper.h"

namespace darope::report {
namespace {

// The encoding that was asked for: by its name in this report, as it was typed for a dataset, or without
// options where only one fits.
std::string find_reference(const Gathered& all, const std::string& asked) {
  for (const std::string& encoding : all.encodings)
    if (encoding == asked) return encoding;
  for (const Run& run : all.runs)
    if (run.typed == asked) return run.encoding;
  const auto fits = [&](const std::string& encoding) { return without_options(encoding) == asked; };
  if (std::count_if(all.encodings.begin(), all.encodings.end(), fits) != 1)
    throw Error(unknown_name("reference", asked, all.encodings));
  return *std::find_if(all.encodings.begin(), all.encodings.end(), fits);
}

std::string choose_reference(const Gathered& all, const std::string& asked) {
  if (!asked.empty()) return find_reference(all, asked);
  const std::string usual = paper().at("reference");
  const auto plain = std::ranges::find(all.encodings, usual);
  if (plain != all.encodings.end()) return *plain;
  const auto variant =
      std::ranges::find_if(all.encodings, [&](const std::string& e) { return is_variant(e, usual); });
  return variant == all.encodings.end() ? all.encodings.front() : *variant;
}

// Those of the paper's own test, each by any of the names it has.
std::vector<std::string> paper_baselines(const std::vector<std::string>& encodings) {
  std::vector<std::string> chosen, missing;
  for (const Json& baseline : paper().at("baselines")) {
    const auto names = baseline.get<std::vector<std::string>>();
    const auto found = std::ranges::find_if(encodings, [&](const std::string& encoding) {
      return std::ranges::any_of(names, [&](const std::string& name) { return is_variant(encoding, name); });
    });
    if (found == encodings.end())
      missing.push_back(names.front());
    else
      chosen.push_back(*found);
  }
  if (!missing.empty())
    throw Error(fmt::format("the paper's family of {} baselines is not complete here: no run of {}",
                            paper().at("baselines").size(), fmt::join(missing, ", ")));
  return chosen;
}

std::vector<Cost> costs(const Gathered& all) {
  std::vector<Cost> result;
  for (const std::string& encoding : all.encodings) {
    Cost cost{.encoding = encoding};
    double runs = 0;
    for (const Run& run : all.runs) {
      if (run.encoding != encoding || run.diverged) continue;
      ++runs;
      for (const Run& trained : all.runs)
        if (trained.folder.filename() == run.weights_of) cost.weights_of = trained.encoding;
      cost.parameters += double(run.parameters);
      cost.seconds += run.seconds;
      cost.tokens_per_second += run.tokens_per_second;
      cost.peak_memory_bytes = std::max(cost.peak_memory_bytes, run.peak_memory_bytes);
    }
    for (double* total : {&cost.parameters, &cost.seconds, &cost.tokens_per_second})
      *total /= std::max(runs, 1.0);
    result.push_back(cost);
  }
  return result;
}

// A dataset's largest model stands for its size: encodings differ by little, datasets may by much.
void add_sizes(const Gathered& all, Summary& summary) {
  std::map<std::string, int64_t> sizes;
  for (const Run& run : all.runs)
    if (run.parameters > 0) sizes[run.dataset] = std::max(sizes[run.dataset], run.parameters);
  for (const auto& [dataset, size] : sizes) {
    summary.parameters = std::max(summary.parameters, size);
    summary.least_parameters =
        summary.least_parameters == 0 ? size : std::min(summary.least_parameters, size);
  }
}

}  // namespace

const AtLength* Dataset::at(double x) const {
  const auto found =
      std::find_if(lengths.begin(), lengths.end(), [&](const AtLength& each) { return each.x == x; });
  return found == lengths.end() ? nullptr : &*found;
}

std::vector<stats::Method> in_family(const std::vector<stats::Method>& methods, const Summary& summary) {
  if (!summary.options.paper_family) return methods;
  std::vector<std::string> family = paper_baselines(summary.encodings);
  family.push_back(summary.reference);
  std::vector<stats::Method> kept;
  for (const stats::Method& method : methods)
    if (std::find(family.begin(), family.end(), method.name) != family.end()) kept.push_back(method);
  return kept;
}

std::optional<stats::PairVerdict> AtLength::pair(const std::string& first, const std::string& second) const {
  if (!judged) return std::nullopt;
  const auto place = [&](const std::string& name) {
    return size_t(std::find(judged->encodings.begin(), judged->encodings.end(), name) -
                  judged->encodings.begin());
  };
  const size_t a = place(first), b = place(second), count = judged->encodings.size();
  if (a == count || b == count || a == b) return std::nullopt;
  return judged->pair(a, b);
}

std::string Overall::leader() const {
  return suite && suite->these_tasks.leader ? suite->these_tasks.encodings[*suite->these_tasks.leader] : "";
}

bool Overall::one_seed() const {
  return suite && std::none_of(suite->these_tasks.pairs.begin(), suite->these_tasks.pairs.end(),
                               [](const stats::PairVerdict& pair) { return pair.about_encodings(); });
}

std::vector<const Dataset*> Summary::all_datasets() const {
  std::vector<const Dataset*> found;
  for (const Dataset& each : datasets) found.push_back(&each);
  if (evaluations)
    for (const Dataset& each : evaluations->datasets) found.push_back(&each);
  return found;
}

// Judged as datasets are; the reference may not have been asked.
static std::shared_ptr<const Summary> summarise_evaluations(const Gathered& all, const Summary& page) {
  if (!all.evaluations) return nullptr;
  const std::vector<std::string>& names = all.evaluations->encodings;
  Options options = page.options;
  const bool asked_too = std::find(names.begin(), names.end(), page.reference) != names.end();
  options.reference = asked_too ? page.reference : "";
  return std::make_shared<const Summary>(summarise(*all.evaluations, options));
}

Summary summarise(const Gathered& all, const Options& options) {
  Summary summary;
  summary.options = options;
  summary.reference = choose_reference(all, options.reference);
  summary.encodings = all.encodings;
  summary.seeds = all.seeds;
  summary.variants = all.variants;
  summary.notes = all.notes;
  add_sizes(all, summary);
  stats::Noise noise;
  for (const std::string& name : all.datasets)
    summary.datasets.push_back(summarise_dataset(all, name, summary, noise));
  std::set<double> lengths;
  for (const Dataset& dataset : summary.datasets)
    for (const AtLength& at : dataset.lengths) lengths.insert(at.x);
  summary.lengths.assign(lengths.begin(), lengths.end());
  summary.overall = overall_verdicts(all, summary, noise);
  summary.aggregates = aggregates(summary);
  summary.rankings = rankings(summary);
  summary.gaps = recall_gaps(summary);
  summary.costs = costs(all);
  summary.evaluations = summarise_evaluations(all, summary);
  for (std::string& note : still_falling(all, summary)) summary.notes.push_back(std::move(note));
  return summary;
}

}  // namespace darope::report
