#pragma once
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

namespace darope::ops {

// For the way back of an operator whose gradient has none: under create_graph, autograd would go on without
// it, and the second derivative would be wrong without a word.
inline void differentiable_once(const char* name, bool asked = true) {
  TORCH_CHECK(!at::GradMode::is_enabled() || !asked, name,
              " has no second derivative; use torch.autograd.grad without create_graph");
}

}  // namespace darope::ops
