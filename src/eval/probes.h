#pragma once
#include "data/prompts.h"
#include "eval/evaluation.h"

namespace darope {

// What evaluations of retrieval share: a model asked at the end of prompts, and a look at every layer there.

inline constexpr int64_t kPromptsLookedInto = 200;  // the first of the hardest, as in the paper

using Encode = decltype(Decoder::Look::encode);

// The right value's lead over the mean of the others, which is that of their losses: [...] of [..., K].
Tensor margin_of(const Tensor& logits);

struct Replies {
  Tensor logits;     // [N, K]: of the candidates
  Tensor likeliest;  // [N]: of all tokens
};
// The first `count` prompts of a set, on the CPU. `encode` is in the place of the model's own.
Replies ask(const Decoder& model, const PromptSet& set, int64_t count, const Encode& encode = {});

struct Depth {
  Tensor margin;     // [layers, N]: what the logit lens shows behind each block
  Tensor attention;  // [layers, N]: log of the right value's share over the mean of the others'
};
Depth look_inside(const Decoder& model, const PromptSet& set, int64_t count);

// The evaluation of one probe: answers and margins at every difficulty, depth at the hardest.
std::vector<Metric> probe_metrics(const Axis& axis, const std::vector<PromptSet>& sets, const char* right);
void score_probe(const Decoder& model, const Axis& axis, const std::vector<PromptSet>& sets,
                 const Emit& emit);

inline const Axis kDistance{"distance", " tokens", "tokens between the two bindings", true};
inline const Axis kBindingsAxis{"bindings", " bindings", "key-value pairs in the prompt", true};
// The paper's mean over a grid: the n-th prompts of all difficulties are one example, which the verdict is
// on.
inline const Axis kDifficulties{"difficulties", " difficulties", "how many were asked, each of one weight"};
inline const Axis kLayer{"layer", "", "blocks before it"};

}  // namespace darope
