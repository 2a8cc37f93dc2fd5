#include "experiments/dry_run.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "base/signals.h"
#include "data/open.h"
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

}  // namespace

void dry_run(const RunConfig& given) {
  const Dataset asked = open_data(given);
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
  const double step = timer.a_step(), share = double(tokens) / double(tokens_before(*data.train, batches));
  fmt::print("parameters    {}\n", model.plan().parameters());
  fmt::print("encoding      {}\n", full.model.encoding);
  fmt::print("bands         {}\n", bands_of(model.plan(), full.model.head_dim() / 2));
  fmt::print("memory        {:.0f} MB at most so far, on {}\n", double(peak_memory(device)) / 1e6,
             device_name(device));
  fmt::print("tokens        {} in {} steps of {}{}\n", tokens, full.steps, share < 1 ? "at most " : "",
             tokens_before(*data.train, full.grad_acc_steps));
  fmt::print("a step        {:.1f} ms\n", step * 1e3);
  fmt::print("estimated     {} for training\n", format_time(step * share * double(full.steps)));
}

}  // namespace darope
  say_notes(asked);
