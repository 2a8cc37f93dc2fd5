#include <map>
#include <mutex>
#include <tuple>

#include "base/error.h"
#include "base/names.h"
#include "encodings/bands.h"
#include "encodings/resolved.h"

namespace darope {
namespace {

// Names that stand for another with options.
const std::map<std::string, std::string> aliases = {{"rope-10k", "rope:base=10000"},
                                                    {"rope-500k", "rope:base=500000"}};

// "rope-10k" -> "rope:base=10000"; further options go on behind.
std::string without_alias(const std::string& text) {
  const size_t colon = text.find(':');
  const auto alias = aliases.find(text.substr(0, colon));
  if (alias == aliases.end()) return text;
  return colon == std::string::npos ? alias->second : alias->second + "," + text.substr(colon + 1);
}

void check_shape(const LayerShape& s) {
  const auto positive = [](int64_t value, const char* name) {
    if (value < 1) throw Error(std::string(name) + " must be at least 1; got " + std::to_string(value));
  };
  positive(s.d_model, "d_model");
  positive(s.heads, "heads");
  positive(s.kv_heads, "kv_heads");
  if (s.heads % s.kv_heads != 0)
    throw Error("kv_heads must divide heads; got heads " + std::to_string(s.heads) + " and kv_heads " +
                std::to_string(s.kv_heads));
  check_head_dim(s.head_dim);
  check_train_length(s.train_length);
}

}  // namespace

const Spec& find_encoding(const std::string& text) {
  const std::string name = base_name(text);
  for (const Spec& spec : encodings())
    if (spec.traits.name == name) return spec;
  std::vector<std::string> known;
  for (const Spec& spec : encodings()) known.emplace_back(spec.traits.name);
  for (const auto& [alias, meaning] : aliases) known.push_back(alias);
  throw Error(unknown_name("encoding", name, known));
}

std::string base_name(const std::string& text) {
  const std::string plain = without_alias(text);
  return plain.substr(0, plain.find(':'));
}

std::shared_ptr<const Encoding> create_encoding(const std::string& text, const LayerShape& shape) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, int64_t, int64_t, int64_t, int64_t, int64_t, bool>,
                  std::shared_ptr<const Encoding>>
      made;
  const std::lock_guard lock(mutex);
  const auto key = std::make_tuple(text, shape.d_model, shape.heads, shape.kv_heads, shape.head_dim,
                                   shape.train_length, shape.half());
  if (const auto found = made.find(key); found != made.end()) return found->second;

  const Spec& spec = find_encoding(text);
  check_shape(shape);
  if (!spec.traits.grouped && shape.kv_heads != shape.heads)
    throw Error(std::string(spec.traits.name) + " needs as many key as query heads; got heads " +
                std::to_string(shape.heads) + " and kv_heads " + std::to_string(shape.kv_heads));
  std::string name;
  Options options = Options::parse(without_alias(text), name);
  read_base(options);  // a general argument: checked everywhere, unused where it has no meaning
  std::shared_ptr<const Encoding> encoding = spec.make(shape, options);
  options.finish(name);
  return made[key] = encoding;
}

std::string resolved_encoding(const std::string& text, const LayerShape& shape) {
  create_encoding(text, shape);
  std::string out;
  Options options = Options::parse(without_alias(text), out);
  find_encoding(out).make(shape, options);
  for (const auto& [option, value] : options.read())
    out += (out.find(':') == std::string::npos ? ":" : ",") + option + "=" + value;
  return out;
}

}  // namespace darope
