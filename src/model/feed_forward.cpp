#include "model/feed_forward.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "ops/products.h"

namespace darope {
namespace {

using Tensors = std::vector<Tensor>;

std::vector<Matrix> swiglu_matrices(const DecoderConfig& c) {
  return {{{{"gate_proj.weight", c.hidden()}, {"up_proj.weight", c.hidden()}}, c.dim},
          {{{"down_proj.weight", c.dim}}, c.hidden(), true}};
}

std::vector<Matrix> gelu_matrices(const DecoderConfig& c) {
  return {{{{"up_proj.weight", c.hidden()}}, c.dim}, {{{"down_proj.weight", c.dim}}, c.hidden(), true}};
}

const FeedForward feed_forwards[] = {
    {"swiglu", swiglu_matrices,
     [](const Tensor& x, const Tensors& w) -> FeedForward::Output { return {swiglu_mlp(x, w[0], w[1])}; }},
    {"gelu", gelu_matrices,
     [](const Tensor& x, const Tensors& w) -> FeedForward::Output { return {gelu_mlp(x, w[0], w[1])}; }},
};

}  // namespace

const FeedForward& feed_forward(std::string_view name) {
  const auto* found = std::find_if(std::begin(feed_forwards), std::end(feed_forwards),
                                   [&](const FeedForward& each) { return each.name == name; });
  if (found == std::end(feed_forwards))
    throw Error("there is no feed-forward part '" + std::string(name) + "'");
  return *found;
}

}  // namespace darope
