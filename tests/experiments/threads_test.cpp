#include "experiments/threads.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace darope {
namespace {

// Steps of shapes that were timed on two cores, with one thread and with two.
TEST(Threads, FollowTheWorkOfAStep) {
  EXPECT_EQ(threads_for(98e3 * 16 * 32, 2), 1);      // 64 wide: two took 1.7 times as long
  EXPECT_EQ(threads_for(786e3 * 16 * 128, 2), 2);    // 128 wide: two took .65 of the time
  EXPECT_EQ(threads_for(3.2e6 * 16 * 128, 2), 2);    // 256 wide
  EXPECT_EQ(threads_for(3.2e6 * 16 * 128, 96), 65);  // no more than there is work for
  EXPECT_EQ(threads_for(1e18, 16), 16);
  EXPECT_EQ(threads_for(0, 16), 1);
}

TEST(Threads, ThatAConfigAsksForAreTaken) {
  RunConfig config;
  config.threads = 1;
  use_threads(config, true);
  EXPECT_EQ(at::get_num_threads(), 1);
}

}  // namespace
}  // namespace darope
