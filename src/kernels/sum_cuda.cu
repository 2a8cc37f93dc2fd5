#include <algorithm>

#include "kernels/cuda.h"
#include "kernels/sum.h"

// A block adds up 32 columns over a stretch of rows; where there are many rows, the blocks' sums are added up
// the same way.
namespace darope::kernels {
namespace {

constexpr int64_t kAtOnce = machine::kSumRowsAlone, kStretch = machine::kSumRows;

template <class T>
__global__ void row_sum_kernel(const RowSum<T> p, int64_t stretch) {
  __shared__ float sums[32][33];
  const int64_t column = int64_t(blockIdx.x) * 32 + threadIdx.x, first = int64_t(blockIdx.y) * stretch,
                last = min(first + stretch, p.rows);
  float sum = 0;
  if (column < p.width)
    for (int64_t row = first + threadIdx.y; row < last; row += 32)
      sum += p.x[row * p.width + column] * (p.weight ? p.weight[row % p.period] : 1);
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  float total = sums[threadIdx.x][threadIdx.y];  // now a warp has one column
  for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(0xFFFFFFFF, total, offset);
  const int64_t of_warp = int64_t(blockIdx.x) * 32 + threadIdx.y;
  if (threadIdx.x == 0 && of_warp < p.width) store(p.out[blockIdx.y * p.width + of_warp], total);
}

template <class T>
void launch(const RowSum<T>& p, int64_t parts, int64_t stretch, void* stream) {
  const dim3 grid(unsigned((p.width + 31) / 32), unsigned(parts));
  row_sum_kernel<<<grid, dim3(32, 32), 0, static_cast<cudaStream_t>(stream)>>>(p, stretch);
  check_launch("row_sum");
}

}  // namespace

int64_t row_sum_parts(int64_t rows) {
  return rows <= kAtOnce ? 0 : std::min((rows + kStretch - 1) / kStretch, kAtOnce);
}

template <class T>
void row_sum_cuda(const RowSum<T>& p, void* stream) {
  const int64_t parts = row_sum_parts(p.rows);
  if (parts == 0) return launch(p, 1, p.rows, stream);
  if (!p.parts) throw std::runtime_error("row_sum: so many rows need room for parts");
  launch(RowSum<float>{p.rows, p.width, p.x, p.weight, p.period, nullptr, p.parts}, parts,
         (p.rows + parts - 1) / parts, stream);
  launch(RowSum<T>{parts, p.width, p.parts, nullptr, 1, nullptr, p.out}, 1, parts, stream);
}

template void row_sum_cuda(const RowSum<float>&, void*);
template void row_sum_cuda(const RowSum<bfloat16>&, void*);
template void row_sum_cuda(const RowSum<float16>&, void*);

}  // namespace darope::kernels
