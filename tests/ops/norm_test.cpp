#include "ops/norm.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rms_norm.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <vector>

// The fused norm against the definition in float64, with gradients, on every device that is there.
namespace darope {
namespace {

constexpr double kEps = 1e-5;
struct Case {
  int64_t rows, width;
  at::ScalarType type;
  bool added, sum_used;
};

Added composed(const Tensor& x, const Tensor& delta, const Tensor& weight) {
  const Tensor sum = delta.defined() ? x + delta : x;
  return {sum, sum / (sum.pow(2).mean(-1, true) + kEps).sqrt() * weight};
}
// What the library would do, with the same roundings between its steps.
Added plain(const Tensor& x, const Tensor& delta, const Tensor& weight) {
  const Tensor sum = delta.defined() ? x + delta : x;
  return {sum, at::rms_norm(sum, {sum.size(-1)}, weight, kEps)};
}
Added fused(const Tensor& x, const Tensor& delta, const Tensor& weight) {
  return delta.defined() ? add_rms_norm(x, delta, weight, kEps) : Added{x, rms_norm(x, weight, kEps)};
}

struct Inputs {
  Tensor x, delta, weight, up_norm, up_sum;
};

// norm, sum, and the gradients of x, delta and weight, all in float64.
template <class Version>
std::vector<Tensor> outcome(const Inputs& in, const Case& c, at::ScalarType type, const Version& version) {
  const auto leaf = [&](const Tensor& t) { return t.to(type).detach().requires_grad_(); };
  const Tensor x = leaf(in.x), weight = leaf(in.weight), delta = c.added ? leaf(in.delta) : Tensor();
  const Added out = version(x, delta, weight);
  Tensor loss = (out.norm * in.up_norm.to(type)).sum();
  if (c.sum_used) loss = loss + (out.sum * in.up_sum.to(type)).sum();
  torch::autograd::backward({loss});
  std::vector<Tensor> all = {out.norm, out.sum, x.grad(), weight.grad()};
  if (c.added) all.push_back(delta.grad());
  for (Tensor& t : all) t = t.detach().to(at::kDouble);
  return all;
}

double distance(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

// Where lines are counted, the compiler makes no lanes of a loop, and a row's terms are added one by one,
// which errs as the root of their number.
double roundings([[maybe_unused]] const Case& c) {
#ifdef DAROPE_COVERAGE
  return 4 + std::sqrt(double(c.width)) / 4;
#else
  return 4;
#endif
}

// Values may lie twice as far from float64 as the library's own at the same precision, and a rounding more.
void check(const Case& c, at::Device device) {
  SCOPED_TRACE(testing::Message() << device << " " << c.type << " " << c.rows << "x" << c.width
                                  << (c.added ? " added" : "") << (c.sum_used ? " sum used" : ""));
  const auto draw = [&](at::IntArrayRef size) {
    return at::randn(size, at::kDouble).to(c.type).to(device).to(at::kDouble);
  };
  const Inputs in{draw({c.rows, c.width}), draw({c.rows, c.width}), draw({c.width}), draw({c.rows, c.width}),
                  draw({c.rows, c.width})};
  const auto exact = outcome(in, c, at::kDouble, composed), library = outcome(in, c, c.type, plain),
             ours = outcome(in, c, c.type, fused);
  const char* const names[] = {"norm", "sum", "gradient of x", "gradient of the weight", "gradient of delta"};
  const double unit = c.type == at::kDouble ? 1e-15 : c.type == at::kFloat ? 6e-8 : 4e-3;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double size = exact[i].abs().max().item<double>();
    EXPECT_LE(distance(ours[i], exact[i]), 2 * distance(library[i], exact[i]) + roundings(c) * unit * size)
        << names[i];
  }
}

TEST(Norm, EqualsTheDefinitionInFloat64) {
  at::manual_seed(7);
  std::vector<at::Device> devices = {at::kCPU};
  if (at::hasCUDA()) devices.push_back(at::kCUDA);
  for (const at::Device device : devices)
    for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16})
      for (const int64_t width : {24, 64, 96, 192, 256, 320, 448, 768, 1024, 2048, 2304})
        for (const int64_t rows : {1, 7, 133, 5000})
          for (const int uses : {0, 1, 2}) {
            if (rows * width > 1'000'000 && device == at::kCPU) continue;
            check({rows, width, type, uses > 0, uses > 1}, device);
          }
}

}  // namespace
}  // namespace darope
