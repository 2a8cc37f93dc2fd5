#include "experiments/own_data.h"

#include <algorithm>
#include <bit>

#include "data/open.h"
#include "data/prepared/kind.h"
#include "data/prepared/manifest.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStretched = "yarn:factor=8";  // what people would use at 8 times the training length
constexpr int64_t kTokensPerStep = 1024;
constexpr int64_t kLargeFile = 200'000;     // tokens; below, a wider model only learns them by heart
constexpr int64_t kMostPasses = 10;         // over the file
constexpr double kOperationsPerRun = 1e12;  // half a minute on one core

// The longest context of which the last tenth of the file holds eight windows at eight times the length.
// Beyond 128, encodings that need the scores themselves would spend most of the time and gigabytes of memory
// on the longest test.
int64_t context_for(int64_t tokens) {
  int64_t context = 128;
  while (context > 16 && tokens < 10 * 8 * 8 * context + 10) context /= 2;
  return context;
}

int64_t steps_for(const CompareConfig& config, int64_t tokens, int64_t vocabulary) {
  const double width = double(config.model.dim),
               weights = 12 * double(config.model.n_layers) * width * width + width * double(vocabulary);
  const int64_t affordable = int64_t(kOperationsPerRun / (6 * weights * double(kTokensPerStep)));
  return std::clamp<int64_t>(std::min(affordable, kMostPasses * tokens / kTokensPerStep), 150, 1500);
}

// As many test windows as the file allows, as long as reading them takes no more than a third of a training:
// a window is read at 1, 2 and 8 lengths, and a training step costs three readings of its tokens.
int64_t windows_for(const CompareConfig& config) {
  constexpr int64_t kLengths = 1 + 2 + 8, kFewest = 128;
  return std::max(kFewest, config.steps * kTokensPerStep / (kLengths * config.data.seq_len));
}

struct Size {
  int64_t tokens, vocabulary;
};

Size own(const fs::path& path, DataConfig& data) {
  refuse_files_of_kinds(path);
  const TokenSource source = open_tokens(path);
  data.path = path.string();
  data.seq_len = context_for(source.size());
  return {source.size(), source.vocabulary()};
}

// A dataset of pieces is read piece by piece, as far as a context of 256 goes.
Size prepared(const fs::path& folder, DataConfig& data) {
  const Manifest manifest = read_manifest(folder);
  const Kind& kind = find_kind(manifest.kind);
  data.root_dir = folder.string();
  const SplitFacts& train = manifest[Split::train];
  data.seq_len = kind.text ? context_for(10 * manifest[Split::test].values)
                           : std::bit_ceil(uint64_t(std::clamp<int64_t>(train.longest, 16, 256)));
  return {train.values, manifest.vocabulary};
}

}  // namespace

int64_t logging_for(int64_t steps) { return std::max<int64_t>(1, steps / 50); }

std::filesystem::path plain_path(const std::filesystem::path& typed) {
  const fs::path plain = typed.lexically_normal();
  return plain.has_filename() || !plain.has_relative_path() ? plain : plain.parent_path();
}

CompareConfig config_for(const std::filesystem::path& given) {
  CompareConfig config;
  const fs::path path = plain_path(given);
  const Size size = is_prepared(path) ? prepared(path, config.data) : own(path, config.data);
  if (!config.data.path.empty())  // which is scored at 8 times the training length too
    config.encodings.insert(std::ranges::find(config.encodings, "rope") + 1, kStretched);
  config.name = dataset_name(config.data);
  config.dump_dir = (fs::path("runs") / config.name).string();
  config.seeds = 2;
  config.seed = 0;
  config.data.batch_size = kTokensPerStep / config.data.seq_len;
  const bool large = size.tokens >= kLargeFile;
  config.model.style = "nanogpt";
  config.model.dim = large ? 96 : 64;
  config.model.n_layers = large ? 3 : 2;
  config.model.n_heads = config.model.dim / 32;
  config.model.base = 10'000;  // at 500k and such a context almost every band would be slow
  config.model.init = "fan_in";
  config.model.tied = size.vocabulary > 1000;
  config.steps = steps_for(config, size.tokens, size.vocabulary);
  if (chooses_examples(config.data)) config.data.test_examples = windows_for(config);
  config.logging.freq = logging_for(config.steps);
  config.optim.lr = 2e-3;
  config.optim.beta2 = 0.98;
  return config;
}

}  // namespace darope
