#include <algorithm>

#include "kernels/cuda.h"
#include "kernels/swiglu.h"

// One warp per row, 16 bytes per lane: memory is all that counts here, so nothing is written that is read
// again.
namespace darope::kernels {
namespace {

constexpr int kWarps = machine::kRowWarps;
template <class T>
constexpr int kVec = 16 / sizeof(T);

__device__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }

template <class T>
__device__ Pack<T, kVec<T>>& at(T* row, int64_t pack) {
  return reinterpret_cast<Pack<T, kVec<T>>*>(row)[pack];
}
template <class T>
__device__ const Pack<T, kVec<T>>& at(const T* row, int64_t pack) {
  return reinterpret_cast<const Pack<T, kVec<T>>*>(row)[pack];
}

template <class T>
__global__ void swiglu_kernel(const SwiGlu<T> p) {
  const int64_t packs = p.width / kVec<T>;
  for (int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y; row < p.rows;
       row += int64_t(gridDim.x) * kWarps) {
    const T *gates = p.h + row * 2 * p.width, *ups = gates + p.width;
    for (int64_t c = threadIdx.x; c < packs; c += 32) {
      const auto gate = at(gates, c), up = at(ups, c);
      Pack<T, kVec<T>> out;
      for (int i = 0; i < kVec<T>; ++i) {
        const float g = load(gate.value[i]);
        store(out.value[i], g * sigmoid(g) * load(up.value[i]));
      }
      at(p.out + row * p.width, c) = out;
    }
  }
}

// silu'(g) = s (1 + g (1 - s)) with s = sigmoid(g)
template <class T>
__global__ void swiglu_backward_kernel(const SwiGluBackward<T> p) {
  const int64_t packs = p.width / kVec<T>;
  for (int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y; row < p.rows;
       row += int64_t(gridDim.x) * kWarps) {
    const T *gates = p.h + row * 2 * p.width, *ups = gates + p.width;
    T *gate_grads = p.grad + row * 2 * p.width, *up_grads = gate_grads + p.width;
    for (int64_t c = threadIdx.x; c < packs; c += 32) {
      const auto gate = at(gates, c), up = at(ups, c), grad = at(p.grad_out + row * p.width, c);
      Pack<T, kVec<T>> gate_grad, up_grad;
      for (int i = 0; i < kVec<T>; ++i) {
        const float g = load(gate.value[i]), d = load(grad.value[i]), s = sigmoid(g);
        store(gate_grad.value[i], d * load(up.value[i]) * s * (1 + g * (1 - s)));
        store(up_grad.value[i], d * g * s);
      }
      at(gate_grads, c) = gate_grad;
      at(up_grads, c) = up_grad;
    }
  }
}

unsigned blocks_for(int64_t rows) {
  return unsigned(std::min<int64_t>((rows + kWarps - 1) / kWarps, machine::kSwiGluBlocks * processors()));
}

}  // namespace

bool swiglu_fits_cuda(int64_t width) { return width % 8 == 0; }

template <class T>
void swiglu_cuda(const SwiGlu<T>& p, void* stream) {
  swiglu_kernel<<<blocks_for(p.rows), dim3(32, kWarps), 0, static_cast<cudaStream_t>(stream)>>>(p);
  check_launch("swiglu");
}
template <class T>
void swiglu_cuda(const SwiGluBackward<T>& p, void* stream) {
  swiglu_backward_kernel<<<blocks_for(p.rows), dim3(32, kWarps), 0, static_cast<cudaStream_t>(stream)>>>(p);
  check_launch("swiglu_backward");
}

template void swiglu_cuda(const SwiGlu<float>&, void*);
template void swiglu_cuda(const SwiGlu<bfloat16>&, void*);
template void swiglu_cuda(const SwiGluBackward<float>&, void*);
template void swiglu_cuda(const SwiGluBackward<bfloat16>&, void*);

}  // namespace darope::kernels
