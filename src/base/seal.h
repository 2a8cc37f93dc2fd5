#pragma once
#include <string>

#include "base/json.h"

namespace darope {

// A JSON object that holds the sha256 of all it says besides: whatever changes in it is noticed, in whatever
// order its keys stand. It tells damage and slips of an editor, not forgery: there is no secret in it.
void seal(nlohmann::ordered_json& object);
bool is_sealed(const Json& object);
void check_seal(const Json& object, const std::string& where);  // an Error where it is not what was written

}  // namespace darope
