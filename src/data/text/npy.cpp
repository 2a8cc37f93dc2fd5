#include "data/text/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <charconv>

#include "base/error.h"

namespace darope {
namespace {

// The header of a .npy file is the text of a Python dictionary: {'descr': '<u2', 'fortran_order': False,
// 'shape': (3, 4), }. This reads that much of Python and no more.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(name_ + ": not a sound .npy file: " + what);
  }
  bool take(std::string_view word) {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_[0]))) text_.remove_prefix(1);
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail(fmt::format("its header should have {} at '{}'", word, text_.substr(0, 20)));
  }
  std::string quoted() {
    const char quote = take("'") ? '\'' : '"';
    if (quote == '"') expect("\"");
    const size_t end = text_.find(quote);
    if (end == std::string_view::npos) fail("its header has a string without an end");
    const std::string out(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return out;
  }
  uint64_t number() {
    take("");
    uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (problem != std::errc()) fail("its shape is not a tuple of sizes");
    text_.remove_prefix(size_t(end - text_.data()));
    take("L");  // as Python 2 wrote long integers
    return value;
  }
  bool finished() { return take("") && text_.empty(); }

 private:
  std::string_view text_;
  const std::string& name_;
};

struct Header {
  std::string descr;
  bool fortran = false;
  uint64_t count = 1;
  int seen = 0;  // one bit per key
};

uint64_t read_shape(HeaderText& text) {
  uint64_t count = 1;
  text.expect("(");
  while (!text.take(")")) {
    if (__builtin_mul_overflow(count, text.number(), &count))
      text.fail("its shape has more entries than can be counted");
    if (!text.take(",")) {
      text.expect(")");
      break;
    }
  }
  return count;
}

Header read_header(HeaderText text) {
  Header header;
  text.expect("{");
  while (!text.take("}")) {
    const std::string key = text.quoted();
    const int bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
    if (bit == 0 || header.seen & bit)
      text.fail("its header has the key '" + key.substr(0, 40) + "' once too often");
    header.seen |= bit;
    text.expect(":");
    if (bit == 1) {
      if (text.take("[")) text.fail("its entries are records, not integers");
      header.descr = text.quoted();
    } else if (bit == 2) {
      header.fortran = text.take("True");
      if (!header.fortran) text.expect("False");
    } else {
      header.count = read_shape(text);
    }
    if (!text.take(",")) {
      text.expect("}");
      break;
    }
  }
  if (!text.finished() || header.seen != 7)
    text.fail("its header should have descr, fortran_order and shape, and no more");
  return header;
}

constexpr size_t kRoom = 128, kBuffer = 1 << 20;  // of a header as we write it

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

TokenSource parse_npy(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                      const std::string& name) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!file.starts_with("\x93NUMPY"))
    throw Error(
        name +
        " does not begin as a NumPy file; if it holds raw uint16 tokens without a header, name it .bin");
  const auto byte_at = [&](size_t i) { return size_t(static_cast<unsigned char>(file[i])); };
  const size_t version = file.size() < 12 ? 0 : byte_at(6);
  HeaderText checks("", name);
  if (version < 1 || version > 3) checks.fail("its version is not 1, 2 or 3, or it is cut short");
  const size_t start = version == 1 ? 10 : 12;
  const size_t length =
      byte_at(8) | byte_at(9) << 8 | (version == 1 ? 0 : byte_at(10) << 16 | byte_at(11) << 24);
  if (length > file.size() - start)
    checks.fail(fmt::format("a header of {} bytes does not fit a file of {}", length, file.size()));
  const Header header = read_header(HeaderText(file.substr(start, length), name));

  const std::string& descr = header.descr;
  const bool integers = descr.size() == 3 && (descr[1] == 'i' || descr[1] == 'u') &&
                        std::string_view("1248").find(descr[2]) != descr.npos;
  const bool little = integers && (descr[0] == '<' || (descr[0] == '|' && descr[2] == '1'));
  if (!little)
    throw Error(fmt::format("{} holds '{}'; tokens should be little-endian integers such as '<u2'", name,
                            descr.substr(0, 40)));
  if (header.fortran)
    throw Error(name + " is in Fortran order; save it in C order (numpy.ascontiguousarray)");
  if (header.count == 0) throw Error(name + " is empty: it should hold tokens");
  const int width = descr[2] - '0';
  const std::span<const std::byte> tokens = bytes.subspan(start + length);
  uint64_t promised = 0;
  if (__builtin_mul_overflow(header.count, uint64_t(width), &promised) || promised != tokens.size())
    throw Error(fmt::format("{} promises {} tokens of {} bytes but {} bytes follow its header", name,
                            header.count, width, tokens.size()));
  return {name, std::move(owner), tokens, width, descr[1] == 'i'};
}

NpyWriter::NpyWriter(const std::filesystem::path& path, std::string descr)
    : path_(path), descr_(std::move(descr)), file_(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW) {
  buffer_.reserve(kBuffer);
}

void NpyWriter::write(std::span<const std::byte> values) {
  while (!values.empty()) {
    const size_t part = std::min(values.size(), kBuffer - buffer_.size());
    buffer_.insert(buffer_.end(), values.begin(), values.begin() + ptrdiff_t(part));
    values = values.subspan(part);
    if (buffer_.size() == kBuffer) flush();
  }
}

void NpyWriter::flush() {
  write_at(file_.get(), buffer_, int64_t(kRoom) + bytes_, path_);
  bytes_ += int64_t(buffer_.size());
  buffer_.clear();
}

void NpyWriter::close() {
  flush();
  const int64_t width = descr_.back() - '0';
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", descr_, bytes_ / width);
  header.resize(kRoom - 11, ' ');
  const std::string text = std::string("\x93NUMPY\x01\x00", 8) + char(kRoom - 10) + '\0' + header + '\n';
  write_at(file_.get(), std::as_bytes(std::span(text)), 0, path_);
  if (::fsync(file_.get()) != 0) fail_on("write", path_);
}

}  // namespace darope
