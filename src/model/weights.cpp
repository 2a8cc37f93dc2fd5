#include "model/weights.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/random.h"

namespace darope {
namespace {

constexpr int64_t kAlign = 64;    // elements; products want their matrices on such boundaries
constexpr int64_t kBlock = 4096;  // values from one stream; blocks can be drawn side by side

double draw(Random& random, const Part& part) {
  if (part.start == Part::Start::uniform) return part.a + (part.b - part.a) * random.uniform();
  double z = random.normal();
  while (part.start == Part::Start::cut_normal && std::abs(z) > 3) z = random.normal();
  return part.a + part.b * z;
}

// In double, so that a model in double starts where the one in float does.
std::vector<double> initial_values(const Part& part, int64_t seed) {
  std::vector<double> out(size_t(part.count()), part.a);
  if (part.start == Part::Start::constant) return out;
  const int64_t blocks = (part.count() + kBlock - 1) / kBlock;
  at::parallel_for(0, blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      Random random(uint64_t(seed), "init/" + part.name, uint64_t(block));
      for (int64_t i = block * kBlock; i < std::min(part.count(), (block + 1) * kBlock); ++i)
        out[size_t(i)] = float(draw(random, part));
    }
  });
  return out;
}

}  // namespace

Weights::Weights(const Plan& plan, const at::TensorOptions& compute, int64_t seed) {
  offsets_.resize(plan.weights.size());
  int64_t total = 0;
  for (const bool decay : {true, false}) {
    for (size_t i = 0; i < plan.weights.size(); ++i) {
      if (plan.weights[i].decay != decay) continue;
      offsets_[i] = total;
      total += (plan.weights[i].count() + kAlign - 1) / kAlign * kAlign;
    }
    if (decay) decayed_ = total;
  }
  const at::ScalarType type = c10::typeMetaToScalarType(compute.dtype()),
                       exact = type == at::kDouble ? at::kDouble : at::kFloat;
  flat_ = at::zeros({total}, compute.dtype(exact));
  if (type != exact) copy_ = at::zeros({total}, compute);
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    int64_t offset = offsets_[i];
    for (const Part& part : plan.weights[i].parts) {
      places_.push_back({part.name, part.shape, offset, part.count(), plan.weights[i].of_encoding});
      offset += part.count();
    }
    const Tensor& from = copy_.defined() && !plan.weights[i].of_encoding ? copy_ : flat_;
    leaves_.push_back(from.narrow(0, offsets_[i], plan.weights[i].count())
                          .view(plan.weights[i].shape)
                          .detach()
                          .requires_grad_());
  }
  initialise(plan, seed);
  refresh();
}

void Weights::refresh() {
  const at::NoGradGuard no_grad;
  if (copy_.defined()) copy_.copy_(flat_);
}

void Weights::initialise(const Plan& plan, int64_t seed) {
  const at::NoGradGuard no_grad;
  size_t place = 0;
  for (const Weight& weight : plan.weights)
    for (const Part& part : weight.parts) {
      std::vector<double> values = initial_values(part, seed);
      const Tensor from = at::from_blob(values.data(), {part.count()}, at::kDouble);
      Tensor to = flat_.narrow(0, places_[place].offset, part.count());
      to.copy_(from);
      if (weight.bounds) to.clamp_(weight.bounds->first, weight.bounds->second);
      ++place;
    }
}

Tensor Weights::like_flat() const { return at::zeros_like(flat_); }

std::vector<Tensor> Weights::cut(const Tensor& flat) const {
  std::vector<Tensor> out;
  for (size_t i = 0; i < leaves_.size(); ++i)
    out.push_back(flat.narrow(0, offsets_[i], leaves_[i].numel()).view(leaves_[i].sizes()));
  return out;
}

Tensor Weights::on_cpu(const Tensor& flat, const Place& place) const {
  return flat.narrow(0, place.offset, place.count).cpu();
}

std::vector<TensorToWrite> Weights::named(const Tensor& flat, const std::string& prefix) const {
  std::vector<TensorToWrite> out;
  const auto held = std::make_shared<Tensor>();  // one tensor at a time leaves the device
  for (const Place& place : places_)
    out.push_back({prefix + place.name, flat.scalar_type() == at::kDouble ? Dtype::kF64 : Dtype::kF32,
                   place.shape, [this, flat, place, held] {
                     *held = on_cpu(flat, place);
                     return std::span(static_cast<const std::byte*>(held->const_data_ptr()), held->nbytes());
                   }});
  return out;
}

void Weights::read(const SafetensorsFile& file, const Tensor& flat, const std::string& prefix) const {
  const at::NoGradGuard no_grad;
  for (const TensorView& view : file.tensors())
    if (prefix.empty() && std::none_of(places_.begin(), places_.end(),
                                       [&](const Place& place) { return place.name == view.name; }))
      throw Error("tensor '" + view.name +
                  "' in the checkpoint has no place in the model: is its encoding another?");
  const Dtype dtype = flat.scalar_type() == at::kDouble ? Dtype::kF64 : Dtype::kF32;
  for (const Place& place : places_) {
    const TensorView& view = file.at(prefix + place.name);
    if (view.shape != place.shape || view.dtype != dtype)
      throw Error("tensor '" + view.name +
                  "' in the checkpoint has another shape or type than the model of its config");
    const Tensor values = at::empty({place.count}, flat.scalar_type());
    std::memcpy(values.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
    if (!at::isfinite(values).all().item<bool>())
      throw Error("tensor '" + view.name +
                  "' in the checkpoint holds a value that is not finite: no score of it would mean anything");
    flat.narrow(0, place.offset, place.count).copy_(values);
  }
}

std::string Weights::shared_hash() const {
  Sha256 hash;
  for (const Place& place : places_) {
    if (place.of_encoding) continue;
    const Tensor values = on_cpu(flat_, place);
    hash.add(std::as_bytes(std::span(place.name)));
    hash.add({static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()});
  }
  return hash.hex();
}

}  // namespace darope
