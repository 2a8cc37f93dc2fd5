#include "data/prepared/npy_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace darope {
namespace {

constexpr size_t kHeader = 128, kBuffer = 1 << 20;

void write_at(int fd, std::span<const std::byte> bytes, int64_t at, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail_on("write", path);
    bytes = bytes.subspan(size_t(wrote));
    at += wrote;
  }
}

}  // namespace

NpyStream::NpyStream(const std::filesystem::path& path, std::string descr, int64_t width)
    : path_(path), descr_(std::move(descr)), width_(width), file_(path, O_WRONLY | O_CREAT | O_TRUNC) {
  buffer_.reserve(kBuffer);
}

void NpyStream::write(std::span<const std::byte> values) {
  while (!values.empty()) {
    const size_t part = std::min(values.size(), kBuffer - buffer_.size());
    buffer_.insert(buffer_.end(), values.begin(), values.begin() + ptrdiff_t(part));
    values = values.subspan(part);
    if (buffer_.size() == kBuffer) flush();
  }
}

void NpyStream::flush() {
  write_at(file_.get(), buffer_, int64_t(kHeader) + bytes_, path_);
  bytes_ += int64_t(buffer_.size());
  buffer_.clear();
}

void NpyStream::close() {
  flush();
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", descr_, bytes_ / width_);
  header.resize(kHeader - 11, ' ');
  const std::string text = std::string("\x93NUMPY\x01\x00", 8) + char(kHeader - 10) + '\0' + header + '\n';
  write_at(file_.get(), std::as_bytes(std::span(text)), 0, path_);
  if (::fsync(file_.get()) != 0) fail_on("write", path_);
}

}  // namespace darope
