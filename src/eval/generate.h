#pragma once
#include <functional>
#include <vector>

#include "model/decoder.h"

namespace darope {

struct Sampling {
  int64_t tokens = 64;     // to generate
  double temperature = 1;  // 0: always the likeliest
  int64_t top_k = 0;       // 0: from all
  uint64_t seed = 1;
};

// Continues the prompt token by token with a cache; `emit` hears each and says whether to go on.
void generate(Decoder& model, const std::vector<int64_t>& prompt, const Sampling& sampling,
              const std::function<bool(int64_t)>& emit);

}  // namespace darope
