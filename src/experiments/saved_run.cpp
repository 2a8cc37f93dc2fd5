#include "experiments/saved_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/config.h"
#include "base/error.h"
#include "experiments/threads.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

Checkpoint find_checkpoint(const RunFolder& folder, const Which& which, const RunConfig& config) {
  if (!config.weights_of.empty())
    throw Error(
        fmt::format("{} has no weights: it is {} scored with {}; give that run, to `eval` with "
                    "--encoding {}",
                    folder.path().string(), (folder.path().parent_path() / config.weights_of).string(),
                    config.model.encoding, config.model.encoding));
  const fs::path root = which.best ? folder.best() : folder.checkpoints();
  if (!which.step) {
    if (const std::optional<Checkpoint> newest = newest_checkpoint(root)) return *newest;
    throw Error(fmt::format(
        "{} has no checkpoint{}", root.string(),
        which.best ? "; only runs with validation.every keep their best one" : " yet: train it first"));
  }
  std::string steps;
  for (const Checkpoint& each : list_checkpoints(root)) {
    if (each.step == *which.step) {
      if (const auto problem = checkpoint_problem(each.folder, Verify::kHashes))
        throw Error(fmt::format("{}: {}", each.folder.string(), *problem), kCheckFailed);
      return each;
    }
    steps += fmt::format("{}{}", steps.empty() ? "" : ", ", each.step);
  }
  throw Error(fmt::format("{} has no checkpoint of step {}; it has {}", root.string(), *which.step,
                          steps.empty() ? "none" : steps));
}

// What the encodings of a model learn, by name and shape: a model with others takes its weights if this is
// the same.
std::vector<std::pair<std::string, std::vector<int64_t>>> learned(const DecoderConfig& model) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> out;
  for (const Weight& weight : Plan(model).weights)
    for (const Part& part : weight.parts)
      if (weight.of_encoding) out.emplace_back(part.name, part.shape);
  return out;
}

void change_encoding(DecoderConfig& model, const std::string& encoding, const fs::path& folder) {
  DecoderConfig changed = model;
  changed.encoding = encoding;
  if (learned(model) != learned(changed)) {
    std::vector<std::string_view> learn_nothing;
    for (const Spec& spec : encodings())
      if (spec.traits.learns == "nothing") learn_nothing.push_back(spec.traits.name);
    throw Error(
        fmt::format("--encoding {} does not fit the weights of {}, trained with {}: encodings that learn "
                    "nothing ({}) can stand in "
                    "for each other, any other only for itself",
                    encoding, folder.string(), model.encoding, fmt::join(learn_nothing, ", ")));
  }
  model = changed;
}

// Before anything is allocated by a config that a stranger may have written.
void check_size(const DecoderConfig& model, const fs::path& weights) {
  const int64_t parameters = Plan(model).parameters(), bytes = size_of_file(weights);
  if (parameters > bytes / int64_t(sizeof(float)))
    throw Error(
        fmt::format("{} has {} bytes, and the model of its config {} weights of {} bytes: they do not "
                    "belong together",
                    weights.string(), bytes, parameters, sizeof(float)));
}

}  // namespace

SavedRun open_run(const RunFolder& folder, const Which& which, const std::vector<std::string>& overrides) {
  folder.require();
  SavedRun out;
  load_config(out.config, folder.config(), overrides);
  out.config.check();
  const Checkpoint checkpoint = find_checkpoint(folder, which, out.config);
  out.checkpoint = checkpoint.folder;
  out.step = checkpoint.step;
  if (!which.encoding.empty()) change_encoding(out.config.model, which.encoding, folder.path());
  check_size(out.config.model, checkpoint.folder / kModelFile);
  const at::Device device = find_device(out.config.device);
  use_threads(out.config, device.is_cpu());
  out.model = std::make_unique<Decoder>(out.config.model, device, find_dtype(out.config.dtype, device));
  out.model->weights().read(SafetensorsFile(checkpoint.folder / kModelFile), out.model->weights().flat());
  out.model->refresh();
  return out;
}

}  // namespace darope
