#include "ops/nll.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <vector>

// The loss as a single node against the same composed of the library's operations, with its gradient.
namespace darope {
namespace {

Tensor composed(const Tensor& logits, const Tensor& targets, const Tensor& single) {
  return (at::cross_entropy_loss(logits, targets, {}, at::Reduction::None) * single.to(logits.scalar_type()))
      .sum();
}

// The loss and the gradient of the logits under an upstream of 0.25, as from four batches a step.
template <class Version>
std::vector<Tensor> outcome(const Tensor& logits, const Tensor& targets, const Tensor& weight,
                            const Version& version) {
  const Tensor leaf = logits.detach().clone(at::MemoryFormat::Preserve).requires_grad_();
  const Tensor loss = version(leaf, targets, weight);
  torch::autograd::backward({loss / 4});
  return {loss.detach(), leaf.grad()};
}

double distance(const Tensor& a, const Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

void check(const Tensor& logits, const Tensor& targets, const Tensor& weight) {
  const auto exact = outcome(logits, targets, weight, composed),
             own = outcome(logits, targets, weight, summed_nll);
  const auto single = outcome(logits.to(at::kFloat), targets, weight, summed_nll);
  for (size_t i = 0; i < exact.size(); ++i) {
    const double size = exact[i].abs().max().item<double>();
    EXPECT_LE(distance(own[i], exact[i]), 1e-13 * size);
    EXPECT_LE(distance(single[i], exact[i]), 1e-6 * size);
    EXPECT_EQ(single[i].scalar_type(), at::kFloat);
    EXPECT_EQ(single[i].sizes(), exact[i].sizes());
  }
}

TEST(SummedNll, IsTheLibrarysInOneNode) {
  at::manual_seed(5);
  for (const int64_t rows : {1, 3, 200})
    for (const int64_t width : {2, 13, 16, 31, 256, 1000}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
      const Tensor logits = at::randn({rows, width}, at::kDouble) * 3,
                   targets = at::randint(width, {rows}, at::kLong);
      Tensor weight = at::rand({rows});
      check(logits, targets, weight);
      weight.narrow(0, 0, rows / 2).zero_();
      check(logits, targets, weight);
      check(at::randn({width, rows}, at::kDouble).t(), targets, weight);
    }
}

TEST(SummedNll, TakesLogitsOfAnySize) {
  const Tensor targets = at::randint(50, {64}, at::kLong), weight = at::rand({64});
  check(at::randn({64, 50}, at::kDouble).mul_(100).to(at::kFloat).to(at::kDouble), targets, weight);
  check(at::randn({64, 50}, at::kDouble).add_(1e4).to(at::kFloat).to(at::kDouble), targets, weight);
}

TEST(SummedNll, PassesOnWhatIsNotFinite) {
  const Tensor targets = at::randint(50, {8}, at::kLong), weight = at::rand({8});
  for (const double bad : {double(NAN), double(INFINITY)}) {
    const Tensor logits = at::randn({8, 50});
    logits.select(0, 3).select(0, 7).fill_(bad);
    EXPECT_TRUE(summed_nll(logits, targets, weight).isnan().item<bool>());
  }
}

TEST(SummedNll, RefusesTargetsBeyondTheVocabulary) {
  const Tensor logits = at::randn({4, 10}), weight = at::rand({4});
  for (const int64_t bad : {-1, 10})
    EXPECT_THROW(summed_nll(logits, at::randint(10, {4}, at::kLong).fill_(bad), weight), c10::Error);
}

}  // namespace
}  // namespace darope
