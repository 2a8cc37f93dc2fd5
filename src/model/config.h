#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

// A decoder-only Transformer in one of two block styles. Names follow Lingua's configs.
//   lingua   RMSNorm, SwiGLU of hidden_multiple * ceil(floor(8 dim / 3) / hidden_multiple); all tensors decay
//   nanogpt  RMSNorm, GELU of 4 dim; tensors of two or more dimensions decay
// Either takes another feed-forward part where `feed_forward` names one.
struct DecoderConfig {
  static constexpr int64_t kMostWidth = 1 << 20;  // keeps every product of sizes inside 64 bits
  std::string style = "lingua";
  int64_t dim = 256, n_layers = 4, n_heads = 4;
  std::optional<int64_t> n_kv_heads;
  int64_t vocab_size = 0;
  int64_t max_seqlen = 0;
  std::string encoding = "darope";
  std::optional<double> base;
  std::string init, feed_forward;
  bool tied = true;
  double dropout = 0;
  int64_t hidden_multiple = 256;
  double norm_eps = 1e-5;
  int64_t seed = 42;

  void fields(auto&& visit) {
    visit("style", style, "block: lingua (SwiGLU) or nanogpt (GELU, 4x)", {.names = {"lingua", "nanogpt"}});
    visit("dim", dim, "width of the residual stream", {.least = 1, .most = kMostWidth});
    visit("n_layers", n_layers, "blocks", {.least = 1, .most = 1 << 14});
    visit("n_heads", n_heads, "query heads; they share dim", {.least = 1, .most = kMostWidth});
    visit("n_kv_heads", n_kv_heads, "key and value heads; null: as many as query heads",
          {.least = 1, .most = kMostWidth});
    visit("vocab_size", vocab_size, "token ids; 0: as many as the data has",
          {.least = 0, .most = int64_t{1} << 32});
    visit("max_seqlen", max_seqlen, "L, the training length an encoding may depend on; 0: data.seq_len",
          {.least = 0, .most = int64_t{1} << 40});
    visit("encoding", encoding,
          "positional encoding with its options, rope:base=10000; one for each layer where they stand apart "
          "by ';'");
    visit("base", base, "base of the frequencies of encodings that name none; null: their own default");
    visit("init", init,
          "fan_in: deviation 1/sqrt of the inputs, cut at three; gpt2: 0.02, residual ones less; empty: the "
          "style's own",
          {.names = {"fan_in", "gpt2"}, .empty = true});
    visit("feed_forward", feed_forward,
          "part of a layer behind attention, by name: swiglu, gelu; empty: the style's own");
    visit("tied", tied, "one matrix for embedding and output");
    visit("dropout", dropout, "share of activations dropped in training", {.least = 0, .below = 1});
    visit("hidden_multiple", hidden_multiple, "SwiGLU's width is rounded up to this",
          {.least = 1, .most = kMostWidth});
    visit("norm_eps", norm_eps, "added to the mean square under RMSNorm's root", {.above = 0});
    visit("seed", seed, "of the initial weights", {.least = 0});
  }

  int64_t kv_heads() const { return n_kv_heads.value_or(n_heads); }
  int64_t head_dim() const { return dim / n_heads; }
  bool lingua() const { return style == "lingua"; }
  std::string init_kind() const { return !init.empty() ? init : lingua() ? "fan_in" : "gpt2"; }
  std::string feed_forward_name() const {
    return !feed_forward.empty() ? feed_forward : lingua() ? "swiglu" : "gelu";
  }
  int64_t hidden() const;                            // of the feed-forward part
  std::vector<std::string> layer_encodings() const;  // one for each layer
  void check() const;                                // an Error for what makes no sense
};

}  // namespace darope
