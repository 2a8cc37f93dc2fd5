#pragma once
#include "eval/evaluation.h"

namespace darope {

// What a training of this model on this data ends with.
std::vector<const Evaluation*> evaluations_of(const Dataset& data, const Decoder& model);
// Those that read what was opened for them, where their other needs are met as well.
std::vector<const Evaluation*> evaluations_reading(Needs opened, const Dataset& data, const Decoder& model);
// Those of these names; an Error where one is unknown, or lacks what it needs.
std::vector<const Evaluation*> evaluations_named(const std::vector<std::string>& names, const Dataset& data,
                                                 const Decoder& model);

std::vector<Metric> metrics_of(const std::vector<const Evaluation*>& chosen, const Dataset& data);

// The scores of each. A signal ends it with the Error of throw_if_stopped().
void evaluate(Decoder& model, const Dataset& data, const std::vector<const Evaluation*>& chosen,
              const Emit& emit);

// The mean over examples of each one's mean negative log-likelihood.
double mean_nll(Decoder& model, const TestSet& set);

}  // namespace darope
