#include "model/hugging_face.h"

#include "base/json.h"

namespace darope {

std::string hugging_face_config(const DecoderConfig& c) {
  nlohmann::ordered_json json{{"architectures", {"DaropeForCausalLM"}},
                              {"model_type", "darope"},
                              {"block_style", c.style},
                              {"hidden_size", c.dim},
                              {"num_hidden_layers", c.n_layers},
                              {"num_attention_heads", c.n_heads},
                              {"num_key_value_heads", c.kv_heads()},
                              {"head_dim", c.head_dim()},
                              {"intermediate_size", c.hidden()},
                              {"hidden_act", c.lingua() ? "silu" : "gelu"},
                              {"vocab_size", c.vocab_size},
                              {"max_position_embeddings", c.max_seqlen},
                              {"rms_norm_eps", c.norm_eps},
                              {"tie_word_embeddings", c.tied},
                              {"torch_dtype", "float32"}};
  json["position_encoding"] = {{"type", c.layer_encodings()}, {"version", 1}, {"train_length", c.max_seqlen}, {"layout", "half"}};
  return json.dump(1) + "\n";
}

}  // namespace darope
