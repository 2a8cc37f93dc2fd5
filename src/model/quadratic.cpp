#include "model/quadratic.h"

#include <fmt/format.h>

#include "base/error.h"
#include "encodings/encoding.h"

namespace darope {

static constexpr int64_t kShort = 2048;  // beyond it scores outweigh all else that a layer keeps

void refuse_masks(int64_t length, bool allowed, const std::string& how) {
  if (allowed || length <= kShort) return;
  throw Error(fmt::format(
      "data.documents=apart has no fast attention: it keeps a mask and scores for each pair of {} "
      "tokens; {} goes on all the same",
      length, how));
}

void refuse_quadratic(const DecoderConfig& model, int64_t length, bool allowed, const std::string& how) {
  if (allowed || length <= kShort) return;
  const std::vector<std::string> encodings = model.layer_encodings();
  for (size_t i = 0; i < encodings.size(); ++i) {
    if (find_encoding(encodings[i]).traits.linear) continue;
    const double bytes = double(model.n_heads) * double(length) * double(length) * sizeof(float);
    throw Error(fmt::format(
        "layer {} has no fast attention: {} keeps a score for each pair of {} tokens, {:.1f} GiB for one "
        "sequence; {} goes on all the same",
        i, encodings[i], length, bytes / double(int64_t{1} << 30), how));
  }
}

}  // namespace darope
