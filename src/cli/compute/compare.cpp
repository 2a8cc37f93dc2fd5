#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/config.h"
#include "base/error.h"
#include "base/files.h"
#include "base/fold.h"
#include "base/shell.h"
#include "base/signals.h"
#include "cli/common/run_verbs.h"
#include "cli/common/table.h"
#include "cli/compute/verbs.h"
#include "data/prepared/manifest.h"
#include "encodings/encoding.h"
#include "experiments/own_data.h"
#include "experiments/past.h"
#include "experiments/settle.h"
#include "report/power.h"
#include "report/report.h"
#include "runs/bundle.h"
#include "runs/finished_run.h"
#include "runs/lock.h"
#include "settings/hash.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

struct CompareSettings {
  std::string config, data, test, validation, encodings, out, shard, bundle, until;
  std::vector<std::string> from;
  int64_t seeds = 0, jobs = 0;
  bool print_config = false, dry_run = false, settle = false, power = false;
  std::optional<double> margin = {};
};

std::vector<std::string> encoding_order() {
  std::vector<std::string> names;
  for (const Spec& spec : encodings()) names.emplace_back(spec.traits.name);
  return names;
}

std::string without_blanks(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// "a,b:base=1,slow_bands=2,c": a piece with '=' and no ':' is a further option of the encoding before it.
std::vector<std::string> split_encodings(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string piece = without_blanks(text.substr(begin, end - begin));
    const bool option = piece.find('=') != std::string::npos && piece.find(':') == std::string::npos;
    if (option && !out.empty())
      out.back() += "," + piece;
    else
      out.push_back(piece);
    begin = end + 1;
  }
  return out;
}

// "2/8": the third of eight.
Shard parse_shard(const std::string& text) {
  Shard shard;
  const char *first = text.data(), *last = first + text.size();
  const auto [slash, no_index] = std::from_chars(first, last, shard.index);
  const bool cut = no_index == std::errc() && slash != last && *slash == '/';
  const auto [end, no_count] = std::from_chars(cut ? slash + 1 : last, last, shard.count);
  if (!cut || no_count != std::errc() || end != last || shard.index < 0 || shard.index >= shard.count)
    throw Error(fmt::format("--shard {}: it should be i/N with i from 0 to N - 1, as in 0/4", text));
  return shard;
}

bool is_set(const std::string& key, const std::vector<std::string>& overrides) {
  return std::ranges::any_of(overrides, [&](const std::string& each) {
    return each.starts_with(key + "=") || each.starts_with("--" + key + "=");
  });
}

CompareConfig load(const CompareSettings& s, const CLI::App& verb) {
  std::vector<std::string> overrides = verb.remaining();
  std::string file = s.config;
  if (!s.data.empty() &&
      file.find('=') != std::string::npos) {  // --data needs no CONFIG, so what stands there is a setting
    overrides.insert(overrides.begin(), file);
    file.clear();
  }
  if (file.empty() && s.data.empty())
    throw Error("give a CONFIG, such as configs/quick/quickstart.yaml, or --data with a file of your own");
  const bool chosen = !s.data.empty() && file.empty();
  CompareConfig config = chosen ? config_for(s.data) : CompareConfig{};
  if (is_set("model.encoding", overrides))
    throw Error("model.encoding is a setting of one run: say with --encodings which to compare");
  try {
    load_config(config, file, overrides);
    if (chosen && !is_set("logging.freq", overrides)) config.logging.freq = logging_for(config.steps);
  } catch (const Error& e) {
    const fs::path end = fs::path(file).extension();
    if (!s.data.empty() || end == ".yaml" || end == ".yml" || !fs::exists(file)) throw;
    throw Error(fmt::format("{}; if {} is data and no config: darope compare --data {}", e.what(), file,
                            file.find(' ') == std::string::npos ? file : "'" + file + "'"));
  }
  if (!s.data.empty() && !file.empty()) {
    config.tasks.clear();
    config.data.root_dir.clear();
    config.data.path.clear();
    config.data.test_path.clear();
    config.data.validation_path.clear();
    const fs::path data = plain_path(s.data);
    (is_prepared(data) ? config.data.root_dir : config.data.path) = data.string();
  }
  if (!s.test.empty()) config.data.test_path = plain_path(s.test).string();
  if (!s.validation.empty()) {
    config.data.validation_path = plain_path(s.validation).string();
    if (config.validation.every == 0) config.validation.every = std::max<int64_t>(1, config.steps / 10);
  }
  if (verb.count("--encodings") > 0) config.encodings = split_encodings(s.encodings);
  if (verb.count("--out") > 0) config.dump_dir = s.out;
  if (verb.count("--seeds") > 0) config.seeds = s.seeds;
  if (verb.count("--jobs") > 0) config.jobs = s.jobs;
  if (verb.count("--until") > 0) config.until = s.until;
  if (s.settle) {
    check_rounds(config.rounds);
    parse_budget(config.until);
    config.seeds = config.rounds.back();
  }
  return config;
}

void pack(const CompareSettings& s, const fs::path& out) {
  if (s.bundle.empty() || !fs::exists(ComparisonFolder(out).runs())) return;
  const auto runs = write_bundle(s.bundle, {out}, Packing::kQuick);
  fmt::print(stderr, "{} finished run{} in {}\n", runs, runs == 1 ? "" : "s", s.bundle);
}

// Whoever goes on needs what is there; why it stopped counts for more than whether that could be packed.
void pack_after_stop(const CompareSettings& s, const fs::path& out) {
  try {
    pack(s, out);
  } catch (const Error& e) {
    fmt::print(stderr, "darope: {}\n", e.what());
  }
}

// A run that no report can read is refused before it is taken for finished.
void check_readable(const std::string& bundle) {
  read_bundle(bundle, [](const RunFiles& run) { read_finished(run); });
}

void check_bundles(const CompareSettings& s, const std::vector<RunConfig>& plan,
                   const std::vector<RunConfig>& share) {
  for (const std::string& bundle : s.from) check_readable(bundle);
  const bool taken = std::find(s.from.begin(), s.from.end(), s.bundle) != s.from.end();
  if (!s.bundle.empty()) check_bundle(plan, share, s.bundle, taken);
}

// What the plan learns from and is tested on, where it is a file or folder; tasks say it by their names.
void say_data(const std::vector<RunConfig>& plan, FILE* to) {
  if (const std::string told = open_data(plan.front()).told; !told.empty())
    fmt::print(to, "{}\n\n", folded(told, columns_of(to == stdout ? STDOUT_FILENO : STDERR_FILENO)));
}

// A dry run prints its plan whatever the folder and the bundles hold, and says where the real thing would be
// refused.
void print_plan(const std::vector<RunConfig>& plan, const std::vector<RunConfig>& share,
                const CompareConfig& config, const CompareSettings& s) {
  std::set<std::string> finished;
  std::string refusal;
  const auto look = [&](auto&& at) {
    try {
      at();
    } catch (const Error& e) {
      if (refusal.empty()) refusal = fmt::format("As things stand it would be refused: {}\n", e.what());
    }
  };
  look([&] { check_folder(plan); });
  look([&] { joined_to_folder(fixed_by(config, plan, s.settle), fs::path(config.dump_dir)); });
  look([&] { check_bundles(s, plan, share); });
  for (const RunConfig& run : plan)
    look([&] {
      if (is_finished_as(run)) finished.insert(run.name);
    });
  for (const std::string& bundle : s.from)
    look([&] {
      for (const auto& [name, folder] : finished_in(plan, bundle))
        if (!fs::exists(folder)) finished.insert(name);
    });
  const size_t columns = columns_of(STDOUT_FILENO);
  say_data(plan, stdout);
  print_cost(share, config, finished);
  if (s.settle)
    fmt::print("{}", folded(fmt::format("This is the first of at most {} rounds{}; each later one adds seeds "
                                        "only where they decide.\n",
                                        config.rounds.size(),
                                        config.until.empty() ? "" : ", made whatever --until says"),
                            columns));
  fmt::print("{}", folded(refusal, columns));
}

// Rounds say how many seeds there are, and need all their runs in one place.
void check_options(const CompareSettings& s) {
  if (!s.power && s.margin)
    throw Error("--margin goes with --power; for the runs, margins.loss and margins.accuracy are settings");
  if (!s.settle && !s.until.empty()) throw Error("--until is the limit of --settle, which is not given");
  if (!s.settle) return;
  if (s.seeds != 0)
    throw Error("--seeds beside --settle: the rounds say how many seeds there are, such as rounds=[3,5,8]");
  if (!s.shard.empty())
    throw Error("--shard beside --settle: a round is judged once all of its runs are there; give --jobs");
}

// On a comparison's folder or bundle, or on the folder that a config names; nothing is written.
void print_power(const CompareSettings& s, const CLI::App& verb) {
  const bool there = fs::is_directory(s.config) || s.config.ends_with(".tar.zst");
  const fs::path comparison = there ? fs::path(s.config) : fs::path(load(s, verb).dump_dir);
  if (!fs::exists(comparison))
    throw Error(fmt::format(
        "there are no runs in {} yet: only runs tell how runs vary; --dry-run says what they would cost",
        comparison.string()));
  const report::Gathered all = report::gather({comparison}, encoding_order(), settings_beyond_encoding);
  report::Options options;
  options.margin = s.margin;
  fmt::print("{}", report::terminal_power(report::powers(all, report::summarise(all, options)),
                                          columns_of(STDOUT_FILENO)));
}

// What was left of files of this share; a report or another share may be at work beside it.
void remove_leftovers_of_share(const std::vector<RunConfig>& share, const ComparisonFolder& folder,
                               bool whole) {
  std::set<std::string> names;
  if (whole) names.insert(folder.record().filename());
  for (const RunConfig& run : share)
    for (const fs::path& each : {fs::path(run.dump_dir), folder.job(run.name), folder.job_log(run.name)})
      names.insert(each.filename());
  for (const fs::path& each : {folder.path(), folder.runs(), folder.jobs()}) remove_leftovers_of(each, names);
}

// As it may be typed again.
std::string typed_command() {
  const std::string words = read_file("/proc/self/cmdline");
  std::string text = "darope";
  for (size_t at = words.find('\0') + 1; at < words.size(); at = words.find('\0', at) + 1)
    text += " " + shell_word(words.c_str() + at);
  return text;
}

void compare_verb(const CompareSettings& s, const CLI::App& verb) {
  check_options(s);
  if (s.power) return print_power(s, verb);
  const CompareConfig config = load(s, verb);
  if (s.print_config) {
    fmt::print("{}", to_yaml(config, Comments::kMeanings));
    return;
  }
  const Shard shard = s.shard.empty() ? Shard{} : parse_shard(s.shard);
  const fs::path out = config.dump_dir;
  const std::vector<RunConfig> plan = make_plan(config);
  ComparisonRecord fixed = fixed_by(config, plan, s.settle);
  const std::vector<RunConfig> share = s.settle ? asked_for(plan, config, fixed) : share_of(plan, shard);
  find_dtype(config.dtype, find_device(config.device));  // before it stands in the log of every run
  if (s.dry_run) return print_plan(plan, share, config, s);
  watch_signals();
  check_folder(plan);  // refuses before anything is made
  joined_to_folder(fixed, out);
  check_bundles(s, plan, share);
  for (const std::string& bundle : s.from) finished_in(plan, bundle);
  make_directories(out);
  const Lock lock(ComparisonFolder(out).lock(s.shard), fmt::format("comparing in {}", out.string()));
  for (const fs::path& other : ComparisonFolder(out).locks_against(s.shard)) refuse_held(other);
  check_folder(plan);  // once more: until now, another process may have been at work here
  remove_leftovers_of_share(s.settle ? plan : share, ComparisonFolder(out), s.shard.empty());
  if (!std::ranges::all_of(share, is_finished_as)) fixed.command = typed_command();
  write_file(ComparisonFolder(out).record(), to_text(joined_to_folder(fixed, out)));
  say_data(plan, stderr);
  const auto take = [&](const std::vector<RunConfig>& runs) {
    for (const std::string& bundle : s.from) take_finished(runs, bundle);
  };
  try {
    if (s.settle) {
      settle(plan, config, take);
    } else {
      take(share);
      run_plan(share, config);
    }
  } catch (const Error&) {
    pack_after_stop(s, out);
    throw;
  }
  const auto missing = std::count_if(
      plan.begin(), plan.end(), [](const RunConfig& run) { return !RunFolder(run.dump_dir).is_finished(); });
  if (missing > 0 && !s.settle) {
    pack(s, out);
    if (s.shard.empty())
      throw Error(fmt::format("{} of {} runs in {} were removed while others went on; start again to make "
                              "them anew",
                              missing, plan.size(), out.string()),
                  kFailed);
    fmt::print(
        "{} of {} runs are still missing in {}; bring the shards together there, then: darope report {}\n",
        missing, plan.size(), out.string(), out.string());
    return;
  }
  report::Options options;
  options.order = encoding_order();
  options.settings = settings_beyond_encoding;
  if (!s.bundle.empty()) options.links.push_back(fs::proximate(s.bundle, out).string());
  const report::Summary summary = report::write_report(out, {out}, options);
  pack(s, out);
  fmt::print("{}\n{}\n", report::terminal_table(summary, columns_of(STDOUT_FILENO)),
             ComparisonFolder(out).page().string());
}

}  // namespace

void add_compare(CLI::App& app) {
  auto s = std::make_shared<CompareSettings>();
  CLI::App* verb =
      app.add_subcommand("compare", "train the same model with each encoding and say what differs");
  verb->add_option("CONFIG", s->config, "a YAML file; a.b=c and --a.b=c behind it change single settings");
  verb->add_option(
      "--data", s->data,
      "a file or folder of your own: any text, .jsonl, .bin or .npy, or a prepared dataset; without CONFIG, "
      "a small model is chosen to fit it");
  verb->add_option("--test", s->test,
                   "with --data: a file or folder to test on, in place of a tenth of --data");
  verb->add_option("--validation", s->validation,
                   "with --data: a file or folder to validate on ten times during training, or every "
                   "validation.every steps; the best weights are scored beside the last");
  verb->add_option("--encodings", s->encodings, "which to compare, with options: nope,rope:base=10000,darope")
      ->type_name(kListValue);
  verb->add_option("--seeds", s->seeds, "runs of each encoding");
  verb->add_flag("--settle", s->settle,
                 "add seeds in rounds, only where they decide; the setting `rounds` says how many in all");
  verb->add_option("--until", s->until,
                   "with --settle: the time for all rounds (2h, 45m), or a number of trainings");
  verb->add_flag(
      "--power", s->power,
      "say what the runs of CONFIG's folder, or of a folder or bundle in its place, could see, and "
      "what a margin would take; trains nothing");
  verb->add_option("--margin", s->margin, "with --power: the margin to ask about");
  verb->add_option("--out", s->out, "folder of this comparison");
  verb->add_option("--jobs", s->jobs,
                   "runs side by side, which share the cores; 0: one for each core, on a GPU one");
  verb->add_option("--shard", s->shard,
                   "i/N: only every N-th run, from the i-th on (counted from 0), for one of N machines");
  verb->add_option("--from", s->from,
                   "a bundle whose finished runs need not be trained again; may be given several times")
      ->allow_extra_args(false);
  verb->add_option(
      "--bundle", s->bundle,
      "at the end, or when stopped, pack the finished runs without weights into this file (.tar.zst)");
  verb->add_flag(
      "--dry-run", s->dry_run,
      "say what the plan would cost in time, memory and disk, measured with a few steps, and stop");
  verb->add_flag("--print-config", s->print_config, "print the settings that would be used, and stop");
  take_settings(*verb);
  verb->callback([s, verb] { compare_verb(*s, *verb); });
}

}  // namespace darope
