#include "kernels/adamw.h"
#include "kernels/cuda.h"

// Three kernels: the squares of the gradient, in parts that are always the same; what follows from their sum;
// the update, which reads and writes everything once.
namespace darope::kernels {
namespace {

constexpr int kThreads = machine::kAdamThreads, kVec = 4;
constexpr int64_t kFactors = 3;  // of settle_kernel, at the front of the room
using Floats = Pack<float, kVec>;
using Lows = Pack<bfloat16, kVec>;

int64_t parts() { return processors() * machine::kAdamBlocks; }

__device__ Floats gradient_of(const AdamW& p, int64_t pack) {
  Floats g = reinterpret_cast<const Floats*>(p.gradient)[pack];
  if (!p.low_gradient) return g;
  const Lows low = reinterpret_cast<const Lows*>(p.low_gradient)[pack];
  for (int i = 0; i < kVec; ++i) g.value[i] += load(low.value[i]);
  return g;
}

template <class T>
__device__ T sum_of_block(T mine) {
  __shared__ T sums[kThreads];
  sums[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return sums[0];
}

__global__ void squares_kernel(const AdamW p) {
  float sum = 0;
  for (int64_t pack = int64_t(blockIdx.x) * kThreads + threadIdx.x; pack < p.count / kVec;
       pack += int64_t(gridDim.x) * kThreads) {
    const Floats g = gradient_of(p, pack);
    for (int i = 0; i < kVec; ++i) sum += g.value[i] * g.value[i];
  }
  const float total = sum_of_block(sum);
  if (threadIdx.x == 0) p.room[kFactors + blockIdx.x] = total;
}

__global__ void settle_kernel(const AdamW p, int64_t parts) {
  double sum = 0;
  for (int64_t part = threadIdx.x; part < parts; part += kThreads) sum += double(p.room[kFactors + part]);
  const double total = sum_of_block(sum);
  if (threadIdx.x != 0) return;
  const float norm = float(sqrt(total));
  *p.norm = norm;
  if (!isfinite(norm + *p.loss)) *p.stopped = 1;
  const double steps = double(*p.steps) + 1 - double(*p.stopped);
  *p.steps = float(steps);
  p.room[0] = p.clip > 0 ? fminf(1, p.clip / (norm + 1e-6f)) : 1;
  p.room[1] = float(double(*p.rate) / (1 - pow(double(p.beta1), steps)));
  p.room[2] = float(1 / sqrt(1 - pow(double(p.beta2), steps)));
}

__global__ void update_kernel(const AdamW p) {
  const float scale = p.room[0], step = p.room[1], root = p.room[2], rate = *p.rate;
  const bool stopped = *p.stopped != 0;
  for (int64_t pack = int64_t(blockIdx.x) * kThreads + threadIdx.x; pack < p.count / kVec;
       pack += int64_t(gridDim.x) * kThreads) {
    const Floats g = gradient_of(p, pack);
    reinterpret_cast<Floats*>(p.gradient)[pack] = {};
    if (p.low_gradient) reinterpret_cast<Lows*>(p.low_gradient)[pack] = {};
    if (stopped) continue;
    Floats& weight = reinterpret_cast<Floats*>(p.weight)[pack];
    Floats& first = reinterpret_cast<Floats*>(p.first)[pack];
    Floats& second = reinterpret_cast<Floats*>(p.second)[pack];
    Floats w = weight, m = first, v = second;
    Lows low;
    const float keep = pack * kVec < p.decayed ? 1 - rate * p.decay : 1;
    for (int i = 0; i < kVec; ++i) {
      const float d = g.value[i] * scale;
      m.value[i] += (1 - p.beta1) * (d - m.value[i]);
      v.value[i] = p.beta2 * v.value[i] + (1 - p.beta2) * d * d;
      w.value[i] = w.value[i] * keep - step * m.value[i] / (sqrtf(v.value[i]) * root + p.epsilon);
      store(low.value[i], w.value[i]);
    }
    weight = w, first = m, second = v;
    if (p.copy) reinterpret_cast<Lows*>(p.copy)[pack] = low;
  }
}

}  // namespace

int64_t adamw_room() { return kFactors + parts(); }

void adamw_cuda(const AdamW& p, void* stream) {
  const auto blocks = unsigned(parts());
  const auto on = static_cast<cudaStream_t>(stream);
  squares_kernel<<<blocks, kThreads, 0, on>>>(p);
  settle_kernel<<<1, kThreads, 0, on>>>(p, parts());
  update_kernel<<<blocks, kThreads, 0, on>>>(p);
  check_launch("adamw");
}

}  // namespace darope::kernels
