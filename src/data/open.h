#pragma once
#include "data/config.h"
#include "data/dataset.h"
#include "data/text/tokenizer.h"

namespace darope {

// `batches` is the number a whole run reads; a schedule of lengths needs it.
Dataset open_dataset(const DataConfig& config, uint64_t seed, int64_t batches);
Dataset open_task(const DataConfig& config, uint64_t seed, int64_t batches);
Dataset open_token_file(const DataConfig& config, uint64_t seed);
Dataset open_prepared(const DataConfig& config, uint64_t seed);
Dataset open_text(std::shared_ptr<const struct PreparedData> data, const DataConfig& config, uint64_t seed);

// How the ids that a model of this data reads stand for text; null where they do not.
std::shared_ptr<const Tokenizer> tokenizer_of(const DataConfig& config);

// Whether data.test_examples says how much is scored: of prepared data that are no text all of the test is.
bool chooses_examples(const DataConfig& config);

std::string dataset_name(const DataConfig& config);  // the task, or the name of the file or folder

// A hash that two runs share if they read the same batches in the same order and are tested on the same
// examples; it looks at the first, middle and last batches, at every test example, and, where one file holds
// the data, at every byte of it.
std::string data_hash(const Dataset& data, int64_t batches);
std::string hash_of(const TestSet& set);  // of every example

}  // namespace darope
