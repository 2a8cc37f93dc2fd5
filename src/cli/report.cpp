#include "report/report.h"

#include <fmt/format.h>

#include "base/files.h"
#include "cli/verbs.h"
#include "report/results.h"

namespace darope {
namespace {

struct Settings {
  std::vector<std::string> folders;
  report::Options options;
  std::string csv;
};

void print_report(const Settings& s) {
  const std::vector<std::filesystem::path> folders(s.folders.begin(), s.folders.end());
  const report::Summary summary = report::write_report(folders.front(), folders, s.options);
  if (!s.csv.empty()) write_file(s.csv, report::results_csv(summary));
  fmt::print("{}\n{}\n", report::terminal_table(summary), (folders.front() / "report.html").string());
}

}  // namespace

void add_report(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* verb = app.add_subcommand("report", "the report of a comparison, rendered again from its runs");
  verb->add_option("DIR", settings->folders, "folders of comparisons; several count as one, and the report goes into the first")
      ->required();
  verb->add_option("--reference", settings->options.reference,
                   "the encoding the others are tested against; without it darope, or the first");
  verb->add_option("--margin", settings->options.margin, "a difference this small counts as a tie")->capture_default_str();
  verb->add_option("--csv", settings->csv, "also write the scores to this file");
  verb->add_flag("--paper-family", settings->options.paper_family, "correct for the paper's four baselines instead of all that were run");
  verb->callback([settings] { print_report(*settings); });
}

}  // namespace darope
