#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

#include <numeric>

#include "base/random.h"
#include "eval/define.h"
#include "eval/probes.h"

namespace darope {
namespace {

constexpr uint64_t kSeed = 1;

// [B, T]: an order of the positions for each prompt from `first` on, in one layer.
Tensor orders(int64_t first, int64_t count, int64_t length, int64_t layer) {
  const Tensor out = at::empty({count, length}, at::kLong);
  for (int64_t i = 0; i < count; ++i) {
    int64_t* order = out.mutable_data_ptr<int64_t>() + i * length;
    std::iota(order, order + length, 0);
    Random random(kSeed, "shuffle/" + std::to_string(layer), uint64_t(first + i));
    for (int64_t left = length; left > 1; --left)
      std::swap(order[left - 1], order[random.below(uint64_t(left))]);
  }
  return out;
}

// Channels of a head that turn by the coordinate.
Tensor slow_channels(const Encoding& encoding, at::Device device) {
  const LayerShape& shape = encoding.shape();
  const Tensor channel = at::arange(shape.head_dim, at::TensorOptions(device).dtype(at::kLong));
  const Tensor band = shape.half() ? channel.remainder(shape.bands()) : channel.floor_divide(2);
  return band >= encoding.fast_bands().value();
}

}  // namespace

// In place of a model's own encoding: the coordinates of each prompt and layer dealt out anew among its
// tokens. It counts layers and prompts itself, so it serves one reading of a set.
static Encode shuffled_coordinates(int64_t layers) {
  struct Place {
    int64_t layer = 0, first = 0;  // the next one to be encoded, and the prompts before its batch
  };
  return [layers, place = std::make_shared<Place>()](const Encoding& encoding, TensorList parameters,
                                                     const Tensor& q, const Tensor& k, const Tensor& x,
                                                     const Tensor& positions) {
    auto [q_own, k_own] = encoding.encode(parameters, q, k, x, positions);
    const Tensor order = orders(place->first, x.size(0), x.size(1), place->layer).to(x.device());
    place->layer = (place->layer + 1) % layers;
    if (place->layer == 0) place->first += x.size(0);
    if (!encoding.has_coordinate()) return std::tuple(q_own, k_own);
    // A coordinate is a function of its own token and position: those of another token, in its place, give
    // that one's coordinate. The fast bands stay as they are.
    const Tensor other = x.gather(1, order.unsqueeze(-1).expand_as(x));
    const auto [q_other, k_other] =
        encoding.encode(parameters, q, k, other, positions.index_select(0, order.flatten()).view_as(order));
    const Tensor slow = slow_channels(encoding, x.device());
    return std::tuple(at::where(slow, q_other, q_own), at::where(slow, k_other, k_own));
  };
}

// How much of the margin is lost when every layer's coordinates are dealt out anew among the tokens.
class Shuffle {
 public:
  static constexpr Evaluation::Traits traits{
      .name = "shuffle",
      .summary = "what the probes lose when learned coordinates are shuffled among tokens",
      .needs = Need::prompts | Need::coordinates,
      .of_its_own = true};

  static std::vector<Metric> metrics(const Dataset&) {
    std::vector<Metric> all;
    for (const Axis& axis : {kDistance, kBindingsAxis}) {
      all.push_back({.name = "drop",
                     .axis = axis,
                     .title = "drop of the margin",
                     .unit = "nats",
                     .meaning = "margin with the model's own coordinates less that with shuffled ones"});
      all.push_back({.name = "own_better",
                     .axis = axis,
                     .title = "own coordinates better",
                     .unit = std::string(kYesOrNo),
                     .meaning = "whether the margin is larger with the model's own coordinates"});
    }
    return all;
  }

  static void score(Decoder& model, const Dataset& data, const Emit& emit) {
    compare(model, kDistance, data.prompts->digression.back(), emit);
    compare(model, kBindingsAxis, data.prompts->recall.back(), emit);
  }

 private:
  static void compare(const Decoder& model, const Axis& axis, const PromptSet& set, const Emit& emit) {
    const int64_t count = std::min(kPromptsLookedInto, set.size());
    const Tensor own = margin_of(ask(model, set, count).logits).to(at::kDouble),
                 shuffled = margin_of(
                     ask(model, set, count, shuffled_coordinates(int64_t(model.plan().layers.size())))
                         .logits);
    for (int64_t i = 0; i < count; ++i) {
      const double drop = (own[i] - shuffled[i]).item<double>();
      const auto say = [&](const char* metric, double value) {
        emit({.metric = metric,
              .axis = axis.name,
              .at = double(set.difficulty),
              .example = i,
              .cluster = i,
              .value = value});
      };
      say("drop", drop);
      say("own_better", double(drop > 0));
    }
  }
};

template Evaluation evaluation_of<Shuffle>();
}  // namespace darope
