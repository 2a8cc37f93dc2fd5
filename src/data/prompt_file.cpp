#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "base/safetensors.h"
#include "data/prompts.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

fs::path hash_beside(const fs::path& file) { return file.string() + ".sha256"; }

// Tensors by the names they have in the file.
template <class Set, class Visit>
void visit_tensors(Set& set, const std::string& probe, const Visit& visit) {
  const std::string front = fmt::format("{}.{}.", probe, set.difficulty);
  visit(front + "candidates", set.candidates);
  visit(front + "places", set.places);
  visit(front + "tokens", set.tokens);
}

void write_prompts(const fs::path& file, const Prompts& prompts) {
  std::vector<TensorToWrite> tensors;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    const Tensor ids = tensor.to(at::kInt).contiguous();
    tensors.push_back({name, Dtype::kI32, ids.sizes().vec(), [ids] {
                         return std::span(static_cast<const std::byte*>(ids.const_data_ptr()), ids.nbytes());
                       }});
  };
  for (const PromptSet& set : prompts.digression) visit_tensors(set, "digression", add);
  for (const PromptSet& set : prompts.recall) visit_tensors(set, "recall", add);
  FileWriter out(file);
  write_safetensors(out, std::move(tensors));
  out.commit();
  write_file(hash_beside(file), fmt::format("{}  {}\n", sha256_of_file(file), file.filename().string()));
}

Tensor tensor_of(const SafetensorsFile& file, const std::string& name, const fs::path& path) {
  const TensorView& view = file.at(name);
  if (view.dtype != Dtype::kI32 || view.shape.size() != 2)
    throw Error(fmt::format("{}: {} should be a table of I32", path.string(), name));
  const Tensor out = at::empty(view.shape, at::kInt);
  std::memcpy(out.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return out.to(at::kLong);
}

void check(const PromptSet& set, const std::string& probe, const fs::path& path, int64_t length,
           int64_t vocabulary) {
  const auto within = [](const Tensor& ids, int64_t below) {
    return ids.numel() > 0 && ids.min().item<int64_t>() >= 0 && ids.max().item<int64_t>() < below;
  };
  if (set.tokens.size(1) != length)
    throw Error(
        fmt::format("{} has prompts of {} tokens, and the model's context is {}: choose another --prompts",
                    path.string(), set.tokens.size(1), length));
  if (!within(set.tokens, vocabulary) || !within(set.candidates, vocabulary) || !within(set.places, length) ||
      set.candidates.sizes() != set.places.sizes() || set.candidates.size(0) != set.size() ||
      set.candidates.size(1) < 2)
    throw Error(fmt::format("{}: {} {} has an id or a place that no prompt of this model can have",
                            path.string(), probe, set.difficulty));
}

// Sets of one probe, by rising difficulty.
std::vector<PromptSet> read_sets(const SafetensorsFile& file, const std::string& probe,
                                 const fs::path& path) {
  std::vector<PromptSet> sets;
  for (int64_t difficulty = 1; difficulty <= 1 << 20; difficulty *= 2) {
    PromptSet set{difficulty, {}, {}, {}};
    bool there = false;
    for (const TensorView& each : file.tensors())
      there = there || each.name == fmt::format("{}.{}.tokens", probe, difficulty);
    if (!there) continue;
    visit_tensors(set, probe, [&](const std::string& name, Tensor& to) { to = tensor_of(file, name, path); });
    sets.push_back(std::move(set));
  }
  if (sets.empty()) throw Error(fmt::format("{} has no prompts of {}", path.string(), probe));
  return sets;
}

}  // namespace

Prompts kept_prompts(const fs::path& file, const Documents& prose, int64_t length, uint64_t seed) {
  Prompts made;
  if (!fs::exists(file)) write_prompts(file, made = make_prompts(prose, length, seed));
  const std::string hash = sha256_of_file(file);
  if (!read_file(hash_beside(file)).starts_with(hash))
    throw Error(fmt::format("{} is not what was written there: {} has another sha256", file.string(),
                            hash_beside(file).string()),
                kCheckFailed);
  const SafetensorsFile kept(file);
  Prompts out{read_sets(kept, "digression", file), read_sets(kept, "recall", file), made.left_out, hash};
  for (const PromptSet& set : out.digression)
    check(set, "digression", file, length, prose.tokenizer().vocabulary());
  for (const PromptSet& set : out.recall) check(set, "recall", file, length, prose.tokenizer().vocabulary());
  return out;
}

}  // namespace darope
