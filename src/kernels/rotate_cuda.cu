#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/rotate.h"

// A group of threads owns one key head of one token, its query heads included; each thread owns `Width` neighbouring bands
// for the whole launch, so its frequencies stay in registers. Bytes moved are q and k once in, once out.
namespace darope::kernels {
namespace {

__device__ double load(double x) { return x; }
__device__ float load(float x) { return x; }
__device__ float load(bfloat16 x) { return __bfloat162float(__ushort_as_bfloat16(x.bits)); }
__device__ float load(float16 x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ void store(double& to, double x) { to = x; }
__device__ void store(float& to, float x) { to = x; }
__device__ void store(bfloat16& to, float x) { to.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
__device__ void store(float16& to, float x) { to.bits = __half_as_ushort(__float2half_rn(x)); }

__device__ void sin_cos(float x, float& s, float& c) { sincosf(x, &s, &c); }
__device__ void sin_cos(double x, double& s, double& c) { sincos(x, &s, &c); }

// Angle m theta of a fast band, formed in double whatever the tensors are.
__device__ void position_angle(double angle, double& s, double& c) { sincos(angle, &s, &c); }
__device__ void position_angle(double angle, float& s, float& c) {
  constexpr double turn = 6.283185307179586;
  sincosf(float(angle - turn * rint(angle / turn)), &s, &c);
}

__device__ double prior_of(double position, double length) {
  const double m = fmin(fmax(position + 0.5, 1e-6 * length), (1 - 1e-6) * length);
  return log(m / (length - m));
}
template <class C> __device__ C sigmoid(C x) { return 1 / (1 + exp(-x)); }

// Width pairs of channels, fetched in as few instructions as the alignment promised by `Width` allows.
template <class T, int Width> struct alignas(sizeof(T) * Width > 16 ? 16 : sizeof(T) * Width) Pack {
  T value[Width];
};
template <class T, int Width> struct Pairs {
  T first[Width], second[Width];

  __device__ void fetch(const T* head, const Bands& b, int64_t band) {
    if (b.layout == Layout::half) {
      const auto one = *reinterpret_cast<const Pack<T, Width>*>(head + band), two = *reinterpret_cast<const Pack<T, Width>*>(head + band + b.count);
      for (int i = 0; i < Width; ++i) first[i] = one.value[i], second[i] = two.value[i];
    } else if constexpr (Width == 1) {
      first[0] = head[2 * band], second[0] = head[2 * band + 1];
    } else {
      const auto both = *reinterpret_cast<const Pack<T, 2 * Width>*>(head + 2 * band);
      for (int i = 0; i < Width; ++i) first[i] = both.value[2 * i], second[i] = both.value[2 * i + 1];
    }
  }
  __device__ void put(T* head, const Bands& b, int64_t band) const {
    if (b.layout == Layout::half) {
      Pack<T, Width> one, two;
      for (int i = 0; i < Width; ++i) one.value[i] = first[i], two.value[i] = second[i];
      *reinterpret_cast<Pack<T, Width>*>(head + band) = one;
      *reinterpret_cast<Pack<T, Width>*>(head + band + b.count) = two;
    } else if constexpr (Width == 1) {
      head[2 * band] = first[0], head[2 * band + 1] = second[0];
    } else {
      Pack<T, 2 * Width> both;
      for (int i = 0; i < Width; ++i) both.value[2 * i] = first[i], both.value[2 * i + 1] = second[i];
      *reinterpret_cast<Pack<T, 2 * Width>*>(head + 2 * band) = both;
    }
  }
};

// The bands of one thread: frequencies once per launch, angles once per token and head.
template <class C, int Width> struct Turn {
  double theta[Width];
  C length_theta[Width], sine[Width], cosine[Width];
  int64_t band;

  __device__ Turn(const Bands& b, int64_t first) : band(first) {
    for (int i = 0; i < Width; ++i) theta[i] = b.theta[first + i], length_theta[i] = C(b.length * theta[i]);
  }
  // Without a coordinate the shares are zero, and slow bands stay where they are.
  __device__ void aim(const Bands& b, double position, const C (&share)[Width]) {
    for (int i = 0; i < Width; ++i) {
      if (band + i < b.fast) position_angle(position * theta[i], sine[i], cosine[i]);
      else sin_cos(share[i] * length_theta[i], sine[i], cosine[i]);
      sine[i] *= C(b.scale), cosine[i] *= C(b.scale);
    }
  }
};

template <class T> __device__ T* head_of(const Heads<T>& x, int64_t batch, int64_t token, int64_t head) {
  return x.data + batch * x.batch + token * x.token + head * x.head;
}

template <class T, int Width> __device__ void rotate_head(const T* in, T* out, const Bands& b, const Turn<Compute<T>, Width>& turn) {
  using C = Compute<T>;
  Pairs<T, Width> x;
  x.fetch(in, b, turn.band);
  for (int i = 0; i < Width; ++i) {
    const C first = load(x.first[i]), second = load(x.second[i]);
    store(x.first[i], first * turn.cosine[i] - second * turn.sine[i]);
    store(x.second[i], first * turn.sine[i] + second * turn.cosine[i]);
  }
  x.put(out, b, turn.band);
}

template <class T, int Width>
__device__ void rotate_head_back(const T* in, const T* grad, T* out, const Bands& b, const Turn<Compute<T>, Width>& turn, Compute<T>* angle_grad) {
  using C = Compute<T>;
  Pairs<T, Width> g, kept;
  g.fetch(grad, b, turn.band);
  kept.fetch(in, b, turn.band);
  for (int i = 0; i < Width; ++i) {
    const C g1 = load(g.first[i]), g2 = load(g.second[i]);
    const C d1 = g1 * turn.cosine[i] + g2 * turn.sine[i], d2 = g2 * turn.cosine[i] - g1 * turn.sine[i];
    angle_grad[i] += C(load(kept.first[i])) * d2 - C(load(kept.second[i])) * d1;
    store(g.first[i], d1);
    store(g.second[i], d2);
  }
  g.put(out, b, turn.band);
}

template <class T, int Width> __global__ void rotate_kernel(const __grid_constant__ Forward<T> p) {
  using C = Compute<T>;
  const Bands& b = p.bands;
  const int64_t lanes = b.count / Width, groups = blockDim.x / lanes, group_heads = b.q_heads / b.k_heads;
  const int64_t shares = p.coordinate.per_band ? b.count - b.fast : 1;
  const int64_t lane = threadIdx.x % lanes;
  Turn<C, Width> turn(b, lane * Width);
  C share[Width] = {};                                              // one per band of this thread
  for (int64_t g = blockIdx.x * groups + threadIdx.x / lanes; g < b.batch * b.tokens * b.k_heads; g += gridDim.x * groups) {
    const int64_t token = g / b.k_heads, h = g % b.k_heads, batch = token / b.tokens, t = token % b.tokens;
    const int64_t place = batch * b.position_stride + t;
    const double position = b.positions[place];
    if (p.coordinate.logit) {
      const C prior = p.coordinate.alpha || p.coordinate.prior ? C(prior_of(position, b.length)) : C(0), logit = p.coordinate.logit[g];
      if (p.coordinate.prior && lane == 0 && h == 0) p.coordinate.prior[place] = prior;
      for (int i = 0; i < Width; ++i) {
        const int64_t j = turn.band + i - b.fast, s = p.coordinate.per_band ? max(j, int64_t(0)) : 0;
        share[i] = sigmoid(logit + (p.coordinate.alpha ? p.coordinate.alpha[h * shares + s] * prior : C(0)));
        if (p.coordinate.per_band ? j >= 0 : (lane == 0 && i == 0)) p.coordinate.share[g * shares + s] = share[i];
      }
    }
    turn.aim(b, position, share);
    for (int64_t q = h * group_heads; q < (h + 1) * group_heads; ++q) rotate_head<T, Width>(head_of(p.q, batch, t, q), head_of(p.q_out, batch, t, q), b, turn);
    rotate_head<T, Width>(head_of(p.k, batch, t, h), head_of(p.k_out, batch, t, h), b, turn);
  }
}

template <class T, int Width> __global__ void rotate_backward_kernel(const __grid_constant__ Backward<T> p) {
  using C = Compute<T>;
  extern __shared__ double shared[];
  C* partial = reinterpret_cast<C*>(shared);                        // one per thread: summed in order, so the result is always the same
  const Bands& b = p.bands;
  const int64_t lanes = b.count / Width, groups = blockDim.x / lanes, group_heads = b.q_heads / b.k_heads;
  const int64_t shares = p.coordinate.per_band ? b.count - b.fast : 1, total = b.batch * b.tokens * b.k_heads;
  const int64_t lane = threadIdx.x % lanes, local = threadIdx.x / lanes;
  Turn<C, Width> turn(b, lane * Width);
  for (int64_t first = blockIdx.x * groups; first < total; first += gridDim.x * groups) {
    const int64_t g = first + local;
    C sum = 0;
    if (g < total) {
      const int64_t token = g / b.k_heads, h = g % b.k_heads, batch = token / b.tokens, t = token % b.tokens;
      C share[Width];
      for (int i = 0; i < Width; ++i) share[i] = p.coordinate.share[g * shares + (p.coordinate.per_band ? max(turn.band + i - b.fast, int64_t(0)) : 0)];
      turn.aim(b, b.positions[batch * b.position_stride + t], share);
      C angle_grad[Width] = {};
      for (int64_t q = h * group_heads; q < (h + 1) * group_heads; ++q)
        rotate_head_back<T, Width>(head_of(p.q, batch, t, q), head_of(p.q_grad_out, batch, t, q), head_of(p.q_grad, batch, t, q), b, turn, angle_grad);
      rotate_head_back<T, Width>(head_of(p.k, batch, t, h), head_of(p.k_grad_out, batch, t, h), head_of(p.k_grad, batch, t, h), b, turn, angle_grad);
      for (int i = 0; i < Width; ++i) {
        const int64_t j = turn.band + i - b.fast;
        if (j < 0) continue;
        const C ds = angle_grad[i] * turn.length_theta[i] * share[i] * (1 - share[i]);
        if (p.coordinate.per_band) p.logit_grad[g * shares + j] = ds;
        else sum += ds;
      }
    }
    if (p.coordinate.per_band) continue;
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (lane == 0 && g < total) {
      for (int64_t i = 1; i < lanes; ++i) sum += partial[threadIdx.x + i];
      p.logit_grad[g] = sum;
    }
    __syncthreads();
  }
}

template <class T> bool wide(const Heads<T>& x) {                   // may 4 bands be fetched at once?
  const int64_t unit = 16 / int64_t(sizeof(T)) > 8 ? 16 / int64_t(sizeof(T)) : 8;
  return reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.batch % unit == 0 && x.token % unit == 0 && x.head % unit == 0;
}

struct Grid {
  unsigned blocks, threads;
};
Grid grid_for(const Bands& b, int64_t width) {
  const int64_t lanes = b.count / width, groups = std::max<int64_t>(1, 256 / lanes), total = b.batch * b.tokens * b.k_heads;
  return {unsigned(std::min<int64_t>((total + groups - 1) / groups, 132 * 16)), unsigned(groups * lanes)};
}

void check_launch(const char* what) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace

template <class T> void rotate_cuda(const Forward<T>& p, void* stream) {
  const bool four = p.bands.count % 4 == 0 && wide(p.q) && wide(p.k) && wide(p.q_out) && wide(p.k_out);
  const Grid grid = grid_for(p.bands, four ? 4 : 1);
  const auto kernel = four ? rotate_kernel<T, 4> : rotate_kernel<T, 1>;
  kernel<<<grid.blocks, grid.threads, 0, static_cast<cudaStream_t>(stream)>>>(p);
  check_launch("rotate");
}

template <class T> void rotate_cuda(const Backward<T>& p, void* stream) {
  const bool four = p.bands.count % 4 == 0 && wide(p.q) && wide(p.k) && wide(p.q_grad_out) && wide(p.k_grad_out) && wide(p.q_grad) && wide(p.k_grad);
  const Grid grid = grid_for(p.bands, four ? 4 : 1);
  const auto kernel = four ? rotate_backward_kernel<T, 4> : rotate_backward_kernel<T, 1>;
  kernel<<<grid.blocks, grid.threads, grid.threads * sizeof(Compute<T>), static_cast<cudaStream_t>(stream)>>>(p);
  check_launch("rotate_backward");
}

template void rotate_cuda(const Forward<double>&, void*);
template void rotate_cuda(const Forward<float>&, void*);
template void rotate_cuda(const Forward<bfloat16>&, void*);
template void rotate_cuda(const Forward<float16>&, void*);
template void rotate_cuda(const Backward<double>&, void*);
template void rotate_cuda(const Backward<float>&, void*);
template void rotate_cuda(const Backward<bfloat16>&, void*);
template void rotate_cuda(const Backward<float16>&, void*);

}  // namespace darope::kernels
