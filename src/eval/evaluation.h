#pragma once
#include <functional>

#include "eval/needs.h"
#include "runs/scores.h"

namespace darope {

using Emit = std::function<void(const Score&)>;

// A way to score a model: a class with these as static members in a file of its own, which ends with
// `template Evaluation evaluation_of<Class>();`, and a line in evaluations.cpp.
struct Evaluation {
  struct Traits {
    std::string_view name;     // for the command line
    std::string_view summary;  // in one line
    Needs needs = {};
    bool ends_a_run = false;  // whether every training ends with it; the others are asked for by name
    bool of_its_own = false;  // its scores are no test of the run's own data, and stand apart
  };
  Traits traits;
  std::vector<Metric> (*metrics)(const Dataset& data);  // what its scores are, the most important first
  void (*score)(Decoder& model, const Dataset& data, const Emit& emit);
};

template <class E>
Evaluation evaluation_of();                    // body in define.h, instantiated in E's own file
const std::vector<Evaluation>& evaluations();  // evaluations.cpp; what fits first is compared on
const Evaluation& find_evaluation(const std::string& name);

}  // namespace darope
