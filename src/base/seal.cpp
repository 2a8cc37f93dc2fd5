#include "base/seal.h"

#include "base/error.h"
#include "base/sha256.h"

namespace darope {
namespace {

constexpr const char* kKey = "sha256";

std::string hash_of(Json object) {
  object.erase(kKey);
  return sha256(object.dump(-1, ' ', false, Json::error_handler_t::replace));  // keys of a Json are sorted
}

}  // namespace

void seal(nlohmann::ordered_json& object) {
  object.erase(kKey);
  // As a reader will find it: JSON has no infinity, and a name need not be UTF-8.
  object[kKey] = hash_of(Json::parse(object.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

bool is_sealed(const Json& object) { return object.is_object() && object.contains(kKey); }

void check_seal(const Json& object, const std::string& where) {
  if (!is_sealed(object) || object[kKey] != hash_of(object))
    throw Error(
        where + " is not what was written (its sha256 differs): put it back as it was, or make it anew",
        kCheckFailed);
}

}  // namespace darope
