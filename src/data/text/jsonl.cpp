#include "data/text/jsonl.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"

namespace darope {
namespace {

constexpr size_t kPiece = 1 << 17;

// Collects pieces of text into lines and hands on the document in each.
class LineReader {
 public:
  LineReader(std::string name, const JsonlLimits& limits, int64_t compressed_bytes,
             const std::function<void(std::string_view)>& document)
      : name_(std::move(name)), limits_(limits), compressed_(compressed_bytes), document_(document) {}

  void add(std::string_view piece) {
    total_ += int64_t(piece.size());
    if (total_ > limits_.total_bytes)
      throw Error(fmt::format("{} holds more than {} bytes of text; split it", name_, limits_.total_bytes));
    if (total_ > limits_.ratio_from && total_ / limits_.ratio > compressed_)
      throw Error(fmt::format("{} unpacks to more than {} times its size, which text does not", name_,
                              limits_.ratio));
    for (size_t end; (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1)) {
      grow(piece.substr(0, end));
      finish();
    }
    grow(piece);
  }
  void finish() {  // the line so far is whole
    ++number_;
    if (line_.find_first_not_of(" \t\r") != std::string::npos) document_(text_of_line());
    line_.clear();
  }

 private:
  void grow(std::string_view part) {
    if (int64_t(line_.size() + part.size()) > limits_.line_bytes)
      throw Error(
          fmt::format("{}:{}: the line is longer than {} bytes", name_, number_ + 1, limits_.line_bytes));
    line_ += part;
  }
  std::string_view text_of_line() {
    const std::string where = fmt::format("{}:{}", name_, number_);
    parsed_ = parse_json(line_, where, limits_.line_bytes);
    for (const char* field : {"text", "content"})
      if (parsed_.is_object() && parsed_.contains(field) && parsed_[field].is_string())
        return parsed_[field].get_ref<const std::string&>();
    throw Error(where + ": each line should be an object with a string `text` or `content`");
  }

  std::string name_, line_;
  const JsonlLimits& limits_;
  int64_t compressed_, total_ = 0, number_ = 0;
  Json parsed_;
  const std::function<void(std::string_view)>& document_;
};

void inflate_into(LineReader& lines, std::span<const std::byte> file, const std::string& name) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    throw Error("zlib does not start", kFailed);  // 15: largest window; 16: gzip only
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> guard(&stream, inflateEnd);
  std::vector<char> out(kPiece);
  bool ended = false;  // between two members
  while (!file.empty() || !ended) {
    if (ended && inflateReset(&stream) != Z_OK) throw Error("zlib does not start again", kFailed);
    const size_t given = std::min(file.size(), kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(file.data()));
    stream.avail_in = uInt(given);
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = uInt(out.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_BUF_ERROR) throw Error(name + " is cut short: its gzip stream does not end");
    if (status != Z_OK && status != Z_STREAM_END)
      throw Error(name + " is damaged or not gzip: " + (stream.msg ? stream.msg : "unknown reason"));
    ended = status == Z_STREAM_END;
    file = file.subspan(given - stream.avail_in);
    lines.add({out.data(), out.size() - stream.avail_out});
  }
}

void unzstd_into(LineReader& lines, std::span<const std::byte> file, const std::string& name,
                 int window_log) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, window_log);
  std::vector<char> out(kPiece);
  ZSTD_inBuffer in{file.data(), file.size(), 0};
  for (bool ended = false; in.pos < in.size || !ended;) {
    const size_t before = in.pos;
    ZSTD_outBuffer room{out.data(), out.size(), 0};
    const size_t status = ZSTD_decompressStream(context.get(), &room, &in);
    if (ZSTD_isError(status)) throw Error(name + " is damaged or not zstd: " + ZSTD_getErrorName(status));
    ended = status == 0;
    if (!ended && in.pos == before && room.pos == 0)
      throw Error(name + " is cut short: its zstd frame does not end");
    lines.add({out.data(), room.pos});
  }
}

}  // namespace

void read_jsonl(const std::filesystem::path& path, const JsonlLimits& limits,
                const std::function<void(std::string_view)>& document) {
  parse_jsonl(MappedFile(path).bytes(), path.string(), limits, document);
}

void parse_jsonl(std::span<const std::byte> file, const std::string& name, const JsonlLimits& limits,
                 const std::function<void(std::string_view)>& document) {
  if (file.empty()) throw Error(name + " is empty: it should hold documents");
  LineReader lines(name, limits, int64_t(file.size()), document);
  if (name.ends_with(".gz"))
    inflate_into(lines, file, name);
  else if (name.ends_with(".zst"))
    unzstd_into(lines, file, name, limits.zstd_window_log);
  else
    lines.add({reinterpret_cast<const char*>(file.data()), file.size()});
  lines.finish();
}

}  // namespace darope
