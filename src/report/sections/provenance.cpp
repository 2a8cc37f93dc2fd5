#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/sections/sections.h"
#include "report/words.h"

namespace darope::report {
namespace {

std::string shell_quoted(const std::string& text) {
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? "'\\''" : std::string(1, c);
  return safe + "'";
}

// A run's config.yaml holds all of its settings: its dataset, encoding and seed too.
std::string command(const Run& run) {
  if (!run.bundled) return fmt::format("darope train {} dump_dir=again", shell_quoted((run.folder / "config.yaml").string()));
  const std::filesystem::path bundle = run.folder.parent_path().parent_path();
  return fmt::format("tar -xf {0} runs/{1} && darope train runs/{1}/config.yaml dump_dir=again", shell_quoted(bundle.string()),
                     run.folder.filename().string());
}

std::string run_row(const Run& run, const Summary& summary) {
  const auto hash = [](const std::string& text) {
    return fmt::format("<td title='{}'><code>{}</code></td>", escape(text), escape(text.substr(0, 10)));
  };
  return fmt::format(
      "<tr {}><th scope='row'>{}</th><td>{}</td>{}<td>{}</td>{}{}{}{}{}<td><code class='command'>{}</code></td></tr>",
      of_encoding(index_of(summary, run.encoding)), escape(run.dataset), escape(run.typed),
      number_cell(fmt::to_string(run.seed), double(run.seed)), run.diverged ? "<span class='badge worse'>▼ diverged</span>" : "finished",
      number_cell(fmt::to_string(run.steps), double(run.steps)), number_cell(count_text(double(run.tokens)), double(run.tokens)),
      hash(run.shared_init), hash(run.data_order), hash(run.config_without_encoding), escape(command(run)));
}

std::string facts(const Gathered& all) {
  std::string html = "<dl class='facts'>";
  const auto fact = [&](const char* name, const std::set<std::string>& values) {
    for (const std::string& value : values)
      if (!value.empty()) html += fmt::format("<dt>{}</dt><dd>{}</dd>", name, escape(value));
  };
  std::set<std::string> folders, commits, machines, torches;
  for (const std::filesystem::path& source : all.sources) folders.insert(source.string());
  for (const Run& run : all.runs) {
    commits.insert(run.commit);
    machines.insert(run.machine);
    torches.insert(run.torch);
  }
  fact("from", folders);
  fact("commit", commits);
  fact("machine", machines);
  fact("torch", torches);
  return html + "</dl>";
}

std::string differing_options(const Summary& summary) {
  std::string items;
  for (const Variants& each : summary.variants) items += fmt::format("<li>{}</li>", escape(options_in_words(each)));
  return items.empty() ? "" : fmt::format("<h3>Options that differ between datasets</h3><ul class='notes'>{}</ul>", items);
}

std::string configs(const Gathered& all) {
  std::string html;
  for (const std::string& dataset : all.datasets) {
    const auto run =
        std::find_if(all.runs.begin(), all.runs.end(), [&](const Run& r) { return r.dataset == dataset && !r.config.empty(); });
    if (run != all.runs.end())
      html += fmt::format("<details><summary>Config on {} ({}, seed {})</summary><pre>{}</pre></details>", escape(dataset),
                          escape(run->typed), run->seed, escape(run->config));
  }
  return html;
}

}  // namespace

std::string provenance_section(const Summary& summary, const Gathered& all) {
  std::string rows;
  for (const Run& run : all.runs) rows += run_row(run, summary);
  std::string head;
  for (const char* title :
       {"dataset", "encoding", "seed", "status", "steps", "tokens", "shared init", "data order", "config", "how to reproduce it"})
    head += heading_cell(title);
  return facts(all) +
         "<p>Runs of one dataset and seed begin from the same shared weights, see the same data in the same order and differ in nothing "
         "but the encoding: their hashes are equal, or there would be no report. Hover a hash for all of it.</p>" +
         differing_options(summary) +
         configs(all) +
         fmt::format("<details><summary>All {} runs, and how to reproduce each</summary>{}</details>", all.runs.size(), table(head, rows));
}

}  // namespace darope::report
