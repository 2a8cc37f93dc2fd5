#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/open.h"
#include "data/tasks/protocol.h"

namespace darope {
namespace {

constexpr int64_t kVocabulary = 256;  // bytes; what follows a rendering is never scored, so padding is byte 0

int64_t longest_answer(const Task& task, Range range) {
  int64_t longest = 0;
  for (int64_t n = range.first; n <= range.last; ++n) longest = std::max(longest, task.answer_length(n));
  return longest;
}

// Renderings one under the other, padded at their right to `length`. Each has room for `answers` answer bytes
// and the terminator, which a model learns to give but is not scored on.
Batch pack(const std::vector<Example>& examples, int64_t length, int64_t answers, bool score_terminator) {
  const int64_t count = int64_t(examples.size()), slots = answers + 1;
  const at::TensorOptions integers = at::TensorOptions().dtype(at::kLong);
  Batch out{at::zeros({count, length}, integers), at::zeros({count * slots}, integers),
            at::zeros({count * slots}, integers), at::zeros({count * slots})};
  int64_t* tokens = out.tokens.mutable_data_ptr<int64_t>();
  int64_t *rows = out.rows.mutable_data_ptr<int64_t>(), *targets = out.targets.mutable_data_ptr<int64_t>();
  float* weight = out.weight.mutable_data_ptr<float>();
  for (int64_t e = 0; e < count; ++e) {
    const std::string text = render(examples[size_t(e)]);
    const int64_t answer = int64_t(examples[size_t(e)].prompt.size()) + 1, size = int64_t(text.size());
    for (int64_t i = 0; i < size; ++i) tokens[e * length + i] = static_cast<unsigned char>(text[size_t(i)]);
    for (int64_t slot = 0; slot < slots; ++slot) {
      const int64_t at = answer + slot;
      rows[e * slots + slot] = e * length + (at < size ? at - 1 : 0);
      if (at >= size) continue;
      targets[e * slots + slot] = tokens[e * length + at];
      weight[e * slots + slot] = at + 1 < size || score_terminator ? 1 : 0;
    }
  }
  return out;
}

// While lengths grow, batches are as wide as they need to be: a half, a quarter or an eighth of the context
// at first. What follows a rendering changes nothing before it, so this is speed alone (dropout draws other
// masks).
class TaskStream final : public TrainStream {
 public:
  TaskStream(TrainingPlan plan, int64_t rows, int64_t length) : plan_(plan), rows_(rows) {
    const int64_t least = std::max(kNarrowest, rendered_length(plan.task, plan.range.first));
    for (const int64_t width : {length / 8, length / 4, length / 2, length}) {
      if (width < least && width < length) continue;
      const Range range = lengths(plan.task, width, Bucket::in_domain);
      shapes_.push_back({width, range.last, longest_answer(plan.task, range)});
    }
  }

  Batch at(int64_t index) const override {
    std::vector<Example> examples;
    for (int64_t row = 0; row < rows_; ++row) examples.push_back(training_example(plan_, index, row));
    const Shape& shape = shape_of(index);
    return pack(examples, shape.width, shape.answers, true);
  }
  int64_t tokens(int64_t index) const override { return rows_ * shape_of(index).width; }

 private:
  static constexpr int64_t kNarrowest = 16;
  struct Shape {
    int64_t width, longest_n, answers;
  };
  const Shape& shape_of(int64_t index) const {
    const int64_t n = longest_n(plan_.schedule, plan_.range, index, plan_.steps);
    return *std::find_if(shapes_.begin(), shapes_.end(),
                         [&](const Shape& shape) { return n <= shape.longest_n; });
  }

  TrainingPlan plan_;
  int64_t rows_;
  std::vector<Shape> shapes_;  // from narrow to wide; the last holds every n of the plan
};

class TaskTest final : public TestSet {
 public:
  TaskTest(const Task& task, int64_t context, Bucket bucket, uint64_t seed, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      examples_.push_back(test_example(task, context, bucket, seed, i));
      length_ = std::max(length_, int64_t(render(examples_.back()).size())),
      answers_ = std::max(answers_, int64_t(examples_.back().answer.size()));
    }
  }
  int64_t size() const override { return int64_t(examples_.size()); }
  double constant() const { return best_constant(examples_); }

  // All batches have one width: a GPU's libraries prepare themselves for each, and a batch of many has an
  // example nearly as long as the longest.
  Batch read(int64_t first, int64_t count) const override {
    return pack(std::vector<Example>(examples_.begin() + first, examples_.begin() + first + count), length_,
                answers_, false);
  }

 private:
  std::vector<Example> examples_;
  int64_t length_ = 0, answers_ = 0;  // of the longest
};

}  // namespace

Dataset open_task(const DataConfig& config, uint64_t seed, int64_t batches) {
  const Task& task = find_task(config.task);
  const Range range = lengths(task, config.seq_len, Bucket::in_domain);
  if (range.first > range.last)
    throw Error(fmt::format("data.seq_len is {}: too short for {}", config.seq_len, task.name));
  Dataset out{.name = std::string(task.name),
              .family = std::string(name_of(task.family)),
              .vocabulary = kVocabulary,
              .measure = Measure::accuracy,
              .chance = task.chance,
              .true_chance = task.true_chance,
              .train = std::make_shared<TaskStream>(TrainingPlan{task, range, config.lengths, batches, seed},
                                                    config.batch_size, config.seq_len)};
  for (const auto& [bucket, multiple] :
       {std::pair{Bucket::in_domain, 1}, {Bucket::twice, 2}, {Bucket::eightfold, 8}}) {
    const auto set = std::make_shared<TaskTest>(task, config.seq_len, bucket, uint64_t(config.test_seed),
                                                config.test_examples);
    out.tests.push_back({multiple, set, set->constant()});
  }
  out.free_running = config.free_running;
  return out;
}

}  // namespace darope
