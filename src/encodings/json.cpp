#include <nlohmann/json.hpp>

#include "encodings/encoding.h"

namespace darope {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json value(const T& x) {
  return x;
}
template <class T>
Json value(const std::optional<T>& x) {
  return x ? Json(*x) : Json();
}

constexpr const char* kInits[] = {"constant", "normal", "uniform"};  // as Parameter::Init counts them

std::vector<Options::Known> read_by(const Spec& spec, int64_t width) {
  Options options;
  spec.make({.d_model = width, .heads = 1, .kv_heads = 1, .head_dim = width, .train_length = 16 * width},
            options);
  return options.known();
}

// Options and their values; without one where it follows from the shape of a model.
Json options_of(const Spec& spec) {
  const auto narrow = read_by(spec, 64), wide = read_by(spec, 128);
  Json row = Json::object();
  for (size_t i = 0; i < narrow.size(); ++i)
    row[narrow[i].name] = narrow[i].values == wide[i].values ? narrow[i].values : "";
  return row;
}

}  // namespace

std::string encodings_json() {
  Json rows = Json::array();
  for (const Spec& spec : encodings()) {
    Json& row = rows.emplace_back(Json::object());
    visit_columns(spec.traits, [&](const char* column, const auto& cell) { row[column] = value(cell); });
    row["options"] = options_of(spec);
  }
  return rows.dump(2);
}

std::string parameters_json(const Encoding& encoding) {
  Json rows = Json::array();
  for (const Parameter& p : encoding.parameters())
    rows.push_back({{"name", p.name},
                    {"shape", p.shape},
                    {"init", kInits[size_t(p.init)]},
                    {"a", p.a},
                    {"b", p.b},
                    {"low", value(p.low)},
                    {"high", value(p.high)}});
  return rows.dump();
}

}  // namespace darope
