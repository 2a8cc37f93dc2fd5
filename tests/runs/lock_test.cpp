#include "runs/lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "base/json.h"
#include "base/machine.h"
#include "base/scratch.h"

static int g_flock_fails_with = 0;  // 0: the system's own answer

extern "C" {
int __real_flock(int, int);
int __wrap_flock(int file, int how) {
  errno = g_flock_fails_with;
  return g_flock_fails_with == 0 ? __real_flock(file, how) : -1;
}
}

namespace darope {
namespace {

// What taking a lock is refused with, and its exit code; "" and 0 if it is not.
std::pair<std::string, int> refusal(const std::filesystem::path& file) {
  try {
    const Lock lock(file, "testing");
    return {"", 0};
  } catch (const Error& e) {
    return {e.what(), e.code()};
  }
}

TEST(Lock, RefusesASecondAndNamesTheFirst) {
  const Scratch folder;
  {
    const Lock first(folder / ".lock", "training in runs/a");
    const auto [words, code] = refusal(folder / ".lock");
    EXPECT_EQ(code, kBusy);
    expect_contains(words, "process " + std::to_string(getpid()) + " on " + host_name() +
                               " has been training in runs/a since 20");
  }
  EXPECT_FALSE(std::filesystem::exists(folder / ".lock"));
  EXPECT_EQ(refusal(folder / ".lock").first, "");
}

Json holder(const std::filesystem::path& file) {
  const Lock lock(file, "training");
  return parse_json(read_file(file), "lock");
}

TEST(Lock, TakesOverWhatADeadProcessLeft) {
  const Scratch folder;
  const std::filesystem::path file = folder / ".lock";
  const Json ours = holder(file);
  for (const auto& [key, value] : std::map<std::string, Json>{{"process", 1 << 30},
                                                              {"started", ours["started"].get<int64_t>() - 1},
                                                              {"boot", "an earlier one"}}) {
    Json left = ours;
    left[key] = value;
    write_file(file, left.dump());
    EXPECT_EQ(refusal(file).first, "") << key;
  }
  write_file(file, ours.dump());  // a file system that keeps no locks: who is written there is alive
  EXPECT_EQ(refusal(file).second, kBusy);
}

TEST(Lock, LeavesWhatAnotherHasPutInItsPlace) {
  const Scratch folder;
  const std::filesystem::path file = folder / ".lock";
  {
    const Lock lock(file, "testing");
    std::filesystem::remove(file);
    write_file(file, "another's");
  }
  EXPECT_EQ(read_file(file), "another's");
}

TEST(Lock, SaysHowToRemoveOneOfAnotherMachine) {
  const Scratch folder;
  const std::filesystem::path file = folder / ".lock";
  Json left = holder(file);
  left["host"] = "elsewhere", left["since"] = left["since"].get<int64_t>() - 7200;
  write_file(file, left.dump());
  const auto [words, code] = refusal(file);
  EXPECT_EQ(code, kBusy);
  expect_contains(words, "on elsewhere has been training since");
  expect_contains(words, "(2:00:0");
  expect_contains(words, "if it is gone, remove " + file.string());
  EXPECT_EQ(parse_json(read_file(file), "lock"), left);
}

TEST(Lock, LeavesAloneWhatIsNoLock) {
  const Scratch folder;
  const std::filesystem::path file = folder / ".lock", target = folder / "thesis.txt";
  for (const std::string text : {"my notes", "[]", "{}", R"({"host":7})"}) {
    write_file(file, text);
    expect_contains(refusal(file).first, "is no lock of darope's");
    EXPECT_EQ(read_file(file), text);
  }
  remove_file(file);
  write_file(target, "not to be lost");
  std::filesystem::create_symlink(target, file);
  EXPECT_NE(refusal(file).first, "");
  EXPECT_EQ(read_file(target), "not to be lost");
  remove_file(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  expect_contains(refusal(file).first, "is no lock of darope's");
  remove_file(file);
  std::filesystem::create_directory(file);
  EXPECT_NE(refusal(file).first, "");
}

TEST(Lock, OneThatWasNeverWrittenToItsEndIsTakenOver) {
  const Scratch folder;
  const std::filesystem::path file = folder / ".lock";
  std::string whole;
  {
    const Lock lock(file, "training");
    whole = read_file(file);
  }
  for (const size_t size : {size_t{1}, size_t{20}, whole.size() / 2, whole.size() - 2}) {
    write_file(file, whole.substr(0, size));
    EXPECT_EQ(error_of([&] { const Lock lock(file, "training"); }), "") << size;
  }
}

// File systems without locks: flock says nothing.
class WithoutFlock : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { g_flock_fails_with = GetParam(); }
  void TearDown() override { g_flock_fails_with = 0; }
  const Scratch folder_;
  const std::filesystem::path file_ = folder_ / ".lock";
};
INSTANTIATE_TEST_SUITE_P(Lock, WithoutFlock, testing::Values(ENOLCK, EOPNOTSUPP));

TEST_P(WithoutFlock, ASecondIsRefusedAndWhatADeadProcessLeftIsTakenOver) {
  Json left = holder(file_);
  EXPECT_FALSE(std::filesystem::exists(file_));
  left["process"] = 1 << 30;
  write_file(file_, left.dump());
  const Lock lock(file_, "training");
  EXPECT_EQ(parse_json(read_file(file_), "lock")["process"], getpid());
  EXPECT_EQ(refusal(file_).second, kBusy);
}

TEST_P(WithoutFlock, AFileThatAnotherHasJustMadeIsNotTaken) {
  std::ofstream(file_).close();
  const auto [words, code] = refusal(file_);
  EXPECT_EQ(code, kBusy);
  expect_contains(words, "does not say who it is");
  EXPECT_EQ(read_file(file_), "");
}

TEST_P(WithoutFlock, OneAtATime) {
  std::atomic<int> holders = 0, most = 0, refused = 0, took = 0;
  const auto work = [&](int number) {
    for (int i = 0; i < 50; ++i) try {
        const Lock lock(file_, "thread " + std::to_string(number));
        const int now = ++holders;
        most = std::max(most.load(), now);
        std::this_thread::yield();
        --holders;
        ++took;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), kBusy) << e.what();
        ++refused;
      }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number) threads.emplace_back(work, number);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(took + refused, 400);
  EXPECT_GT(took, 0);
}

TEST(Lock, OfAnotherCanBeAskedForWithoutTakingIt) {
  const Scratch folder;
  const std::filesystem::path file = folder / ".lock";
  const auto asked = [&] { return error_of([&] { refuse_held(file); }); };
  EXPECT_EQ(asked(), "");
  EXPECT_FALSE(std::filesystem::exists(file));
  Json left;
  {
    const Lock lock(file, "training");
    expect_contains(asked(), "has been training since");
    left = parse_json(read_file(file), "lock");
  }
  EXPECT_EQ(asked(), "");
  left["process"] = 0;  // of one that is gone
  write_file(file, left.dump() + "\n");
  EXPECT_EQ(asked(), "");
  left["host"] = "elsewhere";
  write_file(file, left.dump() + "\n");
  expect_contains(asked(), "on elsewhere has been training since");
  EXPECT_EQ(error_of([&] { const Lock mine(folder / ".other", "x"); }), "");
}

}  // namespace
}  // namespace darope
