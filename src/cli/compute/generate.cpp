#include "eval/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "cli/compute/verbs.h"
#include "data/open.h"
#include "data/prepared/kind.h"
#include "data/prepared/manifest.h"
#include "experiments/saved_run.h"

namespace darope {
namespace {

struct GenerateSettings {
  std::string run, prompt, out;
  Which which;
  Sampling sampling;
};

// What the tokens of a run are to people, where they are no text; null where its data are not there.
const Kind* kind_of_data(const DataConfig& data) {
  return is_prepared(data.root_dir) ? &find_kind(read_manifest(data.root_dir).kind) : nullptr;
}

// Words as `data inspect` shows them, with blanks between.
std::vector<int64_t> parse_words(const std::string& text, const Kind& kind, int64_t vocabulary) {
  std::vector<std::string> words;
  for (int64_t id = 0; id < vocabulary; ++id) words.push_back(kind.word(id));
  std::vector<int64_t> out;
  std::istringstream typed(text);
  for (std::string word; typed >> word;) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end())
      throw Error(
          fmt::format("--prompt: {} has no word {}; near it is '{}', and 'darope data inspect' shows more",
                      kind.name, shown(word), nearest_name(word, words)));
    out.push_back(found - words.begin());
  }
  return out;
}

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
  const int64_t vocabulary = run.config.model.vocab_size;
  const std::shared_ptr<const Tokenizer> text = tokenizer_of(run.config.data);
  const Kind* kind = text ? nullptr : kind_of_data(run.config.data);
  if (!settings.out.empty() && !(kind && kind->midi))
    throw Error(fmt::format("--out {}: only music is written as MIDI, and the data of {} are none",
                            settings.out, settings.run));
  const bool words = kind && kind->word && !std::isdigit(static_cast<unsigned char>(settings.prompt[0]));
  std::vector<int64_t> tokens = text    ? prompt_of(settings.prompt, *text)
                                : words ? parse_words(settings.prompt, *kind, vocabulary)
                                        : parse_ids(settings.prompt, vocabulary);
  fmt::print("{}", settings.prompt);
  generate(*run.model, tokens, settings.sampling, [&](int64_t token) {
    if (text && token == text->end_of_document()) return false;
    tokens.push_back(token);
    fmt::print("{}", text    ? text->decode({&token, 1})
                     : words ? " " + kind->word(token)
                             : fmt::format(",{}", token));
    std::fflush(stdout);
    return true;
  });
  fmt::print("\n");
  if (settings.out.empty()) return;
  write_file(settings.out, kind->midi(tokens));
  fmt::print("{}\n", settings.out);
}

}  // namespace

void add_generate(CLI::App& app) {
  auto settings = std::make_shared<GenerateSettings>();
  CLI::App* verb = app.add_subcommand("generate", "continue a prompt with a run's model");
  verb->add_option("RUN", settings->run, "a run's folder")->required();
  verb->add_option("--prompt", settings->prompt,
                   "text; where the data is no text, token ids, or the words that 'data inspect' shows")
      ->required();
  verb->add_option("--tokens", settings->sampling.tokens, "how many to generate")->capture_default_str();
  verb->add_option("--temperature", settings->sampling.temperature, "0: always the likeliest")
      ->capture_default_str();
  verb->add_option("--top-k", settings->sampling.top_k, "draw from the k likeliest; 0: from all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--seed", settings->sampling.seed, "of the draws")->capture_default_str();
  verb->add_option("--out", settings->out,
                   "of music: also write all of it as a MIDI file, such as piece.mid");
  verb->add_option("--step", settings->which.step, "the checkpoint of this step; default: the newest")
      ->check(CLI::NonNegativeNumber);
  verb->add_flag("--best", settings->which.best, "the checkpoint of the lowest validation loss");
  verb->callback([settings] { generate_verb(*settings); });
}

}  // namespace darope
