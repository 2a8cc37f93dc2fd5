#include "report/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections/sections.h"

namespace darope::report {
namespace {

// The paper gives one number to all variants of an encoding.
std::optional<double> number_of(const std::string& dataset, const std::string& encoding) {
  for (const Json& row : paper().at("numbers"))
    if (row.at("dataset") == dataset && row.at("encoding") == without_options(encoding))
      return row.at("number").get<double>();
  return std::nullopt;
}

std::string numbers_row(const Summary& summary, const Dataset& dataset, size_t e) {
  const std::string& encoding = summary.encodings[e];
  const std::optional<double> theirs = number_of(dataset.name, encoding),
                              ours = dataset.lengths.front().cells[e].mean;
  if (!theirs && !ours) return "";
  const std::string gap = theirs && ours ? fmt::format("{:+.4f}", *ours - *theirs) : "–";
  return fmt::format("<tr {}><th scope='row'>{}</th><td>{}</td>{}{}<td>{}</td></tr>", of_encoding(e),
                     escape(dataset.name), escape(encoding), number_cell(score_text(ours, false), ours),
                     number_cell(score_text(theirs, false), theirs), gap);
}

std::string numbers_table(const Summary& summary) {
  std::string rows;
  for (const Dataset& dataset : summary.datasets) {
    const auto& numbers = paper().at("numbers");
    const bool known = std::any_of(numbers.begin(), numbers.end(),
                                   [&](const Json& row) { return row.at("dataset") == dataset.name; });
    for (size_t e = 0; known && !dataset.lengths.empty() && e < summary.encodings.size(); ++e)
      rows += numbers_row(summary, dataset, e);
  }
  if (rows.empty()) return "";
  std::string head;
  for (const char* title : {"dataset", "encoding", "here", "paper", "here minus paper"})
    head += heading_cell(title);
  return fmt::format(
             "<p class='fine'>From the paper: {}. They hold for its models and budgets, which are those of "
             "configs/paper. {}</p>",
             escape(paper().at("numbers_source").get<std::string>()),
             escape(paper().at("tuning").get<std::string>())) +
         table(head, rows);
}

// The paper's model of this size, whatever an encoding adds to it; null where it has none.
const Json* model_of_size(const Json& perplexities, int64_t parameters) {
  constexpr double kOfAnEncoding = 0.003;  // at most, says the paper
  for (const Json& model : perplexities.at("models")) {
    const double size = model.at("parameters").get<double>();
    if (double(parameters) >= size && double(parameters) <= size * (1 + kOfAnEncoding)) return &model;
  }
  return nullptr;
}

std::string perplexity_row(const Json& perplexities, const Run& run, const Dataset& dataset, size_t e) {
  const Cell& cell = dataset.lengths.front().cells[e];
  if (!cell.mean) return "";
  const Json* model = model_of_size(perplexities, run.parameters);
  const std::string name = without_options(cell.encoding);
  std::string theirs = "<td>–</td>";
  if (model && model->at("numbers").contains(name)) {
    const auto number = model->at("numbers").at(name).get<double>();
    theirs = number_cell(fmt::format("{:.2f}", number), number);
  }
  const double ours = std::exp(*cell.mean);
  return fmt::format("<tr {}><th scope='row'>{}</th><td>{}</td><td>{}</td>{}{}</tr>", of_encoding(e),
                     escape(dataset.name), model ? escape(model->at("model").get<std::string>()) : "–",
                     escape(cell.encoding), number_cell(fmt::format("{:.2f}", ours), ours), theirs);
}

// In domain, of language models of any size: those of the paper's sizes stand beside its numbers.
std::string perplexity_table(const Summary& summary, const Gathered& all) {
  const Json& perplexities = paper().at("perplexities");
  const auto family = perplexities.at("family").get<std::string>();
  std::string rows, head;
  for (const Dataset& dataset : summary.datasets)
    for (size_t e = 0; dataset.family == family && e < summary.encodings.size(); ++e) {
      const auto run = std::ranges::find_if(all.runs, [&](const Run& each) {
        return each.dataset == dataset.name && each.encoding == summary.encodings[e] && !each.diverged;
      });
      if (run != all.runs.end() && !dataset.lengths.empty())
        rows += perplexity_row(perplexities, *run, dataset, e);
    }
  if (rows.empty()) return "";
  for (const char* title : {"dataset", "size", "encoding", "here", "paper"}) head += heading_cell(title);
  return fmt::format(
             "<p class='fine'>Perplexity: exp of the mean loss of a token over test windows and seeds. The "
             "paper's are of {}: other text and more of it, so that only the order of encodings can be "
             "compared. A model has a size of the paper's by its number of parameters.</p>",
             escape(perplexities.at("source").get<std::string>())) +
         table(head, rows);
}

// "darope 92.1, hope 91.8, ...": who does best here.
std::string order_here(const Aggregate& aggregate) {
  std::vector<const Aggregate::Row*> rows;
  for (const Aggregate::Row& row : aggregate.rows)
    if (row.normalised) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(),
            [](const auto* a, const auto* b) { return *a->normalised > *b->normalised; });
  std::string text;
  for (const Aggregate::Row* row : rows)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", escape(row->encoding),
                        score_text(row->normalised, true));
  return text;
}

std::string accounts_table(const Summary& summary) {
  std::string rows;
  for (const Json& account : paper().at("accounts"))
    for (const Aggregate& each : summary.aggregates)
      if (each.x == 1 && each.over == account.at("over").get<std::string>())
        rows += fmt::format(
            "<tr><th scope='row'>{} <small>({})</small></th><td class='words'>{}</td><td "
            "class='words'>{}</td></tr>",
            escape(each.over), each.datasets.size(), escape(account.at("says").get<std::string>()),
            order_here(each));
  if (rows.empty()) return "";
  return fmt::format("<p class='fine'>From the paper: {}.</p>",
                     escape(paper().at("accounts_source").get<std::string>())) +
         table(heading_cell("tasks") + heading_cell("the paper says", "class='words'") +
                   heading_cell("here, best first", "class='words'"),
               rows);
}

}  // namespace

std::string paper_section(const Summary& summary, const Gathered& all) {
  const auto whole = std::find_if(summary.aggregates.begin(), summary.aggregates.end(),
                                  [](const Aggregate& a) { return a.over == "all"; });
  // The paper's suite is told by its size: whoever runs a few tasks does not repeat it.
  const bool suite =
      whole != summary.aggregates.end() && whole->datasets.size() >= paper().at("suite").get<size_t>();
  return numbers_table(summary) + perplexity_table(summary, all) + (suite ? accounts_table(summary) : "");
}

}  // namespace darope::report
