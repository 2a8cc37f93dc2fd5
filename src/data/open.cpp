#include "data/open.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/config.h"
#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"
#include "data/prepared/prepared_data.h"

namespace darope {
namespace {

constexpr int64_t kTestsAtOnce = 64;

void add(Sha256& hash, const Batch& batch) {
  for (const Tensor& tensor : {batch.tokens, batch.rows, batch.targets, batch.weight, batch.documents})
    if (tensor.defined()) hash.add({static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
}

void add(Sha256& hash, const TestSet& set) {
  for (int64_t first = 0; first < set.size(); first += kTestsAtOnce)
    add(hash, set.read(first, std::min(kTestsAtOnce, set.size() - first)));
}

}  // namespace

Dataset open_dataset(const DataConfig& config, uint64_t seed, int64_t batches) {
  DataConfig values = config;
  check_values(list_fields(values, "data."));
  const int given = int(!config.task.empty()) + int(!config.path.empty()) + int(!config.root_dir.empty());
  if (given == 0)
    throw Error(
        "give one of data.task, a synthetic task, data.path, a file to learn from, and data.root_dir, a "
        "prepared dataset");
  if (given > 1)
    throw Error(
        fmt::format("data.task '{}', data.path '{}' and data.root_dir '{}' cannot go together: empty all but "
                    "one, as with data.task=",
                    config.task, config.path, config.root_dir));
  for (const auto& [use, file] :
       {std::pair{"test", config.test_path}, {"validation", config.validation_path}})
    if (!file.empty() && config.path.empty())
      throw Error(
          fmt::format("data.{0}_path '{1}' goes with data.path alone: tasks and prepared datasets have no "
                      "{0} but their own",
                      use, file));
  const int64_t most = DataConfig::kMostTokens;
  if (config.batch_size * config.seq_len > most)
    throw Error(fmt::format("data.batch_size x data.seq_len is {} x {}: a batch may have at most {} tokens",
                            config.batch_size, config.seq_len, most));
  const bool prepared = !config.root_dir.empty();
  Dataset data = prepared              ? open_prepared(config, seed)
                 : config.path.empty() ? open_task(config, seed, batches)
                                       : open_token_file(config, seed);
  if (config.documents != DataConfig{}.documents && !(prepared && data.tokenizer))
    throw Error(
        fmt::format("data.documents is {}: only a prepared text tells documents apart, and {} is none",
                    config.documents, data.name));
  if (!prepared) data.tokenizer = tokenizer_of(config);
  return data;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const DataConfig& config) {
  const std::filesystem::path path = config.path;
  const bool ids = holds_ids(path);
  if (!config.task.empty() || (!path.empty() && !ids)) return find_tokenizer("bytes");
  if (ids || !is_prepared(config.root_dir))
    return nullptr;  // a model can be asked where its data no longer lies
  return tokenizer_of(read_manifest(config.root_dir), config.root_dir);
}

bool chooses_examples(const DataConfig& config) {
  return config.root_dir.empty() || find_kind(read_manifest(config.root_dir).kind).text;
}

std::string dataset_name(const DataConfig& config) {
  if (!config.task.empty()) return config.task;
  const std::filesystem::path path = config.path;
  if (path.extension() == ".txt") return path.stem().string();
  if (path.has_filename()) return path.filename().string();  // a.md is not a.txt
  const std::filesystem::path folder = path.empty() ? std::filesystem::path(config.root_dir) : path;
  return (folder.has_filename() ? folder : folder.parent_path())
      .filename()
      .string();  // with or without a slash behind it
}

std::string hash_of(const TestSet& set) {
  Sha256 hash;
  add(hash, set);
  return hash.hex();
}

std::string data_hash(const Dataset& data, int64_t batches) {
  Sha256 hash;
  for (const int64_t index : {int64_t{0}, int64_t{1}, batches / 2, batches - 1})
    add(hash, data.train->at(index));
  for (const TestLength& test : data.tests) add(hash, *test.set);
  for (const auto& each : data.sources) {
    const std::string source = each->sha256();
    hash.add(std::as_bytes(std::span(source)));
  }
  return hash.hex();
}

}  // namespace darope
