#include "stats/settle.h"

#include <algorithm>

#include "base/error.h"

namespace darope::stats {

Judging SettlePlan::rule_of_a_round(const Judging& rule) const {
  if (seeds.empty() || seeds.front() < 2 || !std::is_sorted(seeds.begin(), seeds.end(), std::less_equal<>()))
    throw Error("rounds of seeds rise from 2 or more, such as 3, 5, 8");
  Judging round = rule;
  round.confidence = 1 - (1 - rule.confidence) / double(seeds.size());
  return round;
}

bool Settled::done() const {
  return std::none_of(more.begin(), more.end(), [](uint8_t each) { return each; });
}

Settled settle(const Scores& scores, const SettlePlan& plan, const Judging& rule, const Settled& before,
               Noise& noise) {
  if (before.rounds >= plan.seeds.size())
    throw Error("all " + std::to_string(plan.seeds.size()) + " rounds are spent");
  const Judged now = judge(scores, plan.rule_of_a_round(rule), noise);
  if (!now.leader) throw Error(scores.task() + ": no two encodings have a seed in common");
  Settled result;
  result.rounds = before.rounds + 1;
  result.leader = now.leader;
  result.more.resize(scores.encodings().size());
  for (size_t p = 0; p < now.pairs.size(); ++p) {
    const bool open = before.pairs.empty() || before.pairs[p].round == 0;
    result.pairs.push_back(open ? Settled::Decision{0, now.pairs[p]} : before.pairs[p]);
    Settled::Decision& decision = result.pairs.back();
    if (open && now.pairs[p].verdict != Verdict::undecided) decision.round = result.rounds;
    const bool of_leader = decision.pair.first == *now.leader || decision.pair.second == *now.leader;
    if (decision.round > 0 || !of_leader || result.rounds == plan.seeds.size()) continue;
    result.more[decision.pair.first] = result.more[decision.pair.second] = 1;
  }
  return result;
}

}  // namespace darope::stats
