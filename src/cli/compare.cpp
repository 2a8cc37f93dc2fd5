#include <fmt/format.h>

#include "base/config.h"
#include "cli/verbs.h"
#include "experiments/compare.h"
#include "report/report.h"

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
  const std::filesystem::path out = config.dump_dir;
  fmt::print("{}\n{}\n", report::terminal_table(report::write_report(out, {out})), (out / "report.html").string());
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
