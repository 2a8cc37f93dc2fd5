#pragma once
#include <torch/library.h>

namespace darope::ops {

// What torch.func (vmap, jvp, grad, ...) meets first: our operators have no rules for it, and what it would
// make of their parts depends on which of them run.
inline void refuse_transforms(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, op.schema().name(),
      " cannot be called under torch.func (vmap, jvp, grad); give it a batch, and take "
      "gradients with torch.autograd.grad or backward()");
}

inline torch::CppFunction refusing_transforms() {
  return torch::CppFunction::makeFromBoxedFunction<&refuse_transforms>();
}

}  // namespace darope::ops
