#include "model/plan.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/config.h"
#include "base/error.h"

namespace darope {
namespace {

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// By an option, or as an alias that stands for one.
bool names_base(const std::string& encoding) {
  return encoding.find("base=") != std::string::npos ||
         base_name(encoding) != encoding.substr(0, encoding.find(':'));
}

// What acts on the embeddings does so once, before the first layer.
void check_embeds(const std::vector<std::string>& names) {
  for (size_t i = 1; i < names.size(); ++i)
    if (names[i] != names[0] && find_encoding(names[i]).traits.embeds)
      throw Error(fmt::format(
          "model.encoding names {} for layer {} and {} for layer 0: {} is added to the embeddings "
          "before the first layer, so give it to layer 0 too",
          names[i], i, names[0], names[i]));
}

// Collects weights under their names; each call says where the weight went.
class Builder {
 public:
  Builder(const DecoderConfig& config, std::vector<Weight>& weights) : config_(config), weights_(weights) {}

  size_t ones(const std::string& name) {
    return add({.parts = {{.name = name, .shape = {config_.dim}, .start = Part::Start::constant, .a = 1}},
                .decay = config_.lingua()});
  }

  size_t matrix(const Matrix& matrix, const std::string& prefix = "") {
    const bool fan_in = config_.init_kind() == "fan_in";
    const double deviation = fan_in            ? 1 / std::sqrt(double(matrix.inputs))
                             : matrix.residual ? 0.02 / std::sqrt(2.0 * double(config_.n_layers))
                                               : 0.02;
    Weight weight;
    for (const auto& [name, rows] : matrix.names_and_rows)
      weight.parts.push_back({prefix + name,
                              {rows, matrix.inputs},
                              fan_in ? Part::Start::cut_normal : Part::Start::normal,
                              0,
                              deviation});
    return add(std::move(weight));
  }

  size_t of_encoding(const std::string& prefix, const Parameter& p) {
    const Part::Start start = p.init == Parameter::Init::normal    ? Part::Start::normal
                              : p.init == Parameter::Init::uniform ? Part::Start::uniform
                                                                   : Part::Start::constant;
    Weight weight{.parts = {{prefix + p.name, p.shape, start, p.a, p.b}},
                  .decay = config_.lingua() || p.shape.size() > 1,
                  .of_encoding = true};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (p.low || p.high) weight.bounds = {p.low.value_or(-infinity), p.high.value_or(infinity)};
    return add(std::move(weight));
  }

 private:
  size_t add(Weight weight) {
    weight.shape = weight.parts.front().shape;
    weight.shape[0] = 0;
    for (const Part& part : weight.parts) weight.shape[0] += part.shape[0];
    weights_.push_back(std::move(weight));
    return weights_.size() - 1;
  }

  const DecoderConfig& config_;
  std::vector<Weight>& weights_;
};

}  // namespace

int64_t Part::count() const { return product(shape); }
int64_t Weight::count() const { return product(shape); }

int64_t DecoderConfig::hidden() const { return darope::feed_forward(feed_forward_name()).hidden(*this); }

std::vector<std::string> DecoderConfig::layer_encodings() const {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= encoding.size();) {
    const size_t end = std::min(encoding.find(';', begin), encoding.size());
    out.push_back(encoding.substr(begin, end - begin));
    begin = end + 1;
  }
  for (std::string& each : out)
    if (base && !names_base(each))
      each += fmt::format("{}base={}", each.find(':') == std::string::npos ? ":" : ",", *base);
  if (out.size() == 1) out.resize(size_t(n_layers), out[0]);
  if (int64_t(out.size()) != n_layers)
    throw Error(
        fmt::format("model.encoding names {} encodings for {} layers: give one, or one for each layer",
                    out.size(), n_layers));
  return out;
}

void DecoderConfig::check() const {
  DecoderConfig values = *this;
  check_values(list_fields(values, "model."));
  darope::feed_forward(feed_forward_name());
  for (const auto& [key, value] : {std::pair{"vocab_size", vocab_size}, {"max_seqlen", max_seqlen}})
    if (value == 0) throw Error(fmt::format("model.{} is 0: it must be known here", key));
  if (dim % n_heads != 0)
    throw Error(fmt::format("model.n_heads is {}, which does not divide model.dim {}", n_heads, dim));
}

Plan::Plan(const DecoderConfig& c) {
  c.check();
  const int64_t width = c.head_dim(), kv = c.kv_heads() * width;
  const LayerShape shape{.d_model = c.dim,
                         .heads = c.n_heads,
                         .kv_heads = c.kv_heads(),
                         .head_dim = width,
                         .train_length = c.max_seqlen,
                         .layout = Layout::half};
  const std::vector<std::string> names = c.layer_encodings();
  check_embeds(names);
  Builder build(c, weights);
  const auto learned_by = [&](const std::string& name, const std::string& prefix) {
    std::vector<size_t> out;
    for (const Parameter& p : create_encoding(name, shape)->parameters())
      out.push_back(build.of_encoding(prefix + base_name(name) + ".", p));
    return out;
  };
  embedding = build.matrix({{{"model.embed_tokens.weight", c.vocab_size}}, c.dim});
  if (find_encoding(names[0]).traits.embeds)
    position_weights = learned_by(names[0], "model.embed_positions.");
  for (int64_t i = 0; i < c.n_layers; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i), attention = layer + "self_attn.",
                      mlp = layer + "mlp.";
    const std::string& name = names[size_t(i)];
    Layer at{.encoding = create_encoding(name, shape)};
    at.attention_norm = build.ones(layer + "input_layernorm.weight");
    at.qkv = build.matrix({{{"q_proj.weight", c.dim}, {"k_proj.weight", kv}, {"v_proj.weight", kv}}, c.dim},
                          attention);
    at.out = build.matrix({{{"o_proj.weight", c.dim}}, c.dim, true}, attention);
    at.mlp_norm = build.ones(layer + "post_attention_layernorm.weight");
    at.feed_forward = &feed_forward(c.feed_forward_name());
    for (const Matrix& matrix : at.feed_forward->matrices(c))
      at.feed_forward_weights.push_back(build.matrix(matrix, mlp));
    if (!find_encoding(name).traits.embeds) at.encoding_weights = learned_by(name, attention);
    layers.push_back(std::move(at));
  }
  norm = build.ones("model.norm.weight");
  head = c.tied ? embedding : build.matrix({{{"lm_head.weight", c.vocab_size}}, c.dim});
}

int64_t Plan::parameters() const {
  int64_t sum = 0;
  for (const Weight& weight : weights) sum += weight.count();
  return sum;
}

int64_t Plan::encoding_parameters() const {
  int64_t sum = 0;
  for (const Weight& weight : weights) sum += weight.of_encoding ? weight.count() : 0;
  return sum;
}

}  // namespace darope
