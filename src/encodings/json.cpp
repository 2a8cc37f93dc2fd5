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

}  // namespace

std::string encodings_json() {
  Json rows = Json::array();
  for (const Spec& spec : encodings()) {
    Json& row = rows.emplace_back(Json::object());
    visit_columns(spec.traits, [&](const char* column, const auto& cell) { row[column] = value(cell); });
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
