#include "ops/products.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/silu.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <vector>

// Products and feed-forward parts as single nodes against the same composed of the library's operations, bit for bit where those run
// the same kernels in the same order; with gradients, on every device that is there.
namespace darope {
namespace {

using Version = std::function<Tensor(const std::vector<Tensor>&)>;
constexpr int64_t kIn = 24, kHidden = 40, kOut = 16;

// The result, and the gradient of every input.
std::vector<Tensor> outcome(const std::vector<Tensor>& inputs, const Tensor& upstream, const Version& version) {
  std::vector<Tensor> leaves;
  for (const Tensor& each : inputs) leaves.push_back(each.detach().clone().requires_grad_());
  const Tensor out = version(leaves);
  torch::autograd::backward({(out * upstream).sum()});
  std::vector<Tensor> all = {out.detach()};
  for (const Tensor& leaf : leaves) all.push_back(leaf.grad());
  return all;
}

void expect_same(at::IntArrayRef leading, std::vector<std::vector<int64_t>> weights, const Version& ours, const Version& composed) {
  std::vector<at::Device> devices{at::kCPU};
  if (at::hasCUDA()) devices.push_back(at::kCUDA);
  for (const at::Device device : devices)
    for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
      SCOPED_TRACE(testing::Message() << device << " " << type << " " << leading);
      const auto draw = [&](at::IntArrayRef size) { return at::randn(size, at::kDouble).to(device, type); };
      std::vector<int64_t> in = leading.vec(), out = leading.vec();
      in.push_back(kIn), out.push_back(weights.back()[0]);
      std::vector<Tensor> inputs{draw(in)};
      for (const auto& shape : weights) inputs.push_back(draw(shape));
      const Tensor upstream = draw(out);
      const std::vector<Tensor> got = outcome(inputs, upstream, ours), expected = outcome(inputs, upstream, composed);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].sizes(), expected[i].sizes());
        EXPECT_TRUE(got[i].equal(expected[i])) << "tensor " << i << " is off by " << (got[i] - expected[i]).abs().max().item<double>();
      }
    }
}

const std::vector<std::vector<int64_t>> kShapes = {{3, 7}, {5}, {1, 1}, {2, 3, 4}};

TEST(Product, IsTheLibrarys) {
  for (const auto& leading : kShapes)
    expect_same(leading, {{kOut, kIn}}, [](const auto& in) { return product(in[0], in[1]); }, [](const auto& in) { return at::linear(in[0], in[1]); });
}

TEST(GeluMlp, IsTheLibrarysInOneNode) {
  for (const auto& leading : kShapes)
    expect_same(leading, {{kHidden, kIn}, {kOut, kHidden}}, [](const auto& in) { return gelu_mlp(in[0], in[1], in[2]); },
                [](const auto& in) { return at::linear(at::gelu(at::linear(in[0], in[1])), in[2]); });
}

TEST(SwigluMlp, IsTheLibrarysInOneNode) {
  for (const auto& leading : kShapes)
    expect_same(leading, {{2 * kHidden, kIn}, {kOut, kHidden}}, [](const auto& in) { return swiglu_mlp(in[0], in[1], in[2]); },
                [](const auto& in) {
                  const std::vector<Tensor> halves = at::linear(in[0], in[1]).split(kHidden, -1);
                  return at::linear(at::silu(halves[0]) * halves[1], in[2]);
                });
}

TEST(Product, TakesRowsThatAreApart) {
  const Tensor wide = at::randn({4, 6, 2 * kIn}), weight = at::randn({kOut, kIn});
  EXPECT_TRUE(product(wide.narrow(-1, kIn, kIn), weight).equal(at::linear(wide.narrow(-1, kIn, kIn).contiguous(), weight)));
}

}  // namespace
}  // namespace darope
