#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace darope {

// The synthetic suite: twenty small languages whose answer follows from the prompt alone. Text is ASCII, one
// byte per token.
enum class Family { regular, context_free, context_sensitive, retrieval, positional };
enum class Answer { single, sequence };  // one byte, or several

std::string_view name_of(Family family);
std::string_view name_of(Answer answer);

struct Example {
  std::string prompt, answer;  // "R:4579" and "9754"; render() adds the separator and the terminator
};

// One row of the suite. n is the size of the body: symbols, or key-value pairs where the body is made of
// pairs.
struct Task {
  std::string_view name, prefix;
  Family family;
  Answer kind;
  double chance, true_chance;  // as the paper prints it; one over the symbols an answer can hold
  bool headline;               // among the fifteen of the paper's average
  int64_t min_n;
  int64_t (*body_length)(int64_t n);  // both in bytes, at worst
  int64_t (*answer_length)(int64_t n);
  std::string (*body)(Random& random, int64_t n);
  std::string (*solve)(std::string_view body);
  int64_t max_n = std::numeric_limits<int64_t>::max();
};

template <class Rows>
std::vector<Task> tasks_of();          // families.h
const std::vector<Task>& all_tasks();  // in the paper's order
std::vector<std::string> task_names();
const Task& find_task(std::string_view name);  // an unknown name is an Error that suggests the nearest

inline constexpr char kSeparator = '>', kTerminator = '\n';  // neither occurs in any body

// A sample of size n, rounded down where the task needs an odd or an even one. An empty answer gives a model
// nothing to be scored on, so such a sample is drawn again. n outside the task's range is an Error.
Example sample(const Task& task, Random& random, int64_t n);

std::string render(const Example& example);            // the bytes a model is trained on
int64_t rendered_length(const Task& task, int64_t n);  // of render(), at worst
int64_t n_max(const Task& task, int64_t context);  // the largest n that always renders within `context` bytes

// The share of answer bytes that the best constant symbol gets right: what a model reaches without reading
// the prompt.
double best_constant(const std::vector<Example>& examples);

}  // namespace darope
