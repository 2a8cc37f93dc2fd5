#include "experiments/own_data.h"

#include <algorithm>

#include "data/text/token_file.h"

namespace darope {
namespace {

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

}  // namespace

CompareConfig config_for(const std::filesystem::path& file) {
  const TokenSource source = open_tokens(file);
  CompareConfig config;
  config.name = file.stem().stem().string();
  config.dump_dir = (std::filesystem::path("runs") / config.name).string();
  config.seeds = 2;
  config.seed = 0;
  config.data.path = file.lexically_normal().string();  // ./my.txt is my.txt, and goes on with its runs
  config.data.seq_len = context_for(source.size());
  config.data.batch_size = kTokensPerStep / config.data.seq_len;
  config.data.test_examples = 128;
  const bool large = source.size() >= kLargeFile;
  config.model.style = "nanogpt";
  config.model.dim = large ? 96 : 64;
  config.model.n_layers = large ? 3 : 2;
  config.model.n_heads = config.model.dim / 32;
  config.model.base = 10'000;  // at 500k and such a context almost every band would be slow
  config.model.init = "fan_in";
  config.model.tied = source.vocabulary() > 1000;
  config.steps = steps_for(config, source.size(), source.vocabulary());
  config.optim.lr = 2e-3;
  config.optim.beta2 = 0.98;
  return config;
}

}  // namespace darope
