#include "model/hugging_face.h"

#include <algorithm>

#include "base/json.h"
#include "encodings/encoding.h"
#include "model/feed_forward.h"

namespace darope {

std::string hugging_face_config(const DecoderConfig& c, const DocumentIds& ids) {
  nlohmann::ordered_json json{{"architectures", {"DaropeForCausalLM"}},
                              {"model_type", "darope"},
                              {"block_style", c.style},
                              {"hidden_size", c.dim},
                              {"num_hidden_layers", c.n_layers},
                              {"num_attention_heads", c.n_heads},
                              {"num_key_value_heads", c.kv_heads()},
                              {"head_dim", c.head_dim()},
                              {"intermediate_size", c.hidden()},
                              {"feed_forward", c.feed_forward_name()},
                              {"hidden_act", feed_forward(c.feed_forward_name()).activation},
                              {"vocab_size", c.vocab_size},
                              {"max_position_embeddings", c.max_seqlen},
                              {"rms_norm_eps", c.norm_eps},
                              {"tie_word_embeddings", c.tied},
                              {"torch_dtype", "float32"},
                              {"dtype", "float32"}};  // by its old name and its new one
  const auto known = [&](const std::optional<int64_t>& id) { return id && *id < c.vocab_size; };
  if (known(ids.begin)) json["bos_token_id"] = *ids.begin;
  if (known(ids.end)) json["eos_token_id"] = json["pad_token_id"] = *ids.end;
  nlohmann::ordered_json position{{"version", 1}, {"train_length", c.max_seqlen}, {"layout", "half"}};
  const std::vector<std::string> names = c.layer_encodings();
  const bool same =
      std::all_of(names.begin(), names.end(), [&](const std::string& name) { return name == names.front(); });
  const auto encoding = create_encoding(
      names.front(), {c.dim, c.n_heads, c.kv_heads(), c.head_dim(), c.max_seqlen, Layout::half});
  if (!same)
    position["types"] = names;  // one for each layer
  else
    position["type"] = names.front();
  if (same && encoding->fast_bands()) position["num_fast_bands"] = *encoding->fast_bands();
  if (same && encoding->base()) {
    position["base"] = *encoding->base();
    if (base_name(names.front()) == "rope") {  // what readers of other models know, old ones and new ones
      json["rope_theta"] = *encoding->base();
      json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", *encoding->base()}};
    }
  }
  json["position_encoding"] = position;
  return json.dump(1) + "\n";
}

}  // namespace darope
