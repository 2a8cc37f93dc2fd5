#include "data/tasks/protocol.h"

#include <gtest/gtest.h>

#include <set>

#include "base/config.h"
#include "base/error.h"

namespace darope {
namespace {

TEST(Protocol, BucketsFollowTheContext) {
  const Task& duplicate =
      find_task("duplicate_string");  // 84, 169, 340 and 681 symbols fit 256, 512, 1024 and 2048 bytes
  const Range in_domain = lengths(duplicate, 256, Bucket::in_domain),
              twice = lengths(duplicate, 256, Bucket::twice),
              eightfold = lengths(duplicate, 256, Bucket::eightfold);
  EXPECT_EQ(in_domain.first, 1);
  EXPECT_EQ(in_domain.last, 84);
  EXPECT_EQ(twice.first, 85);
  EXPECT_EQ(twice.last, 169);
  EXPECT_EQ(eightfold.first, 341);
  EXPECT_EQ(eightfold.last, 681);
}

TEST(Protocol, ABucketWithoutLengthsIsRefused) {
  EXPECT_THROW(lengths(find_task("fixed_offset"), 4096, Bucket::eightfold),
               Error);  // offsets have four digits
  EXPECT_THROW(lengths(find_task("parity"), 4, Bucket::in_domain), Error);
}

TEST(Protocol, TestLengthsFillTheirBucket) {
  const Task& task = find_task("reverse_string");
  for (const Bucket bucket : kBuckets) {
    const Range range = lengths(task, 32, bucket);
    std::set<int64_t> seen;
    for (int64_t i = 0; i < 4000; ++i)
      seen.insert(int64_t(test_example(task, 32, bucket, 1, i).answer.size()));
    EXPECT_EQ(*seen.begin(), range.first) << name_of(bucket);
    EXPECT_EQ(*seen.rbegin(), range.last) << name_of(bucket);
    EXPECT_EQ(int64_t(seen.size()), range.last - range.first + 1) << name_of(bucket);
  }
}

TEST(Protocol, UniformUsesTheWholeRangeFromTheStart) {
  EXPECT_EQ(longest_n({}, {1, 84}, 0, 1000), 84);
  EXPECT_EQ(longest_n({}, {1, 84}, 999, 1000), 84);
}

TEST(Protocol, GrowRisesFromFourToTheEnd) {
  const LengthSchedule straight{"grow", 0.5, 1}, cubic{"grow", 0.5, 3};
  const Range range{1, 104};
  EXPECT_EQ(longest_n(straight, range, 0, 1000), 4);
  EXPECT_EQ(longest_n(straight, range, 250, 1000), 54);   // half way
  EXPECT_EQ(longest_n(cubic, range, 250, 1000), 4 + 12);  // an eighth of the way: 12.5
  for (const LengthSchedule& schedule : {straight, cubic}) {
    EXPECT_LT(longest_n(schedule, range, 499, 1000), 104);
    EXPECT_EQ(longest_n(schedule, range, 500, 1000), 104);
    EXPECT_EQ(longest_n(schedule, range, 999, 1000), 104);
  }
  EXPECT_EQ(longest_n(straight, {1, 3}, 0, 1000), 3);  // a range that ends below four
  EXPECT_EQ(longest_n(straight, {6, 9}, 0, 1000), 6);  // or begins above it
}

TEST(Protocol, BadSchedulesAreRefused) {
  const auto check = [](LengthSchedule schedule) { check_values(list_fields(schedule)); };
  EXPECT_THROW(check({"gorw", 0.5, 1}), Error);
  EXPECT_THROW(check({"grow", 0, 1}), Error);
  EXPECT_THROW(check({"grow", 1.5, 1}), Error);
  EXPECT_THROW(check({"grow", 0.5, 0}), Error);
  EXPECT_NO_THROW(check({"grow", 1, 3}));
}

TEST(Protocol, TrainingLengthsAreUniformUpToTheLongest) {
  const TrainingPlan plan{find_task("reverse_string"), {1, 20}, {"grow", 1, 1}, 100, 1};
  std::vector<int> count(21);
  for (int64_t row = 0; row < 12000; ++row) ++count.at(training_example(plan, 50, row).answer.size());
  for (int64_t n = 1; n <= 12; ++n)
    EXPECT_NEAR(count[size_t(n)], 1000, 150) << n;  // 4 + 16/2 = 12 is the longest at half way
  for (int64_t n = 13; n <= 20; ++n) EXPECT_EQ(count[size_t(n)], 0) << n;
}

// The same name gives the same sample; every part of the name matters.
TEST(Protocol, StreamsAreNamedAndApart) {
  const Task& task = find_task("duplicate_string");
  TrainingPlan plan{task, {60, 84}, {}, 100, 1}, other_seed = plan;
  other_seed.seed = 2;
  EXPECT_EQ(training_example(plan, 3, 5).prompt, training_example(plan, 3, 5).prompt);
  EXPECT_EQ(test_example(task, 256, Bucket::twice, 1, 7).prompt,
            test_example(task, 256, Bucket::twice, 1, 7).prompt);

  std::set<std::string> prompts;
  int64_t drawn = 0;
  for (int64_t i = 0; i < 50; ++i)
    for (const Example& example :
         {training_example(plan, i, 0), training_example(plan, 0, i + 1), training_example(other_seed, i, 0),
          test_example(task, 512, Bucket::twice, 1, i), test_example(task, 512, Bucket::twice, 2, i),
          test_example(task, 512, Bucket::eightfold, 1, i)}) {
      prompts.insert(example.prompt.substr(0, 40));  // long enough never to agree by chance
      ++drawn;
    }
  EXPECT_EQ(int64_t(prompts.size()), drawn);
}

}  // namespace
}  // namespace darope
