#include "eval/probes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "base/signals.h"
#include "eval/batches.h"

namespace darope {
namespace {

constexpr double kBeforeLog = 1e-12;  // added to a share of attention

// Calls use(tokens, candidates, places, rows) with some prompts at a time, on the model's device; `rows` are
// their ends.
template <class Use>
void over_prompts(const Decoder& model, const PromptSet& set, int64_t count, const Use& use) {
  const int64_t length = set.tokens.size(1), at_once = examples_at_once(model, length);
  for (int64_t first = 0; first < count; first += at_once) {
    throw_if_stopped();
    const int64_t some = std::min(at_once, count - first);
    const auto part = [&](const Tensor& all) { return all.narrow(0, first, some).to(model.device()); };
    const Tensor tokens = part(set.tokens);
    use(tokens, part(set.candidates), part(set.places),
        at::arange(1, some + 1, tokens.options()) * length - 1);
  }
}

// One row of attention is enough: with values that mark the right place and the others, what the last query
// receives are its shares for them. No scores of other queries are made.
Tensor log_ratio(const Decoder::Compared& at, const Tensor& places) {
  const at::ScalarType type = at.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const int64_t others = places.size(1) - 1;
  const Tensor q = at.q.slice(1, at.q.size(1) - 1).to(type), k = at.k.to(type);
  Tensor marks = at::zeros({k.size(0), k.size(1), 1, at.encoding.shape().head_dim}, k.options());
  marks.select(3, 0).squeeze(2).scatter_(1, places.narrow(1, 0, 1), 1.0);
  marks.select(3, 1).squeeze(2).scatter_(1, places.narrow(1, 1, others), 1.0 / double(others));
  std::vector<Tensor> parameters;
  for (const Tensor& each : at.parameters) parameters.push_back(each.to(type));
  const Tensor shares =
      at.encoding.attend(parameters, q, k, marks.expand({-1, -1, k.size(2), -1}).contiguous(), at.context)
          .squeeze(1)
          .mean(1);  // [B, d], over heads
  return (shares.select(1, 0) + kBeforeLog).log() - (shares.select(1, 1) + kBeforeLog).log();
}

void emit_each(const Emit& emit, const std::string& metric, const Axis& axis, double at,
               const Tensor& values) {
  const Tensor numbers = values.to(at::kDouble).contiguous();
  for (int64_t i = 0; i < numbers.size(0); ++i)
    emit({.metric = metric,
          .axis = axis.name,
          .at = at,
          .example = i,
          .cluster = i,
          .value = numbers.const_data_ptr<double>()[i]});
}

}  // namespace

Tensor margin_of(const Tensor& logits) {
  return logits.select(-1, 0) - logits.narrow(-1, 1, logits.size(-1) - 1).mean(-1);
}

Replies ask(const Decoder& model, const PromptSet& set, int64_t count, const Encode& encode) {
  const Decoder::Look look{.encode = encode};
  std::vector<Tensor> logits, likeliest;
  over_prompts(model, set, count,
               [&](const Tensor& tokens, const Tensor& candidates, const Tensor&, const Tensor& rows) {
                 const Tensor end = model.hidden(tokens, rows, {.look = look});
                 logits.push_back(model.logits_of(end, candidates));
                 likeliest.push_back(at::argmax(model.logits(end), -1));
               });
  return {at::cat(logits).cpu(), at::cat(likeliest).cpu()};
}

Depth look_inside(const Decoder& model, const PromptSet& set, int64_t count) {
  std::vector<Tensor> margins, ratios;  // of each batch, [layers, B]
  over_prompts(model, set, count,
               [&](const Tensor& tokens, const Tensor& candidates, const Tensor& places, const Tensor& rows) {
                 std::vector<Tensor> margin, ratio;
                 const Decoder::Look look{
                     .compared = [&](const Decoder::Compared& at) { ratio.push_back(log_ratio(at, places)); },
                     .block =
                         [&](const Tensor& x) {
                           const Tensor end = x.dim() == 3 ? x.select(1, x.size(1) - 1) : x;
                           margin.push_back(margin_of(model.logits_of(model.final_norm(end), candidates)));
                         }};
                 model.hidden(tokens, rows, {.look = look});
                 margins.push_back(at::stack(margin));
                 ratios.push_back(at::stack(ratio));
               });
  return {at::cat(margins, 1).cpu(), at::cat(ratios, 1).cpu()};
}

std::vector<Metric> probe_metrics(const Axis& axis, const std::vector<PromptSet>& sets, const char* right) {
  const std::string nats = "nats";
  Metric answer{.name = "right",
                .axis = axis,
                .title = fmt::format("{} by difficulty", right),
                .unit = std::string(kYesOrNo),
                .meaning = "whether the right value is likelier than every other in the prompt"};
  Metric grid{.name = "right",
              .axis = kDifficulties,
              .title = right,
              .unit = std::string(kShare),
              .meaning = "share of the difficulties at which the right value is likelier than every other"};
  for (const PromptSet& set : sets) {
    const double chance = 1 / double(set.candidates.size(1));
    answer.floor[double(set.difficulty)] = chance;
    grid.floor[double(sets.size())] += chance / double(sets.size());
  }
  return {grid,
          answer,
          {.name = "margin",
           .axis = axis,
           .title = "margin",
           .unit = nats,
           .meaning = "mean loss of the other values less that of the right one"},
          {.name = "likeliest",
           .axis = axis,
           .title = "likeliest of all tokens",
           .unit = std::string(kYesOrNo),
           .meaning = "whether the right value is the likeliest of all tokens"},
          {.name = "lens",
           .axis = kLayer,
           .title = "margin by the logit lens",
           .unit = nats,
           .meaning = "the margin that final norm and head read from the stream behind a block"},
          {.name = "attention",
           .axis = kLayer,
           .title = "attention to the right value",
           .unit = "log ratio",
           .meaning = "log of the share of attention at the right value over the mean share at the others",
           .by_example = true}};
}

void score_probe(const Decoder& model, const Axis& axis, const std::vector<PromptSet>& sets,
                 const Emit& emit) {
  Tensor over_all = at::zeros({sets.front().size()}, at::kDouble);
  for (const PromptSet& set : sets) {
    const double at = double(set.difficulty);
    const Replies answers = ask(model, set, set.size());
    const Tensor right = answers.logits.select(1, 0);
    const Tensor is_right = right > answers.logits.slice(1, 1).amax(1);
    over_all += is_right.to(at::kDouble) / double(sets.size());
    emit_each(emit, "right", axis, at, is_right);
    emit_each(emit, "margin", axis, at, margin_of(answers.logits));
    emit_each(emit, "likeliest", axis, at, answers.likeliest == set.candidates.select(1, 0));
  }
  emit_each(emit, "right", kDifficulties, double(sets.size()), over_all);
  const PromptSet& hardest = sets.back();
  const Depth depth = look_inside(model, hardest, std::min(kPromptsLookedInto, hardest.size()));
  for (int64_t layer = 0; layer < depth.margin.size(0); ++layer) {
    emit_each(emit, "lens", kLayer, double(layer), depth.margin[layer]);
    emit_each(emit, "attention", kLayer, double(layer), depth.attention[layer]);
  }
}

}  // namespace darope
