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

// What an encoding reads when one is made, of whatever shape.
Json options_of(const Spec& spec) {
  Options options;
  spec.make({.d_model = 64, .heads = 1, .kv_heads = 1, .head_dim = 64, .train_length = 1024}, options);
  Json row = Json::object();
  for (const Options::Known& each : options.known()) row[each.name] = each.values;
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
