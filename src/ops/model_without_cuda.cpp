#include "ops/model_cuda.h"

// The build without CUDA: no tensor is on a GPU.
namespace darope {

bool norm_fits_on_cuda(const Tensor&) { return false; }
NormOutputs norm_on_cuda(const Tensor&, const Tensor&, const Tensor&, double) { return {}; }
NormGrads norm_backward_on_cuda(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  return {};
}
bool swiglu_fits_on_cuda(const Tensor&) { return false; }
Tensor swiglu_on_cuda(const Tensor&) { return {}; }
Tensor swiglu_backward_on_cuda(const Tensor&, const Tensor&) { return {}; }
bool softmax_nll_fits_on_cuda(const Tensor&) { return false; }
void softmax_nll_on_cuda(const Tensor&, const Tensor&, const Tensor&, const Tensor&) {}
bool adamw_fits_on_cuda(const Tensor&, const Tensor&) { return false; }
void adamw_on_cuda(const AdamWStep&) {}

}  // namespace darope
