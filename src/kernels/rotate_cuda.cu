#include <algorithm>

#include "kernels/cuda.h"

// A group of threads owns one token, or a share of its key heads, their query heads included. Each thread
// owns `Width` neighbouring bands for the whole launch: its frequencies stay in registers, and what depends
// on the token alone, the angles of fast bands and the prior, is formed once for all heads. Bytes moved are q
// and k once in, once out.
namespace darope::kernels {
namespace {

__device__ double prior_of(double position, double length) {
  const double m = fmin(fmax(position + 0.5, 1e-6 * length), (1 - 1e-6) * length);
  return log(m / (length - m));
}
template <class C>
__device__ C sigmoid(C x) {
  return 1 / (1 + exp(-x));
}

// Width pairs of channels of one head.
template <class T, int Width>
struct Pairs {
  T first[Width], second[Width];

  __device__ Pairs(const T* head, const Bands& b, int64_t band) {
    if (b.layout == Layout::half) {
      const auto one = *reinterpret_cast<const Pack<T, Width>*>(head + band),
                 two = *reinterpret_cast<const Pack<T, Width>*>(head + band + b.count);
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

// The bands of one thread: frequencies once per launch, fast bands once per token, slow ones once per head.
template <class T, int Width>
struct Turn {
  using C = Compute<T>;
  double theta[Width];
  C length_theta[Width], sine[Width], cosine[Width];
  int64_t band;

  __device__ Turn(const Bands& b, int64_t first) : band(first) {
    for (int i = 0; i < Width; ++i) theta[i] = b.theta[first + i], length_theta[i] = C(b.length * theta[i]);
  }
  __device__ void move_to(const Bands& b, double position) {
    for (int i = 0; i < Width; ++i) {
      sine[i] = 0, cosine[i] = 1;  // slow bands stay where they are until they are aimed
      if (band + i < b.fast) position_angle<T>(position * theta[i], sine[i], cosine[i]);
      sine[i] *= C(b.scale), cosine[i] *= C(b.scale);
    }
  }
  __device__ void aim(const Bands& b, const C (&share)[Width]) {
    for (int i = 0; i < Width; ++i)
      if (band + i >= b.fast) sin_cos_for<T>(share[i] * length_theta[i], sine[i], cosine[i]);
  }
};

template <class T>
__device__ T* head_of(const Heads<T>& x, int64_t batch, int64_t token, int64_t head) {
  return x.data + batch * x.batch + token * x.token + head * x.head;
}

template <class T, int Width>
__device__ void rotate_head(Pairs<T, Width> x, T* out, const Bands& b, const Turn<T, Width>& turn) {
  using C = Compute<T>;
  for (int i = 0; i < Width; ++i) {
    const C first = load(x.first[i]), second = load(x.second[i]);
    store(x.first[i], first * turn.cosine[i] - second * turn.sine[i]);
    store(x.second[i], first * turn.sine[i] + second * turn.cosine[i]);
  }
  x.put(out, b, turn.band);
}

template <class T, int Width>
__device__ void rotate_head_back(const Pairs<T, Width>& kept, Pairs<T, Width> g, T* out, const Bands& b,
                                 const Turn<T, Width>& turn, Compute<T>* angle_grad) {
  using C = Compute<T>;
  for (int i = 0; i < Width; ++i) {
    const C g1 = load(g.first[i]), g2 = load(g.second[i]);
    const C d1 = g1 * turn.cosine[i] + g2 * turn.sine[i], d2 = g2 * turn.cosine[i] - g1 * turn.sine[i];
    angle_grad[i] += C(load(kept.first[i])) * d2 - C(load(kept.second[i])) * d1;
    store(g.first[i], d1);
    store(g.second[i], d2);
  }
  g.put(out, b, turn.band);
}

// How threads share the work: `lanes` of them make a group, and `parts` groups share the key heads of one
// token.
struct Split {
  int lanes, groups, parts, items;  // groups in a block; items = tokens * parts
};

template <class T, int Width>
__global__ void rotate_kernel(const __grid_constant__ Forward<T> p, Split split) {
  using C = Compute<T>;
  const Bands& b = p.bands;
  const int k_heads = int(b.k_heads), group_heads = int(b.q_heads / b.k_heads), tokens = int(b.tokens);
  const int shares = p.coordinate.per_band ? int(b.count - b.fast) : 1, lane = threadIdx.x % split.lanes;
  Turn<T, Width> turn(b, lane * Width);
  for (int item = blockIdx.x * split.groups + threadIdx.x / split.lanes; item < split.items;
       item += gridDim.x * split.groups) {
    const int token = item / split.parts, part = item % split.parts, batch = token / tokens,
              t = token % tokens;
    const int64_t place = batch * b.position_stride + t;
    C prior = 0;
    for (int h = part; h < k_heads; h += split.parts) {
      const int64_t g = int64_t(token) * k_heads + h;
      const C logit = p.coordinate.logit ? p.coordinate.logit[g] : C(0);
      const Pairs<T, Width> query(head_of(p.q, batch, t, h * group_heads), b, turn.band),
          key(head_of(p.k, batch, t, h), b, turn.band);
      if (h == part) {  // angles are formed while what they turn is on its way
        const double position = b.positions[place];
        turn.move_to(b, position);
        if (p.coordinate.prior) prior = C(prior_of(position, b.length));
        if (p.coordinate.prior && lane == 0 && part == 0) p.coordinate.prior[place] = prior;
      }
      if (p.coordinate.logit) {
        C share[Width];
        for (int i = 0; i < Width; ++i) {
          if (i > 0 && !p.coordinate.per_band) {
            share[i] = share[0];
            continue;
          }
          const int j = int(turn.band + i - b.fast), s = p.coordinate.per_band ? max(j, 0) : 0;
          share[i] =
              sigmoid(logit + (p.coordinate.alpha ? p.coordinate.alpha[h * shares + s] * prior : C(0)));
          if (p.coordinate.per_band ? j >= 0 : lane == 0) p.coordinate.share[g * shares + s] = share[i];
        }
        turn.aim(b, share);
      }
      rotate_head(query, head_of(p.q_out, batch, t, h * group_heads), b, turn);
      rotate_head(key, head_of(p.k_out, batch, t, h), b, turn);
      for (int q = h * group_heads + 1; q < (h + 1) * group_heads; ++q)
        rotate_head(Pairs<T, Width>(head_of(p.q, batch, t, q), b, turn.band), head_of(p.q_out, batch, t, q),
                    b, turn);
    }
  }
}

// The sum over a group's lanes, for its lane 0; always in the same order. All threads of the block take part.
template <class C>
__device__ C over_lanes(C sum, int lanes, int lane, C* partial) {
  if (lanes <= 32 && (lanes & (lanes - 1)) == 0) {
    for (int offset = lanes / 2; offset > 0; offset /= 2)
      sum += __shfl_down_sync(0xFFFFFFFF, sum, offset, lanes);
    return sum;
  }
  __syncthreads();
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (lane == 0)
    for (int i = 1; i < lanes; ++i) sum += partial[threadIdx.x + i];
  return sum;
}

template <class T, int Width>
__global__ void rotate_backward_kernel(const __grid_constant__ Backward<T> p, Split split) {
  using C = Compute<T>;
  extern __shared__ double shared[];
  const Bands& b = p.bands;
  const int k_heads = int(b.k_heads), group_heads = int(b.q_heads / b.k_heads), tokens = int(b.tokens);
  const int shares = p.coordinate.per_band ? int(b.count - b.fast) : 1, lane = threadIdx.x % split.lanes,
            local = threadIdx.x / split.lanes;
  Turn<T, Width> turn(b, lane * Width);
  for (int first = blockIdx.x * split.groups; first < split.items; first += gridDim.x * split.groups) {
    const int item =
        min(first + local, split.items - 1);  // a group behind the last one does that one's work again
    const int token = item / split.parts, part = item % split.parts, batch = token / tokens,
              t = token % tokens;
    for (int h = part; h < k_heads + part;
         h += split.parts) {  // as many rounds for every part, for they meet in over_lanes
      const bool real = h < k_heads && first + local < split.items;
      const int64_t g = int64_t(token) * k_heads + min(h, k_heads - 1);
      C sum = 0;
      if (real) {
        C share[Width], angle_grad[Width] = {};
        for (int i = 0; i < Width; ++i) {
          const int j = int(turn.band + i - b.fast);
          share[i] = j < 0 ? C(0) : p.coordinate.share[g * shares + (p.coordinate.per_band ? j : 0)];
        }
        const auto pairs = [&](const Heads<const T>& x, int head) {
          return Pairs<T, Width>(head_of(x, batch, t, head), b, turn.band);
        };
        const Pairs<T, Width> query = pairs(p.q, h * group_heads),
                              query_grad = pairs(p.q_grad_out, h * group_heads), key = pairs(p.k, h),
                              key_grad = pairs(p.k_grad_out, h);
        if (h == part) turn.move_to(b, b.positions[batch * b.position_stride + t]);
        turn.aim(b, share);
        rotate_head_back(query, query_grad, head_of(p.q_grad, batch, t, h * group_heads), b, turn,
                         angle_grad);
        for (int q = h * group_heads + 1; q < (h + 1) * group_heads; ++q)
          rotate_head_back(pairs(p.q, q), pairs(p.q_grad_out, q), head_of(p.q_grad, batch, t, q), b, turn,
                           angle_grad);
        rotate_head_back(key, key_grad, head_of(p.k_grad, batch, t, h), b, turn, angle_grad);
        for (int i = 0; i < Width; ++i) {
          const int j = int(turn.band + i - b.fast);
          if (j < 0) continue;
          const C ds = angle_grad[i] * turn.length_theta[i] * share[i] * (1 - share[i]);
          if (p.coordinate.per_band)
            p.logit_grad[g * shares + j] = ds;
          else
            sum += ds;
        }
      }
      if (p.coordinate.per_band) continue;
      sum = over_lanes(sum, split.lanes, lane, reinterpret_cast<C*>(shared));
      if (real && lane == 0) p.logit_grad[g] = sum;
    }
  }
}

template <class T>
bool wide(const Heads<T>& x) {  // may 4 bands be fetched at once?
  const int64_t unit = 16 / int64_t(sizeof(T)) > 8 ? 16 / int64_t(sizeof(T)) : 8;
  return reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.batch % unit == 0 && x.token % unit == 0 &&
         x.head % unit == 0;
}

struct Launch {
  Split split;
  unsigned blocks, threads;
};
Launch launch_for(const Bands& b, int64_t width) {
  // below that many threads, heads go to several groups
  const int64_t enough = machine::kThreads * processors();
  const int64_t lanes = b.count / width, groups = std::max<int64_t>(1, machine::kRotateThreads / lanes),
                tokens = b.batch * b.tokens;
  const int64_t parts = std::clamp<int64_t>(enough / std::max<int64_t>(1, tokens * lanes), 1, b.k_heads),
                items = tokens * parts;
  if (items > INT32_MAX / 2 || b.k_heads * b.count > INT32_MAX)
    throw std::runtime_error("rotate: more than 2^30 tokens in one call");
  return {{int(lanes), int(groups), int(parts), int(items)},
          unsigned(std::min<int64_t>((items + groups - 1) / groups, machine::kRotateBlocks * processors())),
          unsigned(groups * lanes)};
}

}  // namespace

template <class T>
void rotate_cuda(const Forward<T>& p, void* stream) {
  const bool four = p.bands.count % 4 == 0 && wide(p.q) && wide(p.k) && wide(p.q_out) && wide(p.k_out);
  const Launch launch = launch_for(p.bands, four ? 4 : 1);
  const auto kernel = four ? rotate_kernel<T, 4> : rotate_kernel<T, 1>;
  kernel<<<launch.blocks, launch.threads, 0, static_cast<cudaStream_t>(stream)>>>(p, launch.split);
  check_launch("rotate");
}

template <class T>
void rotate_cuda(const Backward<T>& p, void* stream) {
  const bool four = p.bands.count % 4 == 0 && wide(p.q) && wide(p.k) && wide(p.q_grad_out) &&
                    wide(p.k_grad_out) && wide(p.q_grad) && wide(p.k_grad);
  const Launch launch = launch_for(p.bands, four ? 4 : 1);
  const auto kernel = four ? rotate_backward_kernel<T, 4> : rotate_backward_kernel<T, 1>;
  kernel<<<launch.blocks, launch.threads, launch.threads * sizeof(Compute<T>),
           static_cast<cudaStream_t>(stream)>>>(p, launch.split);
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
