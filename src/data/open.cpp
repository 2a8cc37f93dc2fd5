#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/sha256.h"
#include "data/open.h"

namespace darope {
namespace {

void add(Sha256& hash, const Batch& batch) {
  for (const Tensor& tensor : {batch.tokens, batch.rows, batch.targets, batch.weight})
    hash.add({static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
}

}  // namespace

Dataset open_dataset(const DataConfig& config, uint64_t seed, int64_t batches) {
  if (config.task.empty() == config.path.empty()) throw Error("give either data.task, a synthetic task, or data.path, a file to learn from");
  const auto at_least = [](const char* key, int64_t value, int64_t least) {
    if (value < least) throw Error(fmt::format("data.{} is {}: it must be at least {}", key, value, least));
  };
  at_least("batch_size", config.batch_size, 1);
  at_least("seq_len", config.seq_len, 2);
  at_least("test_examples", config.test_examples, 1);
  at_least("test_seed", config.test_seed, 0);
  return config.path.empty() ? open_task(config, seed, batches) : open_token_file(config, seed);
}

std::string data_hash(const Dataset& data, int64_t batches) {
  Sha256 hash;
  for (const int64_t index : {int64_t{0}, int64_t{1}, batches / 2, batches - 1}) add(hash, data.train->at(index));
  for (const TestLength& test : data.tests) add(hash, test.set->read(0, std::min<int64_t>(4, test.set->size())));
  return hash.hex();
}

}  // namespace darope
