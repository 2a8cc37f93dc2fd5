#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/verbs.h"
#include "data/tasks/task.h"

namespace darope {
namespace {

constexpr int64_t kLongest = 100'000;  // beyond any context, and still answered in a moment

struct TasksSettings {
  std::string name;
  int64_t length = 8, count = 5, seed = 1;
  bool json = false;
};

void print_rows_as_json() {
  for (const Task& t : all_tasks()) {
    const nlohmann::ordered_json row{{"name", t.name},
                                     {"prefix", t.prefix},
                                     {"family", name_of(t.family)},
                                     {"answer", name_of(t.kind)},
                                     {"chance", t.chance},
                                     {"true_chance", t.true_chance},
                                     {"headline", t.headline},
                                     {"shortest", t.min_n}};
    fmt::print("{}\n", row.dump());
  }
}

void print_tasks() {
  fmt::print("{:<28} {:<6} {:<17} {:<8} {:>7} {:>5}  {:<8}  {}\n", "task", "prefix", "family", "answer",
             "chance", "true", "headline", "shortest");
  for (const Task& t : all_tasks())
    fmt::print("{:<28} {:<6} {:<17} {:<8} {:>6.0f}% {:>4.0f}%  {:<8}  {}\n", t.name, t.prefix,
               name_of(t.family), name_of(t.kind), 100 * t.chance, 100 * t.true_chance,
               t.headline ? "yes" : "no", t.min_n);
  fmt::print(
      "\nchance: as the paper prints it; true: one over the symbols an answer can hold;\n"
      "headline: among the fifteen of the paper's average; shortest: the least --length.\n"
      "'darope tasks NAME' shows samples.\n");
}

void print_samples(const TasksSettings& s) {
  const Task& task = find_task(s.name);
  if (s.count < 1) throw Error(fmt::format("--count {}: at least one sample must be asked for", s.count));
  if (s.seed < 0) throw Error(fmt::format("--seed {}: a seed is a whole number of at least 0", s.seed));
  if (s.length > kLongest)
    throw Error(fmt::format("--length {}: at most {} is drawn here", s.length, kLongest));
  for (int64_t i = 0; i < s.count; ++i) {
    Random random(uint64_t(s.seed), fmt::format("task/{}/show", task.name), uint64_t(i));
    const Example example = sample(task, random, s.length);
    if (s.json)
      fmt::print("{}\n",
                 nlohmann::ordered_json{{"prompt", example.prompt}, {"answer", example.answer}}.dump());
    else
      fmt::print("{}  ->  {}\n", example.prompt, example.answer);
  }
}

}  // namespace

void add_tasks(CLI::App& app) {
  auto settings = std::make_shared<TasksSettings>();
  CLI::App* verb = app.add_subcommand("tasks", "the synthetic tasks, or samples of one");
  CLI::Option* name = verb->add_option("NAME", settings->name, "a task to draw samples of");
  verb->add_option("--length", settings->length, "size of the body: symbols, or pairs for recall")
      ->capture_default_str()
      ->needs(name);
  verb->add_option("--count", settings->count, "how many samples")->capture_default_str()->needs(name);
  verb->add_option("--seed", settings->seed, "the same seed gives the same samples")
      ->capture_default_str()
      ->needs(name);
  verb->add_flag("--json", settings->json, "print JSON lines");
  verb->callback([settings, name] {
    if (name->count() > 0)
      print_samples(*settings);
    else if (settings->json)
      print_rows_as_json();
    else
      print_tasks();
  });
}

}  // namespace darope
