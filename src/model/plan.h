#pragma once
#include <memory>
#include <optional>

#include "encodings/encoding.h"
#include "model/feed_forward.h"

namespace darope {

// One tensor of a checkpoint, by its Hugging Face name, and how it starts.
struct Part {
  enum class Start {
    constant,
    normal,
    cut_normal,
    uniform
  };  // cut_normal: drawn again beyond three deviations
  std::string name;
  std::vector<int64_t> shape;
  Start start;
  double a = 0, b = 0;  // as in Parameter
  int64_t count() const;
};

// One tensor that the model computes with. It may hold several parts, one under the other (q, k and v; gate
// and up), so that one product serves them all.
struct Weight {
  std::vector<Part> parts;
  std::vector<int64_t> shape = {};
  bool decay = true;         // weight decay applies
  bool of_encoding = false;  // not shared between runs that differ in the encoding
  std::optional<std::pair<double, double>> bounds = {};  // projected into after each step
  int64_t count() const;
};

// What a config means: every weight with name, shape and start, and where each layer finds its own. No tensor
// is made.
struct Plan {
  struct Layer {
    std::shared_ptr<const Encoding> encoding;
    const FeedForward* feed_forward = nullptr;
    size_t attention_norm = 0, qkv = 0, out = 0, mlp_norm = 0;  // indices of weights
    std::vector<size_t> encoding_weights = {}, feed_forward_weights = {};
  };
  explicit Plan(const DecoderConfig& config);
  int64_t parameters() const;
  int64_t encoding_parameters() const;

  std::vector<Weight> weights;
  std::vector<Layer> layers;
  size_t embedding, norm, head;               // head == embedding where they are tied
  std::vector<size_t> position_weights = {};  // of the first layer's encoding, where it embeds
};

}  // namespace darope
