#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace darope {

// Files that survive a killed process and a pulled plug. Every failure is an Error that names the file and
// the reason. All changes go through plain system calls, each of which a test can make fail.

// An open file descriptor, closed when it goes.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags);
  Descriptor(const std::filesystem::path& path, int flags,
             const std::filesystem::path& shown);  // in an error, where a file goes by another name
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Writes a file from front to back beside its final place; commit() makes it durable and renames it there.
// Without commit() nothing is left behind. Hashes what it was given, not what the disk kept.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();
  int64_t bytes() const { return bytes_; }
  std::string sha256() { return hash_.hex(); }  // once, after the last write

 private:
  std::filesystem::path path_, temporary_;
  Descriptor file_;
  Sha256 hash_;
  int64_t bytes_ = 0;
  bool committed_ = false;
};

void check_writable(const std::filesystem::path& file);  // an Error where its folder takes no file
void write_file(const std::filesystem::path& path, std::string_view text);  // atomic: the old text or the new
std::string read_file(const std::filesystem::path& path,
                      int64_t max_bytes = 64 << 20);                        // a larger file is an Error
std::string end_of_file(const std::filesystem::path& path, int64_t bytes);  // or all of a shorter one
int64_t size_of_file(const std::filesystem::path& path);
std::string sha256_of_file(const std::filesystem::path& path);

// Appends whole pieces; each reaches the system before append() returns.
class AppendFile {
 public:
  explicit AppendFile(const std::filesystem::path& path);
  void append(std::string_view text);
  void sync();                    // what was appended survives a pulled plug from here on
  void truncate(int64_t length);  // cut back to a length it had before

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

// Whether it is the other or would lie in that folder, links followed.
bool is_or_lies_in(const std::filesystem::path& path, const std::filesystem::path& folder);
void make_directories(const std::filesystem::path& path);  // durable; links on the way are followed
void refuse_link(const std::filesystem::path& path);  // an Error where what is written would go elsewhere
// The same beneath a folder whose content may be a stranger's: a link below `root` is refused.
void make_directories_in(const std::filesystem::path& root, const std::filesystem::path& path);
void sync_directory(const std::filesystem::path& path);
void sync_file(const std::filesystem::path& path);  // its bytes and its name survive a pulled plug
void rename_path(const std::filesystem::path& from,
                 const std::filesystem::path& to);  // durable once it returns
void remove_file(const std::filesystem::path& path);
void remove_tree(const std::filesystem::path& path);  // gone already is fine; links are removed, not followed
// An empty folder beside `path`, to be filled and renamed to it.
std::filesystem::path make_temporary_folder(const std::filesystem::path& path);
// What writers that were killed left in a folder. For whoever writes there alone.
void remove_leftovers(const std::filesystem::path& folder);
void remove_leftovers_of(const std::filesystem::path& path);  // those that were to become this one
void remove_leftovers_of(const std::filesystem::path& folder, const std::set<std::string>& names);
bool is_leftover(const std::filesystem::path& path);

// A whole file, read-only, in memory as the system pages it in. Not for files that others may shrink
// meanwhile.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// throw Error: "cannot <action> <path>: <reason>", from errno.
[[noreturn]] void fail_on(const std::string& action, const std::filesystem::path& path);

}  // namespace darope
