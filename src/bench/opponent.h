#pragma once
#include <string>
#include <vector>

#include "base/python.h"
#include "bench/bench.h"

namespace darope {

// The same in PyTorch, by a program of bench/opponents that waits while ours is timed. A variant is words, as
// bench/opponents/rounds.py has them.
class Opponent {
 public:
  Opponent(const Bench& bench, const Shape& shape, const Trial& trial, const std::string& variant,
           const Timing& timing);
  void round();
  const Rounds& rounds() const { return rounds_; }

 private:
  PythonAsked program_;
  Rounds rounds_;
};

// An Error where a variant is unknown, or settings ask for what the opponents do not do.
void check_opponents(const RunConfig& run, const std::vector<std::string>& variants);
std::vector<std::string> variants_of(const Bench& bench,
                                     at::Device device);  // those that are asked by default

}  // namespace darope
