#include "experiments/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "train/device.h"
#include "train/memory.h"

namespace darope {

std::string how_to_take_less(const RunConfig& config) {
  std::vector<std::string> ways;
  const int64_t batch = config.data.batch_size;
  if (batch > 1) {
    const int64_t parts = batch % 2 == 0 ? 2 : batch;
    ways.push_back(fmt::format("data.batch_size={} grad_acc_steps={} (steps of as many sequences)",
                               batch / parts, config.grad_acc_steps * parts));
  }
  if (config.recompute == "none") ways.emplace_back("recompute=full");
  ways.push_back(fmt::format("a data.seq_len below {}", config.data.seq_len));
  ways.push_back(fmt::format("a smaller model than model.dim={} model.n_layers={}", config.model.dim,
                             config.model.n_layers));
  return fmt::format("try {}", fmt::join(ways, ", or "));
}

void say_memory(const RunConfig& config, at::Device device, at::ScalarType type) {
  const TrainingMemory needed =
      training_memory(config.model, Plan(config.model), config, config.data.batch_size, config.data.seq_len,
                      type, device.is_cpu());
  const double there = double(free_memory(device));  // 0: nobody says
  const std::string free = there > 0 ? fmt::format(", {} are free", memory_text(there)) : "";
  const std::string sentence = fmt::format("memory for this training: it takes about {}{}: {}",
                                           memory_text(needed.whole()), free, how_to_take_less(config));
  if (there > 0 && needed.state > there) throw Error("there is not enough " + sentence, kFailed);
  fmt::print(stderr, "memory: about {} ({} of weights, gradients and moments, {} of activations){}\n",
             memory_text(needed.whole()), memory_text(needed.state), memory_text(needed.activations), free);
  if (there > 0 && needed.whole() > there) fmt::print(stderr, "there may be too little {}\n", sentence);
}

}  // namespace darope
