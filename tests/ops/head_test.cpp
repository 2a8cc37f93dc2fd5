#include "ops/head.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <vector>

// Loss and gradients through chunks of rows against the same composed of the library's operations in float64.
namespace darope {
namespace {

struct Case {
  Tensor hidden, head, targets, share;
  Case to(at::Device device, at::ScalarType type) const {
    return {hidden.to(device, type), head.to(device, type), targets.to(device), share.to(device)};
  }
};

Case draw(int64_t rows, int64_t width, int64_t vocabulary) {
  at::manual_seed(11);
  // Numbers that bfloat16 holds, so that all types begin from the same ones.
  const auto numbers = [](at::IntArrayRef shape) {
    return at::randn(shape).to(at::kBFloat16).to(at::kDouble);
  };
  return {numbers({rows, width}), numbers({vocabulary, width}) * 0.25,
          at::randint(vocabulary, {rows}, at::kLong), at::rand({rows}) / double(rows)};
}

// The loss, and the gradients of hidden and head under an upstream of 1/3.
template <class Loss>
std::vector<Tensor> outcome(const Case& c, const Loss& loss_of) {
  const Tensor hidden = c.hidden.detach().clone().requires_grad_(),
               head = c.head.detach().clone().requires_grad_();
  const Tensor loss = loss_of(hidden, head, c.targets, c.share);
  torch::autograd::backward({loss / 3});
  return {loss.detach(), hidden.grad(), head.grad()};
}

std::vector<Tensor> composed(const Case& c) {
  return outcome(c, [](const Tensor& hidden, const Tensor& head, const Tensor& targets, const Tensor& share) {
    return (at::cross_entropy_loss(hidden.matmul(head.t()), targets, {}, at::Reduction::None) * share).sum();
  });
}
std::vector<Tensor> in_chunks(const Case& c) {
  return outcome(c, [](const Tensor& hidden, const Tensor& head, const Tensor& targets, const Tensor& share) {
    return head_loss(hidden, head, targets, share, 1);  // as few rows at a time as there can be
  });
}

// The largest difference, by the largest value.
double distance(const Tensor& a, const Tensor& exact) {
  return ((a.cpu().to(at::kDouble) - exact).abs().max() / exact.abs().max()).item<double>();
}

// Roundings of the last place: of a product's sum in float32, of logits and gradients in bfloat16.
double tolerance(at::ScalarType type) {
  return type == at::kDouble ? 1e-13 : type == at::kFloat ? 1e-5 : 0.02;
}

void check(const Case& c, at::Device device, at::ScalarType type) {
  SCOPED_TRACE(testing::Message() << c.hidden.size(0) << " rows, " << c.head.size(0) << " tokens, "
                                  << c10::toString(type));
  const std::vector<Tensor> exact = composed(c), own = in_chunks(c.to(device, type));
  for (size_t i = 0; i < exact.size(); ++i) EXPECT_LE(distance(own[i], exact[i]), tolerance(type)) << i;
  EXPECT_EQ(own[1].scalar_type(), type);
  const Tensor rows = at::cross_entropy_loss(c.hidden.matmul(c.head.t()), c.targets, {}, at::Reduction::None);
  const Case moved = c.to(device, type);
  EXPECT_LE(distance(head_nll(moved.hidden, moved.head, moved.targets, 1), rows), tolerance(type));
}

void check_shapes(at::Device device, at::ScalarType type) {
  for (const int64_t rows : {1, 255, 700})
    for (const int64_t vocabulary : {2, 13, 256, 1000, 5003}) check(draw(rows, 48, vocabulary), device, type);
}

TEST(HeadLoss, IsTheLibrarysInChunks) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) check_shapes(at::kCPU, type);
}

TEST(HeadLoss, IsTheLibrarysInChunksOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    check_shapes(at::kCUDA, type);
    check(draw(300, 64, 100'352), at::kCUDA, type);
  }
}

TEST(HeadLoss, PassesOnWhatIsNotFinite) {
  for (const at::Device device : {at::Device(at::kCPU), at::Device(at::kCUDA)}) {
    if (device.is_cuda() && !at::hasCUDA()) continue;
    for (const double bad : {double(NAN), double(INFINITY)}) {
      const Case c = draw(300, 16, 64).to(device, at::kFloat);
      c.hidden.select(0, 280).fill_(bad);
      EXPECT_TRUE(in_chunks(c)[0].isnan().item<bool>());
    }
  }
}

TEST(HeadLoss, TakesNoRows) {
  const Case c = draw(0, 16, 64);
  const std::vector<Tensor> out = in_chunks(c);
  EXPECT_EQ(out[0].item<double>(), 0);
  EXPECT_EQ(out[2].abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace darope
