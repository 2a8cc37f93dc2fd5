#include "report/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/fold.h"
#include "cli/compute.h"
#include "cli/verbs.h"
#include "report/exports.h"
#include "report/results.h"
#include "runs/bundle.h"
#include "settings/hash.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

struct ReportSettings {
  std::vector<std::string> comparisons;
  report::Options options;
  std::string out, csv, bundle, figures, tables;
};

fs::path folder_for_report(const ReportSettings& s, const std::vector<fs::path>& comparisons) {
  if (!s.out.empty()) {
    make_directories(s.out);
    return s.out;
  }
  if (comparisons.size() > 1)
    throw Error("a report on several comparisons belongs to none of them: give it a folder with --out DIR");
  if (fs::is_regular_file(comparisons.front()))
    throw Error("a report on a bundle needs a folder to go to: give --out DIR");
  return comparisons.front();
}

void print_report(const ReportSettings& s) {
  const std::vector<fs::path> comparisons(s.comparisons.begin(), s.comparisons.end());
  for (const std::string& file : {s.csv, s.bundle})
    if (!file.empty()) check_writable(file);  // before anything is written
  const fs::path out = folder_for_report(s, comparisons);
  report::Options options = s.options;
  options.order = encoding_order();
  options.settings = settings_beyond_encoding;
  for (const std::string& file : {s.csv, s.bundle})
    if (!file.empty()) options.links.push_back(fs::proximate(file, out).string());
  for (const fs::path& source : comparisons)
    if (fs::is_regular_file(source)) options.links.push_back(fs::proximate(source, out).string());
  const report::Summary summary = report::write_report(out, comparisons, options);
  if (!s.csv.empty()) write_file(s.csv, report::results_csv(summary));
  if (!s.figures.empty()) report::write_figures(s.figures, summary);
  if (!s.tables.empty()) report::write_tables(s.tables, summary);
  if (!s.bundle.empty()) {
    const auto runs = write_bundle(s.bundle, comparisons);
    fmt::print(stderr, "{} finished run{} in {}\n", runs, runs == 1 ? "" : "s", s.bundle);
  }
  fmt::print("{}\n{}\n", report::terminal_table(summary, columns_of(STDOUT_FILENO)),
             ComparisonFolder(out).page().string());
}

}  // namespace

void add_report(CLI::App& app) {
  auto settings = std::make_shared<ReportSettings>();
  CLI::App* verb = app.add_subcommand("report", "the report of a comparison, rendered again from its runs");
  verb->add_option("DIR", settings->comparisons, "folders and bundles of comparisons; several count as one")
      ->required();
  verb->add_option(
      "--out", settings->out,
      "where the page and its numbers go; without it, into the folder that is reported on, if it is one");
  verb->add_option("--reference", settings->options.reference,
                   "the encoding the others are tested against; without it darope, or the first");
  verb->add_option(
      "--margin", settings->options.margin,
      "a difference this small does not matter; without it 0.01 of accuracy, 0.002 nats of loss");
  verb->add_option("--csv", settings->csv, "also write the scores to this file");
  verb->add_option("--figures", settings->figures, "also write the pictures to this folder, as SVG");
  verb->add_option("--tables", settings->tables,
                   "also write every pair and every score to this folder, as CSV, Markdown and LaTeX");
  verb->add_option("--bundle", settings->bundle,
                   "also pack the runs without weights into this file (.tar.zst)");
  verb->add_flag("--paper-family", settings->options.paper_family,
                 "correct for the paper's four baselines instead of all that were run");
  verb->callback([settings] { print_report(*settings); });
}

}  // namespace darope
