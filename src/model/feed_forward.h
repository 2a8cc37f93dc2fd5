#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/config.h"

namespace darope {
using at::Tensor;

// Matrices [rows, inputs] with the same inputs, one under the other: one weight, whose parts a checkpoint
// names.
struct Matrix {
  std::vector<std::pair<std::string, int64_t>> names_and_rows;
  int64_t inputs = 0;
  bool residual = false;  // its product is added to the residual stream
};

// The part of a layer that takes each token by itself, behind attention: a class with these as static members
// in a file of its own, which ends with `template FeedForward feed_forward_of<Class>();`, and a line in
// feed_forwards.cpp.
struct FeedForward {
  struct Output {
    Tensor x;          // what is added to the residual stream, [..., D]
    Tensor loss = {};  // a number added to the loss of a training step; undefined: nothing
  };
  std::string_view name;                    // for model.feed_forward
  std::string_view activation;              // as Hugging Face calls it
  int64_t (*hidden)(const DecoderConfig&);  // its inner width
  std::vector<Matrix> (*matrices)(const DecoderConfig&);
  Output (*run)(const Tensor& x, const std::vector<Tensor>& weights);  // x [..., D]; weights as in matrices
};

template <class F>
FeedForward feed_forward_of();                    // body in feed_forward_of.h, instantiated in F's own file
const std::vector<FeedForward>& feed_forwards();  // feed_forwards.cpp
const FeedForward& feed_forward(const std::string& name);  // an Error where there is none

}  // namespace darope
