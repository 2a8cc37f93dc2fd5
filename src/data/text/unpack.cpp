#include "data/text/unpack.h"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/error.h"

namespace darope {
namespace {

constexpr size_t kUnpacked = 1 << 17;  // bytes at a time

using Emit = std::function<void(std::string_view)>;

void inflate_into(const Emit& emit, std::span<const std::byte> file, const std::string& name) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    throw Error("zlib does not start", kFailed);  // 15: largest window; 16: gzip only
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> guard(&stream, inflateEnd);
  std::vector<char> out(kUnpacked);
  bool ended = false;  // between two members
  while (!file.empty() || !ended) {
    if (ended && inflateReset(&stream) != Z_OK) throw Error("zlib does not start again", kFailed);
    const size_t given = std::min(file.size(), kUnpacked);
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
    emit({out.data(), out.size() - stream.avail_out});
  }
}

void unzstd_into(const Emit& emit, std::span<const std::byte> file, const std::string& name, int window_log) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, window_log);
  std::vector<char> out(kUnpacked);
  ZSTD_inBuffer in{file.data(), file.size(), 0};
  for (bool ended = false; in.pos < in.size || !ended;) {
    const size_t before = in.pos;
    ZSTD_outBuffer room{out.data(), out.size(), 0};
    const size_t status = ZSTD_decompressStream(context.get(), &room, &in);
    if (ZSTD_isError(status)) throw Error(name + " is damaged or not zstd: " + ZSTD_getErrorName(status));
    ended = status == 0;
    if (!ended && in.pos == before && room.pos == 0)
      throw Error(name + " is cut short: its zstd frame does not end");
    emit({out.data(), room.pos});
  }
}

void unxz_into(const Emit& emit, std::span<const std::byte> file, const std::string& name, int64_t memory) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, uint64_t(memory), LZMA_CONCATENATED) != LZMA_OK)
    throw Error("liblzma does not start", kFailed);
  const std::unique_ptr<lzma_stream, decltype(&lzma_end)> guard(&stream, lzma_end);
  std::vector<char> out(kUnpacked);
  stream.next_in = reinterpret_cast<const uint8_t*>(file.data());
  stream.avail_in = file.size();
  for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
    stream.next_out = reinterpret_cast<uint8_t*>(out.data());
    stream.avail_out = out.size();
    status = lzma_code(&stream, LZMA_FINISH);
    if (status == LZMA_BUF_ERROR) throw Error(name + " is cut short: its xz stream does not end");
    if (status == LZMA_MEMLIMIT_ERROR)
      throw Error(
          fmt::format("{} needs more than {} bytes to unpack: pack it with xz -9 or less", name, memory));
    if (status != LZMA_OK && status != LZMA_STREAM_END) throw Error(name + " is damaged or not xz");
    emit({out.data(), out.size() - stream.avail_out});
  }
}

}  // namespace

void unpack(std::span<const std::byte> file, const std::string& name, const UnpackLimits& limits,
            const std::function<void(std::string_view)>& piece) {
  int64_t total = 0;
  const Emit emit = [&](std::string_view part) {
    total += int64_t(part.size());
    if (total > limits.total_bytes)
      throw Error(fmt::format("{} holds more than {} bytes of text; split it", name, limits.total_bytes));
    if (total > limits.ratio_from && total / limits.ratio > int64_t(file.size()))
      throw Error(
          fmt::format("{} unpacks to more than {} times its size, which text does not", name, limits.ratio));
    piece(part);
  };
  if (name.ends_with(".gz")) return inflate_into(emit, file, name);
  if (name.ends_with(".zst")) return unzstd_into(emit, file, name, limits.zstd_window_log);
  if (name.ends_with(".xz")) return unxz_into(emit, file, name, limits.xz_memory);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  for (size_t at = 0; at < text.size(); at += kUnpacked) emit(text.substr(at, kUnpacked));
}

}  // namespace darope
