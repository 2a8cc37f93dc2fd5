#include <algorithm>

#include "kernels/cuda.h"
#include "kernels/softmax.h"

// One block per row, as wide as the row is long. A long row is read from memory once and comes from the cache
// the second time: the rows under way on a GPU at any moment, one a multiprocessor, are smaller than it.
namespace darope::kernels {
namespace {

constexpr float kLog2e = 1.44269504f, kLn2 = 0.693147181f;
template <class T>
constexpr int kVec = 16 / sizeof(T);

// sum of 2^(x - most) over what was seen; x is in units of log2
struct Sum {
  float most = -3.0e38f, sum = 0;
  __device__ void add(const Sum& other) {
    const float larger = fmaxf(most, other.most);
    sum = sum * exp2f(most - larger) + other.sum * exp2f(other.most - larger);
    most = larger;
  }
};

__device__ Sum over_warp(Sum own) {
  for (int distance = 16; distance > 0; distance /= 2)
    own.add({__shfl_xor_sync(~0u, own.most, distance), __shfl_xor_sync(~0u, own.sum, distance)});
  return own;
}

template <int Threads>
__device__ Sum over_block(Sum own) {
  constexpr int kWarps = Threads / 32;
  __shared__ float most[kWarps], sum[kWarps];
  own = over_warp(own);
  if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = own.most, sum[threadIdx.x / 32] = own.sum;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  own = over_warp(lane < kWarps ? Sum{most[lane], sum[lane]} : Sum{});
  __syncthreads();  // the next row may write again
  return own;
}

template <class T>
__device__ Sum over_pack(const Pack<T, kVec<T>>& pack) {
  float x[kVec<T>];
  Sum out;
  for (int i = 0; i < kVec<T>; ++i) {
    x[i] = load(pack.value[i]) * kLog2e;
    out.most = fmaxf(out.most, x[i]);
  }
  for (int i = 0; i < kVec<T>; ++i) out.sum += exp2f(x[i] - out.most);
  return out;
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) softmax_nll_kernel(const SoftmaxNll<T> p) {
  const int64_t packs = p.width / kVec<T>;
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    T* const logits = p.logits + row * p.width;
    auto* const packed = reinterpret_cast<Pack<T, kVec<T>>*>(logits);
    const int64_t target = p.targets[row];
    const bool known = target >= 0 && target < p.width;
    const float at_target = known ? load(logits[target]) * kLog2e : NAN, share = p.share[row];
    Sum sum;
    for (int64_t c = threadIdx.x; c < packs; c += Threads) sum.add(over_pack<T>(packed[c]));
    sum = over_block<Threads>(sum);  // nobody writes before everybody has read
    const float scale = share / sum.sum;
    for (int64_t c = threadIdx.x; c < packs; c += Threads) {
      auto pack = packed[c];
      for (int i = 0; i < kVec<T>; ++i) {
        const float of_target = c * kVec<T> + i == target ? share : 0;
        store(pack.value[i], exp2f(load(pack.value[i]) * kLog2e - sum.most) * scale - of_target);
      }
      packed[c] = pack;
    }
    if (threadIdx.x == 0) p.nll[row] = (log2f(sum.sum) + sum.most - at_target) * kLn2;
  }
}

}  // namespace

bool softmax_nll_fits_cuda(int64_t width) { return width % 8 == 0; }

template <class T>
void softmax_nll_cuda(const SoftmaxNll<T>& p, void* stream) {
  const unsigned blocks = unsigned(std::min<int64_t>(p.rows, 1 << 20));
  const auto on = static_cast<cudaStream_t>(stream);
  const int64_t packs = p.width / kVec<T>;
  if (packs <= 64)
    softmax_nll_kernel<T, 32><<<blocks, 32, 0, on>>>(p);
  else if (packs <= 2048)
    softmax_nll_kernel<T, 256><<<blocks, 256, 0, on>>>(p);
  else
    softmax_nll_kernel<T, 1024><<<blocks, 1024, 0, on>>>(p);
  check_launch("softmax_nll");
}

template void softmax_nll_cuda(const SoftmaxNll<float>&, void*);
template void softmax_nll_cuda(const SoftmaxNll<bfloat16>&, void*);

}  // namespace darope::kernels
