#include "bench/opponent.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "experiments/run.h"

namespace darope {
namespace {

std::vector<std::string> split_words(const std::string& variant) {
  std::vector<std::string> out;
  std::istringstream words(variant + '-');  // so that an empty last word is one too
  for (std::string word; std::getline(words, word, '-');) out.push_back(word);
  return out;
}

// They stand in the repository, beside the build.
std::filesystem::path program_of(const Bench& bench) {
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bench" / "opponents";
  if (!std::filesystem::exists(folder))
    throw Error(folder.string() + " is missing: opponents run with the program as its repository built it");
  return folder / bench.opponent;
}

std::string words_for(const Shape& shape, const Trial& trial, const std::string& variant,
                      const Timing& timing) {
  const DecoderConfig& model = shape.run.model;
  return nlohmann::ordered_json{{"shape",
                                 {{"layers", model.n_layers},
                                  {"width", model.dim},
                                  {"heads", model.n_heads},
                                  {"hidden", model.hidden()},
                                  {"vocabulary", model.vocab_size},
                                  {"length", trial.length},
                                  {"style", model.style},
                                  {"tied", model.tied}}},
                                {"encoding", trial.encoding.empty() ? "nope" : trial.encoding},
                                {"what", trial.what},
                                {"variant", variant},
                                {"device", find_device(shape.run.device).is_cuda() ? "cuda" : "cpu"},
                                {"batch", trial.batch},
                                {"steps", timing.steps},
                                {"untimed", kUntimed},
                                {"threads", at::get_num_threads()}}
      .dump();
}

}  // namespace

Opponent::Opponent(const Bench& bench, const Shape& shape, const Trial& trial, const std::string& variant,
                   const Timing& timing)
    : program_(program_of(bench), {words_for(shape, trial, variant, timing)}) {
  program_.answer();  // it is ready
}

void Opponent::round() {
  const Json answer = parse_json(program_.answer("round"), "an opponent's answer");
  rounds_.seconds.push_back(answer.at("seconds"));
  if (answer.at("peak_bytes").is_number()) rounds_.peak_bytes = answer.at("peak_bytes").get<int64_t>();
}

void check_opponents(const RunConfig& run, const std::vector<std::string>& variants) {
  const std::vector<std::string> known{"eager", "compile", "graphs", "cudnn", "flash", "chunks"};
  for (const std::string& variant : variants)
    for (const std::string& word : split_words(variant))
      if (std::ranges::find(known, word) == known.end())
        throw Error(fmt::format("the opponent '{}' is not known: {}", variant,
                                unknown_name("word of a variant", word, known)));
  const DecoderConfig& model = run.model;
  if (model.kv_heads() != model.n_heads || !model.feed_forward.empty() || model.dropout > 0)
    throw Error(
        "opponents have a key head for each query head, their style's feed-forward part and no dropout: "
        "leave model.n_kv_heads, model.feed_forward and model.dropout as they are");
  const at::Device device = find_device(run.device);
  if (run.grad_acc_steps != 1 || run.recompute != "none" ||
      find_dtype(run.dtype, device) != find_dtype("auto", device))
    throw Error(
        "opponents take one batch a step, compute nothing again and have the device's own dtype: leave "
        "grad_acc_steps=1, recompute=none and dtype=auto");
}

std::vector<std::string> variants_of(const Bench& bench, at::Device device) {
  if (!device.is_cuda() || bench.name == "kernels") return {"compile"};
  if (bench.name == "step") return {"compile-cudnn", "graphs-cudnn", "compile-cudnn-chunks"};
  return {"compile-cudnn", "graphs-cudnn", "compile-flash"};
}

}  // namespace darope
