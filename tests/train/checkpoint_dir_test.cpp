#include "runs/checkpoint_dir.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <random>

#include "base/json.h"
#include "faults.h"
#include "scratch.h"

namespace darope {
namespace {
namespace fs = std::filesystem;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

std::string weights_of(int64_t step, size_t size) {
  return std::string(size, char('a' + step % 26)) + std::to_string(step);
}

void save(const fs::path& root, int64_t step, size_t size = 1000) {
  write_checkpoint(root, step, [&](CheckpointFiles& files) {
    files.write("model.safetensors", [&](FileWriter& out) {
      out.write("header");
      out.write(weights_of(step, size));
    });
    files.write("train_state.json", "{\"step\": " + std::to_string(step) + "}");
    files.write("optim.safetensors", "moments");
  });
}

// The newest checkpoint's step, having looked at its bytes; -1 if there is none.
int64_t newest(const fs::path& root, size_t size = 1000) {
  const auto found = newest_checkpoint(root);
  if (!found) return -1;
  EXPECT_EQ(read_file(found->folder / "model.safetensors"), "header" + weights_of(found->step, size));
  EXPECT_EQ(read_file(found->folder / "train_state.json"), "{\"step\": " + std::to_string(found->step) + "}");
  return found->step;
}

std::vector<std::string> names_in(const fs::path& root) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(root)) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(CheckpointDir, AFolderIsKnownByItsNameHoweverItIsTyped) {
  const Scratch out;
  const fs::path root = out / "checkpoints", folder = root / "0000000008";
  save(root, 7);
  fs::rename(root / "0000000007", folder);  // whose train_state.json says 7
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  for (const fs::path& typed :
       {folder, folder / "", fs::path("."), fs::path("./"), fs::path("../0000000008/")})
    EXPECT_NE(checkpoint_problem(typed, Verify::kHashes), std::nullopt) << typed;
  fs::current_path(before);
}

TEST(CheckpointDir, AMarkThatWasLostIsGivenBackButNotThroughALink) {
  const Scratch out;
  const fs::path root = out / "checkpoints", folder = root / "0000000008", linked = root / "0000000009";
  save(root, 8);
  fs::remove(folder / "COMPLETE");
  fs::create_directory_symlink(folder, linked);
  mark_complete(linked);
  EXPECT_FALSE(fs::exists(folder / "COMPLETE"));
  mark_complete(folder);
  EXPECT_TRUE(fs::exists(folder / "COMPLETE"));
}

// Runs `work` in a process of its own and gives its exit status; one that was killed gives 128 + the signal.
template <class Work>
int in_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void damage(const fs::path& file, int64_t at, char with) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(at);
  stream.put(with);
}

TEST(CheckpointDir, LayoutIsWhatTheDocumentsSay) {
  const Scratch run;
  const fs::path root = run / "checkpoints";
  EXPECT_EQ(newest(root), -1);
  save(root, 1000);
  EXPECT_EQ(names_in(root), std::vector<std::string>{"0000001000"});
  EXPECT_EQ(names_in(root / "0000001000"),
            (std::vector<std::string>{"COMPLETE", "MANIFEST.json", "model.safetensors", "optim.safetensors",
                                      "train_state.json"}));
  const Json manifest = Json::parse(read_file(root / "0000001000/MANIFEST.json"));
  EXPECT_EQ(manifest["files"][1]["file"], "train_state.json");
  EXPECT_EQ(manifest["files"][1]["bytes"], 14);
  EXPECT_EQ(manifest["files"][1]["sha256"], sha256("{\"step\": 1000}"));
  EXPECT_EQ(newest(root), 1000);
}

TEST(CheckpointDir, KilledAtEveryCallItStillHasASoundCheckpoint) {
  for (const auto mode : {faults::Mode::kDie, faults::Mode::kDieHalfway}) {
    bool finished = false;
    for (int call = 1; !finished; ++call) {
      ASSERT_LT(call, 200);
      const Scratch root;
      save(root.path(), 1);
      save(root.path(), 2);
      const int status = in_child([&] {
        faults::arm(mode, call);
        clean_checkpoints(root.path());
        save(root.path(), 3);
        retain_checkpoints(root.path(), 1);
      });
      finished = status == 0;
      ASSERT_TRUE(finished || status == faults::kDied) << status;
      const int64_t step = newest(root.path());
      EXPECT_TRUE(step == 2 || step == 3) << "killed at call " << call << ", newest is " << step;
      for (const Checkpoint& each : list_checkpoints(root.path()))
        EXPECT_EQ(checkpoint_problem(each.folder, Verify::kHashes), std::nullopt)
            << "killed at call " << call;
      clean_checkpoints(root.path());
      save(root.path(), 3);
      retain_checkpoints(root.path(), 1);
      EXPECT_EQ(newest(root.path()), 3);
      EXPECT_EQ(names_in(root.path()), std::vector<std::string>{"0000000003"}) << "killed at call " << call;
      EXPECT_TRUE(!finished || call > 25) << "so few calls cannot be all of them";
    }
  }
}

TEST(CheckpointDir, AFailingDiskIsAnErrorAndLosesNothing) {
  const std::map<int, std::string> disks = {
      {ENOSPC, "no space left"}, {EROFS, "read-only"}, {EACCES, "permission denied"}, {EIO, "error"}};
  for (const auto& [code, reason] : disks) {
    for (int call = 1;; ++call) {
      const Scratch root;
      save(root.path(), 1);
      faults::arm(faults::Mode::kFail, call, code);
      const std::string complaint = error_of([&] { save(root.path(), 2); });
      const bool struck = faults::struck();
      faults::disarm();
      if (!struck) break;
      expect_contains(complaint, reason);
      const int64_t step = newest(root.path());
      EXPECT_TRUE(step == 1 || step == 2) << "call " << call;
      save(root.path(), 2);
      EXPECT_EQ(newest(root.path()), 2);
    }
  }
}

TEST(CheckpointDir, KilledAtRandomMoments) {
  const Scratch root;
  const auto began = std::chrono::steady_clock::now();
  save(root.path(), 0, 300'000);
  const auto once =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began).count();
  std::mt19937 random(7);
  int64_t last = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      clean_checkpoints(root.path());
      for (int64_t step = last + 1;; ++step) {
        save(root.path(), step, 300'000);
        retain_checkpoints(root.path(), 2);
      }
    }
    ::usleep(useconds_t(double(once) * 4 * double(random()) / double(random.max())));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const int64_t step = newest(root.path(), 300'000);
    EXPECT_GE(step, last);
    last = step;
  }
  EXPECT_GT(last, 0);
}

TEST(CheckpointDir, DamageIsNoticedAndPassedOverLoudly) {
  struct Case {
    std::string says;
    std::function<void(const fs::path&)> harm;
    Verify enough;  // the least that notices
  };
  const std::vector<Case> cases = {
      {"model.safetensors has 500 bytes, not 1007",
       [](const fs::path& f) { fs::resize_file(f / "model.safetensors", 500); }, Verify::kSizes},
      {"sha256 differs", [](const fs::path& f) { damage(f / "model.safetensors", 700, '\0'); },
       Verify::kHashes},
      {"no such file", [](const fs::path& f) { fs::remove(f / "train_state.json"); }, Verify::kSizes},
      {"no such file", [](const fs::path& f) { fs::remove(f / "MANIFEST.json"); }, Verify::kSizes},
      {"not JSON", [](const fs::path& f) { fs::resize_file(f / "MANIFEST.json", 40); }, Verify::kSizes},
      {"not a list of files", [](const fs::path& f) { write_file(f / "MANIFEST.json", "{\"files\": [1]}"); },
       Verify::kSizes},
      {"outside the folder",
       [](const fs::path& f) {
         write_file(f / "MANIFEST.json", R"({"files": [{"file": "../x", "bytes": 1, "sha256": ""}]})");
       },
       Verify::kSizes},
  };
  for (const Case& each : cases) {
    const Scratch root;
    save(root.path(), 1);
    save(root.path(), 2);
    each.harm(root / "0000000002");
    expect_contains(checkpoint_problem(root / "0000000002", each.enough).value_or("nothing"), each.says);
    CaptureStderr();
    EXPECT_EQ(newest(root.path()), 1);
    const std::string said = GetCapturedStderr();
    expect_contains(said, "WARNING: checkpoint " + (root / "0000000002").string() + " is damaged");
    expect_contains(said, each.says);
    // Retention trusts nothing newer that is damaged.
    CaptureStderr();
    retain_checkpoints(root.path(), 1);
    expect_contains(GetCapturedStderr(), "older ones are kept");
    EXPECT_EQ(names_in(root.path()).size(), 2u);
    // A new save of the damaged step replaces it.
    save(root.path(), 2);
    EXPECT_EQ(newest(root.path()), 2);
  }
}

// Tools that copy folders may drop empty files: then the hashes speak, and nothing is deleted.
TEST(CheckpointDir, WithoutCompleteItsBytesSpeakForIt) {
  const Scratch root;
  save(root.path(), 1);
  save(root.path(), 2);
  for (const char* each : {"0000000001", "0000000002"}) fs::remove(root / each / "COMPLETE");
  fs::create_directory(root / "notes");
  fs::create_directory(root / ".tmp-7");
  clean_checkpoints(root.path());
  EXPECT_EQ(names_in(root.path()), (std::vector<std::string>{"0000000001", "0000000002", "notes"}));
  EXPECT_EQ(newest(root.path()), 2);
  damage(root / "0000000002/model.safetensors", 700, '\0');
  expect_contains(*checkpoint_problem(root / "0000000002", Verify::kSizes), "sha256 differs");
  clean_checkpoints(root.path());
  CaptureStderr();
  EXPECT_EQ(newest(root.path()), 1);
  expect_contains(GetCapturedStderr(), "0000000002 is damaged");
  EXPECT_EQ(names_in(root.path()).size(), 3u);
}

TEST(CheckpointDir, AManifestListsWhatACheckpointMustHaveAndTheStepIsTheFolders) {
  const Scratch run;
  const fs::path root = run / "checkpoints", folder = root / "0000000002";
  for (const char* file : {"model.safetensors", "train_state.json", "optim.safetensors"}) {
    save(root, 2);
    Json manifest = Json::parse(read_file(folder / "MANIFEST.json"));
    std::erase_if(manifest["files"].get_ref<Json::array_t&>(),
                  [&](const Json& entry) { return entry["file"] == file; });
    write_file(folder / "MANIFEST.json", manifest.dump());
    expect_contains(checkpoint_problem(folder, Verify::kHashes).value_or("nothing"),
                    std::string("does not list ") + file);
  }
  save(root, 2);
  fs::rename(folder, root / "0000000009");
  expect_contains(checkpoint_problem(root / "0000000009", Verify::kHashes).value_or("nothing"),
                  "says step 2, its folder 9");
}

TEST(CheckpointDir, ALinkedCheckpointIsUsedAndWhatItLeadsToIsNeverDeleted) {
  const Scratch root, elsewhere;
  save(root.path(), 1);
  save(root.path(), 2);
  fs::rename(root / "0000000002", elsewhere / "0000000002");
  fs::create_symlink(elsewhere / "0000000002", root / "0000000002");
  clean_checkpoints(root.path());
  EXPECT_EQ(newest(root.path()), 2);
  save(root.path(), 3);
  retain_checkpoints(root.path(), 1);  // the link goes
  EXPECT_EQ(names_in(root.path()), std::vector<std::string>{"0000000003"});
  EXPECT_EQ(newest(elsewhere.path()), 2);
  fs::create_symlink(elsewhere.path() / "nowhere", root / "0000000004");
  CaptureStderr();
  EXPECT_EQ(newest(root.path()), 3);
  expect_contains(GetCapturedStderr(), "0000000004 is damaged");
}

TEST(CheckpointDir, ALinkInPlaceOfATemporaryFolderIsRemovedNotFollowed) {
  const Scratch root, mine;
  write_file(mine / "thesis.txt", "years of work");
  fs::create_symlink(mine.path(), root / ".tmp-2");
  save(root.path(), 2);
  fs::create_symlink(mine.path(), root / ".tmp-3");
  clean_checkpoints(root.path());
  EXPECT_EQ(read_file(mine / "thesis.txt"), "years of work");
  EXPECT_EQ(names_in(root.path()), std::vector<std::string>{"0000000002"});
}

TEST(CheckpointDir, NoneSoundIsAnErrorNotAFreshStart) {
  const Scratch root;
  save(root.path(), 1);
  damage(root / "0000000001/model.safetensors", 3, '!');
  CaptureStderr();
  expect_contains(error_of([&] { newest_checkpoint(root.path()); }), "none of the 1 checkpoints in");
  GetCapturedStderr();
}

TEST(CheckpointDir, KeepsTheNewest) {
  const Scratch root;
  for (int64_t step = 1; step <= 5; ++step) save(root.path(), step);
  retain_checkpoints(root.path(), 2);
  EXPECT_EQ(names_in(root.path()), (std::vector<std::string>{"0000000004", "0000000005"}));
  expect_contains(error_of([&] { retain_checkpoints(root.path(), 0); }), "at least 1");
}

TEST(CheckpointDir, TheSameBytesStayAndOthersReplaceThem) {
  const Scratch root;
  save(root.path(), 1);
  const auto written = fs::last_write_time(root / "0000000001/COMPLETE");
  save(root.path(), 1);
  EXPECT_EQ(fs::last_write_time(root / "0000000001/COMPLETE"), written);
  save(root.path(), 1, 500);
  EXPECT_EQ(newest(root.path(), 500), 1);
  EXPECT_EQ(names_in(root.path()), std::vector<std::string>{"0000000001"});
}

TEST(CheckpointDir, RealFullAndReadOnlyDisks) {
  const Scratch disk;
  if (::mount("tmpfs", disk.path().c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "mounting a small disk is not allowed here";
  save(disk.path(), 1);
  expect_contains(error_of([&] { save(disk.path(), 2, 1 << 20); }), "no space left on the disk");
  EXPECT_EQ(newest(disk.path()), 1);
  EXPECT_EQ(names_in(disk.path()), std::vector<std::string>{"0000000001"});
  save(disk.path(), 2);
  EXPECT_EQ(::mount("tmpfs", disk.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  expect_contains(error_of([&] { save(disk.path(), 3); }), "read-only");
  EXPECT_EQ(newest(disk.path()), 2);
  ::umount(disk.path().c_str());
}

}  // namespace
}  // namespace darope
