#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>
#include <torch/library.h>

#include "base/error.h"
#include "encodings/encoding.h"
#include "ops/rotate.h"
#include "ops/transforms.h"

// The schemes as torch.ops.darope.{embed, encode, attend, coordinate, parameters, base_name, encodings}. They
// are composite: autograd and torch.compile see through them to the fused operators and ATen.
namespace darope {
namespace {

using Shape = at::IntArrayRef;  // d_model, heads, kv_heads, head_dim, train_length

// What a caller can mend arrives in Python as ValueError.
template <class F>
auto as_value_error(F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    TORCH_CHECK_VALUE(false, e.what());
  }
}

std::shared_ptr<const Encoding> encoding_for(c10::string_view name, Shape s, bool half) {
  TORCH_CHECK_VALUE(s.size() == 5, "shape must be [d_model, heads, kv_heads, head_dim, train_length]; got ",
                    s.size(), " numbers");
  return as_value_error([&] {
    return create_encoding(std::string(name),
                           {s[0], s[1], s[2], s[3], s[4], half ? Layout::half : Layout::interleaved});
  });
}

void refuse_dual(const Tensor& t) {
  TORCH_CHECK_NOT_IMPLEMENTED(!t._fw_grad(0).defined(),
                              "darope has no derivative forward (jvp, dual numbers); take gradients with "
                              "torch.autograd.grad or backward()");
}

void check_parameters(const Encoding& encoding, at::TensorList parameters, const Tensor& like) {
  const std::vector<Parameter> expected = encoding.parameters();
  TORCH_CHECK_VALUE(parameters.size() == expected.size(), "the encoding has ", expected.size(),
                    " parameters; got ", parameters.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor& p = parameters[i];
    refuse_dual(p);
    TORCH_CHECK_VALUE(p.sizes() == expected[i].shape, "parameter ", expected[i].name, " must be ",
                      at::IntArrayRef(expected[i].shape), "; got ", p.sizes());
    TORCH_CHECK_TYPE(p.scalar_type() == like.scalar_type() ||
                         (p.scalar_type() == at::kFloat && like.scalar_type() != at::kDouble),
                     "parameter ", expected[i].name,
                     " must have the dtype of the input, or float32 beside a lower one; got dtype ",
                     p.scalar_type(), " and ", like.scalar_type());
    TORCH_CHECK_VALUE(p.device() == like.device(), "parameter ", expected[i].name,
                      " and the input must be on one device; got device ", p.device(), " and ",
                      like.device());
  }
}

// name [B, T, heads, width]; B and T are those of `like`.
void check_heads(const Tensor& t, const char* name, int64_t heads, int64_t width, const Tensor& like) {
  refuse_dual(t);
  TORCH_CHECK_VALUE(t.dim() == 4, name, " must be [B, T, H, d]; got ", t.sym_sizes());
  TORCH_CHECK_TYPE(at::isFloatingType(t.scalar_type()), name, " must be floating point; got dtype ",
                   t.scalar_type());
  TORCH_CHECK_VALUE(t.sym_size(2) == heads && t.sym_size(3) == width, name, " must have ", heads,
                    " heads of width ", width, "; got ", t.sym_sizes());
  TORCH_CHECK_TYPE(t.scalar_type() == like.scalar_type(), name, " and q must have one dtype; got dtype ",
                   t.scalar_type(), " and ", like.scalar_type());
  TORCH_CHECK_VALUE(t.device() == like.device(), name, " and q must be on one device; got device ",
                    t.device(), " and ", like.device());
  TORCH_CHECK_VALUE(t.sym_size(0) == like.sym_size(0), name, " and q must have one batch size; got ",
                    t.sym_sizes(), " and ", like.sym_sizes());
}

void check_x(const Tensor& x, int64_t d_model, const Tensor& q) {
  refuse_dual(x);
  TORCH_CHECK_VALUE(x.dim() == 3 && x.sym_size(0) == q.sym_size(0) && x.sym_size(1) == q.sym_size(1) &&
                        x.sym_size(2) == d_model,
                    "x must be [B, T, D] = [", q.sym_size(0), ", ", q.sym_size(1), ", ", d_model, "]; got ",
                    x.sym_sizes());
  TORCH_CHECK_TYPE(x.scalar_type() == q.scalar_type(), "x and q must have one dtype; got dtype ",
                   x.scalar_type(), " and ", q.scalar_type());
  TORCH_CHECK_VALUE(x.device() == q.device(), "x and q must be on one device; got device ", x.device(),
                    " and ", q.device());
}

// Real values can be looked at without a wait: a CPU tensor that is not a stand-in of a tracer.
bool readable_now(const Tensor& t) {
  return t.is_cpu() && !t.unsafeGetTensorImpl()->key_set().has_any(c10::DispatchKeySet(
                           {c10::DispatchKey::Python, c10::DispatchKey::FuncTorchBatched}));
}

// Positions of B x T tokens as float64. Integers and floats are both taken.
Tensor shaped_positions(const Tensor& positions, const Tensor& x) {
  TORCH_CHECK_TYPE(
      at::isIntegralType(positions.scalar_type(), false) || at::isFloatingType(positions.scalar_type()),
      "positions must be numbers; got dtype ", positions.scalar_type());
  TORCH_CHECK_VALUE(positions.device() == x.device(),
                    "positions and the input must be on one device; got device ", positions.device(), " and ",
                    x.device());
  TORCH_CHECK_VALUE((positions.dim() == 1 && positions.sym_size(0) == x.sym_size(1)) ||
                        (positions.dim() == 2 && positions.sym_size(0) == x.sym_size(0) &&
                         positions.sym_size(1) == x.sym_size(1)),
                    "positions must be [T] or [B, T] with B, T = ", x.sym_size(0), ", ", x.sym_size(1),
                    "; got ", positions.sym_sizes());
  return positions.to(at::kDouble);
}

constexpr double kMostPosition = 0x1p53;  // beyond it float64 does not hold every whole number

// They must be finite, not negative, and told from their neighbours.
Tensor checked_positions(const Tensor& positions, const Tensor& x) {
  const Tensor wide = shaped_positions(positions, x);
  if (readable_now(wide) && wide.numel() > 0) {
    TORCH_CHECK_VALUE(at::isfinite(wide).all().item<bool>(),
                      "positions must be finite; got NaN or an infinity");
    TORCH_CHECK_VALUE(wide.min().item<double>() >= 0, "positions must not be negative; got ",
                      wide.min().item<double>());
    TORCH_CHECK_VALUE(wide.max().item<double>() <= kMostPosition, "positions may be at most 2**53; got ",
                      wide.max().item<double>());
  }
  return wide;
}

void check_documents(const Tensor& documents, const Tensor& k) {
  TORCH_CHECK_TYPE(at::isIntegralType(documents.scalar_type(), false),
                   "documents must be whole numbers; got dtype ", documents.scalar_type());
  TORCH_CHECK_VALUE(documents.dim() == 2 && documents.sym_size(0) == k.sym_size(0) &&
                        documents.sym_size(1) == k.sym_size(1),
                    "documents must be [B, T] = [", k.sym_size(0), ", ", k.sym_size(1), "]; got ",
                    documents.sym_sizes());
  TORCH_CHECK_VALUE(documents.device() == k.device(),
                    "documents and the input must be on one device; got device ", documents.device(), " and ",
                    k.device());
}

// x [B, T, D] by itself: what has heads is checked against q.
void check_width(const Tensor& x, int64_t d_model) {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.sym_size(2) == d_model, "x must be [B, T, ", d_model, "]; got ",
                    x.sym_sizes());
  TORCH_CHECK_TYPE(at::isFloatingType(x.scalar_type()), "x must be floating point; got dtype ",
                   x.scalar_type());
}

Tensor embed(c10::string_view name, Shape shape, bool half, at::TensorList parameters, const Tensor& x,
             const Tensor& positions) {
  const ops::NoAutocast exact;
  const std::shared_ptr<const Encoding> encoding = encoding_for(name, shape, half);
  refuse_dual(x);
  check_width(x, encoding->shape().d_model);
  check_parameters(*encoding, parameters, x);
  return encoding->embed(parameters, x, checked_positions(positions, x));
}

std::tuple<Tensor, Tensor> encode(c10::string_view name, Shape shape, bool half, at::TensorList parameters,
                                  const Tensor& q, const Tensor& k, const std::optional<Tensor>& x,
                                  const Tensor& positions) {
  const ops::NoAutocast exact;  // the encodings choose their precision themselves
  const std::shared_ptr<const Encoding> encoding = encoding_for(name, shape, half);
  const LayerShape& s = encoding->shape();
  check_heads(q, "q", s.heads, s.head_dim, q);
  check_heads(k, "k", s.kv_heads, s.head_dim, q);
  TORCH_CHECK_VALUE(q.sym_size(1) == k.sym_size(1), "q and k must have the same tokens; got ", q.sym_sizes(),
                    " and ", k.sym_sizes());
  TORCH_CHECK_VALUE(x || !encoding->has_coordinate(), name, " reads its coordinate from x; got None");
  if (x) check_x(*x, s.d_model, q);
  check_parameters(*encoding, parameters, q);
  auto [q_out, k_out] =
      encoding->encode(parameters, q, k, x.value_or(Tensor()), checked_positions(positions, q));
  return {q_out, k_out};
}

// Positions and documents are those of the keys' tokens, of which the queries are the last.
Tensor attend(c10::string_view name, Shape shape, bool half, at::TensorList parameters, const Tensor& q,
              const Tensor& k, const Tensor& v, const std::optional<Tensor>& positions,
              const std::optional<Tensor>& documents, bool causal) {
  const ops::NoAutocast exact;
  const std::shared_ptr<const Encoding> encoding = encoding_for(name, shape, half);
  const LayerShape& s = encoding->shape();
  check_heads(v, "v", s.kv_heads, s.head_dim, q);
  TORCH_CHECK_VALUE(v.sym_size(1) == k.sym_size(1), "v and k must have the same tokens; got ", v.sym_sizes(),
                    " and ", k.sym_sizes());
  check_parameters(*encoding, parameters, q);
  Context context{.causal = causal};
  if (positions) context.positions = checked_positions(*positions, k);
  if (documents) {
    check_documents(*documents, k);
    context.starts = document_starts(*documents);
  }
  return as_value_error([&] { return encoding->attend(parameters, q, k, v, context); });
}

Tensor coordinate(c10::string_view name, Shape shape, bool half, at::TensorList parameters, const Tensor& x,
                  const Tensor& positions) {
  const std::shared_ptr<const Encoding> encoding = encoding_for(name, shape, half);
  check_width(x, encoding->shape().d_model);
  check_parameters(*encoding, parameters, x);
  TORCH_CHECK_VALUE(encoding->has_coordinate(), name,
                    " has no learned coordinate; the darope encodings have");
  return encoding->coordinate(parameters, x, checked_positions(positions, x));
}

std::string parameters_of(c10::string_view name, Shape shape, bool half) {
  return parameters_json(*encoding_for(name, shape, half));
}

std::string base_name_of(c10::string_view name) {
  return as_value_error([&] { return std::string(find_encoding(std::string(name)).traits.name); });
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(darope, m) {
  m.def("embed(str name, int[] shape, bool half, Tensor[] parameters, Tensor x, Tensor positions) -> Tensor",
        embed);
  m.def(
      "encode(str name, int[] shape, bool half, Tensor[] parameters, Tensor q, Tensor k, Tensor? x, Tensor "
      "positions) -> (Tensor, Tensor)",
      encode);
  m.def(
      "attend(str name, int[] shape, bool half, Tensor[] parameters, Tensor q, Tensor k, Tensor v, Tensor? "
      "positions, Tensor? documents, bool causal) -> Tensor",
      attend);
  m.def(
      "coordinate(str name, int[] shape, bool half, Tensor[] parameters, Tensor x, Tensor positions) -> "
      "Tensor",
      coordinate);
  m.def("parameters(str name, int[] shape, bool half) -> str", parameters_of);
  m.def("base_name(str name) -> str", base_name_of);
  m.def("encodings() -> str", encodings_json);
}
TORCH_LIBRARY_IMPL(darope, FuncTorchDynamicLayerFrontMode, m) {
  for (const char* name : {"embed", "encode", "attend", "coordinate"})
    m.impl(name, ops::refusing_transforms());
}

}  // namespace darope
