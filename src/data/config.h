#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "data/tasks/protocol.h"

namespace darope {

// Where sequences come from: a synthetic task, a file of tokens or text, or a prepared dataset.
struct DataConfig {
  static constexpr int64_t kMostTokens = int64_t{1} << 31;  // of a batch
  std::string task, path, test_path, validation_path, root_dir;
  int64_t batch_size = 16, seq_len = 256;
  LengthSchedule lengths;
  int64_t test_examples = 256, test_seed = 1, free_running = 128;
  double test_share = 0.1;
  std::vector<double> weights;
  std::string documents = "window";

  void fields(auto&& visit) {
    visit("task", task, "a synthetic task ('darope tasks' lists them)",
          {.names = task_names(), .empty = true});
    visit("path", path,
          "a file of tokens (.bin .npy) or text (.txt .jsonl(.gz|.zst|.xz) or any other), or a folder of "
          "texts");
    visit("test_path", test_path, "a file or folder to test on; empty: a part of data.path");
    visit("validation_path", validation_path,
          "a file or folder that validations during training read, beside data.path; empty: none");
    visit("root_dir", root_dir, "the folder of a dataset that 'darope data prepare' made");
    visit("batch_size", batch_size, "sequences in a batch", {.least = 1, .most = kMostTokens});
    visit("seq_len", seq_len, "tokens in a sequence", {.least = 2, .most = kMostTokens});
    visit("lengths", lengths, "");
    visit("test_examples", test_examples,
          "examples at each test length; of a file or a text, at most as many as it holds; of other prepared "
          "data all are scored",
          {.least = 1, .most = 1 << 20});
    visit("test_seed", test_seed, "of the task's test examples", {.least = 0});
    visit("free_running", free_running,
          "examples of a task that the model also answers reading its own answer", {.least = 0});
    visit("test_share", test_share,
          "of a file or folder, how much is kept for the test: the end, or whole files where there are many",
          {.above = 0, .below = 1});
    visit("weights", weights,
          "of a text from several sources, how often a document comes from each, in their order; empty: "
          "every document once in an epoch",
          {.above = 0});
    visit(
        "documents", documents,
        "of a prepared text: window, positions count within a window and attention crosses documents; apart, "
        "each document is read as if it were alone",
        {.names = {"window", "apart"}});
  }
};

}  // namespace darope
