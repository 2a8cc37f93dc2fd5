#include "kernels/cope.h"
#include "kernels/cuda.h"

// One warp per row, from its last visible key to its first, 32 keys at a time, so that counts are sums of
// what was seen. Rows are walked again instead of being kept: a count costs less than a place to keep it. All
// sums have a fixed order.
namespace darope::kernels {
namespace {

constexpr int kWarps = machine::kCopeWarps;
constexpr unsigned kAll = 0xFFFFFFFF;

template <class C>
__device__ C sum_over_warp(C x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(kAll, x, offset);
  return x;
}
template <class C>
__device__ C most_over_warp(C x) {
  for (int offset = 16; offset > 0; offset /= 2) x = max(x, __shfl_xor_sync(kAll, x, offset));
  return x;
}
template <class C>
__device__ C sum_from_here(C x) {  // over this lane and those above
  for (int offset = 1; offset < 32; offset *= 2) {
    const C above = __shfl_down_sync(kAll, x, offset);
    if (threadIdx.x + offset < 32) x += above;
  }
  return x;
}
template <class C>
__device__ C sum_of_equals(C x, int key) {  // over this lane and those below it with its key; equal keys are
  for (int offset = 1; offset < 32; offset *= 2) {  // neighbours
    const C below = __shfl_up_sync(kAll, x, offset);
    const int other = __shfl_up_sync(kAll, key, offset);
    if (threadIdx.x >= offset && other == key) x += below;
  }
  return x;
}

// A key as its query sees it.
template <class C>
struct Seen {
  int64_t key;
  bool visible, at_the_end;
  C gate, logit, weight, slope;  // weight of place low + 1, and what a count adds to the logit
  int low;
};

// The keys begin .. end-1 of a row.
struct Visible {
  int64_t begin, end;
  __device__ Visible(const CopeShape& rows, int64_t row) {
    const int64_t query = row % rows.queries;
    begin = rows.first ? rows.first[row / (rows.heads * rows.queries) * rows.queries + query] : 0;
    end = rows.keys - rows.queries + query + 1;
  }
  // What all other keys of the row get.
  template <class T>
  __device__ void fill_others(T* to, int64_t keys) const {
    for (int64_t key = threadIdx.x; key < begin; key += 32) to[key] = T{};
    for (int64_t key = end + threadIdx.x; key < keys; key += 32) to[key] = T{};
  }
};

// visit(Seen) for every key, all lanes together; lanes beside the keys see one that is not visible.
template <class C, class Visit>
__device__ void walk(const CopeShape& rows, const Visible& keys, const C* content, const C* z,
                     Visit&& visit) {
  double counted = 0;  // a float's rounding of a count would be steep on z's slope
  const C most = C(rows.places - 1), scale = C(rows.scale);
  for (int64_t first = (keys.end - 1) / 32 * 32; first + 32 > keys.begin; first -= 32) {
    Seen<C> seen{.key = first + threadIdx.x};
    seen.visible = seen.key >= keys.begin && seen.key < keys.end;
    const C s = seen.visible ? scale * content[seen.key] : C(0);
    seen.gate = seen.visible ? 1 / (1 + exp(-s)) : C(0);
    const double sum = counted + sum_from_here(double(seen.gate));
    counted = __shfl_sync(kAll, sum, 0);
    const C count = C(sum), place = count < most ? count : count >= most ? most : C(0);
    seen.at_the_end = count > most;
    seen.low = int(place);
    seen.weight = place - C(seen.low);
    const C low = z[seen.low], high = z[min(int64_t(seen.low) + 1, rows.places - 1)];
    seen.slope = high - low;
    seen.logit = s + (1 - seen.weight) * low + seen.weight * high;
    visit(seen);
  }
}

// The gradient dl of 32 keys' logits, to the places they read from: dz, always in the same order. Places fall
// from lane to lane, so that those with one place are neighbours and add up first. The scan's rounding, or a
// NaN, can make a place rise again; then lanes with one place may lie apart, and each lane adds in its turn.
template <class C>
__device__ void add_places(const Seen<C>& seen, C dl, C* dz, int64_t places) {
  const int next = __shfl_down_sync(kAll, seen.low, 1);
  const bool end = threadIdx.x == 31, has_high = seen.low + 1 < places;
  const C to_low = (1 - seen.weight) * dl, to_high = seen.weight * dl;
  if (__any_sync(kAll, !end && next > seen.low)) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (threadIdx.x == lane) {
        dz[seen.low] += to_low;
        if (has_high) dz[seen.low + 1] += to_high;
      }
      __syncwarp();
    }
    return;
  }
  const C low = sum_of_equals(to_low, seen.low), high = sum_of_equals(to_high, seen.low);
  const bool last = end || next != seen.low;  // of its place among these 32 keys: it has the sums
  if (last) dz[seen.low] += low;
  __syncwarp();
  if (last && has_high) dz[seen.low + 1] += high;
  __syncwarp();
}

template <class T>
__global__ void cope_kernel(const Cope<T> p) {
  using C = Compute<T>;
  const int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y, keys = p.rows.keys;
  if (row >= p.rows.count) return;
  const Visible visible(p.rows, row);
  const C *content = p.content + row * keys, *z = p.z + row * p.rows.places;
  C top = -INFINITY, sum = 0;
  walk(p.rows, visible, content, z, [&](const Seen<C>& seen) {
    if (!seen.visible) return;
    const C higher = max(top, seen.logit);
    sum = sum * (top == higher ? C(1) : exp(top - higher)) + exp(seen.logit - higher);
    top = higher;
  });
  const C highest = most_over_warp(top),
          whole = sum_over_warp(top == -INFINITY ? C(0) : sum * exp(top - highest));
  if (threadIdx.x == 0) p.norm[row] = highest + log(whole);
  walk(p.rows, visible, content, z, [&](const Seen<C>& seen) {
    if (seen.visible) store(p.weights[row * keys + seen.key], exp(seen.logit - highest) / whole);
  });
  visible.fill_others(p.weights + row * keys, keys);
}

// With dl_j = p_j (dp_j - sum p dp), as on the CPU (cope_simd.cpp); the sum over keys up to u is all of it
// less what follows u.
template <class T>
__global__ void cope_backward_kernel(const CopeBackward<T> p) {
  using C = Compute<T>;
  const int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y, keys = p.rows.keys;
  if (row >= p.rows.count) return;
  const Visible visible(p.rows, row);
  const C *content = p.content + row * keys, *z = p.z + row * p.rows.places;
  const T* const grads = p.weights_grad + row * keys;
  C* const dz = p.z_grad + row * p.rows.places;
  const C norm = p.norm[row];
  C whole = 0, products = 0;  // the rounding of the norm left `whole` beside 1
  walk(p.rows, visible, content, z, [&](const Seen<C>& seen) {
    if (!seen.visible) return;
    const C weight = exp(seen.logit - norm);
    whole += weight, products += weight * load(grads[seen.key]);
  });
  const C scale = 1 / sum_over_warp(whole), dot = scale * sum_over_warp(products);
  const auto logit_grad = [&](const Seen<C>& seen) {
    return seen.visible ? scale * exp(seen.logit - norm) * (load(grads[seen.key]) - dot) : C(0);
  };
  const auto count_grad = [](const Seen<C>& seen, C dl) { return seen.at_the_end ? C(0) : dl * seen.slope; };

  C total = 0;
  walk(p.rows, visible, content, z, [&](const Seen<C>& seen) {
    const C dl = logit_grad(seen);
    total += count_grad(seen, dl);
    add_places(seen, dl, dz, p.rows.places);
  });
  total = sum_over_warp(total);
  C behind = 0;
  walk(p.rows, visible, content, z, [&](const Seen<C>& seen) {
    const C dl = logit_grad(seen), own = count_grad(seen, dl), from_here = behind + sum_from_here(own);
    behind = __shfl_sync(kAll, from_here, 0);
    const C gate_grad = total - from_here + own;
    if (seen.visible)
      store(p.content_grad[row * keys + seen.key],
            C(p.rows.scale) * (dl + gate_grad * seen.gate * (1 - seen.gate)));
  });
  visible.fill_others(p.content_grad + row * keys, keys);
}

dim3 blocks(const CopeShape& rows) { return unsigned((rows.count + kWarps - 1) / kWarps); }

}  // namespace

template <class T>
void cope_cuda(const Cope<T>& p, void* stream) {
  cope_kernel<T><<<blocks(p.rows), dim3(32, kWarps), 0, static_cast<cudaStream_t>(stream)>>>(p);
  check_launch("cope_weights");
}
template <class T>
void cope_cuda(const CopeBackward<T>& p, void* stream) {
  cope_backward_kernel<T><<<blocks(p.rows), dim3(32, kWarps), 0, static_cast<cudaStream_t>(stream)>>>(p);
  check_launch("cope_weights_backward");
}

#define DAROPE_COPE(T)                            \
  template void cope_cuda(const Cope<T>&, void*); \
  template void cope_cuda(const CopeBackward<T>&, void*);
DAROPE_COPE(double)
DAROPE_COPE(float)
DAROPE_COPE(bfloat16)
DAROPE_COPE(float16)

}  // namespace darope::kernels
