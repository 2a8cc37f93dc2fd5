#pragma once
#include "report/summary.h"

namespace darope::report {

// Encodings without a diverged run on a dataset: the seeds that survived are no fair sample.
std::vector<std::string> sound_encodings(const Gathered& all, const std::string& dataset);

// A difference that does not matter: what was asked for, else what was fixed before the runs, else 0.01 of a
// share from its floor to 1, 0.002 nats.
double margin_of(const Gathered& all, const std::string& dataset, const Metric& metric,
                 const Options& options);

// How a dataset is judged. Where seeds were added in rounds, each look has its share of the 5 %.
const Settling* settling_of(const Gathered& all, const std::string& dataset);
stats::Judging rule_for(const Gathered& all, const std::string& dataset, const Metric& metric,
                        const Options& options);

// What needs no learning at a place: the best constant answer or, where that is not told, guessing.
double floor_of(const Metric& metric, double x);

// One dataset as statistics take it: runs by encoding and place in all.seeds, examples of one source as one
// value; shares from the floor (0) to perfect (1), so that datasets can stand beside each other.
stats::Scores score_table(const Gathered& all, const std::string& dataset, const Metric& metric, double x,
                          const std::vector<std::string>& encodings);

// How encodings stand, from the first to the last: means over tasks of one table each.
std::vector<Standing> standings(const stats::Judged& judged, const std::vector<const stats::Scores*>& tables,
                                bool higher_better);

// Encodings whose runs fall into two groups.
std::vector<Split> splits(const stats::Scores& table, const stats::Judged& judged, const Metric& metric,
                          const stats::Judging& rule);

// Scores that can be paired for the paper's test: sound encodings over the seeds all of them finished.
struct Paired {
  std::vector<int64_t> seeds;
  std::vector<stats::Method> methods;
};
Paired paired(const Gathered& all, const std::string& dataset, const Metric& metric, double x);

}  // namespace darope::report
