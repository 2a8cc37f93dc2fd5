#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>
#include <fmt/format.h>

#include "base/error.h"
#include "bench/bench.h"
#include "experiments/run.h"
#include "model/decoder.h"

namespace darope {
namespace {

constexpr int64_t kPiece = 256;  // tokens of a prompt at a time, so that no batch of whole prompts is needed

void fill(const Decoder& model, const Tensor& prompt, Cache& cache) {
  const at::NoGradGuard no_grad;
  for (int64_t first = 0; first < prompt.size(1); first += kPiece)
    model.next(prompt.narrow(1, first, std::min(kPiece, prompt.size(1) - first)), cache);
}

// The last tokens of the context, again and again: a round ends where it is full.
Rounds time_decode(const Shape& shape, const std::string& encoding, int64_t batch, const Timing& timing) {
  const int64_t length = shape.run.data.seq_len, steps = timing.steps;
  if (steps >= length)
    throw Error(
        fmt::format("--steps is {}: a context of {} tokens has fewer that follow others", steps, length));
  const at::Device device = find_device(shape.run.device);
  const auto make = [&]() -> Call {
    const DecoderConfig config = shape.model(encoding);
    const auto model = std::make_shared<Decoder>(config, device, find_dtype(shape.run.dtype, device));
    const Tensor tokens = at::randint(config.vocab_size, {batch, length - steps + 1},
                                      at::TensorOptions().device(device).dtype(at::kLong));
    const auto cache = std::make_shared<Cache>(Cache{.capacity = length});
    fill(*model, tokens.narrow(1, 0, length - steps), *cache);
    return [=, next = tokens.narrow(1, length - steps, 1)] {
      const at::NoGradGuard no_grad;
      if (cache->length == length) cache->length = length - steps;
      model->next(next, *cache);
    };
  };
  return time_calls(device, timing, make, false);  // a cache that grows is no fixed tensor
}

}  // namespace

std::vector<Trial> decode_trials(const Shape& shape, const std::vector<std::string>& encodings) {
  std::vector<Trial> out;
  for (const std::string& encoding : encodings)
    for (const int64_t batch : {1, 32})
      out.push_back({.encoding = encoding,
                     .what = fmt::format("batch {}", batch),
                     .batch = batch,
                     .length = shape.run.data.seq_len,
                     .tokens = double(batch),
                     .cost = shape.decoding(batch),
                     .time = [=](const Timing& t) { return time_decode(shape, encoding, batch, t); }});
  return out;
}

}  // namespace darope
