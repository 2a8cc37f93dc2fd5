#pragma once
#include "report/gather.h"
#include "stats/modes.h"
#include "stats/paper_test.h"
#include "stats/suite.h"
#include "stats/summary.h"

namespace darope::report {

struct Options {
  std::string reference;  // with options or, where that is clear, without; "": the paper's own where it was
                          // run, else the first encoding
  std::optional<double> margin = {};  // a smaller difference does not matter; without it, by the metric
  bool paper_family = false;          // the paper's test over its four baselines instead of all that were run
  std::vector<std::string> order = {};  // of encodings, as gather() takes it
  SettingsOf settings = {};             // likewise
  std::vector<std::string> links = {};  // to its data, from its folder; what is not there is left out
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
  std::optional<double> half_width;  // of its simultaneous interval, in units of the score
  std::optional<double> normalised, normalised_true;
  std::optional<double> best_weights;    // the mean with the weights of the lowest validation losses
  std::optional<double> pooled;          // the mean over all scored tokens, whichever example they are of
  std::optional<Proportion> proportion;  // of yes or no, over examples, each averaged over seeds
};

// An encoding on the scale of a comparison: its mean, the half-width of its simultaneous interval (those of
// two that differ do not overlap, or hardly) and every run.
struct Standing {
  std::string encoding;
  double mean = 0, half_width = 0;
  stats::Values runs;
};

// An encoding whose runs fall into two groups: a mean describes none of them.
struct Split {
  std::string encoding;
  size_t ahead = 0;  // runs in the better group
  stats::Modes modes;
};

// Encodings without a diverged run here are judged, each pair over the seeds it shares.
struct AtLength {
  double x = 0;  // multiple of the training length; 0 where lengths mean nothing
  int64_t examples = 0;
  std::optional<double> best_constant, loftus_masson;
  bool learned = true;      // some encoding gets beyond what needs no learning; of losses this is not asked
  size_t clusters = 0;      // of examples
  std::vector<Cell> cells;  // one per encoding
  std::optional<stats::Judged> judged;  // none where fewer than two encodings can be compared
  std::vector<Standing> standings;      // of those judged, the best first
  std::vector<Split> splits;
  std::vector<stats::PaperTest> paper;  // the reference against each baseline

  // Of two encodings by name; nothing where they are not judged.
  std::optional<stats::PairVerdict> pair(const std::string& first, const std::string& second) const;
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
  Metric metric;                     // what its encodings are compared on; `lengths` are places on its axis
  double margin = 0;                 // a smaller difference does not matter
  std::vector<std::string> missing;  // encodings it was not run with
  std::optional<Settling> settling;  // where seeds were added in rounds
  std::vector<AtLength> lengths;
  std::vector<Beside> beside;

  const AtLength* at(double x) const;
  bool everywhere() const { return missing.empty(); }  // only such datasets enter overall numbers
};

// The verdict over all learned datasets of one metric at one length, each of the same weight.
struct Overall {
  Metric metric;
  double x = 0, margin = 0;                                  // the smallest of its datasets'
  std::vector<std::string> datasets, not_learned, diverged;  // the last are encodings that cannot take part
  std::optional<stats::SuiteVerdict> suite;                  // none where nothing can be compared
  std::vector<Standing> standings;                           // the best first

  std::string leader() const;  // "" where nothing can be compared
  bool one_seed() const;       // no pair has two seeds: nothing is said about encodings
};

// A mean over datasets of chance-normalised accuracy, with the chance the paper prints and with the true one.
struct Aggregate {
  double x = 0;
  std::string over;  // "all", a group of families (paper.json) or a family
  std::vector<std::string> datasets;
  struct Row {
    std::string encoding;
    std::optional<double> normalised, normalised_sd, normalised_true,
        normalised_true_sd;  // absent where a run diverged
  };
  std::vector<Row> rows;
  std::optional<double> constant, constant_true;  // what the best constant answers reach, where all tell one
};

struct Ranking {
  double x = 0;
  std::vector<std::string> datasets;
  std::vector<stats::MeanRank> ranks;  // one per encoding
};

// How much worse a task gets with a distraction that a model may ignore (paper.json: control).
struct Gap {
  double x = 0;
  std::string encoding;
  double gap = 0;
  std::optional<double> seed_sd;
};

struct Cost {
  std::string encoding;
  std::string weights_of = {};                                // of another encoding, where it was not trained
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
  std::shared_ptr<const Summary> evaluations;  // what models were asked after their end; null: nothing
  int64_t parameters = 0,
          least_parameters = 0;  // of the largest model, and of the dataset whose largest is the smallest

  const Axis& axis() const { return datasets.front().metric.axis; }  // of `lengths`
  std::vector<const Dataset*> all_datasets() const;                  // those of evaluations last
};

Summary summarise(const Gathered& all, const Options& options);

// The steps of summarise(), in their order; each reads what earlier ones wrote.
Dataset summarise_dataset(const Gathered& all, const std::string& name, Summary& summary,
                          stats::Noise& noise);
std::vector<Overall> overall_verdicts(const Gathered& all, const Summary& summary, stats::Noise& noise);
std::vector<Aggregate> aggregates(const Summary& summary);
std::vector<Ranking> rankings(const Summary& summary);
std::vector<Gap> recall_gaps(const Summary& summary);

// The methods that the paper's correction counts: all, or the reference and its four baselines.
std::vector<stats::Method> in_family(const std::vector<stats::Method>& methods, const Summary& summary);

}  // namespace darope::report
