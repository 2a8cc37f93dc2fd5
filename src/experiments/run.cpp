#include "experiments/run.h"

#include <ATen/Context.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/config.h"
#include "base/error.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/signals.h"
#include "data/open.h"
#include "eval/evaluate.h"
#include "experiments/fit.h"
#include "experiments/past.h"
#include "experiments/threads.h"
#include "model/feed_forward.h"
#include "model/quadratic.h"
#include "runs/finished_run.h"
#include "runs/lines.h"
#include "runs/lock.h"
#include "settings/hash.h"
#include "train/device.h"
#include "train/trainer.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

// What ran where, for whoever wonders later: nothing here changes what a run computes.
std::string manifest(const std::string& data_order, const std::string& dtype) {
  std::string arguments = read_file("/proc/self/cmdline");
  std::replace(arguments.begin(), arguments.end(), '\0', ' ');
  nlohmann::ordered_json environment = nlohmann::ordered_json::object();
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG", "SLURM_JOB_ID"})
    if (const char* value = std::getenv(name)) environment[name] = value;
  return nlohmann::ordered_json{
             {"schema", kRunSchema},      {"commit", DAROPE_COMMIT}, {"build", DAROPE_BUILD},
             {"torch", TORCH_VERSION},    {"cuda", cuda_versions()}, {"host", host_name()},
             {"machine", machine_name()}, {"arguments", arguments},  {"environment", environment},
             {"data_order", data_order},  {"dtype", dtype}}
             .dump(1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

// False, and no file, where a score is not finite: such a run diverged, and has no scores.
bool write_scores(Decoder& model, const Dataset& data, const fs::path& file) {
  std::string lines;
  bool finite = true;
  evaluate(model, data, evaluations_of(data, model), [&](const Score& s) {
    finite &= std::isfinite(s.value);
    lines += to_line(s);
  });
  if (finite) write_file(file, lines);
  return finite;
}

// The last weights are what a comparison is about; those of the lowest validation loss are scored beside
// them. False where those of the last are not finite.
bool write_all_scores(Decoder& model, const Dataset& data, const RunFolder& folder) {
  if (!write_scores(model, data, folder.scores())) return false;
  const std::optional<Checkpoint> best = newest_checkpoint(folder.best());
  if (!best) return true;
  const Tensor last = model.weights().flat().clone();
  model.weights().read(SafetensorsFile(best->folder / kModelFile), model.weights().flat());
  write_scores(model, data, folder.best_scores());
  model.weights().flat().copy_(last);
  return true;
}

RunFacts facts_of(const RunConfig& config, const Dataset& data, Decoder& model, const TrainReport& report) {
  return {.dataset = data.name,
          .family = data.family,
          .encoding = config.model.encoding,
          .seed = config.seed,
          .diverged = report.diverged,
          .steps = report.steps,
          .tokens = report.tokens,
          .parameters = model.plan().parameters(),
          .seconds = report.seconds,
          .tokens_per_second = double(report.tokens) / report.seconds,
          .config_without_encoding = hash_without_encoding(config, RunFolder(config.dump_dir).read_history()),
          .commit = DAROPE_COMMIT,
          .machine = device_name(model.device()),
          .torch = TORCH_VERSION,
          .history = RunFolder(config.dump_dir).read_history(),
          .metrics = metrics_of(evaluations_of(data, model), data)};
}

DocumentIds document_ids(const Dataset& data) {
  if (!data.tokenizer) return {};
  return {data.tokenizer->begin_of_document(), data.tokenizer->end_of_document()};
}

struct Scored {
  const RunConfig &given, &config;
  const Dataset& data;
  const std::string &order, &dtype;
};

// A run without a training: the weights of another, scored with this one's encoding. What it cost, and how
// the training went, is the other's.
void score_weights(const Scored& of, Decoder model) {
  const RunFolder folder(of.config.dump_dir), trained(folder.path().parent_path() / of.config.weights_of);
  trained.require_version();
  if (!trained.is_finished())
    throw Error(fmt::format("weights_of is {}, and there is no finished run {}", of.config.weights_of,
                            trained.path().string()));
  RunFacts facts =
      parse_facts(parse_json(read_file(trained.facts()), trained.facts().string()), trained.facts().string());
  folder.begin(to_yaml(of.given), to_yaml(of.config), manifest(of.order, of.dtype),
               hugging_face_config(of.config.model, document_ids(of.data)));
  if (!facts.diverged) {
    const std::optional<Checkpoint> last = newest_checkpoint(trained.checkpoints());
    if (!last)
      throw Error(fmt::format("{} has no checkpoint: its weights are needed to score {}",
                              trained.path().string(), of.config.model.encoding));
    if (last->step != facts.steps)
      throw Error(
          fmt::format("{} ended at step {}, and its newest sound checkpoint is of step {}: train it "
                      "again to score {}",
                      trained.path().string(), facts.steps, last->step, of.config.model.encoding));
    model.weights().read(SafetensorsFile(last->folder / kModelFile), model.weights().flat());
    facts.diverged = !write_scores(model, of.data, folder.scores());
  }
  write_file(folder.metrics(), read_metrics_file(trained));
  facts.encoding = of.config.model.encoding;
  facts.config_without_encoding = hash_without_encoding(of.config, facts.history);
  write_finished(folder, facts);
}

}  // namespace

at::Device find_device(const std::string& name) {
  check_allowed("device", name, kDevices);
  if (name == "cpu" || (name == "auto" && !at::hasCUDA())) return at::kCPU;
  const int number = name.starts_with("cuda:") ? std::stoi(name.substr(5)) : -1;
  if (!at::hasCUDA()) throw Error(fmt::format("device is {}, but torch finds no GPU here: use cpu", name));
  const int64_t there = int64_t(at::getNumGPUs());
  if (number >= there)
    throw Error(fmt::format("device is {}, but GPUs here go from cuda:0 to cuda:{}", name, there - 1));
  if (number >= 0) c10::impl::getDeviceGuardImpl(at::kCUDA)->setDevice({at::kCUDA, c10::DeviceIndex(number)});
  return at::kCUDA;
}

std::vector<std::string> feed_forward_names() {
  std::vector<std::string> names;
  for (const FeedForward& each : feed_forwards()) names.emplace_back(each.name);
  return names;
}

std::string build_commit() { return DAROPE_COMMIT; }

at::ScalarType find_dtype(const std::string& name, at::Device device) {
  check_allowed("dtype", name, kDtypes);
  return name == "fp32" || (name == "auto" && device.is_cpu()) ? at::kFloat : at::kBFloat16;
}

// What a run writes must not become what it learns from.
static void refuse_inside_data(const RunConfig& config) {
  namespace fs = std::filesystem;
  for (const std::string& data : {config.data.path, config.data.validation_path, config.data.test_path}) {
    if (data.empty() || !fs::is_directory(data)) continue;
    if (is_or_lies_in(config.dump_dir, data))
      throw Error(
          fmt::format("{} lies inside {}, which is learned from: give another folder with dump_dir, or --out "
                      "of a comparison",
                      config.dump_dir, data));
  }
}

static void check_validation(const RunConfig& config, const Dataset& data) {
  if (config.validation.every > 0 && !data.validation)
    throw Error(fmt::format(
        "validation.every is {}, and in {} there is nothing to validate on: leave it at 0, give a "
        "file of your own with data.validation_path, or prepare the data ('darope data prepare'), "
        "which sets some aside",
        config.validation.every, data.name));
  if (config.validation.every == 0 && !config.data.validation_path.empty())
    throw Error(
        fmt::format("data.validation_path is {}, and validation.every is 0: say how many steps lie between "
                    "validations, such as validation.every={}",
                    config.data.validation_path, std::max<int64_t>(1, config.steps / 10)));
}

// Up to the next power of two sequences are padded; beyond it padding is most of what is computed.
static void check_length(const RunConfig& config, const Dataset& data) {
  const auto most = int64_t(std::bit_ceil(uint64_t(data.longest)));
  if (data.longest > 0 && config.data.seq_len > most)
    throw Error(fmt::format(
        "data.seq_len is {}, and the longest sequence of {} has {} tokens, so that more than half of every "
        "batch would be padding: give at most {}",
        config.data.seq_len, data.name, data.longest, most));
}

void check_examples(const DataConfig& config) {
  if (config.test_examples != DataConfig{}.test_examples && !chooses_examples(config))
    throw Error(
        fmt::format("data.test_examples is {}: of prepared music, genomes and signals all of the test split "
                    "is scored, as of {}; leave it away",
                    config.test_examples, config.root_dir));
}

void say_notes(const Dataset& data) {
  for (const std::string& note : data.notes) fmt::print(stderr, "{}\n", note);
}

Dataset open_data(const RunConfig& config) {
  if (config.dump_dir.empty()) throw Error("dump_dir is empty: give the folder this run should write to");
  RunConfig values = config;
  check_values(list_fields(values));
  config.check();
  refuse_inside_data(config);
  Dataset data = open_dataset(config.data, uint64_t(config.seed), config.steps * config.grad_acc_steps);
  check_validation(config, data);
  check_length(config, data);
  if (!data.tokenizer) check_examples(config.data);  // of text they are chosen
  return data;
}

RunConfig resolve(RunConfig config, const Dataset& data) {
  if (config.model.vocab_size == 0) config.model.vocab_size = data.vocabulary;
  if (config.model.vocab_size < data.vocabulary)
    throw Error(fmt::format("model.vocab_size is {}, but {} has ids up to {}", config.model.vocab_size,
                            data.name, data.vocabulary - 1));
  if (config.model.max_seqlen == 0) config.model.max_seqlen = config.data.seq_len;
  no_longer(config.model.encoding, kLongestText, "model.encoding", "the config");
  no_longer(data.name, kLongestName, "the name of the data", "the config");
  config.model.check();
  refuse_quadratic(config.model, config.data.seq_len, config.allow_quadratic, "allow_quadratic=true");
  if (config.data.documents == "apart")
    refuse_masks(config.data.seq_len, config.allow_quadratic, "allow_quadratic=true");
  for (const std::string& encoding : config.model.layer_encodings())
    if (config.weights_of.empty() && !find_encoding(encoding).traits.trains)
      throw Error(
          fmt::format("{} is a change at evaluation and cannot be trained: train rope", base_name(encoding)));
  const Plan plan(config.model);  // says what is wrong with the model, without making it
  return config;
}

static TrainReport train_within_memory(Decoder& model, const TrainStream& data, const RunConfig& config,
                                       const RunFolder& folder, const TrainHooks& hooks) {
  try {
    return train(model, data, config, folder, hooks);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    if (!is_out_of_memory(e)) throw;
    throw Error(fmt::format("there is not enough memory for this training: {}", how_to_take_less(config)),
                kFailed);
  }
}

int run(RunConfig given, const Resume& resume) {
  const Dataset data = open_data(given);
  const RunConfig config = resolve(given, data);
  const at::Device device = find_device(config.device);
  const at::ScalarType type = find_dtype(config.dtype, device);
  check_past(config, resume);  // refuses before anything is made
  use_threads(config, device.is_cpu());
  const std::string order = data_hash(data, config.steps * config.grad_acc_steps);
  check_data(config, resume, order);
  const RunFolder folder(config.dump_dir);
  if (is_finished_as(config)) {
    fmt::print(stderr, "{} is finished already\n", folder.path().string());
    return read_finished(read_run_files(folder)).diverged ? kNonFinite : kDone;
  }
  make_directories(folder.path());
  const Lock lock(folder.lock(), fmt::format("training in {}", folder.path().string()));
  check_past(config, resume);  // once more: until now, another process may have been at work here
  remove_leftovers(folder.path());

  const std::string dtype = type == at::kBFloat16 ? "bf16" : "fp32";
  check_dtype(config, resume, dtype);
  if (!config.weights_of.empty()) {
    score_weights({given, config, data, order, dtype}, Decoder(config.model, device, type));
    return kDone;
  }
  say_notes(data);
  say_memory(config, device, type);
  Decoder model(config.model, device, type);
  const std::string shared_init = model.weights().shared_hash();
  throw_if_stopped();
  const DocumentIds ids = document_ids(data);
  TrainHooks hooks{.ids = ids, .begin_from = resume.from, .settings = to_yaml(config)};
  hooks.on_begin = [&](int64_t step) {
    add_to_history(config, resume, step);
    folder.forget_end();
    folder.begin(to_yaml(given), to_yaml(config), manifest(order, dtype),
                 hugging_face_config(config.model, ids));
  };
  if (data.validation) hooks.validate = [&] { return mean_nll(model, *data.validation); };
  const TrainReport report = train_within_memory(model, *data.train, config, folder, hooks);
  RunFacts facts = facts_of(config, data, model, report);
  facts.shared_init = shared_init;
  facts.data_order = order;
  facts.dtype = dtype;
  if (!report.diverged) {
    fmt::print(stderr, "scoring the test examples\n");
    const auto begin = std::chrono::steady_clock::now();
    facts.diverged = !write_all_scores(model, data, folder);
    if (facts.diverged) fmt::print(stderr, "the scores are not finite: this run has diverged\n");
    facts.scoring_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  facts.peak_memory_bytes = peak_memory(model.device());
  write_finished(folder, facts);
  return facts.diverged ? kNonFinite : kDone;
}

}  // namespace darope
