#include "experiments/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "base/signals.h"
#include "data/open.h"
#include "eval/batches.h"
#include "eval/evaluate.h"
#include "experiments/scratch.h"
#include "experiments/step_timer.h"
#include "experiments/threads.h"
#include "train/device.h"
#include "train/trainer.h"

namespace darope {
namespace {

std::string bands_of(const Plan& plan, int64_t bands) {
  std::string out;
  for (const Plan::Layer& layer : plan.layers) {
    const std::optional<int64_t> fast = layer.encoding->fast_bands();
    const std::string split = fast ? fmt::format("{} fast, {} slow", *fast, bands - *fast) : "none";
    if (out.empty() || !out.ends_with(split)) out += (out.empty() ? "" : "; then ") + split;
  }
  return out;
}

// The first examples of a test, which stand for all of them.
class FirstExamples final : public TestSet {
 public:
  FirstExamples(std::shared_ptr<const TestSet> set, int64_t most)
      : set_(std::move(set)), size_(std::min(most, set_->size())) {}
  int64_t size() const override { return size_; }
  Batch read(int64_t first, int64_t count) const override { return set_->read(first, count); }
  int64_t cluster(int64_t example) const override { return set_->cluster(example); }

 private:
  std::shared_ptr<const TestSet> set_;
  int64_t size_;
};

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// What one validation takes, by a batch of it.
double validation_seconds(Decoder& model, const std::shared_ptr<const TestSet>& all) {
  const FirstExamples some(all, examples_at_once(model, model.config().max_seqlen));
  return seconds_of([&] { mean_nll(model, some); }) * double(all->size()) / double(some.size());
}

// Examples that an evaluation reads, in lengths of training.
int64_t read_by(const Evaluation& evaluation, const Dataset& data) {
  const bool own_answers = (evaluation.traits.needs & Need::own_answers).any();
  int64_t sum = 0;
  for (const TestLength& test : data.tests)
    sum += test.multiple * (own_answers ? std::min(data.free_running, test.set->size()) : test.set->size());
  return sum;
}

// What the scores at a run's end take, by a batch of the first test: it is taken to grow with the tokens.
double scoring_seconds(Decoder& model, const Dataset& data) {
  if (data.tests.empty()) return 0;
  Dataset some = data;
  some.tests.resize(1);
  some.tests[0].set = std::make_shared<FirstExamples>(
      data.tests[0].set, examples_at_once(model, some.tests[0].multiple * model.config().max_seqlen));
  double sum = 0;
  for (const Evaluation* each : evaluations_of(some, model))
    sum += seconds_of([&] { evaluate(model, some, {each}, [](const Score&) {}); }) *
           double(read_by(*each, data)) / double(read_by(*each, some));
  return sum;
}

}  // namespace

void dry_run(const RunConfig& given) {
  const Dataset asked = open_data(given);
  say_notes(asked);
  const RunConfig full = resolve(given, asked);
  const int64_t batches = full.steps * full.grad_acc_steps, tokens = tokens_before(*asked.train, batches);
  const Dataset data = open_dataset(widest(full.data), uint64_t(full.seed), batches);
  const at::Device device = find_device(full.device);
  use_threads(full, device.is_cpu());
  Decoder model(full.model, device, find_dtype(full.dtype, device));
  TrainConfig few = full;
  few.steps = StepTimer::kSteps, few.logging.freq = 1, few.checkpoint.dump.every = 0;
  few.optim.warmup = 0;
  const Scratch scratch;
  StepTimer timer;
  watch_signals();
  TrainReport report;
  try {
    report = train(model, *data.train, few, scratch.path(),
                   {.on_step = [&](int64_t done) { timer.on_step(done); }});
  } catch (const Error& e) {
    throw stop_signal() ? Error("the trial was stopped", e.code()) : e;
  }
  if (report.diverged)
    throw Error(
        fmt::format("the loss is not finite after {} steps: these settings would diverge", report.steps),
        kNonFinite);
  const int64_t every = full.validation.every,
                validations = every > 0 ? (full.steps + every - 1) / every : 0;  // one at the end too
  const double validating =
      validations > 0 ? double(validations) * validation_seconds(model, data.validation) : 0;
  const double scoring = scoring_seconds(model, data) * (validations > 0 ? 2 : 1);  // and the best weights
  const double step = timer.a_step(), share = double(tokens) / double(tokens_before(*data.train, batches));
  fmt::print("parameters    {}\n", model.plan().parameters());
  fmt::print("encoding      {}\n", full.model.encoding);
  fmt::print("bands         {}\n", bands_of(model.plan(), full.model.head_dim() / 2));
  fmt::print("memory        {:.0f} MB at most so far, on {}\n", double(peak_memory(device)) / 1e6,
             device_name(device));
  fmt::print("tokens        {} in {} steps of {}{}\n", tokens, full.steps, share < 1 ? "at most " : "",
             tokens_before(*data.train, full.grad_acc_steps));
  fmt::print("a step        {:.1f} ms\n", step * 1e3);
  const double training = step * share * double(full.steps);
  fmt::print(
      "estimated     {}: {} for training, {}{} for scoring\n", format_time(training + validating + scoring),
      format_time(training),
      validations > 0 ? fmt::format("{} for {} validations, ", format_time(validating), validations) : "",
      format_time(scoring));
}

}  // namespace darope
