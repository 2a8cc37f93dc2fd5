#include "report/exports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "base/csv.h"
#include "base/files.h"
#include "report/picture.h"
#include "report/results.h"
#include "report/text.h"

namespace darope::report {
namespace {

namespace fs = std::filesystem;
using Row = std::vector<std::string>;

// A file's name of names that may hold anything.
std::string file_name(std::string name, const Axis& axis, double x) {
  if (x != 0) name += fmt::format("-{}", place_name(axis, x));
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  return name;
}

std::string in_csv(const std::vector<Row>& rows) {
  std::string text;
  for (Row row : rows) {
    for (std::string& cell : row) cell = csv_cell(cell);
    text += fmt::format("{}\r\n", fmt::join(row, ","));
  }
  return text;
}

// What has a meaning to Markdown; a '_' within a word and a ':' that is no address's have none.
bool has_meaning(const std::string& cell, size_t at) {
  const auto is_letter = [&](size_t place) {
    return place < cell.size() && std::isalnum(static_cast<unsigned char>(cell[place]));
  };
  switch (cell[at]) {
    case '_':
      return at == 0 || !is_letter(at - 1) || !is_letter(at + 1);
    case ':':
      return cell.compare(at, 3, "://") == 0;
    default:
      return std::string_view("\\`*[]~$|").find(cell[at]) != std::string_view::npos;
  }
}

std::string markdown(const std::string& cell) {
  std::string safe;
  for (size_t at = 0; at < cell.size(); ++at)
    safe += (has_meaning(cell, at) ? "\\" : "") + escape(cell.substr(at, 1));
  return safe;
}

std::string in_markdown(const std::vector<Row>& rows) {
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    text += "|";
    for (const std::string& cell : rows[r]) text += fmt::format(" {} |", markdown(printable(cell)));
    text += "\n";
    if (r > 0) continue;
    text += "|";
    for (size_t c = 0; c < rows[0].size(); ++c) text += "---|";
    text += "\n";
  }
  return text;
}

// What has a meaning to LaTeX loses it; a '[' or '*' that begins a row would belong to the one before.
std::string latex(char symbol) {
  switch (symbol) {
    case '\\':
      return "\\textbackslash{}";
    case '^':
      return "\\textasciicircum{}";
    case '~':
      return "\\textasciitilde{}";
    case '[':
    case '*':
      return fmt::format("{{{}}}", symbol);
    default:
      return (std::string_view("&%$#_{}").find(symbol) == std::string_view::npos ? "" : "\\") +
             std::string(1, symbol);
  }
}

std::string in_latex(const std::vector<Row>& rows) {
  std::string text = fmt::format("\\begin{{tabular}}{{{}}}\n\\hline\n", std::string(rows[0].size(), 'l'));
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < rows[r].size(); ++c) {
      if (c > 0) text += " & ";
      for (const char symbol : printable(rows[r][c])) text += latex(symbol);
    }
    text += r == 0 ? " \\\\\n\\hline\n" : " \\\\\n";
  }
  return text + "\\hline\n\\end{tabular}\n";
}

void write_table(const fs::path& folder, const std::string& name, const std::vector<Row>& rows) {
  write_file(folder / (name + ".csv"), in_csv(rows));
  write_file(folder / (name + ".md"), in_markdown(rows));
  write_file(folder / (name + ".tex"), in_latex(rows));
}

const Row kPairColumns = {"of",         "at",  "first", "second", "verdict",
                          "difference", "low", "high",  "seeds",  "hangs on"};

Row pair_row(const std::string& of, double x, const stats::Judged& judged, const stats::PairVerdict& pair,
             const Metric& metric, const std::vector<std::string>& hangs_on) {
  const bool share = metric.is_share();
  return {of,
          place_name(metric.axis, x),
          judged.encodings[pair.first],
          judged.encodings[pair.second],
          std::string(stats::name_of(pair.verdict)),
          difference_text(pair.difference, share),
          difference_text(pair.interval.low, share),
          difference_text(pair.interval.high, share),
          std::to_string(pair.seeds),
          and_list(hangs_on)};
}

}  // namespace

void write_figures(const fs::path& folder, const Summary& summary) {
  make_directories(folder);
  const auto write = [&](const std::string& name, double x, const Picture& picture) {
    write_file(folder / (file_name(name, picture.metric.axis, x) + ".svg"), picture_file(picture));
  };
  for (const Overall& o : summary.overall)
    if (o.suite)
      write("overall-" + o.metric.name, o.x,
            {o.standings, o.suite->these_tasks, o.metric, summary.encodings, metric_name(o.metric)});
  for (const Dataset* d : summary.all_datasets())
    for (const AtLength& at : d->lengths)
      if (at.judged) write(d->name, at.x, {at.standings, *at.judged, d->metric, summary.encodings, d->name});
}

void write_tables(const fs::path& folder, const Summary& summary) {
  make_directories(folder);
  std::vector<Row> pairs{kPairColumns},
      scores{{"dataset", "at", "encoding", "seeds", "mean", "SD over seeds"}};
  for (const Overall& o : summary.overall) {
    if (!o.suite) continue;
    for (const stats::PairVerdict& pair : o.suite->these_tasks.pairs)
      pairs.push_back(pair_row("all datasets", o.x, o.suite->these_tasks, pair, o.metric,
                               o.suite->hangs_on(pair.first, pair.second)));
  }
  for (const Dataset* d : summary.all_datasets())
    for (const AtLength& at : d->lengths) {
      for (const Cell& cell : at.cells)
        scores.push_back({d->name, place_name(d->metric.axis, at.x), cell.encoding,
                          std::to_string(cell.seeds.size()), score_text(cell.mean, d->metric.is_share()),
                          score_text(cell.seed_sd, d->metric.is_share())});
      if (!at.judged || !at.learned) continue;
      for (const stats::PairVerdict& pair : at.judged->pairs)
        pairs.push_back(pair_row(d->name, at.x, *at.judged, pair, d->metric, {}));
    }
  write_table(folder, "pairs", pairs);
  write_table(folder, "scores", scores);
}

}  // namespace darope::report
