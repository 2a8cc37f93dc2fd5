#pragma once
#include "kernels/rotate.h"

// The sum of a tall matrix's rows, always in the same order: plain data in, no torch.
namespace darope::kernels {

template <class T>
struct RowSum {
  int64_t rows = 0, width = 0;
  const float* x = nullptr;       // [rows, width]
  const float* weight = nullptr;  // of row r: weight[r % period]; null: every row counts as it is
  int64_t period = 1;
  float* parts = nullptr;  // [row_sum_parts(rows), width]: room for sums of some rows each
  T* out = nullptr;        // [width]
};

int64_t row_sum_parts(int64_t rows);
template <class T>
void row_sum_cuda(const RowSum<T>&, void* stream);  // T is float, bfloat16 or float16

}  // namespace darope::kernels
