#include "ops/embedding.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

// Rows are the weight's own; their gradient is the sum over a token's places, in float64 to a rounding of the
// type.
namespace darope {
namespace {

TEST(Embedding, GradientIsTheSumOverPlaces) {
  at::manual_seed(3);
  std::vector<at::Device> devices{at::kCPU};
  if (at::hasCUDA()) devices.push_back(at::kCUDA);
  for (const at::Device device : devices)
    for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16})
      for (const int64_t vocabulary : {7, 256, 1024, 1500}) {
        SCOPED_TRACE(testing::Message() << device << " " << type << " " << vocabulary);
        const Tensor tokens = at::randint(vocabulary, {5, 33}, at::kLong).to(device),
                     upstream = at::randn({5, 33, 24}, at::kDouble).to(device, type);
        const Tensor weight = at::randn({vocabulary, 24}, at::kDouble).to(device, type).requires_grad_(),
                     wide = weight.detach().to(at::kDouble).requires_grad_();
        const Tensor rows = embed(weight, tokens), exact = at::embedding(wide, tokens);
        EXPECT_TRUE(rows.to(at::kDouble).equal(exact));
        torch::autograd::backward({(rows * upstream).sum()});
        torch::autograd::backward({(exact * upstream.to(at::kDouble)).sum()});
        // a token stands in up to some forty places, whose sum is rounded once, and in float at each step
        const double unit = type == at::kDouble ? 1e-15 : type == at::kFloat ? 6e-8 : 4e-3;
        EXPECT_LE((weight.grad().to(at::kDouble) - wide.grad()).abs().max().item<double>(),
                  8 * unit * wide.grad().abs().max().item<double>());
      }
}

}  // namespace
}  // namespace darope
