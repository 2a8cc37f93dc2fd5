#include "settings/hash.h"

#include "base/config.h"
#include "base/error.h"
#include "base/sha256.h"

namespace darope {

std::string hash_without_encoding(RunConfig config, const std::string& history) {
  config.model.encoding = config.name = config.dump_dir = config.weights_of = "";
  config.seed = config.model.seed = config.threads = 0;
  config.device = config.dtype = "auto";  // the type of number stands beside it
  config.graph = true, config.recompute = "none", config.checkpoint = {}, config.logging = {};
  return sha256(to_canonical_json(config) + history);
}

std::string settings_beyond_encoding(const std::string& config, const RunFacts& facts) {
  RunConfig settings;
  try {
    read_yaml(list_fields(settings), config, "");
  } catch (const Error&) {
    return facts.config_without_encoding;
  }
  return hash_without_encoding(settings, facts.history);
}

}  // namespace darope
