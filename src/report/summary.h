#pragma once
#include "report/gather.h"
#include "stats/summary.h"
#include "stats/verdict.h"

namespace darope::report {

struct Options {
  std::string reference;  // with options or, where that is clear, without; "": darope where it was run, else
                          // the first encoding
  double margin = 0.01;   // a smaller difference does not matter to the reader, in units of the score
  bool paper_family = false;            // Holm over the paper's four baselines instead of all that were run
  std::vector<std::string> order = {};  // of encodings, as gather() takes it
};

struct Proportion {
  double share = 0;
  stats::Interval wilson, wald;
};

// One encoding on one dataset at one length. An encoding that finished no seed has no mean.
struct Cell {
  std::string encoding;
  std::vector<int64_t> seeds, diverged;  // those that finished, those that did not
  stats::Values by_seed;                 // the mean score of each that finished
  std::optional<double> mean, seed_sd, cousineau_morey;
  std::optional<double> normalised, normalised_true;
  std::optional<double> pooled;          // the mean over all scored tokens, whichever example they are of
  std::optional<Proportion> proportion;  // of yes or no, over examples, each averaged over seeds
};

// Comparisons pair the encodings that did not diverge here, over the seeds all of them finished.
struct AtLength {
  double x = 0;  // multiple of the training length; 0 where lengths mean nothing
  int64_t examples = 0;
  std::optional<double> best_constant, loftus_masson;
  bool learned = true;  // some encoding gets beyond what needs no learning; of losses this is not asked
  std::vector<int64_t> seeds;
  std::vector<Cell> cells;                     // one per encoding
  std::vector<stats::Comparison> comparisons;  // the reference against each baseline
  std::vector<std::vector<std::string>> tied;  // groups in which every pair is tied
};

// A metric that a dataset was scored by beside the one that is compared on: shown, and no verdict rests on
// it.
struct Beside {
  Metric metric;
  struct Place {
    double x = 0;
    int64_t examples = 0;
    std::vector<Cell> cells = {};  // one per encoding
  };
  std::vector<Place> places = {};
};

struct Dataset {
  std::string name, family;
  Metric metric;           // what its encodings are compared on; `lengths` are places on its axis
  bool everywhere = true;  // run with every encoding; only such datasets enter overall numbers
  std::vector<AtLength> lengths;
  std::vector<Beside> beside;

  const AtLength* at(double x) const;
};

// The verdict over all learned datasets of one metric at one length. Each dataset weighs the same.
struct Overall {
  Metric metric;
  double x = 0;
  std::vector<std::string> datasets, not_learned, diverged;  // the last are encodings that cannot take part
  std::vector<int64_t> seeds;
  std::string leader;                          // "" where nothing can be compared
  std::vector<stats::Comparison> leads;        // the leader against each other one, Holm over all pairs
  std::vector<stats::Comparison> comparisons;  // the reference against each baseline
  std::vector<std::vector<std::string>> tied;
};

// A mean over datasets of chance-normalised accuracy, with the chance the paper prints and with the true one.
struct Aggregate {
  double x = 0;
  std::string over;  // "all", "without retrieval", "Chomsky" (the three language classes) or a family
  std::vector<std::string> datasets;
  struct Row {
    std::string encoding;
    std::optional<double> normalised, normalised_sd, normalised_true,
        normalised_true_sd;  // absent where a run diverged
  };
  std::vector<Row> rows;
};

struct Ranking {
  double x = 0;
  std::vector<std::string> datasets;
  std::vector<stats::MeanRank> ranks;  // one per encoding
};

// How much worse recall gets when the key has an older value: the control for "retrieval" scores that never
// look a key up.
struct Gap {
  double x = 0;
  std::string encoding;
  double gap = 0;  // dup_key_recall - assoc_recall
  std::optional<double> seed_sd;
};

struct Cost {
  std::string encoding;
  double parameters = 0, seconds = 0, tokens_per_second = 0;  // means over finished runs
  int64_t peak_memory_bytes = 0;                              // the most of any
};

struct Summary {
  Options options;
  std::string reference;
  std::vector<std::string> encodings;
  std::vector<int64_t> seeds;
  std::vector<double> lengths;
  std::vector<Dataset> datasets;
  std::vector<Overall> overall;
  std::vector<Aggregate> aggregates;
  std::vector<Ranking> rankings;
  std::vector<Gap> gaps;
  std::vector<Cost> costs;
  std::vector<Variants> variants;  // encodings with other options on other datasets
  std::vector<std::string> notes;
  int64_t parameters = 0,
          least_parameters = 0;  // of the largest model, and of the dataset whose largest is the smallest
};

Summary summarise(const Gathered& all, const Options& options);

// The steps of summarise(), in their order; each reads what earlier ones wrote.
Dataset summarise_dataset(const Gathered& all, const std::string& name, Summary& summary);
std::vector<Overall> overall_verdicts(const Gathered& all, const Summary& summary);
std::vector<Aggregate> aggregates(const Summary& summary);
std::vector<Ranking> rankings(const Summary& summary);
std::vector<Gap> recall_gaps(const Summary& summary);

// Scores that can be paired: encodings without a diverged run on the dataset, over the seeds all of them
// finished.
struct Paired {
  std::vector<int64_t> seeds;
  std::vector<stats::Method> methods;
};
Paired paired(const Gathered& all, const std::string& dataset, const Metric& metric, double x);

// The methods that Holm's correction counts: all, or the reference and the paper's four baselines.
std::vector<stats::Method> in_family(const std::vector<stats::Method>& methods, const Summary& summary);
std::vector<std::vector<std::string>> tied_names(const std::vector<stats::Method>& methods,
                                                 const stats::Rule& rule);

}  // namespace darope::report
