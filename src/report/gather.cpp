#include "report/gather.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "report/settings.h"
#include "report/settling.h"

namespace darope::report {
namespace {

Run to_run(const RunFiles& files) {
  Run run;
  static_cast<FinishedRun&>(run) = read_finished(files);
  run.folder = files.folder;
  run.typed = run.encoding;
  run.config = files.config;
  run.weights_of = settings_of(files.config)["weights_of"];
  run.text = files.facts;
  run.bundled = files.bundled;
  return run;
}

template <class Value>
std::vector<Value> distinct(const std::vector<Run>& runs, Value RunFacts::* field) {
  std::set<Value> values;
  for (const Run& run : runs) values.insert(run.*field);
  return {values.begin(), values.end()};
}

// Copies of one run, as when folders and bundles overlap, count once.
void add(Run run, Gathered& all) {
  const Run* there = all.find(run.dataset, run.encoding, run.seed);
  if (!there) {
    all.places[{run.dataset, run.encoding, run.seed}] = all.runs.size();
    all.runs.push_back(std::move(run));
  } else if (there->text != run.text)
    throw Error(fmt::format("{} and {} both hold {} on {} with seed {}; remove one of them",
                            there->folder.string(), run.folder.string(), run.encoding, run.dataset,
                            run.seed));
}

void refuse(const Run& a, const Run& b, const std::string& what) {
  throw Error(fmt::format("{} and {} cannot be compared: their {} differ{}", a.folder.string(),
                          b.folder.string(), what, what.back() == 's' ? "" : "s"));
}

// Only encoding and seed may differ between runs of a dataset.
void refuse_other_settings(const Run& a, const Run& b) {
  if (a.config_without_encoding != b.config_without_encoding) refuse(a, b, "configs beyond the encoding");
  if (!a.dtype.empty() && !b.dtype.empty() && a.dtype != b.dtype) refuse(a, b, "types of number");
}

// Those of one seed begin alike and see the same.
void refuse_other_start(const Run& a, const Run& b) {
  if (a.shared_init != b.shared_init) refuse(a, b, "initial shared weights");
  if (a.data_order != b.data_order) refuse(a, b, "data order");
  if (!a.diverged && !b.diverged && a.tokens != b.tokens) refuse(a, b, "numbers of training tokens");
}

const std::map<double, Scores>& compared(const Run& run) {
  return run.scores.at(key_of(run.metrics.front()));
}

// "token_accuracy of 40 examples at 1x": what encodings are compared on.
std::string tests_in_words(const Run& run) {
  const Metric& metric = run.metrics.front();
  std::vector<std::string> words;
  for (const auto& [at, scores] : compared(run))
    words.push_back(
        fmt::format("{} of {} examples at {}{}", metric.name, scores.examples.size(), at, metric.axis.unit));
  return fmt::format("{}", fmt::join(words, ", "));
}

// What two runs say otherwise of one metric; only what both tell can differ.
std::string told_otherwise(const Metric& a, const Metric& b) {
  const auto differ = [](const auto& one, const auto& other) { return one && other && *one != *other; };
  if (a.higher_better != b.higher_better) return "another better direction";
  if (a.unit != b.unit) return "another unit";
  if (a.axis.unit != b.axis.unit) return "another unit of its axis";
  if (differ(a.chance, b.chance) || differ(a.true_chance, b.true_chance)) return "another chance";
  for (const auto& [at, floor] : a.floor)
    if (b.floor.contains(at) && b.floor.at(at) != floor) return "another best constant answer";
  return "";
}

// Scores are paired by example and averaged over seeds, so every run of a dataset has to have them all.
void refuse_other_tests(const Run& a, const Run& b) {
  const auto alike = [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.examples == other.second.examples;
  };
  const auto as_long = [](const auto& one, const auto& other) {
    const std::vector<double>&first = one.second.tokens, &second = other.second.tokens;
    return first.empty() || second.empty() || first == second;
  };
  if (key_of(a.metrics.front()) == key_of(b.metrics.front()) &&
      std::equal(compared(a).begin(), compared(a).end(), compared(b).begin(), compared(b).end(), alike)) {
    std::string other = told_otherwise(a.metrics.front(), b.metrics.front());
    if (!std::equal(compared(a).begin(), compared(a).end(), compared(b).begin(), as_long))
      other = "other numbers of tokens";
    if (other.empty()) return;
    throw Error(fmt::format("{} and {} were not tested alike: {} has {} in the other", a.folder.string(),
                            b.folder.string(), a.metrics.front().name, other));
  }
  throw Error(fmt::format("{} and {} were not tested alike: one has {}, the other {}{}", a.folder.string(),
                          b.folder.string(), tests_in_words(a), tests_in_words(b),
                          tests_in_words(a) == tests_in_words(b) ? " with other numbers" : ""));
}

// Runs of the first version tell no clusters: they have those of a later run on the same tests, or every
// example is its own.
void share_clusters(std::vector<Run>& runs) {
  std::map<std::pair<std::string, double>, std::pair<const Run*, std::vector<int64_t>>> told;
  const auto each = [&](const auto& use) {
    for (Run& run : runs)
      if (!run.diverged)
        for (auto& [at, scores] : run.scores.at(key_of(run.metrics.front()))) use(run, at, scores);
  };
  each([&](const Run& run, double at, const Scores& scores) {
    if (scores.clusters.empty()) return;
    const auto& [first, clusters] =
        told.emplace(std::pair(run.dataset, at), std::pair(&run, scores.clusters)).first->second;
    if (clusters != scores.clusters) refuse(*first, run, "clusters of test examples");
  });
  each([&](const Run& run, double at, Scores& scores) {
    const auto known = told.find({run.dataset, at});
    scores.clusters = known == told.end() ? scores.examples : known->second.second;
  });
}

// What is equal to the first is equal to all. A run that leaves its type of number unsaid, or that diverged
// before all tokens were seen, stands for nobody in that.
void refuse_mismatches(const std::vector<Run>& runs) {
  using Key = std::tuple<std::string, int64_t, bool>;
  std::map<Key, const Run*> of_seed;
  std::map<std::pair<std::string, bool>, const Run*> of_dataset;
  std::map<std::string, const Run*> tested;
  for (const Run& run : runs) {
    for (const bool all : {true, false}) {
      if (all || !run.dtype.empty())
        refuse_other_settings(*of_dataset.emplace(std::pair(run.dataset, all), &run).first->second, run);
      if (all || !run.diverged)
        refuse_other_start(*of_seed.emplace(Key(run.dataset, run.seed, all), &run).first->second, run);
    }
    if (!run.diverged) refuse_other_tests(*tested.emplace(run.dataset, &run).first->second, run);
  }
}

// What was typed of names that a dataset holds more than once: only options tell those apart.
std::set<std::string> ambiguous(const std::vector<Run>& runs) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>>
      namesakes;  // by dataset and name without options
  for (const Run& run : runs) namesakes[{run.dataset, without_options(run.typed)}].insert(run.typed);
  std::set<std::string> found;
  for (const auto& [where, typed] : namesakes)
    if (typed.size() > 1) found.insert(typed.begin(), typed.end());
  return found;
}

// Gives runs the names their datasets are joined by. What is ambiguous on one dataset keeps its options on
// all.
void name_encodings(Gathered& all) {
  const std::set<std::string> keep = ambiguous(all.runs);
  std::map<std::string, std::map<std::string, std::string>>
      joined;  // what was typed, by name, then by dataset
  for (Run& run : all.runs) {
    run.encoding = keep.contains(run.typed) ? run.typed : without_options(run.typed);
    joined[run.encoding][run.dataset] = run.typed;
  }
  std::map<std::string, std::string> alone;  // a name that means the same everywhere, with its options
  for (const auto& [name, by_dataset] : joined) {
    const std::string& first = by_dataset.begin()->second;
    if (std::any_of(by_dataset.begin(), by_dataset.end(),
                    [&](const auto& each) { return each.second != first; })) {
      all.variants.push_back({name, by_dataset});
      continue;
    }
    alone[name] = first;
  }
  for (Run& run : all.runs)
    if (const auto name = alone.find(run.encoding); name != alone.end()) run.encoding = name->second;
  all.index();
}

// The place of the longest name in `order` that is the encoding's, or that it goes on from with options or a
// '-'.
size_t place_in(const std::vector<std::string>& order, const std::string& encoding) {
  size_t place = order.size(), longest = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string& name = order[i];
    const bool begins =
        encoding == name || encoding.starts_with(name + ":") || encoding.starts_with(name + "-");
    if (begins && name.size() > longest) place = i, longest = name.size();
  }
  return place;
}

void note_absences(Gathered& all) {
  std::map<std::string, std::map<std::string, std::set<int64_t>>> there;
  for (const Run& run : all.runs) there[run.dataset][run.encoding].insert(run.seed);
  for (const Run& run : all.runs)
    if (run.diverged)
      all.notes.push_back(fmt::format("{} diverged on {} with seed {} after {} steps.", run.encoding,
                                      run.dataset, run.seed, run.steps));
  // Datasets with the same gaps share a sentence: a sweep that is half done has hundreds of them.
  std::map<std::pair<std::vector<int64_t>, std::vector<std::string>>, std::vector<std::string>> gaps;
  for (const std::string& dataset : all.datasets) {
    std::map<std::vector<int64_t>, std::vector<std::string>> encodings;
    std::vector<std::string> never_run;
    for (const std::string& encoding : all.encodings) {
      const auto with = there[dataset].find(encoding);
      if (with == there[dataset].end()) {
        never_run.push_back(encoding);
        continue;
      }
      std::vector<int64_t> missing;
      std::set_difference(all.seeds.begin(), all.seeds.end(), with->second.begin(), with->second.end(),
                          std::back_inserter(missing));
      if (!missing.empty()) encodings[missing].push_back(encoding);
    }
    if (!never_run.empty()) encodings[all.seeds] = never_run;
    for (const auto& gap : encodings) gaps[gap].push_back(dataset);
  }
  for (const auto& [gap, datasets] : gaps) {
    const auto& [missing, encodings] = gap;
    const bool one = encodings.size() == 1 || encodings.size() == all.encodings.size();
    const std::string who = encodings.size() == all.encodings.size()
                                ? "Every encoding"
                                : fmt::format("{}", fmt::join(encodings, ", "));
    if (missing.size() == all.seeds.size())
      all.notes.push_back(
          fmt::format("{} {} not run on {}.", who, one ? "was" : "were", fmt::join(datasets, ", ")));
    else
      all.notes.push_back(fmt::format("{} on {} lack{} seed{} {}.", who, fmt::join(datasets, ", "),
                                      one ? "s" : "", missing.size() > 1 ? "s" : "",
                                      fmt::join(missing, ", ")));
  }
}

void note_mixture(Gathered& all, std::string RunFacts::* field, const char* what) {
  const std::vector<std::string> values = distinct(all.runs, field);
  if (values.size() > 1)
    all.notes.push_back(
        fmt::format("The runs come from {} {}: {}.", values.size(), what, fmt::join(values, "; ")));
}

}  // namespace

const Run* Gathered::find(const std::string& dataset, const std::string& encoding, int64_t seed) const {
  const auto found = places.find({dataset, encoding, seed});
  return found == places.end() ? nullptr : &runs[found->second];
}

// Of places from `first` on, as long as `belongs` says.
template <class Belongs>
static std::vector<const Run*> found_from(const Gathered& all,
                                          const decltype(Gathered::places)::key_type& first,
                                          const Belongs& belongs) {
  std::vector<size_t> numbers;
  for (auto at = all.places.lower_bound(first); at != all.places.end() && belongs(at->first); ++at)
    numbers.push_back(at->second);
  std::sort(numbers.begin(), numbers.end());
  std::vector<const Run*> runs;
  for (const size_t each : numbers) runs.push_back(&all.runs[each]);
  return runs;
}

std::vector<const Run*> Gathered::runs_of(const std::string& dataset) const {
  return found_from(*this, {dataset, "", INT64_MIN},
                    [&](const auto& key) { return std::get<0>(key) == dataset; });
}
std::vector<const Run*> Gathered::runs_of(const std::string& dataset, const std::string& encoding) const {
  return found_from(*this, {dataset, encoding, INT64_MIN}, [&](const auto& key) {
    return std::get<0>(key) == dataset && std::get<1>(key) == encoding;
  });
}

void Gathered::index() {
  places.clear();
  for (size_t i = 0; i < runs.size(); ++i)
    places.emplace(std::tuple(runs[i].dataset, runs[i].encoding, runs[i].seed), i);
}

std::string without_options(const std::string& encoding) { return encoding.substr(0, encoding.find(':')); }

static size_t places_compared(const Gathered& all) {
  size_t most = 1;
  for (const Run& run : all.runs)
    if (!run.diverged && !run.metrics.empty()) most = std::max(most, compared(run).size());
  return most;
}

// The rule draws every run of a table anew 2000 times, and every pair of its encodings, and does so again
// without each of the datasets: a few kilobytes of a stranger could name so many that neither memory nor
// patience lasts.
static void refuse_very_many(const Gathered& all) {
  constexpr size_t kMostEncodings = 64;
  constexpr double kMostRuns = 100'000, kMostDrawn = 1 << 17, kMostPairs = 1 << 18, kMostWork = 1 << 26;
  const auto datasets = double(all.datasets.size()), encodings = double(all.encodings.size()),
             seeds = double(all.seeds.size());
  const size_t count = places_compared(all);
  const auto places = double(count);
  if (encodings > kMostEncodings || datasets * encodings * seeds > kMostRuns ||
      datasets * encodings * encodings > kMostDrawn ||
      datasets * encodings * encodings * places > kMostPairs ||
      datasets * datasets * encodings * encodings * places > kMostWork)
    throw Error(fmt::format(
        "{} datasets, {} encodings and {} seeds, tested at {} place{}, are more than one report can "
        "hold (docs/files.md): report on fewer at a time",
        all.datasets.size(), all.encodings.size(), all.seeds.size(), count, count == 1 ? "" : "s"));
}

// Names, orders and checks what was read.
static void arrange(Gathered& all, const std::vector<std::string>& order, Include include) {
  if (include == Include::kJudgedRuns) leave_out_unjudged(all);
  name_encodings(all);
  all.datasets = distinct(all.runs, &Run::dataset);
  all.encodings = distinct(all.runs, &Run::encoding);
  std::stable_sort(
      all.encodings.begin(), all.encodings.end(),
      [&](const std::string& a, const std::string& b) { return place_in(order, a) < place_in(order, b); });
  all.seeds = distinct(all.runs, &Run::seed);
  refuse_very_many(all);
  refuse_mismatches(all.runs);
  share_clusters(all.runs);
  note_absences(all);
  note_mixture(all, &Run::commit, "commits");
  note_mixture(all, &Run::machine, "machines");
  note_mixture(all, &Run::torch, "versions of torch");
}

Gathered gather(const std::vector<std::filesystem::path>& comparisons, const std::vector<std::string>& order,
                const SettingsOf& settings, Include include) {
  Gathered all, evaluations;
  all.sources = comparisons;
  for (const std::filesystem::path& each : comparisons)
    each_run(
        each,
        [&](const RunFiles& files) {
          Run run = to_run(files);
          Gathered& where = run.evaluation.empty() ? all : evaluations;
          add(std::move(run), where);
        },
        [&](const std::filesystem::path& run) {
          all.notes.push_back(fmt::format("The run in {} is not finished and is left out.", run.string()));
        },
        [&](const ComparisonRecord& record) { all.record.join(record, each.string()); });
  if (all.runs.empty())
    throw Error(fmt::format("{}: no finished run to report on",
                            comparisons.empty() ? "no folder" : comparisons.front().string()));
  if (settings)
    for (Gathered* some : {&all, &evaluations})
      for (Run& run : some->runs) run.config_without_encoding = settings(run.config, run);
  arrange(all, order, include);
  if (!evaluations.runs.empty()) {
    arrange(evaluations, order, include);
    all.evaluations = std::make_shared<const Gathered>(std::move(evaluations));
  }
  return all;
}

}  // namespace darope::report
