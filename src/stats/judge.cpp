#include "stats/judge.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "stats/run_variance.h"
#include "stats/simultaneous.h"

namespace darope::stats {
namespace {

constexpr std::string_view kVerdictNames[] = {
    "better", "better by less than matters", "worse", "worse by less than matters", "tied", "undecided"};

Verdict verdict_of(const PairVerdict& pair, double margin) {
  if (pair.seeds == 0) return Verdict::undecided;
  const auto [low, high] = pair.interval;
  const bool inside = -margin <= low && high <= margin;
  // Without any spread, two runs of each that happen to be the same say too little (of runs that either solve
  // a task or do not, one pair in eight looks so).
  if (pair.standard_error == 0 && pair.difference != 0 && pair.seeds == 2) return Verdict::undecided;
  if (low > 0) return inside ? Verdict::slightly_better : Verdict::better;
  if (high < 0) return inside ? Verdict::slightly_worse : Verdict::worse;
  return inside ? Verdict::tied : Verdict::undecided;
}

PairVerdict verdict_on(const SuitePair& from, const Judging& rule) {
  const double sign = rule.higher_better ? 1 : -1;
  PairVerdict pair;
  pair.first = from.first;
  pair.second = from.second;
  pair.difference = sign * from.difference;
  pair.standard_error = from.standard_error();
  pair.df = from.df;
  pair.critical = from.critical;
  pair.runs = from.runs;
  pair.examples = from.examples;
  const double half = from.critical * from.standard_error();
  pair.interval = {pair.difference - half, pair.difference + half};
  pair.seeds = from.seeds;
  pair.verdict = verdict_of(pair, rule.margin);
  pair.confidence = rule.confidence;
  return pair;
}

// The encoding that is ahead of all others in its differences, which are means over shared seeds.
std::optional<size_t> leader_of(const Judged& judged) {
  std::optional<size_t> best;
  double best_lead = 0;
  for (size_t e = 0; e < judged.encodings.size(); ++e) {
    double lead = 0, compared = 0;
    for (const PairVerdict& pair : judged.pairs) {
      if (pair.seeds == 0 || (pair.first != e && pair.second != e)) continue;
      lead += pair.first == e ? pair.difference : -pair.difference;
      ++compared;
    }
    if (compared > 0 && (!best || lead / compared > best_lead)) {
      best = e;
      best_lead = lead / compared;
    }
  }
  return best;
}

// Extends a clique of pairs within the margin (Bron and Kerbosch), from the encodings that are still open.
// Whoever is within the margin of a pivot joins the cliques that the pivot is in, so only the others begin
// branches of their own (Tomita, Tanaka and Takahashi): a hundred ties are one branch, not 2^100.
class Cliques {
 public:
  explicit Cliques(const std::vector<std::vector<bool>>& near) : near_(near) {
    std::vector<size_t> all(near.size());
    std::iota(all.begin(), all.end(), size_t{0});
    extend(all, {});
    std::ranges::sort(found_);
  }
  const std::vector<std::vector<size_t>>& found() const { return found_; }

 private:
  std::vector<size_t> near_to(size_t encoding, const std::vector<size_t>& from) const {
    std::vector<size_t> kept;
    std::ranges::copy_if(from, std::back_inserter(kept), [&](size_t e) { return near_[encoding][e]; });
    return kept;
  }

  void extend(std::vector<size_t> open, std::vector<size_t> done) {
    if (found_.size() == Judged::kMostGroups) return;
    if (open.empty()) {
      if (done.empty() && group_.size() > 1) found_.push_back(sorted_group());
      return;
    }
    const size_t pivot =
        *std::ranges::max_element(open, {}, [&](size_t e) { return near_to(e, open).size(); });
    for (const size_t next : std::vector<size_t>(open)) {
      if (near_[pivot][next]) continue;
      group_.push_back(next);
      extend(near_to(next, open), near_to(next, done));
      group_.pop_back();
      std::erase(open, next);
      done.push_back(next);
    }
  }

  std::vector<size_t> sorted_group() const {
    std::vector<size_t> group = group_;
    std::ranges::sort(group);
    return group;
  }

  const std::vector<std::vector<bool>>& near_;
  std::vector<size_t> group_;
  std::vector<std::vector<size_t>> found_;
};

}  // namespace

std::string_view name_of(Verdict verdict) { return kVerdictNames[size_t(verdict)]; }

Verdict verdict_named(std::string_view name) {
  const auto found = std::ranges::find(kVerdictNames, name);
  if (found == std::end(kVerdictNames)) throw Error("no verdict is called '" + std::string(name) + "'");
  return Verdict(found - std::begin(kVerdictNames));
}

Verdict opposite(Verdict verdict) {
  switch (verdict) {
    case Verdict::better:
      return Verdict::worse;
    case Verdict::slightly_better:
      return Verdict::slightly_worse;
    case Verdict::worse:
      return Verdict::better;
    case Verdict::slightly_worse:
      return Verdict::slightly_better;
    default:
      return verdict;
  }
}

bool is_better(Verdict v) { return v == Verdict::better || v == Verdict::slightly_better; }
bool is_worse(Verdict v) { return is_better(opposite(v)); }
bool is_within_margin(Verdict v) {
  return v == Verdict::tied || v == Verdict::slightly_better || v == Verdict::slightly_worse;
}

PairVerdict turned(PairVerdict pair) {
  std::swap(pair.first, pair.second);
  pair.difference = -pair.difference;
  pair.interval = {-pair.interval.high, -pair.interval.low};
  pair.verdict = opposite(pair.verdict);
  return pair;
}

PairVerdict Judged::pair(size_t first, size_t second) const {
  const size_t low = std::min(first, second), high = std::max(first, second);
  const PairVerdict& found = pairs[pair_index(low, high, encodings.size())];
  return first < second ? found : turned(found);
}

std::vector<std::vector<size_t>> Judged::tied_groups() const {
  std::vector<std::vector<bool>> near(encodings.size(), std::vector<bool>(encodings.size()));
  for (const PairVerdict& pair : pairs)
    near[pair.first][pair.second] = near[pair.second][pair.first] = is_within_margin(pair.verdict);
  return Cliques(near).found();
}

Judged judge(const std::vector<std::string>& encodings, const std::vector<const TaskEstimate*>& estimates,
             const Judging& rule) {
  if (!(rule.margin >= 0)) throw Error("a margin of " + std::to_string(rule.margin) + " is not 0 or more");
  Judged result{.encodings = encodings, .pairs = {}, .apart = {}, .leader = {}};
  for (const SuitePair& pair : simultaneous(estimates, rule.confidence))
    result.pairs.push_back(verdict_on(pair, rule));
  for (size_t e = 0; e < encodings.size(); ++e)
    if (std::any_of(estimates.begin(), estimates.end(),
                    [&](const TaskEstimate* task) { return task->apart[e]; }))
      result.apart.push_back(encodings[e]);
  result.leader = leader_of(result);
  return result;
}

Values half_widths(const Judged& judged) {
  Values sums, weights;
  std::vector<size_t> all(judged.encodings.size());
  std::iota(all.begin(), all.end(), size_t{0});
  for (const PairVerdict& pair : judged.pairs) {
    sums.push_back(pair.critical * pair.standard_error);
    weights.push_back(pair.seeds > 0 ? 1 : 0);
  }
  Values halves = split_sums(sums, weights, all.size(), all);
  for (double& half : halves) half = std::max(half, 0.0);
  return halves;
}

void check_tasks(const std::vector<const Scores*>& tasks) {
  if (tasks.empty()) throw Error("a comparison needs a task");
  for (const Scores* task : tasks) {
    if (task->encodings() != tasks.front()->encodings())
      throw Error(tasks.front()->task() + " and " + task->task() + " were not run with the same encodings");
    if (task->clusters() < 2)
      throw Error(task->task() + ": all examples are of one source, so nothing tells how examples vary");
  }
}

Judged judge(const Scores& task, const Judging& rule, Noise& noise) {
  check_tasks({&task});
  const TaskEstimate only = estimate(components(task), 0, noise);
  return judge(task.encodings(), std::vector<const TaskEstimate*>{&only}, rule);
}

bool is_learned(const Scores& task, double best_constant, const Judging& rule, Noise& noise) {
  std::vector<std::string> names = task.encodings();
  const size_t constant = names.size();
  names.emplace_back("the best constant answer");
  Scores with_constant(task.task(), names, task.seeds(), task.clusters());
  with_constant.set_witnesses(task.witnesses());
  for (size_t s = 0; s < task.seeds(); ++s) {
    for (size_t e = 0; e < constant; ++e)
      if (task.has(e, s)) with_constant.set(e, s, task.at(e, s));
    with_constant.set(constant, s, Values(task.clusters(), best_constant));
  }
  const Judged judged = judge(with_constant, rule, noise);
  for (size_t e = 0; e < constant; ++e)
    if (judged.pair(e, constant).verdict == Verdict::better) return true;
  return false;
}

}  // namespace darope::stats
