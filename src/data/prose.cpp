#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "data/prompts.h"

namespace darope {
namespace {

constexpr int64_t kEnough = 1 << 20;              // tokens of prose: more would make no prompt less alike
constexpr size_t kShortest = 30, kLongest = 400;  // bytes of a sentence

bool ends_sentence(char c) { return c == '.' || c == '!' || c == '?'; }

// Single spaces, and nothing else between words.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return out;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Whether a word of the probes stands in it, in whatever case.
bool speaks_of_probes(std::string_view sentence) {
  static const std::set<std::string> words = [] {
    std::set<std::string> all(prompt_words().begin(), prompt_words().end());
    all.insert({"codeword", "report", "summary"});
    return all;
  }();
  for (auto begin = std::find_if(sentence.begin(), sentence.end(), is_letter); begin != sentence.end();) {
    const auto end = std::find_if_not(begin, sentence.end(), is_letter);
    std::string word(begin, end);
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    if (words.contains(word)) return true;
    begin = std::find_if(end, sentence.end(), is_letter);
  }
  return false;
}

}  // namespace

Prose::Prose(const Documents& documents, int64_t fewest) : tokenizer_(documents.tokenizer()) {
  documents.each_text([&](std::string_view text) {
    if (int64_t(tokens_.size()) >= kEnough) return;
    const std::string line = one_line(text);
    size_t begin = 0;
    for (size_t i = 1; i < line.size(); ++i) {
      if (line[i] != ' ' || !ends_sentence(line[i - 1])) continue;
      add(std::string_view(line).substr(begin, i - begin));
      begin = i + 1;
    }
  });
  if (int64_t(tokens_.size()) < fewest)
    throw Error(
        fmt::format("{} has {} tokens of whole sentences without the words of the probes; {} are needed "
                    "to fill a prompt: name more text (--documents)",
                    documents.name(), tokens_.size(), fewest));
}

void Prose::add(std::string_view sentence) {
  const bool begins = !sentence.empty() && std::isupper(static_cast<unsigned char>(sentence[0]));
  if (!begins || sentence.size() < kShortest || sentence.size() > kLongest || speaks_of_probes(sentence))
    return;
  const std::vector<int64_t> ids = tokenizer_.encode(fmt::format(" {}", sentence));
  sentences_.emplace_back(sentence);
  starts_.push_back(int64_t(tokens_.size()));
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
}

std::vector<int64_t> Prose::cut(Random& random, int64_t count) const {
  const size_t first = random.below(sentences_.size());
  std::vector<int64_t> out = tokenizer_.encode(sentences_[first]);  // a line begins without a space
  size_t next = first + 1 < starts_.size() ? size_t(starts_[first + 1]) : 0;
  while (int64_t(out.size()) < count) {
    const size_t more = std::min(tokens_.size() - next, size_t(count) - out.size());
    out.insert(out.end(), tokens_.begin() + long(next), tokens_.begin() + long(next + more));
    next = 0;
  }
  out.resize(size_t(count));
  return out;
}

}  // namespace darope
