#include <algorithm>

#include "kernels/cuda.h"
#include "kernels/polar.h"

// A thread owns 8 neighbouring channels of one head for the whole launch: their frequencies, cosine and sine
// of their delta, and the sum that is delta's gradient stay in its registers. A row of threads takes a token,
// the rows of a block different ones. Frequencies and deltas are formed once in a block, by all its threads,
// in shared memory.
namespace darope::kernels {
namespace {

constexpr int kVec = 8, kThreads = machine::kPolarThreads,
              kMostThreads =
                  machine::kMostPolarThreads;  // of a block: as a rule, and where a token has many channels

struct Channels {
  double theta[kVec];
  float delta_sine[kVec], delta_cosine[kVec], sine[kVec], cosine[kVec];
  int64_t in, out;  // where they begin in a token's row of x, and of what it becomes

  __device__ explicit Channels(const PolarShape& s, double* shared) : in(int64_t(threadIdx.x) * kVec) {
    const int64_t head = in / s.width, first = in - head * s.width, row = s.heads * s.width;
    out = 2 * head * s.width + first;
    double* const thetas = shared;
    float *const sines = reinterpret_cast<float*>(shared + s.width), *const cosines = sines + row;
    const int64_t mine = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    for (int64_t c = mine; c < s.width; c += threads) thetas[c] = pow(s.base, -double(c) / double(s.width));
    for (int64_t c = mine; c < row && s.delta; c += threads)
      position_angle<float>(double(s.delta[c]), sines[c], cosines[c]);
    __syncthreads();
    for (int i = 0; i < kVec; ++i) {
      theta[i] = thetas[first + i];
      delta_sine[i] = s.delta ? sines[in + i] : 0, delta_cosine[i] = s.delta ? cosines[in + i] : 1;
    }
    __syncthreads();  // from here on the memory is another's
  }
  // By the addition theorem: the large angle never meets the learned one in low precision.
  template <class T>
  __device__ void move_to(double position) {
    for (int i = 0; i < kVec; ++i) {
      float s, c;
      position_angle<T>(position * theta[i], s, c);
      sine[i] = s * delta_cosine[i] + c * delta_sine[i];
      cosine[i] = c * delta_cosine[i] - s * delta_sine[i];
    }
  }
};

__device__ float softplus(float x) { return x > 50 ? x : log1pf(expf(x)); }
__device__ float softplus_slope(float x) { return x > 50 ? 1 : 1 / (1 + expf(-x)); }

template <class T>
using Eight = Pack<T, kVec>;
template <class T>
__device__ Eight<T> fetch(const T* from) {
  return *reinterpret_cast<const Eight<T>*>(from);
}
template <class T>
__device__ void put(T* to, const Eight<T>& pack) {
  *reinterpret_cast<Eight<T>*>(to) = pack;
}

template <class T>
struct Token {
  double position;
  const T* x;
  __device__ Token(const PolarShape& s, const Heads<const T>& from, int64_t token) {
    const int64_t batch = token / s.tokens, t = token - batch * s.tokens;
    position = s.positions[batch * s.position_stride + t];
    x = from.data + batch * from.batch + t * from.token;
  }
};

template <class T>
__global__ void __launch_bounds__(kMostThreads) polar_kernel(const Polar<T> p) {
  extern __shared__ double shared[];
  const PolarShape& s = p.shape;
  Channels channels(s, shared);
  for (int64_t token = int64_t(blockIdx.x) * blockDim.y + threadIdx.y; token < s.batch * s.tokens;
       token += int64_t(gridDim.x) * blockDim.y) {
    const Token<T> here(s, p.x, token);
    const auto x = fetch(here.x + channels.in);
    channels.move_to<T>(here.position);
    Eight<T> cosines, sines;
    for (int i = 0; i < kVec; ++i) {
      const float magnitude = softplus(load(x.value[i]));
      store(cosines.value[i], magnitude * channels.cosine[i]);
      store(sines.value[i], magnitude * channels.sine[i]);
    }
    T* out = p.out + token * 2 * s.heads * s.width + channels.out;
    put(out, cosines);
    put(out + s.width, sines);
  }
}

template <class T>
__global__ void __launch_bounds__(kMostThreads) polar_backward_kernel(const PolarBackward<T> p) {
  extern __shared__ double shared[];
  const PolarShape& s = p.shape;
  const int64_t row = s.heads * s.width;
  Channels channels(s, shared);
  float* const sums = reinterpret_cast<float*>(shared);  // [blockDim.y, H d]
  float delta_grad[kVec] = {};
  for (int64_t token = int64_t(blockIdx.x) * blockDim.y + threadIdx.y; token < s.batch * s.tokens;
       token += int64_t(gridDim.x) * blockDim.y) {
    const Token<T> here(s, p.x, token);
    const T* from = p.grad_out + token * 2 * row + channels.out;
    const auto x = fetch(here.x + channels.in), along = fetch(from), across = fetch(from + s.width);
    channels.move_to<T>(here.position);
    Eight<T> grad;
    for (int i = 0; i < kVec; ++i) {
      const float value = load(x.value[i]), g1 = load(along.value[i]), g2 = load(across.value[i]);
      store(grad.value[i], softplus_slope(value) * (g1 * channels.cosine[i] + g2 * channels.sine[i]));
      delta_grad[i] += softplus(value) * (g2 * channels.cosine[i] - g1 * channels.sine[i]);
    }
    put(p.grad + token * row + channels.in, grad);
  }
  if (!p.delta_parts) return;
  for (int i = 0; i < kVec; ++i) sums[threadIdx.y * row + channels.in + i] = delta_grad[i];
  __syncthreads();
  for (int64_t c = threadIdx.y * blockDim.x + threadIdx.x; c < row; c += blockDim.x * blockDim.y) {
    float sum = 0;
    for (unsigned y = 0; y < blockDim.y; ++y) sum += sums[y * row + c];  // in one order
    p.delta_parts[blockIdx.x * row + c] = sum;
  }
}

dim3 block_for(const PolarShape& s) {
  const int64_t packs = s.heads * s.width / kVec;
  return dim3(unsigned(packs), unsigned(std::max<int64_t>(1, kThreads / packs)));
}
int64_t blocks_for(const PolarShape& s, int64_t most) {
  const int64_t rows = block_for(s).y;
  return std::clamp<int64_t>((s.batch * s.tokens + rows - 1) / rows, 1, most);
}
size_t shared_for(const PolarShape& s) {
  const size_t row = size_t(s.heads * s.width) * sizeof(float);
  return std::max(size_t(s.width) * sizeof(double) + 2 * row, block_for(s).y * row);
}

}  // namespace

bool polar_fits_cuda(int64_t heads, int64_t width) {
  return width % kVec == 0 && width <= 1024 && heads * width / kVec <= kMostThreads;
}
int64_t polar_parts(const PolarShape& s) { return blocks_for(s, machine::kSumParts * processors()); }

template <class T>
void polar_cuda(const Polar<T>& p, void* stream) {
  polar_kernel<<<unsigned(blocks_for(p.shape, machine::kPolarBlocks * processors())), block_for(p.shape),
                 shared_for(p.shape), static_cast<cudaStream_t>(stream)>>>(p);
  check_launch("polar");
}
template <class T>
void polar_cuda(const PolarBackward<T>& p, void* stream) {
  polar_backward_kernel<<<unsigned(polar_parts(p.shape)), block_for(p.shape), shared_for(p.shape),
                          static_cast<cudaStream_t>(stream)>>>(p);
  check_launch("polar_backward");
}

template void polar_cuda(const Polar<float>&, void*);
template void polar_cuda(const Polar<bfloat16>&, void*);
template void polar_cuda(const Polar<float16>&, void*);
template void polar_cuda(const PolarBackward<float>&, void*);
template void polar_cuda(const PolarBackward<bfloat16>&, void*);
template void polar_cuda(const PolarBackward<float16>&, void*);

}  // namespace darope::kernels
