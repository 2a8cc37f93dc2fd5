#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/shell.h"
#include "report/sections/sections.h"
#include "report/settings.h"
#include "report/words.h"

namespace darope::report {
namespace {

std::string config_name(const std::string& dataset) {
  std::string name = dataset + ".yaml";
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

// The run whose config stands on the page for all of its dataset.
const Run* shown_for(const std::string& dataset, const Gathered& all) {
  for (const Run* run : all.runs_of(dataset))
    if (!run->config.empty()) return run;
  return nullptr;
}

// The settings of the configs on the page, by dataset.
using Shown = std::map<std::string, std::map<std::string, std::string>>;
Shown settings_shown(const Gathered& all) {
  Shown shown;
  for (const std::string& dataset : all.datasets)
    if (const Run* run = shown_for(dataset, all)) shown[dataset] = settings_of(run->config);
  return shown;
}

// What a reader's own copy of the data would be called, where the dataset is not a task.
std::string own_copy(const std::string& key, const std::string& path) {
  const std::filesystem::path whole = path,
                              name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  return key == "data.root_dir" ? "data/" + name.string() : name.string();
}

// Trains the run again from what the page holds: the config shown for its dataset, and what this run has
// otherwise. Where things lie and how often a run saves is the reader's own business.
std::string command(const Run& run, const Shown& shown) {
  const auto found = shown.find(run.dataset);
  if (found == shown.end() || run.config.empty()) return "–";
  const auto ours = settings_of(run.config);
  const auto& theirs = found->second;
  std::string text = "darope train " + shell_word(config_name(run.dataset));
  for (const auto& [key, value] : ours) {
    const bool data = key == "data.root_dir" || key == "data.path",
               same = theirs.contains(key) && theirs.at(key) == value;
    const bool own = key == "name" || key == "dump_dir" || key == "threads" ||
                     key.starts_with("checkpoint.") || key.starts_with("logging.");
    if (data && !value.empty())
      text += fmt::format(" {}", shell_word(key + "=" + own_copy(key, value)));
    else if (!data && !own && !same)
      text += fmt::format(" {}", shell_word(key + "=" + value));
  }
  return text + " dump_dir=again";
}

// What the commands need beside the configs.
std::string needs(const Gathered& all, const Shown& shown) {
  std::vector<std::string> folders, files;
  for (const std::string& dataset : all.datasets)
    if (const auto found = shown.find(dataset); found != shown.end())
      for (const auto& [key, value] : found->second) {
        if (value.empty()) continue;
        if (key == "data.root_dir") folders.push_back(own_copy(key, value));
        if (key == "data.path") files.push_back(own_copy(key, value));
      }
  std::string text;
  if (!folders.empty())
    text += fmt::format(
        " <code>darope data prepare KIND SOURCE --out FOLDER</code> makes {}: docs/data.md has the kinds and "
        "where their "
        "sources come from.",
        escape(and_list(folders)));
  if (!files.empty())
    text += fmt::format(" To be there beside it: {}, what was compared on.", escape(and_list(files)));
  return text;
}

std::string run_row(const Run& run, const Summary& summary, const Shown& shown) {
  const auto hash = [](const std::string& text) {
    return fmt::format("<td title='{}'><code>{}</code></td>", escape(text), escape(text.substr(0, 10)));
  };
  return fmt::format(
      "<tr {}><th scope='row'>{}</th><td>{}</td>{}<td>{}</td>{}{}{}{}{}<td><code "
      "class='command'>{}</code></td></tr>",
      of_encoding(index_of(summary, run.encoding)), escape(run.dataset), escape(run.typed),
      number_cell(fmt::to_string(run.seed), double(run.seed)),
      run.diverged ? "<span class='badge worse'>▼ diverged</span>" : "finished",
      number_cell(fmt::to_string(run.steps), double(run.steps)),
      number_cell(count_text(double(run.tokens)), double(run.tokens)), hash(run.shared_init),
      hash(run.data_order), hash(run.config_without_encoding), escape(command(run, shown)));
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
  for (const Variants& each : summary.variants)
    items += fmt::format("<li>{}</li>", escape(options_in_words(each)));
  return items.empty()
             ? ""
             : fmt::format("<h3>Options that differ between datasets</h3><ul class='notes'>{}</ul>", items);
}

std::string configs(const Gathered& all) {
  std::string html;
  for (const std::string& dataset : all.datasets)
    if (const Run* run = shown_for(dataset, all))
      html += fmt::format(
          "<details><summary>{}: the config on {} ({}, seed {})</summary><pre>{}</pre></details>",
          escape(config_name(dataset)), escape(dataset), escape(run->typed), run->seed, escape(run->config));
  return html;
}

}  // namespace

std::string provenance_section(const Summary& summary, const Gathered& all) {
  std::string rows;
  const Shown shown = settings_shown(all);
  for (const Run& run : all.runs) rows += run_row(run, summary, shown);
  std::string head;
  for (const char* title : {"dataset", "encoding", "seed", "status", "steps", "tokens", "shared init",
                            "data order", "config", "how to reproduce it"})
    head += heading_cell(title);
  return facts(all) +
         "<p>Runs of one dataset and seed begin from the same shared weights, see the same data in the same "
         "order and differ in nothing "
         "but the encoding: their hashes are equal, or there would be no report. Hover a hash for all of "
         "it.</p>" +
         differing_options(summary) + configs(all) +
         fmt::format(
             "<details><summary>All {} runs, and how to reproduce each</summary><p>Save the config of the "
             "dataset, above, under its "
             "name; the command then trains the run again, into the folder <code>again</code>.{} The same "
             "data give the same hash of "
             "the data order in its {}.</p>{}</details>",
             all.runs.size(), needs(all, shown), RunFolder("").facts().string(), table(head, rows));
}

}  // namespace darope::report
