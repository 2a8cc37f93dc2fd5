// The loss and gradients of a small decoder in float64, for the Python test beside it: gradient_probe STYLE
// ENCODING FOLDER reads nothing and leaves model.safetensors, gradients.safetensors and, on standard output,
// the loss.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>

#include "base/error.h"
#include "model/decoder.h"

namespace {

void write(const std::string& path, const std::vector<darope::TensorToWrite>& tensors) {
  darope::FileWriter out(path);
  darope::write_safetensors(out, tensors);
  out.commit();
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace darope;
  if (argc != 4) throw Error("gradient_probe STYLE ENCODING FOLDER");
  DecoderConfig config;
  config.style = argv[1], config.encoding = argv[2];
  config.dim = 24, config.n_layers = 2, config.n_heads = 3, config.vocab_size = 13, config.max_seqlen = 16,
  config.hidden_multiple = 8;
  config.tied = config.style == "nanogpt";
  Decoder model(config, at::kCPU, at::kDouble);
  // Twelve tokens, beyond which nothing is learned by heart: (5 i + i^2) mod 13, two rows; the next one is
  // the target.
  const Tensor i = at::arange(26, at::kLong), ids = (i * 5 + i * i).remainder(13).view({2, 13});
  const Batch batch{ids.narrow(1, 0, 12).contiguous(), Tensor(), ids.narrow(1, 1, 12).flatten(),
                    at::ones({24}, at::kDouble)};
  const Tensor loss = model.loss(batch);
  loss.backward();
  const Weights& weights = model.weights();
  const Tensor flat = weights.like_flat();
  const std::vector<Tensor> places = weights.cut(flat);
  for (size_t w = 0; w < places.size(); ++w) places[w].copy_(weights.leaves()[w].grad());
  const std::string folder = argv[3];
  write(folder + "/model.safetensors", weights.named(weights.flat()));
  write(folder + "/gradients.safetensors", weights.named(flat));
  fmt::print("{:.17g}\n", loss.item<double>());
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
