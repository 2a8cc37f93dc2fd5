#pragma once
#include <string>

#include "data/open.h"
#include "model/decoder.h"
#include "train/config.h"

// A model, data and training that take a fraction of a second.
namespace darope {

inline DecoderConfig small(const std::string& encoding) {
  DecoderConfig config;
  config.style = "nanogpt", config.init = "fan_in", config.encoding = encoding, config.base = 100;
  config.dim = 16, config.n_layers = 2, config.n_heads = 2, config.vocab_size = 256, config.max_seqlen = 24;
  return config;
}

inline Dataset reversing() {
  DataConfig config;
  config.task = "reverse_string", config.seq_len = 24, config.batch_size = 4, config.test_examples = 4;
  return open_dataset(config, 3, 100);
}

// Batches that double their width.
inline Dataset growing(int64_t batches) {
  DataConfig config;
  config.task = "reverse_string", config.seq_len = 128, config.batch_size = 4, config.test_examples = 4;
  config.lengths = {"grow", 0.75, 1};
  return open_dataset(config, 3, batches);
}

inline TrainConfig twenty_steps() {
  TrainConfig config;
  config.steps = 20, config.logging.freq = 1, config.optim.lr = 3e-3;
  return config;
}

}  // namespace darope
