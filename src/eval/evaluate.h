#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "data/dataset.h"
#include "model/decoder.h"

namespace darope {

// An evaluation says numbers about examples; means and tests are made from them later.
struct Score {
  std::string_view metric;  // token_accuracy, exact_match, free_running, nll, nll_n_free
  int64_t x = 0;            // length as a multiple of the training length
  int64_t example = 0;
  double value = 0;
  int64_t tokens = 1;  // scored ones, of which the value is the mean
};
std::string to_line(const Score& score);  // of a results.jsonl
using Emit = std::function<void(const Score&)>;

// Every test set of the dataset, teacher-forced: for tasks the share of answer tokens whose likeliest symbol
// is right, and whether all are; for files the mean negative log-likelihood in nats, which for genomes comes
// once more as nll_n_free for the examples without unknown bases, counted anew. The first data.free_running
// examples of a task once more with the model reading its own answer. A signal ends it with the Error of
// throw_if_stopped().
void evaluate(Decoder& model, const Dataset& data, const Emit& emit);

// The mean over examples of each one's mean negative log-likelihood.
double mean_nll(Decoder& model, const TestSet& set);

}  // namespace darope
