#include <torch/library.h>

#include "ops/transforms.h"

// The fused operators. Kernels and gradients are beside the operators' names; encodings/library.cpp adds the
// schemes.
TORCH_LIBRARY(darope, m) {
  m.def(
      "rotate(Tensor q, Tensor k, Tensor positions, float[] theta, float scale, bool half) -> (Tensor, "
      "Tensor)");
  m.def(
      "rotate_learned(Tensor q, Tensor k, Tensor x, Tensor w, Tensor? alpha, Tensor? shift, Tensor "
      "positions, float[] theta, int fast,"
      " float length, bool half) -> (Tensor q, Tensor k, Tensor share, Tensor prior)");
  m.def(
      "rotate_learned_backward(Tensor q_grad, Tensor k_grad, Tensor q, Tensor k, Tensor x, Tensor w, Tensor? "
      "alpha, Tensor share,"
      " Tensor prior, Tensor positions, float[] theta, int fast, float length, bool half)"
      " -> (Tensor q, Tensor k, Tensor x, Tensor w, Tensor alpha, Tensor shift)");
  m.def("polar(Tensor x, Tensor positions, float base, Tensor? delta) -> Tensor");
  m.def(
      "polar_backward(Tensor grad, Tensor x, Tensor positions, float base, Tensor? delta) -> (Tensor x, "
      "Tensor delta)");
  m.def(
      "cope_weights(Tensor q, Tensor k, Tensor embedding, float scale, float position_scale, Tensor? "
      "first=None) -> (Tensor weights, Tensor content, Tensor z, Tensor norm)");
  m.def(
      "cope_weights_backward(Tensor weights_grad, Tensor content, Tensor z, Tensor norm, Tensor q, Tensor k, "
      "Tensor embedding, float scale,"
      " float position_scale, Tensor? first=None) -> (Tensor q, Tensor k, Tensor embedding)");
}

TORCH_LIBRARY_IMPL(darope, FuncTorchDynamicLayerFrontMode, m) {
  for (const char* name : {"rotate", "rotate_learned", "polar", "cope_weights"})
    m.impl(name, darope::ops::refusing_transforms());
}
