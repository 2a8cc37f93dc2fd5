#include "base/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"

namespace darope {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // the reference reader's limit
constexpr size_t kLength = 8;                 // bytes of the length in front of the header
constexpr std::string_view kMetadata = "__metadata__";

struct DtypeFacts {
  std::string_view name;
  int64_t bits;
};
constexpr std::array<DtypeFacts, 22> kDtypes = {{
    {"U64", 64},        {"I64", 64},    {"F64", 64},    {"C64", 64},    {"F32", 32}, {"U32", 32},
    {"I32", 32},        {"BF16", 16},   {"F16", 16},    {"U16", 16},    {"I16", 16}, {"F8_E5M2FNUZ", 8},
    {"F8_E4M3FNUZ", 8}, {"F8_E8M0", 8}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"I8", 8},   {"U8", 8},
    {"F6_E3M2", 6},     {"F6_E2M3", 6}, {"F4", 4},      {"BOOL", 8},
}};

std::optional<Dtype> dtype_of(std::string_view name) {
  for (size_t i = 0; i < kDtypes.size(); ++i)
    if (kDtypes[i].name == name) return Dtype(i);
  return std::nullopt;
}

// Bytes a tensor takes; nothing if that is no whole number or does not fit.
std::optional<uint64_t> byte_count(Dtype dtype, const std::vector<int64_t>& shape) {
  uint64_t bits = uint64_t(dtype_bits(dtype));
  for (const int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bits, uint64_t(size), &bits)) return std::nullopt;
  return bits % 8 ? std::nullopt : std::optional(bits / 8);
}

void put_length(FileWriter& out, uint64_t length) {
  std::array<std::byte, kLength> bytes;
  for (size_t i = 0; i < kLength; ++i) bytes[i] = std::byte(length >> (8 * i));
  out.write(bytes);
}

// One file's header under inspection: every complaint names the file, and the tensor where there is one.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> file, const std::string& where) : file_(file), where_(where) {}

  TensorViews read() {
    const Json header = parse_json(header_text(), where_, int64_t(kMaxHeader));
    TensorViews views;
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata)
        views.metadata = metadata(entry);
      else
        views.tensors.push_back(tensor(name, entry));
    }
    check_layout(views.tensors);
    return views;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(where_ + ": not a sound safetensors file: " + what);
  }

  std::string_view header_text() {
    if (file_.size() < kLength) fail(fmt::format("{} bytes are too few", file_.size()));
    uint64_t length = 0;
    for (size_t i = 0; i < kLength; ++i) length |= uint64_t(file_[i]) << (8 * i);
    if (length > kMaxHeader)
      fail(fmt::format("a header of {} bytes is over the limit of {}", length, kMaxHeader));
    if (length > file_.size() - kLength)
      fail(fmt::format("a header of {} bytes does not fit a file of {}", length, file_.size()));
    data_ = file_.subspan(kLength + length);
    const std::string_view text(reinterpret_cast<const char*>(file_.data()) + kLength, length);
    if (!text.starts_with('{')) fail("the header does not begin with '{'");
    return text;
  }

  std::map<std::string, std::string> metadata(const Json& entry) const {
    if (!entry.is_object()) fail("__metadata__ is no object");
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) fail("__metadata__ holds '" + key + "', which is no string");
      out[key] = value.get<std::string>();
    }
    return out;
  }

  TensorView tensor(const std::string& name, const Json& entry) const {
    const std::string at = "tensor '" + name.substr(0, 200) + "' ";
    const bool whole = entry.is_object() && entry.contains("dtype") && entry.contains("shape") &&
                       entry.contains("data_offsets");
    if (!whole || entry.size() != 3) fail(at + "should have dtype, shape and data_offsets, and no more");
    const Json& dtype_json = entry["dtype"];
    const std::optional<Dtype> dtype =
        dtype_json.is_string() ? dtype_of(dtype_json.get_ref<const std::string&>()) : std::nullopt;
    if (!dtype) fail(at + "has an unknown dtype");
    const std::vector<int64_t> shape = sizes(entry["shape"], at + "has a shape");
    const std::vector<int64_t> offsets = sizes(entry["data_offsets"], at + "has data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1])
      fail(at + "should have data_offsets [begin, end] with begin <= end");
    if (uint64_t(offsets[1]) > data_.size())
      fail(fmt::format("{}ends at byte {} of {}: the file is cut short", at, offsets[1], data_.size()));
    const std::optional<uint64_t> bytes = byte_count(*dtype, shape);
    if (bytes != uint64_t(offsets[1] - offsets[0]))
      fail(at + "has a shape that does not match its data_offsets");
    return {name, *dtype, shape, data_.subspan(size_t(offsets[0]), size_t(*bytes))};
  }

  std::vector<int64_t> sizes(const Json& list, const std::string& at) const {
    if (!list.is_array()) fail(at + " that is no list");
    std::vector<int64_t> out;
    for (const Json& size : list) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t(INT64_MAX))
        fail(at + " with an entry that is no size");
      out.push_back(size.get<int64_t>());
    }
    return out;
  }

  // The tensors tile the data: no hole, no overlap, no rest.
  void check_layout(std::vector<TensorView>& tensors) const {
    std::stable_sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
      return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
    });
    const std::byte* end = data_.data();
    for (const TensorView& tensor : tensors) {
      if (tensor.bytes.data() != end)
        fail("tensor '" + tensor.name.substr(0, 200) + "' leaves a hole or overlaps another");
      end += tensor.bytes.size();
    }
    if (const auto rest = data_.data() + data_.size() - end)
      fail(fmt::format("{} bytes at the end belong to no tensor", rest));
  }

  std::span<const std::byte> file_, data_;
  const std::string& where_;
};

}  // namespace

std::string_view dtype_name(Dtype dtype) { return kDtypes[size_t(dtype)].name; }
int64_t dtype_bits(Dtype dtype) { return kDtypes[size_t(dtype)].bits; }

void write_safetensors(FileWriter& out, std::vector<TensorToWrite> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorToWrite& a, const TensorToWrite& b) {
    return std::tie(a.dtype, a.name) < std::tie(b.dtype, b.name);
  });
  nlohmann::ordered_json header;
  header[std::string(kMetadata)] = {{"format", "pt"}};
  uint64_t end = 0;
  for (const TensorToWrite& tensor : tensors) {
    const std::optional<uint64_t> bytes = byte_count(tensor.dtype, tensor.shape);
    if (!bytes)
      throw Error("tensor '" + tensor.name + "' has a shape that fills no whole number of bytes", kFailed);
    if (header.contains(tensor.name)) throw Error("two tensors are named '" + tensor.name + "'", kFailed);
    const uint64_t begin = std::exchange(end, end + *bytes);
    header[tensor.name] = {
        {"dtype", dtype_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  put_length(out, text.size());
  out.write(text);
  for (const TensorToWrite& tensor : tensors) {
    const std::span<const std::byte> bytes = tensor.bytes();
    if (bytes.size() != *byte_count(tensor.dtype, tensor.shape))
      throw Error("tensor '" + tensor.name + "' gave more or fewer bytes than its shape", kFailed);
    out.write(bytes);
  }
}

TensorViews parse_safetensors(std::span<const std::byte> file, const std::string& where) {
  return HeaderReader(file, where).read();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path.string()), file_(path), views_(parse_safetensors(file_.bytes(), path_)) {}

const TensorView& SafetensorsFile::at(const std::string& name) const {
  std::vector<std::string> known;
  for (const TensorView& tensor : views_.tensors) {
    if (tensor.name == name) return tensor;
    known.push_back(tensor.name);
  }
  const auto nearest =
      std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
        return edit_distance(name, a) < edit_distance(name, b);
      });
  throw Error(fmt::format("{}: no tensor '{}'{}", path_, name,
                          nearest == known.end() ? "" : "; the nearest is '" + *nearest + "'"));
}

}  // namespace darope
