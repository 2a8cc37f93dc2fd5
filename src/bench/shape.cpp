#include <filesystem>

#include "base/config.h"
#include "base/error.h"
#include "base/names.h"
#include "bench/bench.h"
#include "experiments/run.h"
#include "experiments/scratch.h"
#include "model/plan.h"

namespace darope {
namespace {

RunConfig of(const DecoderConfig& model, int64_t batch, int64_t length) {
  RunConfig run;
  run.model = model, run.model.max_seqlen = length;
  run.data.batch_size = batch, run.data.seq_len = length;
  return run;
}
RunConfig language_model(int64_t dim, int64_t layers, int64_t heads, int64_t batch) {
  DecoderConfig model;
  model.dim = dim, model.n_layers = layers, model.n_heads = heads;
  model.vocab_size = 100'352, model.tied = false;
  return of(model, batch, 4096);
}
RunConfig small_model(int64_t dim, int64_t layers, int64_t heads, int64_t batch, int64_t length) {
  DecoderConfig model;
  model.style = "nanogpt", model.dim = dim, model.n_layers = layers, model.n_heads = heads;
  model.vocab_size = 256;
  return of(model, batch, length);
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {"124m", language_model(768, 12, 12, 16)},  {"350m", language_model(1024, 24, 16, 8)},
      {"1b", language_model(2048, 25, 16, 4)},    {"jsb", small_model(192, 8, 6, 4, 2048)},
      {"task", small_model(256, 4, 4, 64, 256)},  {"sleep", small_model(256, 6, 8, 16, 1024)},
      {"small", small_model(256, 4, 4, 32, 256)}, {"quick", small_model(64, 2, 2, 16, 32)},
  };
  return all;
}

bool is_config(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

// The vocabulary follows from its data.
RunConfig from_config(const std::string& file, const std::vector<std::string>& overrides) {
  RunConfig run;
  load_config(run, file, overrides);
  const Scratch scratch;
  run.dump_dir = scratch.path();
  return resolve(run, open_data(run));
}

// Weights in products, of a layer's parts: q, k and v; what comes behind attention.
struct Products {
  double qkv = 0, behind = 0, layers = 0, head = 0;
  double blocks() const { return layers * (qkv + behind); }
};
Products products_of(const DecoderConfig& model) {
  const double width = double(model.dim), kv = double(model.kv_heads() * model.head_dim());
  Products out{.qkv = width * (width + 2 * kv),
               .behind = width * width,
               .layers = double(model.n_layers),
               .head = double(model.vocab_size) * width};
  for (const Matrix& matrix : feed_forward(model.feed_forward_name()).matrices(model))
    for (const auto& [part, rows] : matrix.names_and_rows) out.behind += double(rows * matrix.inputs);
  return out;
}

double bytes_of_a_number(const RunConfig& run) {
  return double(c10::elementSize(find_dtype(run.dtype, find_device(run.device))));
}

}  // namespace

Shape find_shape(const std::string& name, const std::vector<std::string>& overrides) {
  if (is_config(name)) return {std::filesystem::path(name).stem(), from_config(name, overrides)};
  std::vector<std::string> known;
  for (const Shape& each : shapes()) {
    known.push_back(each.name);
    if (each.name != name) continue;
    Shape out = each;
    load_config(out.run, {}, overrides);
    out.run.model.max_seqlen = out.run.data.seq_len;
    return out;
  }
  known.push_back("a config (.yaml)");
  throw Error(unknown_name("size", name, known));
}

DecoderConfig Shape::model(const std::string& encoding) const {
  DecoderConfig out = run.model;
  out.encoding = encoding;
  out.check();
  return out;
}

Cost Shape::reading(int64_t batch) const {
  const Products w = products_of(run.model);
  const double length = double(run.data.seq_len), sequences = double(batch);
  const double in_products = length * (w.blocks() - w.behind) + w.behind + w.head;  // of one sequence
  const double attention = 2 * w.layers * length * length * double(run.model.dim);
  return {sequences * (2 * in_products + attention), (w.blocks() + w.head) * bytes_of_a_number(run)};
}

Cost Shape::decoding(int64_t batch) const {
  const Products w = products_of(run.model);
  const double length = double(run.data.seq_len), sequences = double(batch), weights = w.blocks() + w.head;
  const double cache = 2 * w.layers * length * double(run.model.kv_heads() * run.model.head_dim());
  return {sequences * (2 * weights + 4 * w.layers * length * double(run.model.dim)),
          (weights + sequences * cache) * bytes_of_a_number(run)};
}

// 6 a weight in a product and token, 6 x layers x length x width for attention; weights, gradients and
// moments are read, and all but gradients written, in float32.
Cost Shape::training() const {
  const Products w = products_of(run.model);
  const double length = double(run.data.seq_len), tokens = double(run.data.batch_size) * length,
               updates = 7 * double(sizeof(float)) * double(Plan(run.model).parameters());
  const double operations = 6 * (w.blocks() + w.head) + 6 * w.layers * length * double(run.model.dim);
  const double batches = double(run.grad_acc_steps);
  return {batches * tokens * operations, updates};
}

}  // namespace darope
