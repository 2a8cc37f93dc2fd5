#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace darope {
namespace fs = std::filesystem;
namespace {

std::string reason(int code) {
  switch (code) {
    case ENOSPC:
      return "no space left on the disk; free some and start again";
    case EDQUOT:
      return "the disk quota is used up; free some space and start again";
    case EROFS:
      return "the file system is read-only; choose a folder that can be written";
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOENT:
      return "no such file or folder";
    case ENAMETOOLONG:
      return "the name is longer than the system allows";
    case ELOOP:
      return "it is a link, which darope does not write through: remove it";
    case EFBIG:
      return "the file would grow beyond what the system allows (ulimit -f, SIGXFSZ)";
    default:
      return std::strerror(code);
  }
}

void write_all(int fd, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail_on("write", path);
    bytes = bytes.subspan(size_t(wrote));
  }
}

struct stat stat_of(const Descriptor& file, const fs::path& path) {
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) fail_on("inspect", path);
  if (S_ISDIR(facts.st_mode))
    throw Error(fmt::format("cannot read {}: it is a folder, not a file", path.string()));
  if (!S_ISREG(facts.st_mode))
    throw Error(fmt::format("cannot read {}: it is a pipe, a socket or a device, not a file", path.string()));
  return facts;
}

constexpr int kToRead = O_RDONLY | O_NONBLOCK;  // a pipe without a writer would never open

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

constexpr std::string_view kTemporary = ".part-";

// The end of a name that is nearly as long as names may be has no room beside what is added to it.
std::string short_name(const fs::path& path) {
  constexpr size_t kRoom = 255 - kTemporary.size() - 17;
  return path.filename().string().substr(0, kRoom);
}

// A name that nobody can foresee: two writers of one file do not meet, and no link lies in wait.
fs::path temporary_beside(const fs::path& path) {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != ssize_t(sizeof random))
    fail_on("name a temporary file for", path);
  return parent_of(path) / fmt::format("{}{}-{:016x}", kTemporary, short_name(path), random);
}

}  // namespace

fs::path make_temporary_folder(const fs::path& path) {
  const fs::path temporary = temporary_beside(path);
  if (::mkdir(temporary.c_str(), 0777) != 0) fail_on("create", temporary);
  return temporary;
}

static void remove_beginning(const fs::path& folder, const std::string& beginning) {
  std::error_code gone;
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, gone))
    if (entry.path().filename().string().starts_with(beginning)) left.push_back(entry.path());
  for (const fs::path& each : left) remove_tree(each);
}
void remove_leftovers(const fs::path& folder) { remove_beginning(folder, std::string(kTemporary)); }
void remove_leftovers_of(const fs::path& path) {
  remove_beginning(parent_of(path), fmt::format("{}{}-", kTemporary, short_name(path)));
}
void remove_leftovers_of(const fs::path& folder, const std::set<std::string>& names) {
  std::error_code gone;
  std::set<std::string> shortened;
  for (const std::string& name : names) shortened.insert(short_name(name));
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, gone)) {
    const std::string name = entry.path().filename().string();
    const size_t begin = kTemporary.size(), end = name.rfind('-');
    if (is_leftover(entry.path()) && end > begin && shortened.contains(name.substr(begin, end - begin)))
      left.push_back(entry.path());
  }
  for (const fs::path& each : left) remove_tree(each);
}
bool is_leftover(const fs::path& path) { return path.filename().string().starts_with(kTemporary); }

void fail_on(const std::string& action, const fs::path& path) {
  const int code = errno;
  if (code == ELOOP && action == "read")
    throw Error(fmt::format("cannot read {}: it is a link that leads back to itself", path.string()));
  // A path that does not exist is the caller's mistake; a disk that refuses is not.
  throw Error(fmt::format("cannot {} {}: {}", action, path.string(), reason(code)),
              code == ENOENT || code == ENAMETOOLONG ? kUsage : kFailed);
}

Descriptor::Descriptor(const fs::path& path, int flags) : Descriptor(path, flags, path) {}
Descriptor::Descriptor(const fs::path& path, int flags, const fs::path& shown)
    : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
  if (fd_ < 0) fail_on((flags & O_ACCMODE) == O_RDONLY ? "read" : "write", shown);
}
Descriptor::~Descriptor() { ::close(fd_); }

FileWriter::FileWriter(const fs::path& path)
    : path_(path),
      temporary_(temporary_beside(path)),
      file_(temporary_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, path) {}
FileWriter::~FileWriter() {
  if (!committed_) ::unlink(temporary_.c_str());
}
void FileWriter::write(std::span<const std::byte> bytes) {
  write_all(file_.get(), bytes, path_);
  hash_.add(bytes);
  bytes_ += int64_t(bytes.size());
}
void FileWriter::commit() {
  if (::fsync(file_.get()) != 0) fail_on("write", path_);
  rename_path(temporary_, path_);
  committed_ = true;
}

void write_file(const fs::path& path, std::string_view text) {
  FileWriter out(path);
  out.write(text);
  out.commit();
}

std::string read_file(const fs::path& path, int64_t max_bytes) {
  const Descriptor file(path, kToRead);
  const int64_t size = stat_of(file, path).st_size;
  if (size > max_bytes)
    throw Error(fmt::format("{} has {} bytes, more than the {} it may have", path.string(), size, max_bytes));
  std::string text;
  std::vector<char> piece(1 << 16);
  for (;;) {  // not by size: files of /proc have none
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_on("read", path);
    if (got == 0) return text;
    text.append(piece.data(), size_t(got));
    if (int64_t(text.size()) > max_bytes)
      throw Error(fmt::format("{} has more than the {} bytes it may have", path.string(), max_bytes));
  }
}

std::string end_of_file(const fs::path& path, int64_t bytes) {
  const Descriptor file(path, kToRead);
  const int64_t size = stat_of(file, path).st_size;
  std::string text(size_t(std::min(size, bytes)), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), size - int64_t(text.size()));
  if (got < 0) fail_on("read", path);
  text.resize(size_t(got));
  return text;
}

int64_t size_of_file(const fs::path& path) {
  const Descriptor file(path, kToRead);
  return stat_of(file, path).st_size;
}

std::string sha256_of_file(const fs::path& path) {
  const Descriptor file(path, kToRead);
  stat_of(file, path);
  Sha256 hash;
  std::vector<std::byte> piece(1 << 20);
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_on("read", path);
    if (got == 0) return hash.hex();
    hash.add(std::span(piece).first(size_t(got)));
  }
}

AppendFile::AppendFile(const fs::path& path)
    : path_(path), file_(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK) {}
void AppendFile::append(std::string_view text) {
  write_all(file_.get(), std::as_bytes(std::span(text)), path_);
}
void AppendFile::sync() {
  if (::fsync(file_.get()) != 0) fail_on("write", path_);
}
void AppendFile::truncate(int64_t length) {
  const int64_t size = stat_of(file_, path_).st_size;
  if (length > size)
    throw Error(fmt::format("{} has {} bytes, fewer than the {} it should be cut back to", path_.string(),
                            size, length),
                kFailed);
  if (::ftruncate(file_.get(), length) != 0) fail_on("shorten", path_);
}

void check_writable(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!fs::is_directory(folder))
    throw Error(fmt::format("cannot write {}: there is no folder {}", file.string(), folder.string()));
  if (fs::is_directory(file)) throw Error(fmt::format("cannot write {}: it is a folder", file.string()));
  if (::access(folder.c_str(), W_OK) != 0) fail_on("write", file);
}

bool is_or_lies_in(const fs::path& path, const fs::path& folder) {
  const auto whole = [](const fs::path& each) {
    const fs::path out = fs::weakly_canonical(fs::absolute(each));
    return out.has_filename() ? out : out.parent_path();  // no slash at its end
  };
  const fs::path outer = whole(folder), inner = whole(path);
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

void make_directories(const fs::path& path) {
  if (path.empty() || fs::is_directory(path)) return;
  make_directories(path.parent_path());
  if (::mkdir(path.c_str(), 0777) == 0) return sync_directory(parent_of(path));
  if (errno != EEXIST) fail_on("create", path);
  if (!fs::is_directory(path))
    throw Error(fmt::format("{} is a file where a folder is needed", path.string()));
}

void refuse_link(const fs::path& path) {
  if (fs::is_symlink(path))
    throw Error(
        fmt::format("{} is a link, which darope does not write through: remove it, or put in its place "
                    "what it leads to",
                    path.string()));
}

void make_directories_in(const fs::path& root, const fs::path& path) {
  fs::path part = root;
  for (const fs::path& each : path.lexically_relative(root)) refuse_link(part /= each);
  make_directories(path);
}

void sync_directory(const fs::path& path) {
  const Descriptor folder(path, O_RDONLY | O_DIRECTORY);
  if (::fsync(folder.get()) != 0) fail_on("write", path);
}

void sync_file(const fs::path& path) {
  const Descriptor file(path, kToRead);
  if (::fsync(file.get()) != 0) fail_on("write", path);
  sync_directory(parent_of(path));
}

void rename_path(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail_on("write", to);
  sync_directory(parent_of(to));
}

void remove_file(const fs::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_on("remove", path);
}

void remove_tree(const fs::path& path) {
  const fs::file_type type = fs::symlink_status(path).type();
  if (type == fs::file_type::not_found) return;
  if (type != fs::file_type::directory) return remove_file(path);  // a link goes, and what it leads to stays
  std::error_code gone;
  std::vector<fs::path> inside;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, gone)) inside.push_back(entry.path());
  for (const fs::path& each : inside) remove_tree(each);
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT) fail_on("remove", path);
}

MappedFile::MappedFile(const fs::path& path) {
  const Descriptor file(path, kToRead);
  const size_t size = size_t(stat_of(file, path).st_size);
  if (size == 0) return;  // mmap refuses a length of nothing
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (at == MAP_FAILED) fail_on("map", path);
  bytes_ = {static_cast<const std::byte*>(at), size};
}
MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace darope
