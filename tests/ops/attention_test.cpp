#include "ops/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <bit>
#include <cmath>
#include <vector>

// Attention over short contexts against its definition, with gradients.
namespace darope {
namespace {

constexpr double kScale = 0.3;

Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor future = at::ones({q.size(1), q.size(1)}, q.options().dtype(at::kBool)).triu(1);
  const Tensor scores = at::matmul(q.transpose(1, 2), k.transpose(1, 2).transpose(-1, -2)) * kScale;
  return at::matmul(scores.masked_fill(future, -INFINITY).softmax(-1), v.transpose(1, 2)).transpose(1, 2);
}
Tensor ours(const Tensor& q, const Tensor& k, const Tensor& v) { return short_attention(q, k, v, kScale); }

// The result and the gradient of qkv [B, T, 3 H, d], whose thirds q, k and v are: their rows lie apart.
template <class Version>
std::vector<Tensor> outcome(const Tensor& qkv, const Tensor& upstream, const Version& version) {
  const Tensor leaf = qkv.detach().clone().requires_grad_();
  const auto parts = leaf.chunk(3, 2);
  const Tensor out = version(parts[0], parts[1], parts[2]);
  torch::autograd::backward({(out * upstream).sum()});
  return {out.detach(), leaf.grad()};
}

double distance(const Tensor& a, const Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

TEST(ShortAttention, EqualsTheDefinition) {
  at::manual_seed(3);
  for (const int64_t tokens : {1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 100, 128})
    for (const int64_t width : {16, 32, 48, 128}) {
      SCOPED_TRACE(testing::Message() << tokens << " tokens, heads of " << width);
      const Tensor qkv = at::randn({2, tokens, 9, width}, at::kDouble),
                   upstream = at::randn({2, tokens, 3, width}, at::kDouble);
      const auto exact = outcome(qkv, upstream, composed), own = outcome(qkv, upstream, ours);
      const auto single = outcome(qkv.to(at::kFloat), upstream.to(at::kFloat), ours),
                 library = outcome(qkv.to(at::kFloat), upstream.to(at::kFloat), composed);
      for (size_t i = 0; i < exact.size(); ++i) {
        const double size = exact[i].abs().max().item<double>();
        EXPECT_LE(distance(own[i], exact[i]), 1e-13 * size);
        EXPECT_LE(distance(single[i], exact[i]), 2 * distance(library[i], exact[i]) + 4 * 6e-8 * size);
      }
    }
}

TEST(ShortAttention, TakesScoresOfAnySizeAndAnUpstreamInAnyOrder) {
  const Tensor qkv = at::randn({2, 32, 6, 32}, at::kFloat) * 30,
               upstream = at::randn({2, 2, 32, 32}, at::kFloat).transpose(1, 2);
  const auto own = outcome(qkv, upstream, ours),
             exact = outcome(qkv.to(at::kDouble), upstream.to(at::kDouble), composed);
  for (size_t i = 0; i < own.size(); ++i)
    EXPECT_LE(distance(own[i], exact[i]), 1e-4 * exact[i].abs().max().item<double>());
}

TEST(ShortAttention, LeavesTheRestToTheLibrary) {
  const auto of = [](int64_t tokens, int64_t heads, int64_t width, at::ScalarType type) {
    return at::randn({1, tokens, heads, width}).to(type);
  };
  const auto fits = [&](int64_t tokens, int64_t width, at::ScalarType type) {
    const Tensor q = of(tokens, 2, width, type);
    return is_short(q, q, q);
  };
  EXPECT_TRUE(fits(32, 32, at::kFloat));
  EXPECT_FALSE(fits(129, 32, at::kFloat));
  EXPECT_FALSE(fits(32, 24, at::kFloat));
  EXPECT_FALSE(fits(32, 144, at::kFloat));
  EXPECT_FALSE(fits(32, 32, at::kBFloat16));
  EXPECT_FALSE(fits(0, 32, at::kFloat));
  EXPECT_FALSE(fits(32, 0, at::kFloat));
  const Tensor q = of(32, 2, 32, at::kFloat);
  EXPECT_FALSE(is_short(at::_neg_view(q), q, q));
  EXPECT_FALSE(is_short(of(32, 2, 32, at::kFloat), of(32, 1, 32, at::kFloat), of(32, 1, 32, at::kFloat)));
}

TEST(ShortAttention, AKeyThatIsNotANumberReachesTheQueriesThatSeeIt) {
  const Tensor q = at::randn({1, 32, 1, 16}), k = at::randn({1, 32, 1, 16}), v = at::randn({1, 32, 1, 16});
  k.select(1, 20).fill_(std::bit_cast<float>(0x7FC00001));  // as some programs write it, with low bits set
  const Tensor bad = ours(q, k, v).isnan().any(-1).flatten();
  EXPECT_FALSE(bad.narrow(0, 0, 20).any().item<bool>());
  EXPECT_TRUE(bad.narrow(0, 20, 12).all().item<bool>());
}

}  // namespace
}  // namespace darope
