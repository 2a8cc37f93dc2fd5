#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>
#include <fmt/format.h>

#include "bench/bench.h"
#include "experiments/run.h"
#include "model/decoder.h"

namespace darope {
namespace {

Rounds time_prefill(const Shape& shape, const std::string& encoding, int64_t batch, const Timing& timing) {
  const at::Device device = find_device(shape.run.device);
  return time_calls(device, timing, [&]() -> Call {
    const DecoderConfig config = shape.model(encoding);
    const auto model = std::make_shared<Decoder>(config, device, find_dtype(shape.run.dtype, device));
    const int64_t length = shape.run.data.seq_len;
    const at::TensorOptions ids = at::TensorOptions().device(device).dtype(at::kLong);
    const Tensor tokens = at::randint(config.vocab_size, {batch, length}, ids),
                 last = at::arange(1, batch + 1, ids) * length - 1,
                 out = at::empty({batch, config.vocab_size}, ids.dtype(at::kFloat));
    return [=] {
      const at::NoGradGuard no_grad;
      out.copy_(model->logits(model->hidden(tokens, last)));
    };
  });
}

}  // namespace

std::vector<Trial> prefill_trials(const Shape& shape, const std::vector<std::string>& encodings) {
  std::vector<Trial> out;
  for (const std::string& encoding : encodings)
    for (const int64_t batch : {1, 4})
      out.push_back({.encoding = encoding,
                     .what = fmt::format("batch {}", batch),
                     .batch = batch,
                     .length = shape.run.data.seq_len,
                     .tokens = double(batch * shape.run.data.seq_len),
                     .cost = shape.reading(batch),
                     .time = [=](const Timing& t) { return time_prefill(shape, encoding, batch, t); }});
  return out;
}

}  // namespace darope
