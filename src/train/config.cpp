#include "train/config.h"

#include <fmt/format.h>

#include "base/error.h"

namespace darope {

void TrainConfig::check() const {
  const auto at_least = [](const char* key, int64_t value, int64_t least) {
    if (value < least) throw Error(fmt::format("{} is {}: it must be at least {}", key, value, least));
  };
  at_least("seed", seed, 0);
  at_least("steps", steps, 1);
  at_least("grad_acc_steps", grad_acc_steps, 1);
  const auto at_most = [](const char* key, int64_t value, int64_t most) {
    if (value > most) throw Error(fmt::format("{} is {}: it may be at most {}", key, value, most));
  };
  at_most("steps", steps, 1 << 24);  // Adam counts in float32
  at_most("grad_acc_steps", grad_acc_steps, 1 << 20);
  at_least("checkpoint.dump.every", checkpoint.dump.every, 0);
  at_least("checkpoint.dump.keep", checkpoint.dump.keep, 1);
  at_least("validation.every", validation.every, 0);
  at_least("logging.freq", logging.freq, 1);
  optim.check(steps);
}

}  // namespace darope
