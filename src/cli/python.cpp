#include "base/python.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "cli/common/table.h"
#include "cli/verbs.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

struct Words {
  std::vector<std::string> runs;
  std::string source, to, encoding, out, tasks, data, max_length, batch_size, dtype, device, limit, shots,
      lengths, books, prompts;
  bool run_programs = false;
};

void give(std::vector<std::string>& words, const char* option, const std::string& value) {
  if (!value.empty()) words.insert(words.end(), {option, value});
}

// As python -m does, but for the folder one is in, which may be a stranger's: nothing is imported from there.
constexpr const char* kRunModule =
    "import sys; sys.path[:] = [each for each in sys.path if each]; sys.argv.pop(0); "
    "import runpy; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)";

// Becomes the Python package, which stands on Hugging Face's library.
[[noreturn]] void become_python(const char* module, std::vector<std::string> words) {
  words.insert(words.begin(), {python_program(), "-c", kRunModule, module});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::setenv("HF_HUB_OFFLINE", "1", 0);  // what these verbs read lies in folders
  ::execvp(pointers.front(), pointers.data());
  throw Error(fmt::format("'{}' cannot be started: it should be a Python with the package darope in it",
                          words.front()),
              kFailed);
}

}  // namespace

void add_export(CLI::App& app) {
  auto given = std::make_shared<Words>();
  CLI::App* verb = app.add_subcommand("export", "write a run as a folder that Hugging Face's library loads");
  verb->add_option("RUN", given->source, "a run's folder, or one checkpoint's")->required();
  verb->add_option("--to", given->to, "hf: as it is; stock: as a Llama, where it is one")
      ->required()
      ->check(CLI::IsMember({"hf", "stock"}));
  verb->add_option("--encoding", given->encoding,
                   "with --to stock: another that the weights fit, such as yarn:factor=8 for rope");
  verb->add_option("DIR", given->out, "a new folder")->required();
  verb->callback([given] {
    std::vector<std::string> words{"export", given->source, "--to", given->to};
    give(words, "--encoding", given->encoding);
    words.push_back(given->out);
    become_python("darope.hf", words);
  });
}

void add_import(CLI::App& app) {
  auto given = std::make_shared<Words>();
  CLI::App* verb = app.add_subcommand("import", "make a run of a Llama-style model with RoPE");
  verb->add_option("HF_DIR", given->source, "the model's folder")->required();
  verb->add_option("--encoding", given->encoding, "darope begins where it is RoPE inside the window")
      ->required();
  verb->add_option("--out", given->out, "a new folder, for the run")->required();
  verb->callback([given] {
    become_python("darope.hf", {"import", given->source, "--encoding", given->encoding, "--out", given->out});
  });
}

void add_lm_eval(CLI::App& app) {
  auto given = std::make_shared<Words>();
  CLI::App* verb = app.add_subcommand(
      "lm-eval",
      "score runs of text on the paper's benchmarks, through lm-eval; `report` then compares them");
  verb->add_option("RUN", given->runs, "folders of runs")->required();
  verb->add_option("--tasks", given->tasks, "benchmarks, comma-separated, or all: the paper's fifteen")
      ->required()
      ->type_name(kListValue);
  verb->add_option("--data", given->data, "the folder of their files; see docs/benchmarks.md")->required();
  verb->add_option("--max-length", given->max_length,
                   "tokens of the longest prompt with its answer; default: 8 times the training length")
      ->check(CLI::PositiveNumber);
  verb->add_option("--batch-size", given->batch_size, "prompts at once; default: 8")
      ->check(CLI::PositiveNumber);
  verb->add_option("--dtype", given->dtype, "default: float32")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  verb->add_option("--device", given->device, "such as cuda; default: cpu");
  verb->add_option("--limit", given->limit, "the first so many questions of each part alone")
      ->check(CLI::PositiveNumber);
  verb->add_option("--shots", given->shots, "worked examples before a question; default: lm-eval's")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--lengths", given->lengths,
                   "of long prompts, in the run's own tokens, comma-separated; default: the training length, "
                   "and 2, 4 and 8 times that")
      ->type_name(kListValue);
  verb->add_option("--books", given->books,
                   "the folder of the books that hide what is asked for; default: books/ in --data");
  verb->add_option("--prompts", given->prompts,
                   "the folder that keeps long prompts; default: beside the run, for its neighbours too");
  verb->add_flag("--run-programs", given->run_programs,
                 "let humaneval and mbpp run what the model writes, as a program of yours");
  verb->callback([given] {
    std::vector<std::string> words = given->runs;
    if (given->run_programs) words.emplace_back("--run-programs");
    give(words, "--tasks", given->tasks);
    give(words, "--data", given->data);
    give(words, "--max-length", given->max_length);
    give(words, "--batch-size", given->batch_size);
    give(words, "--dtype", given->dtype);
    give(words, "--device", given->device);
    give(words, "--limit", given->limit);
    give(words, "--shots", given->shots);
    give(words, "--lengths", given->lengths);
    give(words, "--books", given->books);
    give(words, "--prompts", given->prompts);
    give(words, "--keep-with", fs::read_symlink("/proc/self/exe").string());
    become_python("darope.benchmarks", words);
  });
}

void add_log(CLI::App& app) {
  struct Told {
    std::vector<std::string> folders;
    bool wandb = false, mlflow = false;
    std::string project = "darope";
  };
  auto given = std::make_shared<Told>();
  CLI::App* verb = app.add_subcommand("log", "tell Weights & Biases or MLflow of finished runs");
  verb->add_option("RUN", given->folders, "folders of runs and comparisons")->required();
  verb->add_flag("--wandb", given->wandb, "files that 'wandb sync' sends; nothing is sent here");
  verb->add_flag("--mlflow", given->mlflow, "to MLFLOW_TRACKING_URI, or where MLflow itself keeps runs");
  verb->add_option("--project", given->project, "of wandb; the experiment of MLflow")->capture_default_str();
  verb->callback([given] {
    if (!given->wandb && !given->mlflow) throw Error("log to whom? Give --wandb, --mlflow or both");
    std::vector<std::string> words = given->folders;
    if (given->wandb) give(words, "--to", "wandb");
    if (given->mlflow) give(words, "--to", "mlflow");
    give(words, "--project", given->project);
    become_python("darope.log", words);
  });
}

}  // namespace darope
