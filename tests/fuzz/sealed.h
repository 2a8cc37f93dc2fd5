#pragma once
#include "base/json.h"
#include "base/seal.h"
#include "fuzz.h"

namespace darope {

// Hands on an input as it is, and with the hash that belongs to what it says: otherwise no change would come
// past that.
template <class Use>
void as_it_is_and_sealed(const uint8_t* data, size_t size, const Use& use) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  use(input);
  may_refuse([&] {
    nlohmann::ordered_json object = parse_json(input, "input");
    if (!object.is_object()) return;
    seal(object);
    use(object.dump());
  });
}

}  // namespace darope
