#include "data/text/jsonl.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"

namespace darope {
namespace {

// Collects pieces of text into lines and hands on the document in each.
class LineReader {
 public:
  LineReader(std::string name, int64_t line_bytes, const JsonlReader& reader)
      : name_(std::move(name)), line_bytes_(line_bytes), reader_(reader) {}

  void add(std::string_view piece) {
    for (size_t end; (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1)) {
      grow(piece.substr(0, end));
      finish();
    }
    grow(piece);
  }
  void finish() {  // the line so far is whole
    ++number_;
    if (too_long_ || line_.find_first_not_of(" \t\r") != std::string::npos) take();
    line_.clear();
    too_long_ = false;
  }

 private:
  void grow(std::string_view part) {
    too_long_ = too_long_ || int64_t(line_.size() + part.size()) > line_bytes_;
    if (too_long_)
      line_.clear();  // the rest of it is passed over
    else
      line_ += part;
  }
  void take() {
    try {
      reader_.document(text_of_line());
    } catch (const Error& reason) {
      if (!reader_.refuse || reason.code() != kUsage) throw;  // a full disk is not the line's fault
      reader_.refuse(number_, reason);
    }
  }
  std::string_view text_of_line() {
    const std::string where = fmt::format("{}:{}", name_, number_);
    if (too_long_) throw Error(fmt::format("{}: the line is longer than {} bytes", where, line_bytes_));
    parsed_ = parse_json(line_, where, line_bytes_);
    for (const char* field : {"text", "content"})
      if (parsed_.is_object() && parsed_.contains(field) && parsed_[field].is_string())
        return parsed_[field].get_ref<const std::string&>();
    throw Error(where + ": each line should be an object with a string `text` or `content`");
  }

  std::string name_, line_;
  int64_t line_bytes_, number_ = 0;
  bool too_long_ = false;
  Json parsed_;
  const JsonlReader& reader_;
};

}  // namespace

void read_jsonl(const std::filesystem::path& path, const JsonlLimits& limits, const JsonlReader& reader) {
  parse_jsonl(MappedFile(path).bytes(), path.string(), limits, reader);
}

void read_json_lines(const std::string& name, int64_t line_bytes, const JsonlReader& reader,
                     const std::function<void(const std::function<void(std::string_view)>&)>& give) {
  LineReader lines(name, line_bytes, reader);
  give([&](std::string_view piece) { lines.add(piece); });
  lines.finish();
}

void parse_jsonl(std::span<const std::byte> file, const std::string& name, const JsonlLimits& limits,
                 const JsonlReader& reader) {
  if (file.empty()) throw Error(name + " is empty: it should hold documents");
  read_json_lines(name, limits.line_bytes, reader,
                  [&](const auto& add) { unpack(file, name, limits.unpack, add); });
}

}  // namespace darope
