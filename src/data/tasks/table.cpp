#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/names.h"
#include "data/tasks/task.h"

namespace darope {

std::string_view name_of(Family family) {
  switch (family) {
    case Family::regular:
      return "regular";
    case Family::context_free:
      return "context-free";
    case Family::context_sensitive:
      return "context-sensitive";
    case Family::retrieval:
      return "retrieval";
    case Family::positional:
      return "positional";
  }
  return "";
}

std::string_view name_of(Answer answer) { return answer == Answer::single ? "single" : "sequence"; }

// One line per file of tasks.
static const std::vector<std::vector<Task>> files = {
    // clang-format off
    tasks_of<struct RegularTasks>(),
    tasks_of<struct ContextFreeTasks>(),
    tasks_of<struct ContextSensitiveTasks>(),
    tasks_of<struct RetrievalTasks>(),
    tasks_of<struct PositionalTasks>(),
    // clang-format on
};

const std::vector<Task>& all_tasks() {
  static const std::vector<Task> table = [] {
    std::vector<Task> rows;
    for (const std::vector<Task>& file : files) rows.insert(rows.end(), file.begin(), file.end());
    return rows;
  }();
  return table;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Task& task : all_tasks()) names.emplace_back(task.name);
  return names;
}

const Task& find_task(std::string_view name) {
  for (const Task& task : all_tasks())
    if (task.name == name) return task;
  throw Error(unknown_name("task", name, task_names()));
}

Example sample(const Task& task, Random& random, int64_t n) {
  const std::string asked =
      std::string(task.name) + " of length " + std::to_string(n) + ": its length is at ";
  if (n < task.min_n) throw Error(asked + "least " + std::to_string(task.min_n));
  if (n > task.max_n) throw Error(asked + "most " + std::to_string(task.max_n));
  for (;;) {
    const std::string body = task.body(random, n);
    if (std::string answer = task.solve(body); !answer.empty())
      return {std::string(task.prefix) + ":" + body, std::move(answer)};
  }
}

std::string render(const Example& example) {
  return example.prompt + kSeparator + example.answer + kTerminator;
}

int64_t rendered_length(const Task& task, int64_t n) {
  constexpr int64_t marks = 3;  // the colon after the prefix, the separator, the terminator
  return int64_t(task.prefix.size()) + marks + task.body_length(n) + task.answer_length(n);
}

int64_t n_max(const Task& task, int64_t context) {
  int64_t n = task.min_n;
  if (rendered_length(task, n) > context)
    throw Error("a context of " + std::to_string(context) + " bytes is too short for " +
                std::string(task.name) + ", which needs at least " +
                std::to_string(rendered_length(task, n)));
  while (n < task.max_n && rendered_length(task, n + 1) <= context) ++n;
  return n;
}

double best_constant(const std::vector<Example>& examples) {
  std::array<int64_t, 256> count{};
  int64_t total = 0;
  for (const Example& example : examples) {
    for (const char c : example.answer) ++count[static_cast<unsigned char>(c)];
    total += int64_t(example.answer.size());
  }
  if (total == 0)
    throw Error("the best constant answer of no examples is undefined: give at least one answer symbol");
  return double(*std::max_element(count.begin(), count.end())) / double(total);
}

}  // namespace darope
