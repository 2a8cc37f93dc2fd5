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

TEST(Threads, OfRunsSideBySideAreSharesOfTheCores) {
  RunConfig large;
  large.model.dim = 256, large.model.n_layers = 4, large.model.n_heads = 4, large.model.vocab_size = 257;
  large.model.max_seqlen = large.data.seq_len = 128, large.data.batch_size = 16;
  RunConfig small = large;
  small.model.dim = 32, small.model.n_layers = 1, small.data.batch_size = 1;
  const auto pace = [](const std::vector<RunConfig>& plan, int64_t jobs, int64_t cores) {
    const Pace found = pace_for(plan, jobs, true, cores);
    return std::pair(found.jobs, found.threads);
  };
  EXPECT_EQ(pace(std::vector(12, large), 0, 8), std::pair(8L, 1L));
  EXPECT_EQ(pace(std::vector(12, large), 2, 8), std::pair(2L, 4L));
  EXPECT_EQ(pace(std::vector(2, large), 0, 8), std::pair(2L, 4L));  // cores that no run would take
  EXPECT_EQ(pace({small, small}, 2, 8), std::pair(2L, 1L));         // as many as there is work for
  EXPECT_EQ(pace({small, large}, 2, 8), std::pair(2L, 4L));         // once for the plan
  large.threads = 3;
  EXPECT_EQ(pace(std::vector(12, large), 0, 8), std::pair(8L, 3L));
  EXPECT_EQ(pace_for(std::vector(4, small), 0, false, 8).jobs, 1);
  EXPECT_EQ(pace_for(std::vector(4, small), 2, false, 8).threads, 4);  // of a GPU's host
}

}  // namespace
}  // namespace darope
