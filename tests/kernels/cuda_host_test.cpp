#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/machine.h"
#include "kernels/norm.h"
#include "kernels/polar.h"
#include "kernels/softmax.h"
#include "kernels/sum.h"
#include "kernels/swiglu.h"

// What the CUDA kernels do on the host: which shapes they take, and into how many parts a sum goes. Needs no
// GPU; where there is none, a device counts as one processor.
namespace darope::kernels {
namespace {

TEST(CudaHost, TakesTheShapesItsThreadsCanShare) {
  for (const int64_t width : {64, 256, 384, 768, 1024, 2048}) EXPECT_TRUE(norm_fits_cuda(width)) << width;
  for (const int64_t width : {0, 63, 100, 1 << 20}) EXPECT_FALSE(norm_fits_cuda(width)) << width;
  for (const auto& [heads, width] : {std::pair(4, 8), std::pair(12, 64), std::pair(16, 128)})
    EXPECT_TRUE(polar_fits_cuda(heads, width)) << heads << " x " << width;
  EXPECT_FALSE(polar_fits_cuda(4, 6));     // no whole packs of channels
  EXPECT_FALSE(polar_fits_cuda(1, 2048));  // a head wider than its table
  EXPECT_FALSE(polar_fits_cuda(64, 128));  // more threads than a block has
  EXPECT_TRUE(softmax_nll_fits_cuda(50304) && swiglu_fits_cuda(1376));
  EXPECT_FALSE(softmax_nll_fits_cuda(50257) || swiglu_fits_cuda(1378));
}

// Room is made for as many parts as the launch has blocks, so there is always one and never more than rows.
TEST(CudaHost, PartsOfASumNeverOutnumberItsRows) {
  int64_t before = 0;
  for (const int64_t rows : {0, 1, 7, 8, 9, 100, 1 << 10, 1 << 14, 1 << 20}) {
    const int64_t parts = norm_parts(rows);
    EXPECT_GE(parts, std::max<int64_t>(1, before));
    EXPECT_LE(parts, std::max<int64_t>(1, rows));
    EXPECT_EQ(polar_parts({.batch = rows, .tokens = 0, .heads = 4, .width = 64}), 1);
    EXPECT_LE(polar_parts({.batch = 1, .tokens = rows, .heads = 4, .width = 64}), std::max<int64_t>(1, rows));
    before = parts;
  }
}

TEST(CudaHost, ASumOfManyRowsIsTakenInPartsThatOneBlockCanAdd) {
  EXPECT_EQ(row_sum_parts(0), 0);
  EXPECT_EQ(row_sum_parts(machine::kSumRowsAlone), 0);
  for (const int64_t rows : {machine::kSumRowsAlone + 1, int64_t{1} << 16, int64_t{1} << 30}) {
    EXPECT_GT(row_sum_parts(rows), 1);
    EXPECT_EQ(row_sum_parts(row_sum_parts(rows)), 0) << rows;
  }
  const RowSum<float> without_room{.rows = machine::kSumRowsAlone + 1, .width = 8};
  EXPECT_THROW(row_sum_cuda(without_room, nullptr), std::runtime_error);
}

}  // namespace
}  // namespace darope::kernels
