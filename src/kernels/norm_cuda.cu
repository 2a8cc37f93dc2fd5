#include <algorithm>

#include "kernels/cuda.h"
#include "kernels/norm.h"

// One warp per row. A lane owns the same `Vec` neighbouring columns of each of `Chunks` stretches in every
// row, so what the weight's gradient sums over rows stays in its registers; blocks leave their sums in rows
// of weight_parts, in a fixed order.
namespace darope::kernels {
namespace {

constexpr int kWarps = machine::kRowWarps;

__device__ float over_warp(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xFFFFFFFF, x, offset);
  return x;
}

template <class T, int Vec, int Chunks>
struct Row {
  float value[Chunks][Vec];
  __device__ void fetch(const T* row) {
    for (int c = 0; c < Chunks; ++c) {
      const auto pack = *reinterpret_cast<const Pack<T, Vec>*>(row + (c * 32 + threadIdx.x) * Vec);
      for (int i = 0; i < Vec; ++i) value[c][i] = load(pack.value[i]);
    }
  }
  __device__ void put(T* row) const {
    for (int c = 0; c < Chunks; ++c) {
      Pack<T, Vec> pack;
      for (int i = 0; i < Vec; ++i) store(pack.value[i], value[c][i]);
      *reinterpret_cast<Pack<T, Vec>*>(row + (c * 32 + threadIdx.x) * Vec) = pack;
    }
  }
  template <class F>
  __device__ void each(F&& f) {
    for (int c = 0; c < Chunks; ++c)
      for (int i = 0; i < Vec; ++i) f(value[c][i], c, i);
  }
};

template <class T, int Vec, int Chunks>
__global__ void norm_kernel(const Norm<T> p) {
  using R = Row<T, Vec, Chunks>;
  R weight;
  weight.fetch(p.weight);
  for (int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y; row < p.rows;
       row += int64_t(gridDim.x) * kWarps) {
    R x;
    x.fetch(p.x + row * p.width);
    if (p.delta) {
      R delta;
      delta.fetch(p.delta + row * p.width);
      x.each([&](float& v, int c, int i) {
        T rounded;  // the norm is of the sum as it is kept
        store(rounded, v + delta.value[c][i]);
        v = load(rounded);
      });
      x.put(p.sum + row * p.width);
    }
    float squares = 0;
    x.each([&](float& v, int, int) { squares += v * v; });
    const float scale = 1 / sqrtf(over_warp(squares) / float(p.width) + float(p.eps));
    if (threadIdx.x == 0) p.scale[row] = scale;
    x.each([&](float& v, int c, int i) { v *= scale * weight.value[c][i]; });
    x.put(p.out + row * p.width);
  }
}

// With s = scale: grad = s (g w) - x s^3 / D sum(g w x), beside what the sum itself receives.
template <class T, int Vec, int Chunks>
__global__ void norm_backward_kernel(const NormBackward<T> p) {
  using R = Row<T, Vec, Chunks>;
  __shared__ float sums[Chunks * Vec * 32];
  R weight, weight_grad = {};
  weight.fetch(p.weight);
  for (int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y; row < p.rows;
       row += int64_t(gridDim.x) * kWarps) {
    R x, g, kept = {};
    x.fetch(p.sum + row * p.width);
    g.fetch(p.grad_out + row * p.width);
    if (p.grad_sum) kept.fetch(p.grad_sum + row * p.width);
    const float s = p.scale[row];
    float dot = 0;
    g.each([&](float& v, int c, int i) {
      weight_grad.value[c][i] += v * x.value[c][i] * s;
      v *= weight.value[c][i];
      dot += v * x.value[c][i];
    });
    const float pull = over_warp(dot) * s * s * s / float(p.width);
    g.each([&](float& v, int c, int i) { v = v * s - x.value[c][i] * pull + kept.value[c][i]; });
    g.put(p.grad + row * p.width);
  }
  for (int warp = 0; warp < kWarps; ++warp) {  // one after another: the order of a sum is part of its result
    if (int(threadIdx.y) == warp)
      weight_grad.each([&](float& v, int c, int i) {
        float& sum = sums[(c * 32 + threadIdx.x) * Vec + i];
        sum = warp == 0 ? v : sum + v;
      });
    __syncthreads();
  }
  for (int column = threadIdx.y * 32 + threadIdx.x; column < p.width; column += kWarps * 32)
    p.weight_parts[blockIdx.x * p.width + column] = sums[column];
}

// run(Vec, Chunks) as types, for the widths that fit.
template <class F>
bool with_shape(int64_t width, F&& run) {
  const auto chunks = [&]<int vec>(std::integral_constant<int, vec> v) {
    switch (width % (32 * vec) ? 0 : width / (32 * vec)) {
      case 1:
        run(v, std::integral_constant<int, 1>());
        return true;
      case 2:
        run(v, std::integral_constant<int, 2>());
        return true;
      case 3:
        run(v, std::integral_constant<int, 3>());
        return true;
      case 4:
        run(v, std::integral_constant<int, 4>());
        return true;
      case 5:
        run(v, std::integral_constant<int, 5>());
        return true;
      case 6:
        run(v, std::integral_constant<int, 6>());
        return true;
      case 7:
        run(v, std::integral_constant<int, 7>());
        return true;
      case 8:
        run(v, std::integral_constant<int, 8>());
        return true;
      default:
        return false;
    }
  };
  return chunks(std::integral_constant<int, 8>()) || chunks(std::integral_constant<int, 2>());
}

}  // namespace

bool norm_fits_cuda(int64_t width) {
  return with_shape(width, [](auto, auto) {});
}

int64_t norm_parts(int64_t rows) {
  return std::clamp<int64_t>((rows + kWarps - 1) / kWarps, 1, machine::kSumParts * processors());
}

template <class T>
void norm_cuda(const Norm<T>& p, void* stream) {
  const unsigned blocks =
      unsigned(std::min<int64_t>((p.rows + kWarps - 1) / kWarps, machine::kNormBlocks * processors()));
  with_shape(p.width, [&](auto vec, auto chunks) {
    norm_kernel<T, vec(), chunks()><<<blocks, dim3(32, kWarps), 0, static_cast<cudaStream_t>(stream)>>>(p);
  });
  check_launch("rms_norm");
}

template <class T>
void norm_cuda(const NormBackward<T>& p, void* stream) {
  with_shape(p.width, [&](auto vec, auto chunks) {
    norm_backward_kernel<T, vec(), chunks()>
        <<<unsigned(norm_parts(p.rows)), dim3(32, kWarps), 0, static_cast<cudaStream_t>(stream)>>>(p);
  });
  check_launch("rms_norm_backward");
}

template void norm_cuda(const Norm<float>&, void*);
template void norm_cuda(const Norm<bfloat16>&, void*);
template void norm_cuda(const NormBackward<float>&, void*);
template void norm_cuda(const NormBackward<bfloat16>&, void*);

}  // namespace darope::kernels
