#include "data/prompts.h"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "base/signals.h"
#include "data/prepared/kind.h"

namespace darope {
namespace {

constexpr std::array<int64_t, 6> kDistances = {64, 128, 256, 512, 1024, 2048},
                                 kBindings = {8, 16, 32, 64, 128, 256};
constexpr double kJitter = 0.15;  // of a distance, to either side

constexpr std::array<std::string_view, 24> kFronts = {
    "Zaryn", "Mourn", "Kelv", "Thal", "Bryn", "Quen", "Dray", "Fenn", "Gorm", "Halc", "Istr", "Jorv",
    "Lym",   "Myrr",  "Narv", "Oth",  "Pell", "Ryl",  "Selk", "Torv", "Ulm",  "Veyr", "Wyr",  "Xan"};
constexpr std::array<std::string_view, 16> kEnds = {"dor",  "hold",  "wick", "mere", "gard", "vale",
                                                    "moor", "stead", "fell", "dale", "ford", "haven",
                                                    "mar",  "tis",   "loth", "bran"};

void append(Tokens& to, const Tokens& more) { to.insert(to.end(), more.begin(), more.end()); }

// One prompt: what comes behind the filler in front, and the values in it.
struct Draft {
  Tokens tokens, candidates, places;  // places count from the first of `tokens`
  void add(const Tokens& more) { append(tokens, more); }
  void add_value(int64_t id) {
    candidates.push_back(id);
    places.push_back(int64_t(tokens.size()));
    tokens.push_back(id);
  }
};

class PromptMaker {
 public:
  PromptMaker(const Documents& documents, int64_t length)
      : tokenizer_(documents.tokenizer()), prose_(documents, length), length_(length) {
    for (const std::string& word : prompt_words()) {
      const Tokens ids = tokenizer_.encode(" " + word);
      if (ids.size() != 1)
        throw Error(
            fmt::format("--retrieval asks for words of one token, and the run's tokenizer splits ' {}' into "
                        "{}: train with --tokenizer cl100k_base.tiktoken",
                        word, ids.size()));
      words_.push_back(ids[0]);
    }
  }

  // <Topic1> report: codeword = <word1>.  ... <Topic2> report: codeword = <word2>.  Summary of <Topic1>:
  // codeword =
  Draft digression(int64_t distance, Random& random) const {
    const double u = 1 - kJitter + 2 * kJitter * random.uniform();
    const int64_t between = std::lround(double(distance) * u);
    const std::string topic = name(random), other = name_apart_from(topic, random);
    const std::vector<int64_t> values = draw_words(2, random);
    Draft draft;
    bind(draft, topic, values[0]);
    draft.add(prose_.cut(random, between));
    draft.add(text("\n"));
    bind(draft, other, values[1]);
    draft.add(text(fmt::format("Summary of {}: codeword =", topic)));
    return draft;
  }

  // Lines of <key>: <value>, and one of the keys once more.
  Draft recall(int64_t bindings, Random& random) const {
    const std::vector<int64_t> values = draw_words(bindings, random);
    std::vector<std::string> keys;
    for (std::set<std::string> seen; int64_t(keys.size()) < bindings;)
      if (std::string key = name(random); seen.insert(key).second) keys.push_back(std::move(key));
    Draft draft;
    for (size_t i = 0; i < keys.size(); ++i) {
      draft.add(text(keys[i] + ":"));
      draft.add_value(values[i]);
      draft.add(text("\n"));
    }
    const size_t asked = random.below(keys.size());
    draft.add(text(keys[asked] + ":"));
    std::swap(draft.candidates[0], draft.candidates[asked]);
    std::swap(draft.places[0], draft.places[asked]);
    return draft;
  }

  // Filled up in front to the whole length; nothing where it is too long for it.
  std::optional<Draft> filled(Draft draft, Random& random) const {
    Tokens front;
    if (const auto begin = tokenizer_.begin_of_document()) front.push_back(*begin);
    const Tokens line_end = text("\n");
    const int64_t room = length_ - int64_t(front.size() + line_end.size() + draft.tokens.size());
    if (room < 0) return std::nullopt;
    append(front, prose_.cut(random, room));
    append(front, line_end);
    for (int64_t& place : draft.places) place += int64_t(front.size());
    append(front, draft.tokens);
    draft.tokens = std::move(front);
    return draft;
  }

 private:
  Tokens text(const std::string& some) const { return tokenizer_.encode(some); }
  void bind(Draft& draft, const std::string& topic, int64_t value) const {
    draft.add(text(topic + " report: codeword ="));
    draft.add_value(value);
    draft.add(text(".\n"));
  }
  static std::string name(Random& random) {
    const std::string_view front = kFronts[random.below(kFronts.size())],
                           end = kEnds[random.below(kEnds.size())];
    return fmt::format("{}{}{}", front, end, random.between(100, 999));
  }
  // Another one that has no token of it; the first comes at the beginning of a line and behind a space.
  std::string name_apart_from(const std::string& topic, Random& random) const {
    const Tokens first = text(topic), inside = text(" " + topic);
    std::set<int64_t> taken(first.begin(), first.end());
    taken.insert(inside.begin(), inside.end());
    constexpr int kTries = 10'000;
    for (int i = 0; i < kTries; ++i) {
      const std::string other = name(random);
      const Tokens its = text(other);
      if (std::none_of(its.begin(), its.end(), [&](int64_t id) { return taken.contains(id); })) return other;
    }
    throw Error(
        fmt::format("--retrieval asks for names without a common token, and the run's tokenizer has none "
                    "beside {}: train with --tokenizer cl100k_base.tiktoken",
                    topic));
  }
  std::vector<int64_t> draw_words(int64_t count, Random& random) const {
    std::vector<int64_t> all = words_;
    for (size_t i = 0; i < size_t(count); ++i) std::swap(all[i], all[i + random.below(all.size() - i)]);
    all.resize(size_t(count));
    return all;
  }

  const Tokenizer& tokenizer_;
  Prose prose_;
  int64_t length_;
  std::vector<int64_t> words_;
};

Tensor stacked(const std::vector<Draft>& drafts, Tokens Draft::* field) {
  Tokens flat;
  for (const Draft& draft : drafts) append(flat, draft.*field);
  return at::tensor(flat, at::kLong).view({int64_t(drafts.size()), -1});
}

// All prompts of one difficulty, or none where one of them is too long.
template <class Make>
std::optional<PromptSet> make_set(const PromptMaker& maker, const std::string& purpose, int64_t difficulty,
                                  uint64_t seed, int64_t count, const Make& make) {
  std::vector<Draft> drafts;
  for (int64_t i = 0; i < count; ++i) {
    throw_if_stopped();
    Random random(seed, fmt::format("prompts/{}/{}", purpose, difficulty), uint64_t(i));
    std::optional<Draft> draft = maker.filled(make(difficulty, random), random);
    if (!draft) return std::nullopt;
    drafts.push_back(std::move(*draft));
  }
  return PromptSet{difficulty, stacked(drafts, &Draft::tokens), stacked(drafts, &Draft::candidates),
                   stacked(drafts, &Draft::places)};
}

}  // namespace

Prompts make_prompts(const Documents& prose, int64_t length, uint64_t seed, int64_t count) {
  const PromptMaker maker(prose, length);
  Prompts out;
  const auto all = [&](const std::string& probe, const auto& difficulties, std::vector<PromptSet>& sets,
                       const std::string& what, const auto& make) {
    for (const int64_t difficulty : difficulties)
      if (auto set = make_set(maker, probe, difficulty, seed, count, make))
        sets.push_back(std::move(*set));
      else
        out.left_out.push_back(fmt::format("{} of {} {}", probe, difficulty, what));
    if (sets.empty())
      throw Error(fmt::format("prompts of {} do not fit the context of {}: the easiest has {} {}", probe,
                              length, difficulties[0], what));
  };
  all("digression", kDistances, out.digression, "tokens",
      [&](int64_t distance, Random& random) { return maker.digression(distance, random); });
  all("recall", kBindings, out.recall, "bindings",
      [&](int64_t bindings, Random& random) { return maker.recall(bindings, random); });
  return out;
}

}  // namespace darope
