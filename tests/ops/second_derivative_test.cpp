#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <string>

#include "ops/attention.h"
#include "ops/embedding.h"
#include "ops/head.h"
#include "ops/nll.h"
#include "ops/norm.h"
#include "ops/products.h"

// Whoever asks for the gradient of a gradient gets a sentence that names the operator, where autograd would
// take the gradient for a constant.
namespace darope {
namespace {

void expect_refusal(const std::string& name, const Tensor& leaf,
                    const std::function<Tensor(const Tensor&)>& run) {
  SCOPED_TRACE(name);
  const Tensor out = run(leaf.requires_grad_()).pow(2).sum();
  EXPECT_EQ(torch::autograd::grad({out}, {leaf}, {}, true)[0].sizes(), leaf.sizes());
  try {
    torch::autograd::grad({out}, {leaf}, {}, true, true);
    FAIL() << "no refusal";
  } catch (const c10::Error& e) {
    const std::string expected =
        name + " has no second derivative; use torch.autograd.grad without create_graph";
    EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
  }
}

TEST(SecondDerivative, IsRefusedByName) {
  const Tensor x = at::randn({5, 16}), square = at::randn({16, 16}), two = at::randn({32, 16});
  const Tensor targets = at::zeros({5}, at::kLong), weight = at::ones({5}), qkv = at::randn({1, 5, 2, 16});
  expect_refusal("product", x, [&](const Tensor& t) { return product(t, square); });
  expect_refusal("gelu_mlp", x, [&](const Tensor& t) { return gelu_mlp(t, square, square); });
  expect_refusal("swiglu_mlp", x, [&](const Tensor& t) { return swiglu_mlp(t, two, square); });
  expect_refusal("rms_norm", x, [&](const Tensor& t) { return rms_norm(t, square[0], 1e-5); });
  expect_refusal("rms_norm", x, [&](const Tensor& t) { return add_rms_norm(t, x, square[0], 1e-5).norm; });
  expect_refusal("summed_nll", x, [&](const Tensor& t) { return summed_nll(t, targets, weight); });
  expect_refusal("head_loss", x, [&](const Tensor& t) { return head_loss(t, square, targets, weight, 1); });
  expect_refusal("short attention", qkv, [&](const Tensor& t) { return short_attention(t, qkv, qkv, 0.25); });
}

TEST(SecondDerivative, OfAnEmbeddingIsRefusedWhereItIsOurOwn) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU: elsewhere the library's runs, which has one";
  const Tensor tokens = at::zeros({3}, at::TensorOptions(at::kCUDA).dtype(at::kLong));
  expect_refusal("embed", at::randn({7, 4}, at::kCUDA), [&](const Tensor& t) { return embed(t, tokens); });
}

}  // namespace
}  // namespace darope
