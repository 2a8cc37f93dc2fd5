#pragma once
#include <string>
#include <vector>

#include "data/documents.h"

namespace darope {

// Prompts of one probe at one difficulty. Each ends where a value is asked for.
struct PromptSet {
  int64_t difficulty;  // tokens of the digression, or bindings
  Tensor tokens;       // [N, L] int64
  Tensor candidates;   // [N, K] int64: the values that stand in the prompt, the right one first
  Tensor places;       // [N, K] int64: where they stand
  int64_t size() const { return tokens.size(0); }
};

// Retrieval under interference: return from digression, and key-value recall. A prompt is a function of the
// seed, its number, the prose between its lines, the tokenizer and the length L that it fills.
struct Prompts {
  std::vector<PromptSet> digression, recall;  // by rising difficulty
  std::vector<std::string> left_out = {};     // what does not fit L, a phrase each
  std::string sha256 = {};                    // of the file that keeps them
};
inline constexpr int64_t kPromptsOfEach = 800;

// An Error where the tokenizer splits the probes' words, there is too little prose, or nothing fits.
Prompts make_prompts(const Documents& prose, int64_t length, uint64_t seed, int64_t count = kPromptsOfEach);

// The same from a file that keeps them, with its hash beside it; where there is none it is made. An Error
// where the file is of another length or vocabulary, or not what was written.
Prompts kept_prompts(const std::filesystem::path& file, const Documents& prose, int64_t length,
                     uint64_t seed);

// Sentences without the words of the probes, as tokens.
class Prose {
 public:
  Prose(const Documents& documents, int64_t fewest);  // an Error where there are fewer tokens
  // `count` tokens from a drawn sentence on, running over into those that follow.
  std::vector<int64_t> cut(class Random& random, int64_t count) const;

 private:
  void add(std::string_view sentence);

  const Tokenizer& tokenizer_;
  std::vector<std::string> sentences_;
  std::vector<int64_t> tokens_, starts_;  // of each sentence with the space before it
};

// Values that are looked up: common nouns that cl100k and r50k have as one token with the space before them.
const std::vector<std::string>& prompt_words();

}  // namespace darope
