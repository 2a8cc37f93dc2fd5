#pragma once
#include "report/summary.h"
#include "stats/power.h"

namespace darope::report {

// The verdict in plain words. Names stand as they are: what puts a sentence into HTML escapes it.
std::string setting_in_words(const Summary& summary);  // what was compared
std::string headline(const Overall& overall,
                     const Summary& summary);             // who leads at one length, and how sure that is
std::string rule_in_words(const Summary& summary);        // what better, tied and undecided mean here
std::string units_in_words(const Summary& summary);       // what the scores of tables are
std::string no_verdict_in_words(const Summary& summary);  // why, where no dataset has every encoding; or ""
bool is_small(const Summary& summary);  // what holds of such models has often turned out otherwise of larger
// What to know before a ranking is read, a sentence each; the page, the terminal and results.json have them.
std::vector<std::string> cautions(const Summary& summary);
std::string in_words(const std::vector<Split>& splits);  // "1 of 3 runs of ... far ahead of the rest"
std::string in_words(const stats::Need& need);           // "about 8 seeds in all"
std::string baselines_in_words(const Dataset& dataset, double x);  // "unigram 3.31, bigram 2.45"; or ""
struct Baseline {
  std::string name;
  double loss;
};
std::optional<Baseline> best_counting(const Dataset& dataset, double x);  // of losses that were counted too
// Scores of the weights that did best on a validation: "rope 1.5931, darope 1.6004"; or "".
std::string best_weights_in_words(const Dataset& dataset, const AtLength& at);
std::string margin_text(const Metric& metric, double margin);
bool has_accuracies(const Summary& summary);
std::string options_in_words(const Variants& variants);  // which options an encoding had on which dataset

// For the end of a command: what to know first, the scores, the ranks and the verdict. Sentences are folded
// to so many columns; 0: to none.
std::string terminal_table(const Summary& summary, size_t columns = 0);

}  // namespace darope::report
