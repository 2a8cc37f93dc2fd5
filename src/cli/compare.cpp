#include <fmt/format.h>

#include "base/config.h"
#include "base/files.h"
#include "base/json.h"
#include "cli/verbs.h"
#include "experiments/compare.h"

namespace darope {
namespace {

struct Settings {
  std::string config, encodings, out;
  int64_t seeds = 0, jobs = 0;
  bool print_config = false;
};

// "a,b:base=1,slow_bands=2,c": a piece with '=' and no ':' is a further option of the encoding before it.
std::vector<std::string> split_encodings(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string piece = text.substr(begin, end - begin);
    const bool option = piece.find('=') != std::string::npos && piece.find(':') == std::string::npos;
    if (option && !out.empty()) out.back() += "," + piece;
    else out.push_back(piece);
    begin = end + 1;
  }
  return out;
}

// Means over examples, seeds and datasets for each encoding and length.
void print_means(const std::vector<RunConfig>& plan, const CompareConfig& config) {
  struct Mean {
    double sum = 0;
    int64_t count = 0;
  };
  std::map<std::string, std::map<int64_t, Mean>> means;
  for (const RunConfig& run : plan) {
    const std::filesystem::path file = std::filesystem::path(run.dump_dir) / "results.jsonl";
    if (!std::filesystem::exists(file)) continue;             // diverged
    const std::string text = read_file(file);
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const Json row = parse_json(text.substr(begin, end - begin), file.string());
      if (row.at("metric") == "exact_match") continue;
      Mean& mean = means[run.model.encoding][row.at("x")];
      mean.sum += row.at("value").get<double>();
      ++mean.count;
    }
  }
  for (const std::string& encoding : config.encodings) {
    std::string line = fmt::format("{:<24}", encoding);
    for (const auto& [x, mean] : means[encoding]) line += fmt::format("  {}x {:7.4f}", x, mean.sum / double(mean.count));
    fmt::print("{}\n", line);
  }
}

void compare_verb(const Settings& s, const CLI::App& verb) {
  CompareConfig config;
  load_config(config, s.config, verb.remaining());
  if (!s.encodings.empty()) config.encodings = split_encodings(s.encodings);
  if (!s.out.empty()) config.dump_dir = s.out;
  if (verb.count("--seeds") > 0) config.seeds = s.seeds;
  if (verb.count("--jobs") > 0) config.jobs = s.jobs;
  if (s.print_config) {
    fmt::print("{}", to_yaml(config));
    return;
  }
  const std::vector<RunConfig> plan = make_plan(config);
  run_plan(plan, config);
  print_means(plan, config);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto s = std::make_shared<Settings>();
  CLI::App* verb = app.add_subcommand("compare", "train the same model with each encoding and say what differs");
  verb->add_option("CONFIG", s->config, "a YAML file; a.b=c and --a.b=c behind it change single settings")->required();
  verb->add_option("--encodings", s->encodings, "which to compare, with options: nope,rope:base=10000,darope");
  verb->add_option("--seeds", s->seeds, "runs of each encoding");
  verb->add_option("--out", s->out, "folder of this comparison");
  verb->add_option("--jobs", s->jobs, "runs side by side");
  verb->add_flag("--print-config", s->print_config, "print the settings that would be used, and stop");
  verb->allow_extras();
  verb->callback([s, verb] { compare_verb(*s, *verb); });
}

}  // namespace darope
