#include "base/tensorboard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstring>

namespace darope {
namespace events {
namespace {

constexpr std::array<uint32_t, 256> kCrcTable = [] {  // CRC-32C (Castagnoli), reflected
  std::array<uint32_t, 256> table{};
  for (uint32_t n = 0; n < 256; ++n) {
    uint32_t c = n;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? c >> 1 ^ 0x82F63B78 : c >> 1;
    table[n] = c;
  }
  return table;
}();

template <class T>
std::string little_endian(T value) {
  static_assert(std::endian::native == std::endian::little);
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

// The wire types of protocol buffers that events use.
std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += char(value | 0x80);
  return out + char(value);
}
std::string integer(int field, uint64_t value) { return varint(uint64_t(field) << 3) + varint(value); }
std::string real(int field, double value) { return varint(uint64_t(field) << 3 | 1) + little_endian(value); }
std::string bytes(int field, std::string_view value) {
  return varint(uint64_t(field) << 3 | 2) + varint(value.size()).append(value);
}
std::string real32(int field, float value) { return varint(uint64_t(field) << 3 | 5) + little_endian(value); }

std::string hparams_event(double wall_time, std::string_view tag, const std::string& plugin_data) {
  const std::string no_tensor = integer(1, 1) + bytes(2, bytes(2, ""));  // float, shape [0]
  const std::string metadata = bytes(1, bytes(1, "hparams") + bytes(2, plugin_data));
  return real(1, wall_time) + bytes(5, bytes(1, bytes(1, tag) + bytes(8, no_tensor) + bytes(9, metadata)));
}

std::string hparam_value(const HParam& value) {
  if (const double* number = std::get_if<double>(&value)) return real(2, *number);
  if (const bool* flag = std::get_if<bool>(&value)) return integer(4, *flag);
  return bytes(3, std::get<std::string>(value));
}

}  // namespace

uint32_t masked_crc32c(std::string_view data) {
  uint32_t c = 0xFFFFFFFF;
  for (const char byte : data) c = kCrcTable[(c ^ static_cast<unsigned char>(byte)) & 0xFF] ^ c >> 8;
  c ^= 0xFFFFFFFF;
  return std::rotr(c, 15) + 0xA282EAD8;
}

std::string record(std::string_view event) {
  const std::string length = little_endian(uint64_t(event.size()));
  return length + little_endian(masked_crc32c(length)) + std::string(event) +
         little_endian(masked_crc32c(event));
}

std::string file_version(double wall_time) { return real(1, wall_time) + bytes(3, "brain.Event:2"); }

std::string scalars(double wall_time, int64_t step, const Scalars& values) {
  std::string summary;
  for (const auto& [tag, value] : values) summary += bytes(1, bytes(1, tag) + real32(2, float(value)));
  return real(1, wall_time) + integer(2, uint64_t(step)) + bytes(5, summary);
}

std::string session_start(double wall_time, int64_t step) {
  return real(1, wall_time) + integer(2, uint64_t(step)) + bytes(7, integer(1, 1));
}

std::string hparams_start(double wall_time, const std::map<std::string, HParam>& hparams,
                          const std::string& group) {
  std::string info;
  for (const auto& [name, value] : hparams) info += bytes(1, bytes(1, name) + bytes(2, hparam_value(value)));
  return hparams_event(wall_time, "_hparams_/session_start_info",
                       bytes(3, info + bytes(4, group) + real(5, wall_time)));
}

std::string hparams_end(double wall_time, SessionStatus status) {
  return hparams_event(wall_time, "_hparams_/session_end_info",
                       bytes(4, integer(1, uint64_t(status)) + real(2, wall_time)));
}

}  // namespace events

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::filesystem::path new_file_in(const std::filesystem::path& folder) {
  make_directories(folder);
  constexpr std::string_view kPrefix = "events.out.tfevents.";
  int64_t time = int64_t(now());
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    int64_t other = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), other);
    time = std::max(time, std::min(other, INT64_MAX - 1) + 1);  // a stranger may have named it
  }
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return folder / fmt::format("{}{:010}.{}.{}.0", kPrefix, time, host, ::getpid());
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder, std::optional<int64_t> resumed_from)
    : file_(new_file_in(folder)) {
  add(events::file_version(now()));
  if (resumed_from)
    add(events::session_start(now(), *resumed_from + 1));  // readers drop this step and all later ones
}
void EventFile::scalars(int64_t step, const Scalars& values) { add(events::scalars(now(), step, values)); }
void EventFile::hparams_start(const std::map<std::string, HParam>& hparams, const std::string& group) {
  add(events::hparams_start(now(), hparams, group));
}
void EventFile::hparams_end(SessionStatus status) { add(events::hparams_end(now(), status)); }

}  // namespace darope
