#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"

namespace darope {

TEST(Sha256, NistVectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Files, WritesAndReadsBack) {
  const Scratch folder;
  const std::string text = std::string("line\n\0x", 7) + std::string(200'000, 'y');
  write_file(folder / "a", "old");
  write_file(folder / "a", text);
  EXPECT_EQ(read_file(folder / "a"), text);
  EXPECT_EQ(size_of_file(folder / "a"), int64_t(text.size()));
  EXPECT_EQ(sha256_of_file(folder / "a"), sha256(text));
  expect_contains(error_of([&] { read_file(folder / "a", 100); }),
                  "has 200007 bytes, more than the 100 it may have");
  expect_contains(error_of([&] { read_file(folder / "b"); }), "no such file or folder");
  expect_contains(error_of([&] { read_file(folder.path()); }), "it is a folder");
}

TEST(Files, AnUncommittedFileLeavesTheOldOneAndNothingElse) {
  const Scratch folder;
  write_file(folder / "a", "old");
  {
    FileWriter out(folder / "a");
    out.write("new");
    EXPECT_EQ(out.bytes(), 3);
    EXPECT_EQ(out.sha256(), sha256("new"));
  }
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, AppendsAndCutsBack) {
  const Scratch folder;
  AppendFile(folder / "log").append("one\n");
  AppendFile log(folder / "log");
  log.append("two\n");
  EXPECT_EQ(read_file(folder / "log"), "one\ntwo\n");
  log.truncate(4);
  log.append("three\n");
  EXPECT_EQ(read_file(folder / "log"), "one\nthree\n");
  expect_contains(error_of([&] { log.truncate(100); }), "has 10 bytes, fewer than the 100");
}

TEST(Files, FullAndReadOnlyDisksAreNamed) {
  expect_contains(error_of([] { AppendFile("/dev/full").append("x"); }),
                  "cannot write /dev/full: no space left on the disk");
  expect_contains(error_of([] { write_file("/proc/version", "x"); }), "cannot write /proc/version");
}

TEST(Files, MapsFilesEvenEmptyOnes) {
  const Scratch folder;
  write_file(folder / "a", "bytes");
  write_file(folder / "empty", "");
  const MappedFile a(folder / "a"), empty(folder / "empty");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(a.bytes().data()), a.bytes().size()), "bytes");
  EXPECT_TRUE(empty.bytes().empty());
}

TEST(Files, RemovesTreesWithoutFollowingLinks) {
  const Scratch folder;
  make_directories(folder / "kept");
  write_file(folder / "kept/file", "x");
  make_directories(folder / "tree/deep/er");
  write_file(folder / "tree/deep/file", "x");
  std::filesystem::create_directory_symlink(folder / "kept", folder / "tree/link");
  remove_tree(folder / "tree");
  EXPECT_FALSE(std::filesystem::exists(folder / "tree"));
  EXPECT_EQ(read_file(folder / "kept/file"), "x");
  remove_tree(folder / "tree");
}

TEST(Files, WritersAndRemoversFollowNoLink) {
  const Scratch folder;
  write_file(folder / "thesis.txt", "not to be lost");
  std::filesystem::create_directory(folder / "docs");
  write_file(folder / "docs/notes.txt", "nor this");
  std::filesystem::create_symlink(folder / "thesis.txt", folder / "results.json");
  write_file(folder / "results.json", "{}");  // replaces the link
  std::filesystem::create_directory_symlink(folder / "docs", folder / "old");
  remove_tree(folder / "old");
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(folder / "old")));
  EXPECT_EQ(read_file(folder / "thesis.txt"), "not to be lost");
  EXPECT_EQ(read_file(folder / "docs/notes.txt"), "nor this");
  EXPECT_EQ(read_file(folder / "results.json"), "{}");
}

TEST(Files, WritersOfOneFileDoNotMeetAndLeaveNothing) {
  const Scratch folder;
  {
    FileWriter one(folder / "a"), other(folder / "a");
    one.write("first");
    other.write("second");
    one.commit();
    EXPECT_EQ(read_file(folder / "a"), "first");
    other.commit();
  }
  EXPECT_EQ(read_file(folder / "a"), "second");
  std::filesystem::create_directory(make_temporary_folder(folder / "b") / "inside");  // and then killed
  remove_leftovers(folder.path());
  size_t left = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder.path())) ++left;
  EXPECT_EQ(left, 1u);
}

TEST(Files, TheEndOfALongFileIsReadAlone) {
  const Scratch folder;
  write_file(folder / "a", "first\nlast\n");
  EXPECT_EQ(end_of_file(folder / "a", 5), "last\n");
  EXPECT_EQ(end_of_file(folder / "a", 100), "first\nlast\n");
}

TEST(Files, NamesMayBeAsLongAsTheSystemHasThem) {
  const Scratch folder;
  const std::filesystem::path file = folder / std::string(255, 'n');
  write_file(file, "one");
  write_file(file, "other");
  EXPECT_EQ(read_file(file), "other");
  std::filesystem::create_directory(make_temporary_folder(file) / "inside");  // and then killed
  std::filesystem::create_directory(make_temporary_folder(file) / "inside");
  remove_leftovers_of(folder.path(), {file.filename().string()});
  std::filesystem::create_directory(make_temporary_folder(file) / "inside");
  remove_leftovers_of(file);
  size_t left = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder.path())) ++left;
  EXPECT_EQ(left, 1u);
  expect_contains(error_of([&] { read_file(folder / std::string(256, 'n')); }),
                  "longer than the system allows");
}

TEST(Files, ALinkThatLeadsNowhereIsNamedAsSuch) {
  const Scratch folder;
  std::filesystem::create_symlink(folder / "a", folder / "a");
  expect_contains(error_of([&] { read_file(folder / "a"); }), "a link that leads back to itself");
}

TEST(Files, NothingIsWrittenThroughALink) {
  const Scratch root, mine;
  write_file(mine / "thesis.txt", "years of work");
  std::filesystem::create_symlink(mine / "thesis.txt", root / "train.log");
  std::filesystem::create_symlink(mine.path(), root / "evals");
  expect_contains(error_of([&] { AppendFile(root / "train.log").append("x"); }), "is a link");
  expect_contains(error_of([&] { make_directories_in(root.path(), root / "evals/10/as-trained"); }),
                  "is a link");
  write_file(root / "train.log", "x");  // the link itself is replaced
  EXPECT_EQ(read_file(mine / "thesis.txt"), "years of work");
  EXPECT_FALSE(std::filesystem::exists(mine / "10"));
  make_directories_in(root.path(), root / "tb/a");
  EXPECT_TRUE(std::filesystem::is_directory(root / "tb/a"));
}

TEST(Files, PipesSocketsAndDevicesAreNoFiles) {
  const Scratch root;
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
  for (const std::filesystem::path& path : {root / "pipe", std::filesystem::path("/dev/zero")}) {
    expect_contains(error_of([&] { read_file(path); }), "not a file");
    expect_contains(error_of([&] { sha256_of_file(path); }), "not a file");
    expect_contains(error_of([&] { end_of_file(path, 10); }), "not a file");
    expect_contains(error_of([&] { MappedFile map(path); }), "not a file");
  }
}

}  // namespace darope
