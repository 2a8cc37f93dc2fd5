#include "bench/bench.h"

namespace darope {

const std::vector<Bench>& benches() {
  static constexpr std::string_view kPaper = "nope,rope,hope,yarn,pope,cope,darope", kTwo = "rope,darope";
  static const std::vector<Bench> all{
      {"prefill", "whole prompts, batches of 1 and 4, with the last token's logits alone", kPaper,
       "prefill.py", 10, prefill_trials},
      {"decode", "a token behind a prompt with the cache, batches of 1 and 32", kTwo, "decode.py", 32,
       decode_trials},
      {"step", "a whole training step: data, loss, gradients, clipping, AdamW", kTwo, "step.py", 10,
       step_trials},
      {"train",
       "the loop of `train`, with data, lines of the log and a checkpoint a round, beside its bare step",
       kTwo, "", 20, loop_trials},
      {"kernels", "rotation, norm, SwiGLU and the head's loss, beside what moving their bytes takes", kTwo,
       "kernels.py", 20, kernel_trials},
  };
  return all;
}

}  // namespace darope
