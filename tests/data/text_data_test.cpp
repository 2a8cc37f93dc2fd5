#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/files.h"
#include "base/permutation.h"
#include "data/open.h"
#include "data/prepared/preparation.h"
#include "data/prepared/prepared_data.h"
#include "encodings/encoding.h"
#include "model/decoder.h"
#include "scratch.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

// Documents of source s: the letter 'a' + s, then its number in that source in digits, some of them long.
std::string lines_of(int source, int documents) {
  std::string out;
  for (int i = 0; i < documents; ++i) {
    std::string text(1, char('a' + source));
    for (int j = 0; j <= i % 7; ++j) text += std::to_string(i) + ".";
    out += "{\"text\": \"" + text + "\"}\n";
  }
  return out;
}

fs::path prepare(const Scratch& scratch, const std::vector<int>& documents) {
  PrepareRequest request{.source = {}, .out = scratch / "set", .seed = 0};
  const std::string held_out = lines_of(25, 60);
  write_file(scratch / "valid.jsonl", held_out);
  write_file(scratch / "test.jsonl", held_out);
  request.more_sources = {scratch / "valid.jsonl", scratch / "test.jsonl"};
  for (size_t i = 0; i < documents.size(); ++i) {
    const fs::path file = scratch / ("train" + std::string(1, char('a' + i)) + ".jsonl");
    write_file(file, lines_of(int(i), documents[i]));
    if (i == 0)
      request.source = file;
    else
      request.more_sources.insert(request.more_sources.begin() + ptrdiff_t(i) - 1, file);
  }
  Preparation out(find_kind("text"), request);
  find_kind("text").prepare(request, out);
  out.finish();
  return scratch / "set";
}

DataConfig config_of(const fs::path& folder, int64_t rows, int64_t length) {
  DataConfig config;
  config.root_dir = folder.string();
  config.batch_size = rows;
  config.seq_len = length;
  config.test_examples = 20;
  return config;
}

// The first windows of the stream in its own order: they change places within blocks of 1024.
Tokens stream_of(const Dataset& data, uint64_t seed) {
  const Batch batch = data.train->at(0);
  const int64_t rows = batch.tokens.size(0), length = batch.tokens.size(1);
  const Permutation order(1024, Random(seed, "text/windows", 0));
  Tokens out(size_t(rows * length));
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t* const row = batch.tokens.const_data_ptr<int64_t>() + i * length;
    std::copy_n(row, length, out.begin() + int64_t(order(uint64_t(i))) * length);
  }
  return out;
}

std::vector<std::string> documents_in(const Tokens& stream) {
  std::vector<std::string> out(1);
  for (const int64_t token : stream)
    if (token == kEndOfDocument)
      out.emplace_back();
    else
      out.back() += char(token);
  out.pop_back();  // the last one goes on
  return out;
}

TEST(Permutation, TakesEveryPlaceOnce) {
  for (const uint64_t size : {1, 2, 3, 5, 16, 17, 1000, 1024}) {
    const Permutation order(size, Random(7, "test", size));
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) seen.insert(order(i));
    EXPECT_EQ(seen.size(), size);
    EXPECT_EQ(*seen.rbegin(), size - 1);
  }
}

TEST(TextData, AnEpochHasEveryDocumentOnceInAnOrderOfItsOwn) {
  const Scratch scratch;
  const Dataset data = open_dataset(config_of(prepare(scratch, {120, 80}), 1024, 16), 3, 10);
  const std::vector<std::string> documents = documents_in(stream_of(data, 3));
  ASSERT_GT(documents.size(), 400u);
  const auto middle = documents.begin() + 200;
  std::multiset<std::string> first(documents.begin(), middle), second(middle, middle + 200);
  EXPECT_EQ(first.size(), std::set<std::string>(first.begin(), first.end()).size());
  EXPECT_EQ(first, second);
  EXPECT_FALSE(std::equal(documents.begin(), middle, middle));
}

TEST(TextData, TheStreamDoesNotDependOnTheWindows) {
  const Scratch scratch;
  const fs::path folder = prepare(scratch, {50});
  const Tokens narrow = stream_of(open_dataset(config_of(folder, 1024, 8), 3, 10), 3),
               wide = stream_of(open_dataset(config_of(folder, 1024, 32), 3, 10), 3);
  EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), wide.begin()));
}

TEST(TextData, ABatchIsAFunctionOfItsNumberAndItsTargetsFollow) {
  const Scratch scratch;
  const fs::path folder = prepare(scratch, {300});
  const Dataset data = open_dataset(config_of(folder, 4, 32), 3, 10);
  data.train->at(2000);
  const Batch late = data.train->at(700),
              fresh = open_dataset(config_of(folder, 4, 32), 3, 10).train->at(700);
  EXPECT_TRUE(late.tokens.equal(fresh.tokens));
  EXPECT_TRUE(late.targets.equal(fresh.targets));
  EXPECT_TRUE(late.tokens.slice(1, 1).equal(late.targets.view({4, 32}).slice(1, 0, 31)));
  EXPECT_FALSE(late.tokens.equal(data.train->at(701).tokens));
}

TEST(TextData, WeightsSayHowOftenADocumentComesFromEachSource) {
  const Scratch scratch;
  DataConfig config = config_of(prepare(scratch, {400, 50, 20}), 1024, 32);
  config.weights = {6, 3, 1};
  const std::vector<std::string> documents = documents_in(stream_of(open_dataset(config, 3, 10), 3));
  std::array<std::vector<std::string>, 3> of{};
  for (const std::string& document : documents) of.at(size_t(document.at(0) - 'a')).push_back(document);
  const double count = double(documents.size());
  ASSERT_GT(count, 1000);
  for (const auto& [source, share] : {std::pair{0, 0.6}, {1, 0.3}, {2, 0.1}})  // within four deviations
    EXPECT_NEAR(double(of[size_t(source)].size()), share * count, 4 * std::sqrt(share * (1 - share) * count));
  EXPECT_EQ(std::set(of[2].begin(), of[2].begin() + 20).size(), 20u);  // its epochs are its own
  EXPECT_EQ(std::set(of[2].begin() + 20, of[2].begin() + 40).size(), 20u);

  config.weights = {6, 4};
  expect_contains(error_of([&] { open_dataset(config, 3, 10); }), "data.weights has 2 numbers");
  config.weights = {6, 4, 0};
  expect_contains(error_of([&] { open_dataset(config, 3, 10); }), "data.weights has 0: each must be above 0");
}

// Where a token's document ends, the next begins: the byte behind the end is no target, and each document of
// a window has a number of its own.
void expect_apart(const Batch& batch) {
  const int64_t length = batch.tokens.size(1);
  for (int64_t i = 0; i < batch.tokens.numel(); ++i) {
    const bool ends = batch.tokens.flatten()[i].item<int64_t>() == kEndOfDocument;
    EXPECT_EQ(batch.weight[i].item<float>(), ends ? 0 : 1);
    if (i % length + 1 == length) continue;
    const Tensor ids = batch.documents.flatten();
    EXPECT_EQ(ids[i].item<int64_t>() != ids[i + 1].item<int64_t>(), ends);
  }
}

TEST(TextData, DocumentsAreToldApartWhereThatIsAskedFor) {
  const Scratch scratch;
  DataConfig config = config_of(prepare(scratch, {50}), 4, 64);
  const Dataset packed = open_dataset(config, 3, 10);
  config.documents = "apart";
  const Dataset apart = open_dataset(config, 3, 10);
  EXPECT_FALSE(packed.train->at(0).documents.defined());
  EXPECT_TRUE(apart.train->at(0).tokens.equal(packed.train->at(0).tokens));
  EXPECT_NE(data_hash(apart, 10), data_hash(packed, 10));
  expect_apart(apart.train->at(0));
  expect_apart(apart.tests.at(0).set->read(0, 4));
  expect_apart(apart.validation->read(3, 4));
  config.documents = "each";
  expect_contains(error_of([&] { open_dataset(config, 3, 10); }), "data.documents 'each'");
  DataConfig task;
  task.task = "parity", task.documents = "apart";
  expect_contains(error_of([&] { open_dataset(task, 3, 10); }), "only a prepared text");
}

// The losses of a packed window are those that each of its documents has alone.
TEST(TextData, ADocumentInAWindowIsReadAsIfItWereAlone) {
  const Scratch scratch;
  DataConfig config = config_of(prepare(scratch, {50}), 2, 64);
  config.documents = "apart";
  const Batch window = open_dataset(config, 3, 10).train->at(0);
  for (const Spec& spec : encodings()) {
    if (!spec.traits.trains) continue;
    SCOPED_TRACE(spec.traits.name);
    DecoderConfig shape;
    shape.encoding = spec.traits.name, shape.dim = 16, shape.n_layers = 2, shape.n_heads = 2;
    shape.vocab_size = kByteVocabulary, shape.max_seqlen = 64, shape.hidden_multiple = 8;
    Decoder model(shape, at::kCPU, at::kDouble);
    const at::NoGradGuard no_grad;
    const Tensor nll = model.nll(window).view({2, 64});
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t begin = 0, end; begin < 64; begin = end) {
        const Tensor ids = window.documents[row];
        for (end = begin + 1; end < 64 && ids[end].equal(ids[begin]); ++end) {
        }
        const auto part = [&](const Tensor& x) { return x.view({2, 64})[row].slice(0, begin, end); };
        const Batch alone{part(window.tokens).unsqueeze(0), {}, part(window.targets), part(window.weight)};
        EXPECT_TRUE(at::allclose(model.nll(alone), nll[row].slice(0, begin, end), 1e-9, 1e-9));
      }
  }
}

TEST(TextData, TestsAreTheHeldOutStreamWithADocumentForACluster) {
  const Scratch scratch;
  const fs::path folder = prepare(scratch, {100});
  const Dataset data = open_dataset(config_of(folder, 4, 32), 3, 10);
  const PreparedData stored(folder);
  Tokens stream;
  std::vector<int64_t> document_of;
  for (int64_t i = 0; i < stored[Split::test].size(); ++i) {
    const Tokens document = stored[Split::test].read(i);
    stream.insert(stream.end(), document.begin(), document.end());
    document_of.insert(document_of.end(), document.size(), i);
  }
  const TestSet& test = *data.tests.at(0).set;
  ASSERT_EQ(test.size(), 20);
  for (int64_t i = 0; i < test.size(); ++i) {
    const Batch window = test.read(i, 1);
    EXPECT_TRUE(std::equal(stream.begin() + 32 * i, stream.begin() + 32 * (i + 1),
                           window.tokens.const_data_ptr<int64_t>()));
    EXPECT_EQ(window.targets[31].item<int64_t>(), stream[size_t(32 * (i + 1))]);
    EXPECT_EQ(test.cluster(i), document_of[size_t(32 * i)]);
  }
  EXPECT_EQ(data.validation->size(), 20);
}

}  // namespace
}  // namespace darope
