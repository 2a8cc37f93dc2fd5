#pragma once
#include <ATen/core/Tensor.h>

#include <functional>

namespace darope {
using at::Tensor;

// The tokens of the keys; the queries are the last of them.
struct Context {
  Tensor positions = {};  // [Tk] or [B, Tk] in float64; undefined: one after another, from 0
  Tensor starts = {};     // [B, Tk] int64: where a token's document begins, whose tokens alone it sees;
                          // undefined: there is one document
  bool causal = true;     // a query sees no token behind its own
};

// Documents [B, T] by their ids, of which neighbours that are equal make one document, as Context has them.
Tensor document_starts(const Tensor& ids);

// How a scheme makes scores of scaled products, and which tokens may see each other beside what Context says.
struct ScoreRule {
  // What is added: for distances i - j [..., 1, R, N] of queries at positions i that broadcast with them,
  // [..., H, R, N].
  using Bias = std::function<Tensor(const Tensor& distance, const Tensor& query)>;
  Bias bias = nullptr;
  bool reads_query = false;  // else the bias is a function of the distance: one row serves all queries
  int64_t window = 0;        // a query sees no key so many tokens away or further; 0: any
};

// softmax(scale q k^T + bias) v over [B, T, heads, width] tensors; k and v may have fewer heads and more
// tokens than q. Where a rule is plain, the library's own causal attention runs, and nothing is quadratic in
// memory.
Tensor softmax_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Context& context,
                         const ScoreRule& rule, double scale, double dropout);

}  // namespace darope
