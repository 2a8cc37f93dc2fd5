#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/shell.h"
#include "report/sections/sections.h"
#include "report/settings.h"

namespace darope::report {
namespace {

using Facts = std::vector<std::pair<const char*, std::string>>;

// What the runs' configs say under a key, each value once; numbers by size.
std::string values_of(const Gathered& all, const char* key) {
  std::set<std::pair<size_t, std::string>> values;
  for (const Run& run : all.runs) {
    const auto settings = settings_of(run.config);
    if (const auto found = settings.find(key); found != settings.end() && !found->second.empty())
      values.emplace(found->second.size(), found->second);
  }
  std::vector<std::string> texts;
  for (const auto& [size, text] : values) texts.push_back(text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string model_in_words(const Summary& summary, const Gathered& all) {
  std::vector<std::string> parts;
  const auto part = [&](const std::string& value, const char* what) {
    if (!value.empty()) parts.push_back(fmt::format("{} {}", value, what));
  };
  part(values_of(all, "model.n_layers"), "layers");
  if (const std::string width = values_of(all, "model.dim"); !width.empty())
    parts.push_back("width " + width);
  part(values_of(all, "model.n_heads"), "heads");
  if (const std::string base = values_of(all, "model.base"); !base.empty() && base != "null")
    parts.push_back("base " + base);
  if (summary.parameters > 0) part(count_text(double(summary.parameters)), "parameters");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What made the runs, where their one folder or bundle says so; else what made the page.
std::string command(const Summary& summary, const Gathered& all) {
  if (all.sources.size() == 1 && !all.record.command.empty()) return all.record.command;
  std::string text = "darope report";
  for (const std::filesystem::path& source : all.sources) text += " " + shell_word(source.string());
  text += " --reference " + shell_word(summary.reference);
  if (summary.options.margin) text += fmt::format(" --margin {}", *summary.options.margin);
  return text;
}

// The data behind the page: what lies beside it.
std::string links(const Summary& summary) {
  std::vector<std::string> files{ComparisonFolder("").results().string()};
  std::ranges::copy_if(summary.options.links, std::back_inserter(files),
                       [](const std::string& file) { return !file.starts_with(".."); });
  std::vector<std::string> html;
  for (const std::string& file : files) html.push_back(fmt::format("<a href='{0}'>{0}</a>", escape(file)));
  return fmt::format("{}", fmt::join(html, ", "));
}

}  // namespace

std::string page_header(const Summary& summary, const Gathered& all) {
  const size_t shown = 6;
  std::vector<std::string> names(summary.datasets.size());
  std::ranges::transform(summary.datasets, names.begin(), &Dataset::name);
  std::string data = and_list(names);
  if (names.size() > shown) data = fmt::format("{} datasets", names.size());
  const Facts facts = {
      {"data", escape(data)},
      {"training length", escape(values_of(all, "data.seq_len")) + " tokens"},
      {"model", escape(model_in_words(summary, all))},
      {"steps", escape(values_of(all, "steps"))},
      {"page of",
       fmt::format("{:%Y-%m-%d}", std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()))},
      {"command", fmt::format("<code>{}</code>", escape(command(summary, all)))},
      {"numbers", links(summary)},
  };
  std::string html = "<dl class='facts'>";
  for (const auto& [name, text] : facts)
    if (!text.empty() && text != " tokens") html += fmt::format("<dt>{}</dt><dd>{}</dd>", name, text);
  return html + "</dl>";
}

}  // namespace darope::report
