#include "encodings/attention.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <mutex>

#include "encodings/encoding.h"
#include "ops/attention.h"

namespace darope {
namespace {

// [Tq, Tk], true where a key lies in the query's future.
Tensor future_mask(const Tensor& q, const Tensor& k) {
  const c10::SymInt queries = q.sym_size(1), keys = k.sym_size(1);
  const auto options = k.options().dtype(at::kLong);
  return at::arange(at::Scalar(keys), options) >
         at::arange(at::Scalar(keys - queries), at::Scalar(keys), options).unsqueeze(-1);
}

// cuDNN prepares itself for every new number of keys, which takes longer than attending to them: a cache that
// grows by a token is not for it. While this lives it is not asked, unless nobody else may be. The switch is
// the whole process's: one thread at a time.
class WithoutCudnn {
 public:
  WithoutCudnn() : alone_(mutex()), before_(context().userEnabledCuDNNSDP()) {
    if (context().userEnabledFlashSDP() || context().userEnabledMemEfficientSDP() ||
        context().userEnabledMathSDP())
      context().setSDPUseCuDNN(false);
  }
  ~WithoutCudnn() { context().setSDPUseCuDNN(before_); }
  WithoutCudnn(const WithoutCudnn&) = delete;
  WithoutCudnn& operator=(const WithoutCudnn&) = delete;

 private:
  static at::Context& context() { return at::globalContext(); }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  const std::lock_guard<std::mutex> alone_;
  const bool before_;
};

// Only cuDNN's fast kernel takes values narrower than keys.
bool takes_narrow_values(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale,
                         double dropout) {
  if (!q.is_cuda()) return false;
  return at::SDPBackend(at::_fused_sdp_choice(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), {},
                                              dropout, causal, scale)) == at::SDPBackend::cudnn_attention;
}

}  // namespace

Tensor softmax_attention(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale,
                         double dropout) {
  const bool square = q.sym_size(1) == k.sym_size(1), single = q.sym_size(1) == 1;
  const c10::SymInt width = v.sym_size(3), wide = q.sym_size(3);
  if (wide > width && !single &&
      !(square &&
        takes_narrow_values(q, k, v, causal, scale, dropout))) {  // the others want one width: zeros add none
    const Tensor padded = at::constant_pad_nd_symint(v, {0, wide - width});
    return softmax_attention(q, k, padded, causal, scale, dropout).narrow_symint(-1, 0, width);
  }
  if (causal && square && dropout == 0 && is_short(q, k, v)) return short_attention(q, k, v, scale);
  std::optional<Tensor> mask;
  if (causal && !square && !single) mask = at::logical_not(future_mask(q, k));
  std::optional<WithoutCudnn> guard;
  if (!square && q.is_cuda()) guard.emplace();
  const bool grouped = q.sym_size(2) != k.sym_size(2);
  return at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask,
                                          dropout, causal && square && !single, scale, grouped)
      .transpose(1, 2);
}

Tensor Encoding::attend(TensorList, const Tensor& q, const Tensor& k, const Tensor& v, bool causal,
                        double dropout) const {
  return softmax_attention(q, k, v, causal, 1 / std::sqrt(double(shape_.head_dim)), dropout);
}

}  // namespace darope
