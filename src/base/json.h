#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace darope {

using Json = nlohmann::json;

// JSON from a file or a client. Refused, each with an Error that begins with `where`: text over max_bytes,
// nesting over 64, a key twice in one object, a number that does not fit a 64-bit integer or a double, bad
// UTF-8, anything after the end.
Json parse_json(std::string_view text, const std::string& where, int64_t max_bytes = 64 << 20);

}  // namespace darope
