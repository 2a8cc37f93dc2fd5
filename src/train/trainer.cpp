#include "train/trainer.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <malloc.h>

#include <cmath>
#include <future>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "base/signals.h"
#include "model/hugging_face.h"
#include "runs/checkpoint_dir.h"
#include "runs/lines.h"
#include "train/ahead.h"
#include "train/device.h"
#include "train/optimizer.h"
#include "train/position_metrics.h"
#include "train/train_log.h"

namespace darope {
namespace {

using Clock = std::chrono::steady_clock;

// Activations are freed and allocated again every step: keep their pages instead of asking the system for
// them each time.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
}

// Floating-point operations of a token, forward and backward, as Lingua counts them: products with weights,
// and causal attention.
double flops_per_token(const Decoder& model, int64_t length) {
  const DecoderConfig& c = model.config();
  const Plan& plan = model.plan();
  int64_t multiplied = plan.parameters() - c.vocab_size * c.dim;  // the others are looked up
  for (const size_t i : plan.position_weights) multiplied -= plan.weights[i].count();
  return 6 * double(multiplied) + 7 * double(c.n_layers * c.dim * length);
}

// The buffers of batches of one shape, filled anew for each of them, and the work that reads them: a step is
// grad_acc_steps - 1 times `micro`, and `last_micro`.
struct Lane {
  Batch batch;
  Upload upload;
  Recorded micro, last_micro;
};

class Trainer {
 public:
  Trainer(Decoder& model, const TrainStream& data, const TrainConfig& config, const RunFolder& folder,
          const TrainHooks& hooks)
      : model_(model),
        data_(data),
        config_(config),
        folder_(folder),
        hooks_(hooks),
        optimizer_(model.weights(), model.plan(), config.optim),
        loss_(at::zeros({1}, model.weights().flat().options())),
        weight_(at::zeros_like(loss_)) {
    for (const std::filesystem::path& root : {folder_.checkpoints(), folder_.best()}) {
      refuse_link(root);  // a stranger's could lead to checkpoints that nobody asked to have thinned out
      clean_checkpoints(root);
    }
    resume();
    tokens_ = tokens(first_step_);
    if (!model_.device().is_cpu())  // there a batch made meanwhile would take cores from the steps
      ahead_.emplace(data_, first_step_ * config_.grad_acc_steps, config_.steps * config_.grad_acc_steps);
  }

  TrainReport run();

 private:
  void resume();
  void read(const std::filesystem::path& checkpoint);
  struct Due {
    bool checkpoint = false, best = false;
  };
  void save(int64_t step, Due due);
  void wait_for_save();
  bool validate(int64_t step, TrainLog& log);
  void load_batch(int64_t index);
  // Setting back what random numbers are drawn from is the host's work, which no graph records.
  bool draws_again() const { return config_.recompute != "none" && model_.config().dropout > 0; }
  bool accumulates() const { return config_.grad_acc_steps > 1; }
  void accumulate();
  void accumulate_and_step();
  bool step(int64_t step);
  void seed_dropout(int64_t batch_index);
  void report(int64_t step, TrainLog& log);
  TrainReport stop_at_nonfinite();
  [[noreturn]] void stop_on_signal(int64_t step, TrainLog& log);
  double seconds() const {
    return earlier_seconds_ + std::chrono::duration<double>(Clock::now() - start_).count();
  }
  int64_t tokens(int64_t steps) const { return tokens_before(data_, steps * config_.grad_acc_steps); }

  Decoder& model_;
  const TrainStream& data_;
  const TrainConfig& config_;
  RunFolder folder_;
  const TrainHooks& hooks_;
  std::optional<Ahead> ahead_;  // on a GPU
  AdamW optimizer_;
  Tensor loss_;    // [1]: of a step: the sum of its weighted losses over the sum of its weights
  Tensor weight_;  // [1]: of the batches so far, where a step has several
  std::map<int64_t, Lane> lanes_;  // by the tokens of a batch
  Lane* lane_ = nullptr;           // the current batch's
  double best_loss_ = INFINITY;
  bool validation_due_ = false;  // a signal came before this step's validation was through
  int64_t first_step_ = 0;
  int64_t saved_ = -1;  // the step of the newest checkpoint in the folder
  double earlier_seconds_ = 0;
  Clock::time_point start_ = Clock::now(), last_log_ = start_;
  int64_t last_logged_ = 0, tokens_ = 0, last_tokens_ = 0;
  double data_seconds_ = 0;   // spent on waiting for batches since the last line of the log
  std::future<void> saving_;  // the last member: its end waits for what reads the others
};

void Trainer::resume() {
  const std::optional<Checkpoint> own = newest_checkpoint(folder_.checkpoints());
  if (own || !hooks_.begin_from.empty()) read(own ? own->folder : hooks_.begin_from);
  if (own) {
    saved_ = first_step_;
    mark_complete(own->folder);
  }
  const std::filesystem::path best = folder_.best();
  for (const Checkpoint& each : list_checkpoints(best))  // of a future that may not come again
    if (each.step > saved_) remove_checkpoint(each.folder);
  if (list_checkpoints(best).empty()) best_loss_ = INFINITY;
}

void Trainer::read(const std::filesystem::path& checkpoint) {
  const std::string where = (checkpoint / kTrainStateFile).string();
  const Json state = parse_json(read_file(where), where);
  first_step_ = need<int64_t>(state, "step", where);
  if (first_step_ < 0 || first_step_ > config_.steps)
    throw Error(fmt::format("{} is of step {}, beyond the {} steps asked for", checkpoint.string(),
                            first_step_, config_.steps));
  earlier_seconds_ = need<double>(state, "seconds", where);
  best_loss_ = get_or<double>(state, "best_validation_loss", INFINITY, where);
  validation_due_ = get_or<bool>(state, "validation_due", false, where);
  model_.weights().read(SafetensorsFile(checkpoint / kModelFile), model_.weights().flat());
  model_.refresh();
  optimizer_.read(SafetensorsFile(checkpoint / kOptimizerFile), first_step_);
  if (first_step_ < config_.steps) fmt::print(stderr, "resuming from {}\n", checkpoint.string());
}

// The state as it is now goes to the host's memory; writing, hashing and syncing it takes longer, and is done
// on a thread while training goes on. One save at a time.
void Trainer::save(int64_t step, Due due) {
  wait_for_save();
  const Weights& weights = model_.weights();
  const auto on_host = [](const Tensor& flat) { return flat.to(at::kCPU, false, true); };
  const std::vector<TensorToWrite> model = weights.named(on_host(weights.flat()));
  const std::vector<TensorToWrite> optimizer =
      due.checkpoint ? optimizer_.named(on_host) : std::vector<TensorToWrite>{};
  nlohmann::ordered_json state{{"step", step}, {"tokens", tokens(step)}, {"seconds", seconds()}};
  if (std::isfinite(best_loss_)) state["best_validation_loss"] = best_loss_;
  if (validation_due_) state["validation_due"] = true;
  const nlohmann::ordered_json best_state{{"step", step}, {"validation_loss", best_loss_}};
  const auto write_model = [this, model](CheckpointFiles& files) {
    files.write(kModelFile, [&](FileWriter& out) { write_safetensors(out, model); });
    files.write(kModelConfigFile, hugging_face_config(model_.config(), hooks_.ids));
  };
  saving_ = std::async(std::launch::async, [=, this] {
    if (due.best) {
      make_directories(folder_.best());
      write_checkpoint(folder_.best(), step, [&](CheckpointFiles& files) {
        write_model(files);
        files.write(kTrainStateFile, best_state.dump(1) + "\n");
      });
      retain_checkpoints(folder_.best(), 1);
    }
    if (!due.checkpoint) return;
    const std::filesystem::path root = folder_.checkpoints();
    make_directories(root);
    write_checkpoint(root, step, [&](CheckpointFiles& files) {
      write_model(files);
      files.write(kOptimizerFile, [&](FileWriter& out) { write_safetensors(out, optimizer); });
      files.write(kTrainStateFile, state.dump(1) + "\n");
      if (!hooks_.settings.empty()) files.write(kSettingsFile, hooks_.settings);
    });
    retain_checkpoints(root, config_.checkpoint.dump.keep);
  });
  if (due.checkpoint) saved_ = step;
}

// What went wrong there is thrown here.
void Trainer::wait_for_save() {
  if (saving_.valid()) saving_.get();
}

// Whether the weights are the best so far.
bool Trainer::validate(int64_t step, TrainLog& log) {
  validation_due_ = true;
  double loss = 0;
  try {
    loss = hooks_.validate();
  } catch (const Error&) {
    if (stop_signal() == 0) throw;
    return false;  // the loop deals with the signal, and a resumed run validates first
  }
  validation_due_ = false;
  log.validation(step, loss);
  if (!(loss < best_loss_)) return false;
  best_loss_ = loss;
  return true;
}

void Trainer::load_batch(int64_t index) {
  const Clock::time_point from = Clock::now();
  const Batch batch = ahead_ ? ahead_->next() : data_.at(index);
  data_seconds_ += std::chrono::duration<double>(Clock::now() - from).count();
  if (const auto known = lanes_.find(batch.tokens.numel()); known != lanes_.end()) {
    lane_ = &known->second;
    return lane_->upload.copy(batch, lane_->batch);
  }
  const at::Device device = model_.device();
  const auto recorded = [&](void (Trainer::*work)()) {
    return Recorded(device, config_.graph && !draws_again(), [this, work] { (this->*work)(); });
  };
  lane_ = &lanes_
               .emplace(batch.tokens.numel(),
                        Lane{batch.to(device), Upload(device), recorded(&Trainer::accumulate),
                             recorded(&Trainer::accumulate_and_step)})
               .first->second;
}

// Dropout is a function of seed and batch, so that a resumed run drops what the undisturbed one drops.
void Trainer::seed_dropout(int64_t batch_index) {
  if (model_.config().dropout == 0) return;
  at::Generator generator = at::globalContext().defaultGenerator(model_.device());
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(Random(uint64_t(config_.seed), "dropout", uint64_t(batch_index)).bits64());
}

// The gradients and the loss of one batch, added to those there are. Where a step has several, sums are added
// and divided by the weight of all in the end: that is the larger batch, however many targets each of them
// has.
void Trainer::accumulate() {
  const Tensor& weight = lane_->batch.weight;
  const bool recompute = config_.recompute == "full";
  const Tensor loss =
      accumulates() ? model_.loss(lane_->batch, weight, recompute) : model_.loss(lane_->batch, recompute);
  if (accumulates()) weight_.add_(weight.sum(weight_.scalar_type()));
  loss.backward();
  if (accumulates()) optimizer_.collect();
  loss_.add_(loss.detach());
}

void Trainer::accumulate_and_step() {
  accumulate();
  if (accumulates()) {
    optimizer_.scale(weight_.reciprocal());
    loss_.div_(weight_);
  }
  optimizer_.step(loss_);
}

// False if a signal came between two of its batches: then nothing has changed.
bool Trainer::step(int64_t step) {
  optimizer_.set_rate(learning_rate(config_.optim, model_.config().lingua(), step, config_.steps));
  loss_.zero_();
  weight_.zero_();
  int64_t seen = 0;
  for (int64_t micro = 0; micro < config_.grad_acc_steps; ++micro) {
    if (micro > 0 && stop_signal()) return false;
    const int64_t index = step * config_.grad_acc_steps + micro;
    load_batch(index);
    seed_dropout(index);
    (micro + 1 < config_.grad_acc_steps ? lane_->micro : lane_->last_micro).run();
    seen += lane_->batch.tokens.numel();
  }
  tokens_ += seen;
  return true;
}

void Trainer::report(int64_t step, TrainLog& log) {
  const Clock::time_point now = Clock::now();
  const double steps = double(step - last_logged_),
               elapsed = std::chrono::duration<double>(now - last_log_).count(),
               words = double(tokens_ - last_tokens_) / elapsed;
  const double loss = loss_.item<double>(), norm = optimizer_.gradient_norm().item<double>(),
               memory = double(peak_memory(model_.device())) / double(1 << 30);
  const double rate = learning_rate(config_.optim, model_.config().lingua(), step - 1, config_.steps);
  Scalars scalars{{"loss/out", loss},
                  {"optim/grad_norm", norm},
                  {"optim/lr", rate},
                  {"speed/wps", words},
                  {"speed/FLOPS", words * flops_per_token(model_, lane_->batch.tokens.size(1))},
                  {"speed/curr_iter_time", elapsed / steps},
                  {"speed/data_load_time", data_seconds_ / steps},
                  {"memory/max_reserved_gib", memory}};
  for (const auto& each : position_metrics(model_, lane_->batch.tokens.narrow(0, 0, 1)))
    scalars.push_back(each);
  log.step(step, scalars, tokens_,
           fmt::format("loss: {:.4f}  grad: {:.1e}  wps: {:.3g}  lr: {:.1e}", loss, norm, words, rate));
  last_log_ = Clock::now();  // what the lines cost is no step's time
  last_logged_ = step, last_tokens_ = tokens_;
  data_seconds_ = 0;
}

TrainReport Trainer::stop_at_nonfinite() {
  const int64_t good = int64_t(optimizer_.steps().item<float>());
  if (good != saved_) save(good, {.checkpoint = true});
  wait_for_save();
  fmt::print(stderr,
             "the loss or its gradient is not finite at step {} (batch {} of the stream); the weights of "
             "step {} are kept in {}\n",
             good + 1, good * config_.grad_acc_steps, good, folder_.checkpoints().string());
  return {true, good, tokens(good), seconds()};
}

void Trainer::stop_on_signal(int64_t step, TrainLog& log) {
  wait_for_save();
  log.say(fmt::format("stopped at step {} on a signal", step));
  throw Error(fmt::format("stopped at step {} and saved; the same command goes on from there", step),
              ExitCode(exit_code_of(stop_signal())));
}

TrainReport Trainer::run() {
  if (hooks_.on_begin) hooks_.on_begin(first_step_);
  TrainLog log(folder_, config_.steps, first_step_, validation_due_);
  start_ = last_log_ = Clock::now();
  last_logged_ = first_step_, last_tokens_ = tokens_;
  if (validation_due_ && hooks_.validate && validate(first_step_, log)) save(first_step_, {.best = true});
  if (validation_due_ && stop_signal()) stop_on_signal(first_step_, log);
  for (int64_t done = first_step_; done < config_.steps;) {
    const bool taken = step(done);
    done += taken;
    if (taken && hooks_.on_step) hooks_.on_step(done);
    const bool last = done == config_.steps,
               dump = config_.checkpoint.dump.every > 0 && done % config_.checkpoint.dump.every == 0;
    const bool write_log = taken && (done % config_.logging.freq == 0 || last), stop = stop_signal() != 0;
    const bool check = taken && hooks_.validate && config_.validation.every > 0 &&
                       (done % config_.validation.every == 0 || last);
    if (!(write_log || dump || stop || check)) continue;
    if (saving_.valid() && saving_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      wait_for_save();  // a full disk is told of now, not at the next save
    if (optimizer_.stopped().item<float>() != 0) return stop_at_nonfinite();
    if (write_log) report(done, log);
    const bool best = check && validate(done, log);
    const Due due{(dump || last || stop || stop_signal()) && done != saved_, best};
    if (due.checkpoint || due.best) {
      log.sync();  // no checkpoint outlives the lines that led to it
      save(done, due);
    }
    if (stop_signal() && (!last || validation_due_)) stop_on_signal(done, log);
  }
  wait_for_save();
  return {false, config_.steps, tokens_, seconds()};
}

}  // namespace

TrainReport train(Decoder& model, const TrainStream& data, const TrainConfig& config, const RunFolder& folder,
                  const TrainHooks& hooks) {
  config.check();
  keep_freed_memory();
  if (config.deterministic) compute_deterministically();
  const SideStream stream(model.device());
  try {
    return Trainer(model, data, config, folder, hooks).run();
  } catch (const c10::Error& e) {
    const std::string reason = e.what_without_backtrace();
    const size_t end = reason.find(" does not have a deterministic implementation");
    if (end == std::string::npos) throw;
    throw Error(
        fmt::format("deterministic: {} has no version that sums in a fixed order on {}; train without "
                    "--deterministic, or with another encoding",
                    reason.substr(0, end), model.device().str()));
  }
}

}  // namespace darope
