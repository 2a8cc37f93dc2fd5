#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/batch.h"

namespace darope {

class TokenSource;

// Training streams never end and test sets never move; neither can be taken for the other.

// Batch number i is a pure function of i, so the state of a training run's data is its step.
class TrainStream {
 public:
  virtual ~TrainStream() = default;
  virtual Batch at(int64_t index) const = 0;
  virtual int64_t tokens(
      int64_t index) const = 0;  // of batch `index`, padding too; few different numbers in all
};

inline int64_t tokens_before(const TrainStream& stream, int64_t end) {
  int64_t sum = 0;
  for (int64_t i = 0; i < end; ++i) sum += stream.tokens(i);
  return sum;
}

// Example i is example i for every model.
class TestSet {
 public:
  virtual ~TestSet() = default;
  virtual int64_t size() const = 0;
  virtual Batch read(int64_t first, int64_t count) const = 0;
  // Examples cut from one source (a performance, a recording, a document) are one witness and share a number,
  // which rises with the examples.
  virtual int64_t cluster(int64_t example) const { return example; }
};

enum class Measure { accuracy, nll };

struct TestLength {
  int64_t multiple;  // of the training length
  std::shared_ptr<const TestSet> set;
  double best_constant = 0;  // accuracy of always giving the commonest answer symbol
  std::vector<int64_t> n_free =
      {};  // of a genome: the examples without unknown bases, rising; scored once more by themselves
};

struct Dataset {
  std::string name, family;
  int64_t vocabulary = 0;
  Measure measure = Measure::accuracy;
  double chance = 0, true_chance = 0;  // of accuracy
  std::shared_ptr<const TrainStream> train;
  std::vector<TestLength> tests = {};
  std::shared_ptr<const TestSet> validation =
      nullptr;  // for choosing a checkpoint; null where the data keeps none apart
  std::vector<std::shared_ptr<const TokenSource>> sources = {};  // where they hold all of it
  std::shared_ptr<const class Tokenizer> tokenizer = nullptr;    // null: no text
  int64_t longest = 0;  // tokens of the longest sequence; 0: it is read in windows, however long it is
  std::vector<std::string> notes = {};  // what is not read as one may think, a sentence each
  std::string told = {};                // of files: what they hold and what of it is tested on, for people
  int64_t free_running = 0;             // so many examples of each test are also answered without help

  // What evaluations beyond the data's own test read, where one was asked for.
  std::shared_ptr<const TestSet> documents = nullptr;  // each far longer than a training window
  std::shared_ptr<const struct Prompts> prompts = nullptr;
  std::string asked = {}, asked_hash = {};  // the name of their source, and a hash of what was made of it
  std::string extent = {};                  // how much of it, where that can differ: " to 16384"
  int64_t train_length = 0;                 // of the model that is asked
};

}  // namespace darope
