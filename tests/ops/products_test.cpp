#include "ops/products.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/erfc.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/silu.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

// Products and feed-forward parts as single nodes against the same composed of the library's operations, with
// gradients, on every device that is there: bit for bit, but where they have a kernel of their own, which may
// lie as far from float64 as the library.
namespace darope {
namespace {

using Version = std::function<Tensor(const std::vector<Tensor>&)>;
constexpr int64_t kIn = 24, kHidden = 40, kOut = 16;

// The result, and the gradient of every input.
std::vector<Tensor> outcome(const std::vector<Tensor>& inputs, const Tensor& upstream,
                            const Version& version) {
  std::vector<Tensor> leaves;
  for (const Tensor& each : inputs) leaves.push_back(each.detach().clone().requires_grad_());
  const Tensor out = version(leaves);
  torch::autograd::backward({(out * upstream).sum()});
  std::vector<Tensor> all = {out.detach()};
  for (const Tensor& leaf : leaves) all.push_back(leaf.grad());
  return all;
}

double distance(const Tensor& a, const Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

bool in_floats_on_cpu(at::Device device, at::ScalarType type) {
  return device.is_cpu() && type == at::kFloat;
}
bool in_few_bits_on_cuda(at::Device device, at::ScalarType type) {
  return in_floats_on_cpu(device, type) || (device.is_cuda() && type != at::kDouble);
}

void expect_same(at::IntArrayRef leading, std::vector<std::vector<int64_t>> weights, const Version& ours,
                 const Version& composed, bool (&own_kernel)(at::Device, at::ScalarType) = in_floats_on_cpu) {
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
      std::vector<Tensor> wide;
      for (const Tensor& each : inputs) wide.push_back(each.to(at::kDouble));
      const std::vector<Tensor> got = outcome(inputs, upstream, ours),
                                library = outcome(inputs, upstream, composed),
                                exact = outcome(wide, upstream.to(at::kDouble), composed);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].sizes(), library[i].sizes());
        if (!own_kernel(device, type)) {
          EXPECT_EQ(distance(got[i], library[i]), 0) << "tensor " << i;
        }
        const double unit = type == at::kBFloat16 ? 4e-3 : 6e-8, size = exact[i].abs().max().item<double>();
        EXPECT_LE(distance(got[i], exact[i]), 2 * distance(library[i], exact[i]) + 4 * unit * size)
            << "tensor " << i;
      }
    }
}

const std::vector<std::vector<int64_t>> kShapes = {{3, 7}, {5}, {1, 1}, {2, 3, 4}};

TEST(Product, IsTheLibrarys) {
  for (const auto& leading : kShapes)
    expect_same(
        leading, {{kOut, kIn}}, [](const auto& in) { return product(in[0], in[1]); },
        [](const auto& in) { return at::linear(in[0], in[1]); });
}

TEST(GeluMlp, IsTheLibrarysInOneNode) {
  for (const auto& leading : kShapes)
    expect_same(
        leading, {{kHidden, kIn}, {kOut, kHidden}},
        [](const auto& in) { return gelu_mlp(in[0], in[1], in[2]); },
        [](const auto& in) { return at::linear(at::gelu(at::linear(in[0], in[1])), in[2]); });
}

// Through weights that change nothing. Where Phi(x) is small, the rounding of x^2 / 2 below its exponential
// counts.
TEST(GeluMlp, IsExactToFloatsRounding) {
  const Tensor x = at::linspace(-9, 9, 16 * 20000, at::kDouble).to(at::kFloat).view({-1, 16}),
               same = at::eye(16), wide = x.to(at::kDouble);
  const auto got = outcome({x, same, same}, at::ones_like(x),
                           [](const auto& in) { return gelu_mlp(in[0], in[1], in[2]); });
  const auto exact = outcome({wide}, at::ones_like(wide), [](const auto& in) {
    return in[0] * at::erfc(in[0] * -std::numbers::sqrt2 / 2) / 2;
  });
  const Tensor off = (got[0] - exact[0]).abs() / exact[0].abs();
  EXPECT_LE(off.masked_select(x >= 0).max().item<double>(), 2e-7);
  EXPECT_LE((off / (1 + wide * wide / 2)).max().item<double>(), 2.5e-7);
  EXPECT_LE(distance(got[1], exact[1]), 2e-7);
  const Tensor ends = gelu_mlp(at::full({1, 16}, 1e4), same, same),
               low = gelu_mlp(at::full({1, 16}, -1e4), same, same),
               none = gelu_mlp(at::full({1, 16}, NAN), same, same);
  EXPECT_TRUE(ends.eq(1e4).all().item<bool>() && low.abs().le(1e-30).all().item<bool>() &&
              none.isnan().all().item<bool>());
}

TEST(SwigluMlp, IsTheLibrarysInOneNode) {
  for (const auto& leading : kShapes)
    expect_same(
        leading, {{2 * kHidden, kIn}, {kOut, kHidden}},
        [](const auto& in) { return swiglu_mlp(in[0], in[1], in[2]); },
        [](const auto& in) {
          const std::vector<Tensor> halves = at::linear(in[0], in[1]).split(kHidden, -1);
          return at::linear(at::silu(halves[0]) * halves[1], in[2]);
        },
        in_few_bits_on_cuda);
}

// Rounding is measured against the sum of what is added up without regard to its sign.
TEST(Product, IsExactToFloatsRoundingInEverySize) {
  const Version ours = [](const auto& in) { return product(in[0], in[1]); },
                library = [](const auto& in) { return at::linear(in[0], in[1]); };
  for (const int64_t rows : {1, 3, 4, 5, 67, 600})
    for (const int64_t in : {1, 16, 48, 70, 272})
      for (const int64_t out : {1, 16, 40, 64, 208}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << in << " to " << out);
        const Tensor x = at::randn({rows, in}), weight = at::randn({out, in}),
                     upstream = at::randn({rows, out});
        const auto wide = [](const Tensor& t) { return t.to(at::kDouble); };
        const auto got = outcome({x, weight}, upstream, ours),
                   exact = outcome({wide(x), wide(weight)}, wide(upstream), library);
        const auto size = outcome({wide(x).abs(), wide(weight).abs()}, wide(upstream).abs(), library);
        for (size_t i = 0; i < exact.size(); ++i)
          EXPECT_LE(((got[i] - exact[i]).abs() / size[i]).max().item<double>(), 8e-7) << "tensor " << i;
      }
}

TEST(Product, OfNoRowsIsEmptyAndItsGradientZero) {
  const Tensor x = at::randn({0, kIn}).requires_grad_(), weight = at::randn({kOut, kIn}).requires_grad_();
  const Tensor out = product(x, weight);
  EXPECT_EQ(out.sizes(), (std::vector<int64_t>{0, kOut}));
  torch::autograd::backward({out.sum()});
  EXPECT_EQ(weight.grad().abs().max().item<double>(), 0);
}

TEST(Product, TakesRowsThatAreApart) {
  const Tensor wide = at::randn({4, 6, 2 * kIn}), weight = at::randn({kOut, kIn});
  EXPECT_LE(distance(product(wide.narrow(-1, kIn, kIn), weight),
                     at::linear(wide.narrow(-1, kIn, kIn).contiguous(), weight)),
            1e-5);
  const Tensor columns = at::randn({kIn, 6}).t();
  EXPECT_LE(distance(product(columns, weight), at::linear(columns.contiguous(), weight)), 1e-5);
}

}  // namespace
}  // namespace darope
