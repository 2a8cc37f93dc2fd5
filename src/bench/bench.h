#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/timing.h"
#include "settings/run.h"

namespace darope {

// A model and the batches it reads: a name of the benchmarks, or a config of the trainer.
struct Shape {
  std::string name;
  RunConfig run;  // whole, as training would take it
  DecoderConfig model(const std::string& encoding) const;
  Cost reading(int64_t batch) const;   // of whole sequences, with the logits of their last tokens alone
  Cost decoding(int64_t batch) const;  // of one token more behind whole sequences
  Cost training() const;               // of a step
};
// `overrides`: settings as a.b=c.
Shape find_shape(const std::string& name, const std::vector<std::string>& overrides);

// One thing that is timed.
struct Trial {
  std::string encoding, what;  // empty: there is only one
  int64_t batch = 1, length = 1;
  double tokens = 0;  // of a call
  Cost cost;
  std::function<Rounds(const Timing&)> time;
  bool beside = false;  // it is compared with the trial before it
};

// A verb of `darope bench`: a function in a file of its own, and a line in benches.cpp.
struct Bench {
  std::string_view name, summary;
  std::string_view encodings;  // by default
  std::string_view opponent;   // the program in bench/opponents; empty: there is none
  int64_t steps;               // calls in a round
  std::vector<Trial> (*trials)(const Shape& shape, const std::vector<std::string>& encodings);
};
const std::vector<Bench>& benches();

std::vector<Trial> prefill_trials(const Shape& shape, const std::vector<std::string>& encodings);
std::vector<Trial> decode_trials(const Shape& shape, const std::vector<std::string>& encodings);
std::vector<Trial> step_trials(const Shape& shape, const std::vector<std::string>& encodings);
std::vector<Trial> loop_trials(const Shape& shape, const std::vector<std::string>& encodings);
std::vector<Trial> kernel_trials(const Shape& shape, const std::vector<std::string>& encodings);

}  // namespace darope
