#include "eval/generate.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "cli/compute/verbs.h"
#include "data/open.h"
#include "experiments/saved_run.h"

namespace darope {
namespace {

struct GenerateSettings {
  std::string run, prompt;
  Which which;
  Sampling sampling;
};

std::vector<int64_t> parse_ids(const std::string& text, int64_t vocabulary) {
  std::vector<int64_t> out;
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    int64_t id = -1;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0 || id >= vocabulary || (next < end && *next != ',' && *next != ' '))
      throw Error(fmt::format(
          "--prompt '{}' should be token ids below {}, such as 5,17,3: this run's data has no text", text,
          vocabulary));
    out.push_back(id);
    for (at = next; at < end && (*at == ',' || *at == ' ');) ++at;
  }
  return out;
}

// Text as the model has read it: behind the begin of a document, where its tokenizer has one.
std::vector<int64_t> prompt_of(const std::string& text, const Tokenizer& tokenizer) {
  std::vector<int64_t> ids = tokenizer.encode(text);
  if (const std::optional<int64_t> begin = tokenizer.begin_of_document()) ids.insert(ids.begin(), *begin);
  return ids;
}

void generate_verb(const GenerateSettings& settings) {
  if (settings.sampling.tokens < 1)
    throw Error(fmt::format("--tokens is {}: at least 1 is needed", settings.sampling.tokens));
  if (settings.sampling.tokens > 1 << 20)
    throw Error(
        fmt::format("--tokens is {}: at most {} go into one cache", settings.sampling.tokens, 1 << 20));
  if (!(settings.sampling.temperature >= 0 && std::isfinite(settings.sampling.temperature)))
    throw Error(fmt::format("--temperature is {}: it must be 0 or a finite number above",
                            settings.sampling.temperature));
  const SavedRun run = open_run(RunFolder(settings.run), settings.which);
  const std::shared_ptr<const Tokenizer> text = tokenizer_of(run.config.data);
  const std::vector<int64_t> prompt =
      text ? prompt_of(settings.prompt, *text) : parse_ids(settings.prompt, run.config.model.vocab_size);
  fmt::print("{}", settings.prompt);
  generate(*run.model, prompt, settings.sampling, [&](int64_t token) {
    if (text && token == text->end_of_document()) return false;
    fmt::print("{}", text ? text->decode({&token, 1}) : fmt::format(",{}", token));
    std::fflush(stdout);
    return true;
  });
  fmt::print("\n");
}

}  // namespace

void add_generate(CLI::App& app) {
  auto settings = std::make_shared<GenerateSettings>();
  CLI::App* verb = app.add_subcommand("generate", "continue a prompt with a run's model");
  verb->add_option("RUN", settings->run, "a run's folder")->required();
  verb->add_option("--prompt", settings->prompt, "text, or token ids where the data is no text")->required();
  verb->add_option("--tokens", settings->sampling.tokens, "how many to generate")->capture_default_str();
  verb->add_option("--temperature", settings->sampling.temperature, "0: always the likeliest")
      ->capture_default_str();
  verb->add_option("--top-k", settings->sampling.top_k, "draw from the k likeliest; 0: from all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--seed", settings->sampling.seed, "of the draws")->capture_default_str();
  verb->add_option("--step", settings->which.step, "the checkpoint of this step; default: the newest")
      ->check(CLI::NonNegativeNumber);
  verb->add_flag("--best", settings->which.best, "the checkpoint of the lowest validation loss");
  verb->callback([settings] { generate_verb(*settings); });
}

}  // namespace darope
