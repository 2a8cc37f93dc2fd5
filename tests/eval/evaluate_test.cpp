#include "eval/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "data/open.h"
#include "data/tasks/protocol.h"
#include "eval/free_running.h"
#include "scratch.h"

namespace darope {
namespace {

DataConfig reversing() {
  DataConfig config;
  config.task = "reverse_string", config.seq_len = 24, config.batch_size = 4, config.test_examples = 40,
  config.free_running = 12;
  return config;
}

Decoder small_model(const Dataset& data, int64_t length, const std::string& encoding = "darope") {
  DecoderConfig config;
  config.encoding = encoding;
  config.style = "nanogpt", config.dim = 16, config.n_layers = 1, config.n_heads = 2,
  config.vocab_size = data.vocabulary, config.max_seqlen = length;
  return Decoder(config, at::kCPU);
}

std::string text_of(const Batch& batch, int64_t row) {
  std::string text;
  for (int64_t i = 0; i < batch.tokens.size(1); ++i)
    if (const auto byte = batch.tokens[row][i].item<int64_t>()) text += char(byte);
  return text;
}

TEST(TaskData, ScoresAnswersFromTheTokenBefore) {
  const Dataset data = open_dataset(reversing(), 7, 100);
  const Batch batch = data.train->at(3);
  ASSERT_EQ(batch.tokens.sizes(), (std::vector<int64_t>{4, 24}));
  const int64_t slots = batch.rows.size(0) / 4;
  for (int64_t row = 0; row < 4; ++row) {
    const std::string text = text_of(batch, row);
    const size_t answer = text.find('>') + 1;
    std::string scored;
    for (int64_t slot = row * slots; slot < (row + 1) * slots; ++slot) {
      if (batch.weight[slot].item<float>() == 0) continue;
      const int64_t place = batch.rows[slot].item<int64_t>() - row * 24;
      EXPECT_EQ(text[size_t(place) + 1], char(batch.targets[slot].item<int64_t>()));
      scored += char(batch.targets[slot].item<int64_t>());
    }
    EXPECT_EQ(scored, text.substr(answer));  // the terminator included
  }
}

TEST(TaskData, IsAFunctionOfTheBatchNumberAndTheSeed) {
  const Dataset a = open_dataset(reversing(), 7, 100), b = open_dataset(reversing(), 7, 100),
                c = open_dataset(reversing(), 8, 100);
  EXPECT_TRUE(a.train->at(5).tokens.equal(b.train->at(5).tokens));
  EXPECT_FALSE(a.train->at(5).tokens.equal(a.train->at(6).tokens));
  EXPECT_EQ(data_hash(a, 100), data_hash(b, 100));
  EXPECT_NE(data_hash(a, 100), data_hash(c, 100));
  EXPECT_TRUE(a.tests[2].set->read(0, 3).tokens.equal(
      c.tests[2].set->read(0, 3).tokens));  // tests do not follow the seed
}

// Each example by itself, decoded by hand from the logits, against what the batched evaluation says.
TEST(Evaluate, CountsAnswerBytesAndNothingElse) {
  const Dataset data = open_dataset(reversing(), 7, 100);
  Decoder model = small_model(data, 24);
  std::map<std::tuple<std::string, int64_t, int64_t>, double> found, counts;
  evaluate(model, data, evaluations_of(data, model), [&](const Score& s) {
    EXPECT_EQ(s.axis, "length");
    found[{s.metric, int64_t(s.at), s.example}] = s.value;
    counts[{s.metric, int64_t(s.at), s.example}] = double(s.tokens);
  });
  EXPECT_EQ(found.size(), 3 * (40u + 40 + 12));
  const at::NoGradGuard no_grad;
  for (const auto& [bucket, multiple] :
       {std::pair{Bucket::in_domain, 1}, {Bucket::twice, 2}, {Bucket::eightfold, 8}})
    for (const int64_t i : {0, 17, 39}) {
      const Example example = test_example(find_task("reverse_string"), 24, bucket, 1, i);
      const std::string text = render(example);
      std::vector<int64_t> tokens(text.begin(), text.end()), places;
      for (size_t at = example.prompt.size(); at < text.size() - 2; ++at) places.push_back(int64_t(at));
      const Tensor guesses =
          model
              .logits(model.hidden(at::tensor(tokens, at::kLong).unsqueeze(0), at::tensor(places, at::kLong)))
              .argmax(-1);
      double right = 0;
      for (size_t j = 0; j < places.size(); ++j)
        right += char(guesses[int64_t(j)].item<int64_t>()) == example.answer[j];
      EXPECT_NEAR((found[{"token_accuracy", multiple, i}]), right / double(places.size()), 1e-9);
      EXPECT_EQ((found[{"exact_match", multiple, i}]), right == double(places.size()) ? 1 : 0);
      EXPECT_EQ((counts[{"token_accuracy", multiple, i}]), double(places.size()));
    }
}

// One token at a time, each example by itself, with nothing kept in between.
std::string greedy(Decoder& model, const Example& example) {
  std::string text = example.prompt + kSeparator;
  for (size_t i = 0; i < example.answer.size(); ++i) {
    std::vector<int64_t> tokens;
    for (const unsigned char byte : text) tokens.push_back(byte);
    const Tensor last = at::tensor(std::vector<int64_t>{int64_t(tokens.size()) - 1}, at::kLong);
    text += char(model.logits(model.hidden(at::tensor(tokens, at::kLong).unsqueeze(0), last))
                     .argmax(-1)
                     .item<int64_t>());
  }
  return text.substr(example.prompt.size() + 1);
}

// Answers as long as their prompts come place by place, single ones in whole passes: they are too few for
// their prompts' lengths.
void expect_one_token_at_a_time(const std::string& task, int64_t context, Bucket bucket,
                                size_t multiple_index, size_t different) {
  DataConfig asked = reversing();
  asked.task = task, asked.seq_len = context;
  const Dataset data = open_dataset(asked, 7, 100);
  const int64_t multiple = data.tests[multiple_index].multiple;
  for (const std::string encoding : {"darope", "cope", "nope"}) {
    SCOPED_TRACE(task + " " + encoding);
    Decoder model = small_model(data, context, encoding);
    const at::NoGradGuard no_grad;
    model.weights().flat().mul_(4);  // far from any one favourite answer
    model.refresh();
    std::map<std::pair<int64_t, int64_t>, double> found;
    evaluate(model, data, evaluations_of(data, model), [&](const Score& s) {
      if (s.metric == "free_running") found[{int64_t(s.at), s.example}] = s.value;
    });
    std::set<char> said;
    for (int64_t i = 0; i < 12; ++i) {
      const Example example = test_example(find_task(task), context, bucket, 1, i);
      const std::string answer = greedy(model, example);
      said.insert(answer.begin(), answer.end());
      double right = 0;
      for (size_t j = 0; j < answer.size(); ++j) right += answer[j] == example.answer[j];
      EXPECT_NEAR((found[{multiple, i}]), right / double(answer.size()), 1e-9) << i;
      const Tensor tokens = free_running(model, data.tests[multiple_index].set->read(i, 1));
      for (size_t j = 0; j < answer.size(); ++j)
        EXPECT_EQ(char(tokens[int64_t(j)].item<int64_t>()), answer[j]);
    }
    EXPECT_GT(said.size(), different) << "the test needs a model that says more than one thing";
  }
}

TEST(FreeRunning, IsWhatOneTokenAtATimeGives) {
  expect_one_token_at_a_time("reverse_string", 24, Bucket::in_domain, 0, 5);
  expect_one_token_at_a_time("reverse_string", 24, Bucket::twice, 1, 5);
  expect_one_token_at_a_time("missing_duplicate_string", 32, Bucket::eightfold, 2, 1);
}

TEST(Evaluate, GivesTheLikelihoodOfWindowsOfAFile) {
  const Scratch folder;
  std::string text;
  Random random(1, "text");
  for (int i = 0; i < 4000; ++i) text += char('a' + random.between(0, 25));
  std::ofstream(folder / "letters.txt") << text;
  DataConfig config;
  config.path = (folder / "letters.txt").string(), config.seq_len = 16, config.batch_size = 2;
  const Dataset data = open_dataset(config, 1, 10);
  EXPECT_EQ(data.name, "letters");
  ASSERT_EQ(data.tests.size(), 3u);  // 400 bytes hold 24 windows of 16, of which 17 have 7 more before them
  for (const TestLength& test : data.tests) EXPECT_EQ(test.set->size(), 17);
  Decoder model = small_model(data, 16);
  std::vector<double> found;
  evaluate(model, data, evaluations_of(data, model), [&](const Score& s) {
    if (s.at == 1) found.push_back(s.value);
  });
  ASSERT_EQ(found.size(), 17u);
  const at::NoGradGuard no_grad;
  const Batch third = data.tests[0].set->read(2, 1);
  EXPECT_EQ(text_of(third, 0), text.substr(3600 + 9 * 16, 16));
  EXPECT_NEAR(found[2], model.nll(third).mean().item<double>(), 1e-6);
  const Batch behind = data.tests[2].set->read(2, 1);  // the same tokens, with more text before them
  EXPECT_EQ(text_of(behind, 0), text.substr(3600 + 2 * 16, 128));
  EXPECT_TRUE(behind.targets.narrow(0, 112, 16).equal(third.targets));
  EXPECT_EQ(behind.weight.narrow(0, 0, 112).sum().item<double>(), 0);
  for (int64_t index = 0; index < 50; ++index) {  // training never reads the test part
    const Batch batch = data.train->at(index);
    EXPECT_NE(text.substr(0, 3600).find(text_of(batch, 0)), std::string::npos);
  }
}

// Of a genome, the windows without unknown bases have their scores once more.
TEST(Evaluate, ScoresWindowsWithoutNByThemselves) {
  const Scratch folder;
  std::ofstream(folder / "letters.txt") << std::string(2000, 'a') + std::string(2000, 'b');
  DataConfig config;
  config.path = (folder / "letters.txt").string(), config.seq_len = 16, config.batch_size = 2;
  Dataset data = open_dataset(config, 1, 10);
  data.tests.resize(1);
  data.tests[0].n_free = {2, 5, 16};
  Decoder model = small_model(data, 16);
  std::map<std::string, std::map<int64_t, double>> found;
  evaluate(model, data, evaluations_of(data, model),
           [&](const Score& s) { EXPECT_TRUE(found[s.metric].emplace(s.example, s.value).second); });
  EXPECT_EQ(found["nll"].size(), 17u);
  EXPECT_EQ(found["nll_n_free"],
            (std::map<int64_t, double>{{2, found["nll"][2]}, {5, found["nll"][5]}, {16, found["nll"][16]}}));
}

// Windows of one recording are one witness, whoever scores them.
TEST(Evaluate, ScoresCarryTheirCluster) {
  class InThrees final : public TestSet {
   public:
    explicit InThrees(std::shared_ptr<const TestSet> set) : set_(std::move(set)) {}
    int64_t size() const override { return set_->size(); }
    Batch read(int64_t first, int64_t count) const override { return set_->read(first, count); }
    int64_t cluster(int64_t example) const override { return example / 3; }

   private:
    std::shared_ptr<const TestSet> set_;
  };
  Dataset data = open_dataset(reversing(), 7, 100);
  for (TestLength& test : data.tests) test.set = std::make_shared<InThrees>(test.set);
  Decoder model = small_model(data, 24);
  evaluate(model, data, evaluations_of(data, model),
           [&](const Score& s) { EXPECT_EQ(s.cluster, s.example / 3); });
}

TEST(Evaluations, SayWhatTheyNeedAndEmitWhatTheyDescribe) {
  const Dataset task = open_dataset(reversing(), 7, 100);
  Decoder model = small_model(task, 24);
  const auto refusal = [&](const char* name) {
    return error_of([&] { evaluations_named({name}, task, model); });
  };
  expect_contains(refusal("answer"), "did you mean 'answers'?");
  EXPECT_EQ(refusal("likelihood"),
            "likelihood needs a file of tokens or a prepared dataset: this run has none");
  EXPECT_EQ(refusal("recall"), "recall needs prompts: add --retrieval");
  EXPECT_EQ(refusal("positions"), "positions needs long documents: add --positions N");
  for (const Evaluation* each : evaluations_of(task, model)) {
    std::set<ScoreKey> described, emitted;
    for (const Metric& metric : each->metrics(task)) described.insert(key_of(metric));
    evaluate(model, task, {each}, [&](const Score& s) { emitted.insert({s.metric, s.axis}); });
    EXPECT_EQ(described, emitted) << each->traits.name;
  }
  const Metric compared = metrics_of(evaluations_of(task, model), task).front();
  EXPECT_EQ(compared.name, "token_accuracy");
  EXPECT_EQ(*compared.true_chance, task.true_chance);
  EXPECT_EQ(compared.floor.at(8), task.tests.at(2).best_constant);
}

TEST(TokenData, RefusesAFileWithoutRoomForATest) {
  const Scratch folder;
  std::ofstream(folder / "short.txt") << std::string(200, 'x');
  DataConfig config;
  config.path = (folder / "short.txt").string(), config.seq_len = 16;
  expect_contains(error_of([&] { open_dataset(config, 1, 10); }), "200 tokens: too few");
  config.task = "parity";
  expect_contains(error_of([&] { open_dataset(config, 1, 10); }), "cannot go together");
}

}  // namespace
}  // namespace darope
