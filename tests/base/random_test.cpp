#include "base/random.h"

#include <gtest/gtest.h>

namespace darope {

// The known-answer vectors published with the Random123 library.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, NamedByItsThreeParts) {
  const auto first = [](uint64_t seed, const char* purpose, uint64_t index) {
    return Random(seed, purpose, index).bits64();
  };
  EXPECT_EQ(first(1, "init/w", 0), first(1, "init/w", 0));
  EXPECT_NE(first(1, "init/w", 0), first(2, "init/w", 0));
  EXPECT_NE(first(1, "init/w", 0), first(1, "init/v", 0));
  EXPECT_NE(first(1, "init/w", 0), first(1, "init/w", 1));
}

TEST(Random, BelowStaysInRangeAndIsEven) {
  Random random(7, "test");
  std::array<int, 10> count{};
  for (int i = 0; i < 100'000; ++i) ++count.at(random.below(10));
  double chi2 = 0;
  for (const int c : count) chi2 += (c - 1e4) * (c - 1e4) / 1e4;
  EXPECT_LT(chi2, 27.9);  // 9 degrees of freedom, p = 0.001
}

TEST(Random, NormalHasTheRightMoments) {
  Random random(7, "normal");
  double sum = 0, square = 0, fourth = 0;
  const int n = 200'000;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x, square += x * x, fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(square / n, 1, 0.015);
  EXPECT_NEAR(fourth / n, 3, 0.1);
}

}  // namespace darope
