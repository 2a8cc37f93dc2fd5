// A small decoder for the Python test of darope.hf: hf_probe STYLE[/PART] ENCODING KV_HEADS FOLDER, where
// PART is another feed-forward part than the style's, writes config.json, reads model.safetensors if it is
// there and writes it if not, and leaves logits.safetensors and, after one step of the optimizer,
// stepped.safetensors.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "model/decoder.h"
#include "model/hugging_face.h"
#include "train/optimizer.h"

namespace {

using namespace darope;

void write(const std::string& path, const std::vector<TensorToWrite>& tensors) {
  FileWriter out(path);
  write_safetensors(out, tensors);
  out.commit();
}

DecoderConfig config_of(const std::string& style_and_part, const std::string& encoding, int64_t kv_heads) {
  const std::string style = style_and_part.substr(0, style_and_part.find('/'));
  DecoderConfig config;
  config.style = style, config.encoding = encoding, config.n_kv_heads = kv_heads;
  if (style.size() < style_and_part.size()) config.feed_forward = style_and_part.substr(style.size() + 1);
  config.dim = 32, config.n_layers = 2, config.n_heads = 4, config.vocab_size = 13, config.max_seqlen = 16;
  config.hidden_multiple = 8, config.init = "fan_in", config.tied = style == "nanogpt", config.base = 100;
  return config;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) throw Error("hf_probe STYLE[/PART] ENCODING KV_HEADS FOLDER");
  const std::string folder = argv[4], weights_file = folder + "/model.safetensors";
  const DecoderConfig config = config_of(argv[1], argv[2], std::stoll(argv[3]));
  Decoder model(config, at::kCPU);
  Weights& weights = model.weights();
  write_file(folder + "/config.json", hugging_face_config(config, {.end = 12}));
  if (std::filesystem::exists(weights_file))
    weights.read(SafetensorsFile(weights_file), weights.flat());
  else
    write(weights_file, weights.named(weights.flat()));

  // Two rows of (5 i + i^2) mod 13, longer than the training length; the next one is the target.
  const Tensor i = at::arange(82, at::kLong), ids = (i * 5 + i * i).remainder(13).view({2, 41});
  const Tensor tokens = ids.narrow(1, 0, 40).contiguous();
  const Tensor logits = model.logits(model.hidden(tokens, {})).detach().contiguous();
  write(folder + "/logits.safetensors",
        {{"logits", Dtype::kF32, logits.sizes().vec(), [&] {
            return std::span(static_cast<const std::byte*>(logits.const_data_ptr()), logits.nbytes());
          }}});

  // With so large an epsilon the step is a smooth function of the gradient, not its sign.
  AdamW optimizer(weights, model.plan(), {.epsilon = 1e-2});
  optimizer.set_rate(1e-2);
  const Tensor loss = model.loss({tokens, Tensor(), ids.narrow(1, 1, 40).flatten(), at::ones({80})});
  loss.backward();
  optimizer.step(loss.detach());
  write(folder + "/stepped.safetensors", weights.named(weights.flat()));
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
