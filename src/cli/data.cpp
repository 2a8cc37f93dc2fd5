#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/error.h"
#include "base/signals.h"
#include "cli/verbs.h"
#include "data/prepared/audit.h"
#include "data/prepared/preparation.h"

namespace darope {
namespace {

struct DataSettings {
  std::string kind, folder, split = "test";
  std::vector<std::filesystem::path> sources;
  PrepareRequest request;
  int64_t seed = 0, index = 0, count = 1;
  bool strict = false, json = false;
};

std::string list_of_kinds() {
  std::string out;
  for (const Kind& kind : all_kinds()) out += fmt::format("\n  {:<10} {}", kind.name, kind.source);
  return out;
}

// Documents of one file of text may lie in several splits; items of other kinds lie in one.
void print_items(const Kind& kind, const Manifest& manifest) {
  if (kind.text) return;
  const auto items = [&](Split split) { return manifest[split].items.size(); };
  fmt::print("{} {}: {} to learn from, {} to validate, {} to test ({} sequences)\n",
             items(Split::train) + items(Split::validation) + items(Split::test), kind.items,
             items(Split::train), items(Split::validation), items(Split::test),
             manifest[Split::test].sequences);
  if (manifest.options.contains("split"))
    fmt::print("split {}\n", manifest.options["split"].get<std::string>());
}

void print_counts(const Manifest& manifest) {
  fmt::print("{:<12} {:>9} {:>10} {:>12} {:>9} {:>9}\n", "split", "items", "sequences", "values", "shortest",
             "longest");
  for (const std::string_view name : kSplitNames) {
    const SplitFacts& split = manifest[find_split(name)];
    fmt::print("{:<12} {:>9} {:>10} {:>12} {:>9} {:>9}\n", name, split.items.size(), split.sequences,
               split.values, split.shortest, split.longest);
  }
  fmt::print("{}, vocabulary {}\n", manifest.kind, manifest.vocabulary);
}

// One line for each reason: a collection of which half is missing would fill the screen.
void print_skipped(const std::vector<Skipped>& skipped) {
  constexpr size_t kShown = 3;
  std::map<std::string, std::vector<std::string>> names;  // by reason
  for (const Skipped& each : skipped)
    names[each.reason].push_back(each.name + (each.offset ? fmt::format(", byte {}", *each.offset) : ""));
  for (const auto& [reason, all] : names) {
    const std::vector<std::string> first(all.begin(),
                                         all.begin() + std::ptrdiff_t(std::min(kShown, all.size())));
    if (all.size() <= kShown)
      fmt::print(stderr, "skipped {}: {}\n", fmt::join(first, "; "), reason);
    else
      fmt::print(stderr, "skipped {}, such as {}: {}; manifest.json lists them all\n", all.size(),
                 fmt::join(first, "; "), reason);
  }
}

void print_cautions(const Manifest& manifest) {
  for (const auto& each : manifest.facts.value("cautions", nlohmann::ordered_json::array()))
    if (each.is_string()) fmt::print(stderr, "Note: {}\n", each.get<std::string>());
}

// Options that one kind alone takes; any other would do without them and not say so.
void check_options(const Kind& kind, const CLI::App& verb) {
  for (const auto& [option, own] : {std::pair{"--channel", "edf"},
                                    {"--tokenizer", "text"},
                                    {"--held-out", "text"},
                                    {"--keep-short", "midi"}})
    if (verb.count(option) > 0 && kind.name != own)
      throw Error(fmt::format("{} is an option of '{}', and '{}' takes none such: leave it away", option, own,
                              kind.name));
}

void prepare(DataSettings s) {
  if (s.seed < 0) throw Error(fmt::format("--seed {}: a seed is a whole number of at least 0", s.seed));
  s.request.seed = uint64_t(s.seed);
  const Kind& kind = find_kind(s.kind);
  if (s.sources.size() > 1 && !kind.text)
    throw Error(fmt::format("{} takes one SOURCE; {} were given", kind.name, s.sources.size()));
  s.request.source = s.sources.at(0);
  s.request.more_sources.assign(s.sources.begin() + 1, s.sources.end());
  watch_signals();
  Preparation out(kind, s.request);
  kind.prepare(s.request, out);
  const Manifest manifest = out.finish();
  print_counts(manifest);
  print_items(kind, manifest);
  print_skipped(manifest.skipped);
  print_cautions(manifest);
  if (s.strict && !manifest.skipped.empty())
    throw Error(fmt::format("{} skipped, as manifest.json in {} lists; --strict asked for none",
                            manifest.skipped.size(), s.request.out.string()),
                kCheckFailed);
}

void inspect(const DataSettings& s) {
  const PreparedData data(s.folder);
  const Split split = find_split(s.split);
  if (s.count < 1) throw Error(fmt::format("--count {}: at least one sequence must be asked for", s.count));
  if (s.index < 0 || s.index >= data[split].size())
    throw Error(
        fmt::format("--index {}: {} has sequences 0 to {}", s.index, s.split, data[split].size() - 1));
  std::vector<const std::string*> item_of;  // by sequence
  for (const Item& item : data.manifest[split].items)
    item_of.insert(item_of.end(), size_t(item.sequences), &item.id);
  for (int64_t i = s.index; i < std::min(s.index + s.count, data[split].size()); ++i) {
    fmt::print("{} {} ({}), {} values\n{}", s.split, i, *item_of.at(size_t(i)), data[split].length(i),
               data.show(split, i));
  }
}

nlohmann::ordered_json json_of(const Audit& audit, const Manifest& manifest) {
  nlohmann::ordered_json splits;
  for (size_t i = 0; i < audit.splits.size(); ++i) {
    const SplitAudit& split = audit.splits[i];
    nlohmann::ordered_json& row = splits[std::string(kSplitNames[i])];
    row = {{"items", split.items},
           {"sequences", split.sequences},
           {"values", split.values},
           {"distinct_values", split.distinct_values},
           {"repeats", split.repeats}};
    if (Split(i) != Split::train)
      row.update({{"sequences_in_train", split.sequences_in_train},
                  {"runs", split.runs},
                  {"runs_in_train", split.runs_in_train}});
  }
  return {{"kind", manifest.kind},
          {"vocabulary", manifest.vocabulary},
          {"run", Audit::kRun},
          {"splits", splits},
          {"damaged", audit.damaged},
          {"items_twice", audit.items_twice},
          {"skipped", manifest.skipped.size()}};
}

void print_audit(const Audit& audit, const Manifest& manifest) {
  fmt::print("{:<12} {:>7} {:>10} {:>12} {:>9} {:>8} {:>17} {:>20}\n", "split", "items", "sequences",
             "values", "distinct", "repeats", "seen in train",
             fmt::format("runs of {} in train", Audit::kRun));
  for (size_t i = 0; i < audit.splits.size(); ++i) {
    const SplitAudit& split = audit.splits[i];
    const bool train = Split(i) == Split::train;
    fmt::print("{:<12} {:>7} {:>10} {:>12} {:>9} {:>8} {:>17} {:>20}\n", kSplitNames[i], split.items,
               split.sequences, split.values, split.distinct_values, split.repeats,
               train ? "" : std::to_string(split.sequences_in_train),
               train ? "" : fmt::format("{} of {}", split.runs_in_train, split.runs));
  }
  fmt::print("{}, vocabulary {}; {} skipped in preparing\n", manifest.kind, manifest.vocabulary,
             manifest.skipped.size());
}

// The last line of an audit that found nothing wrong.
void print_verdict(const Audit& audit, const Manifest& manifest) {
  const auto seen = [&](Split split) { return audit.splits[size_t(split)].sequences_in_train; };
  fmt::print("sound: every file is as it was prepared{}\n",
             find_kind(manifest.kind).text ? "" : ", and no item is in two splits");
  if (seen(Split::validation) + seen(Split::test) > 0)
    fmt::print("but {} sequences of validation and {} of test stand in train as well\n",
               seen(Split::validation), seen(Split::test));
}

void audit_verb(const DataSettings& s) {
  watch_signals();
  const Audit found = audit(s.folder);
  const Manifest manifest = read_manifest(s.folder);
  if (s.json)
    fmt::print("{}\n", json_of(found, manifest).dump(1));
  else
    print_audit(found, manifest);
  std::string wrong;
  for (const std::string& file : found.damaged)
    wrong += fmt::format("{}{} is not what was prepared", wrong.empty() ? "" : ", ", file);
  for (const std::string& item : found.items_twice)
    wrong += fmt::format("{}{} is in two splits", wrong.empty() ? "" : ", ", item);
  if (!wrong.empty())
    throw Error(fmt::format("{}: {}; prepare the data again", s.folder, wrong), kCheckFailed);
  if (s.json) return;
  print_verdict(found, manifest);
  print_cautions(manifest);
}

}  // namespace

void add_data(CLI::App& app) {
  auto s = std::make_shared<DataSettings>();
  CLI::App* data = app.add_subcommand("data", "music, genomes, signals and text: prepare, inspect, audit");
  data->require_subcommand(1);

  CLI::App* verb = data->add_subcommand(
      "prepare", "make a dataset out of published or own files; the kinds:" + list_of_kinds());
  verb->add_option("KIND", s->kind, "what the files are")->required();
  verb->add_option("SOURCE", s->sources, "the file or folder to read; of text any number")->required();
  verb->add_option("--out", s->request.out, "folder of the new dataset")->required();
  verb->add_option("--seed", s->seed, "of the split, where the publisher gives none")->capture_default_str();
  verb->add_option("--channel", s->request.channel, "of edf: the label of the signal to take");
  verb->add_option("--tokenizer", s->request.ranks,
                   "of text: a rank file of tiktoken, such as cl100k_base.tiktoken; none: bytes");
  verb->add_option("--held-out", s->request.held_out,
                   "of text: the share of documents to validate with, and as many to test")
      ->capture_default_str();
  verb->add_flag("--keep-short", s->request.keep_short,
                 "of midi: pieces too, each whole, that are shorter than a sequence should be");
  verb->add_flag("--strict", s->strict, "end with exit code 3 if anything was skipped");
  verb->callback([s, verb] {
    check_options(find_kind(s->kind), *verb);
    prepare(*s);
  });

  verb = data->add_subcommand("inspect", "show sequences as notes, events, bases, a signal or text");
  verb->add_option("DIR", s->folder, "a prepared dataset")->required();
  verb->add_option("--split", s->split, "train, validation or test")->capture_default_str();
  verb->add_option("--index", s->index, "the first to show")->capture_default_str();
  verb->add_option("--count", s->count, "how many")->capture_default_str();
  verb->callback([s] { inspect(*s); });

  verb = data->add_subcommand("audit",
                              "check the hashes, count distinct values, repeats and what the splits share");
  verb->add_option("DIR", s->folder, "a prepared dataset")->required();
  verb->add_flag("--json", s->json, "print JSON");
  verb->callback([s] { audit_verb(*s); });
}

}  // namespace darope
