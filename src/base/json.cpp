#include "base/json.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "base/error.h"

namespace darope {
namespace {

constexpr size_t kMaxJsonDepth = 64;

// Walks the text once before a tree is built from it; what it passes is safe to build.
class Checker final : public nlohmann::json_sax<Json> {
 public:
  explicit Checker(const std::string& where) : where_(where) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t& text) override {
    if (text.find_first_of(".eE") == string_t::npos)
      fail("the integer " + text.substr(0, 40) + " does not fit 64 bits");
    return true;
  }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second)
      fail("the key '" + name.substr(0, 100) + "' stands twice in one object");
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    // "[json.exception.parse_error.101] parse error at ...: why; last read: '...'", whose end may be no text
    // at all
    const std::string_view what = e.what();
    const size_t start = what.find("] ") + 2;
    fail(fmt::format("not JSON at byte {}: {}", position,
                     what.substr(start, what.find("; last read") - start)));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(where_ + ": " + what); }
  bool open() {
    if (keys_.size() == kMaxJsonDepth) fail(fmt::format("nested more than {} deep", kMaxJsonDepth));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  const std::string& where_;
  std::vector<std::set<std::string>> keys_;  // of each object that is open; an array's stay empty
                                             // No hashes: a stranger can choose names that collide.
};

}  // namespace

Json parse_json(std::string_view text, const std::string& where, int64_t max_bytes) {
  if (int64_t(text.size()) > max_bytes)
    throw Error(
        fmt::format("{}: {} bytes of JSON, more than the {} it may have", where, text.size(), max_bytes));
  Checker checker(where);
  Json::sax_parse(text, &checker);
  return Json::parse(text);
}

}  // namespace darope
