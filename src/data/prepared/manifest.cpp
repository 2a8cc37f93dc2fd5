#include "data/prepared/manifest.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/names.h"
#include "base/seal.h"

namespace darope {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered json_of(const FileFacts& file) {
  return {{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}};
}

Ordered json_of(const SplitFacts& split) {
  Ordered files = Ordered::array(), items = Ordered::array();
  for (const FileFacts& file : split.files) files.push_back(json_of(file));
  for (const Item& item : split.items) items.push_back(Ordered::array({item.id, item.sequences}));
  return {{"sequences", split.sequences}, {"values", split.values}, {"shortest", split.shortest},
          {"longest", split.longest},     {"files", files},         {"items", items}};
}

// A value of a JSON object that someone else may have edited.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  Reader at(const std::string& key) const {
    if (!json_.is_object() || !json_.contains(key)) throw Error(fmt::format("{} has no {}", where_, key));
    return {json_[key], fmt::format("{}: {}", where_, key)};
  }
  std::string text() const {
    if (!json_.is_string()) fail("a string");
    return json_.get<std::string>();
  }
  int64_t count(int64_t least = 0, int64_t most = INT64_MAX) const {
    if (!json_.is_number_integer() || json_ < least || json_ > most)
      fail(fmt::format("an integer of at least {}{}", least,
                       most < INT64_MAX ? fmt::format(" and at most {}", most) : ""));
    return json_.get<int64_t>();
  }
  Ordered object() const {
    if (!json_.is_object()) fail("an object");
    return Ordered::parse(json_.dump());
  }
  bool null() const { return json_.is_null(); }
  template <class Each>
  void list(const Each& each) const {
    if (!json_.is_array()) fail("a list");
    for (size_t i = 0; i < json_.size(); ++i) each(Reader(json_[i], fmt::format("{}[{}]", where_, i)));
  }
  Reader operator[](size_t i) const {
    if (!json_.is_array() || i >= json_.size()) fail(fmt::format("a list of more than {}", i));
    return {json_[i], fmt::format("{}[{}]", where_, i)};
  }
  [[noreturn]] void fail(const std::string& wanted) const {
    throw Error(fmt::format("{} should be {}", where_, wanted));
  }

 private:
  const Json& json_;
  std::string where_;
};

FileFacts read_file_facts(const Reader& json) {
  return {json.at("name").text(), json.at("bytes").count(), json.at("sha256").text()};
}

SplitFacts read_split(const Reader& json) {
  SplitFacts out{.sequences = json.at("sequences").count(1),
                 .values = json.at("values").count(1),
                 .shortest = json.at("shortest").count(),
                 .longest = json.at("longest").count(),
                 .files = {},
                 .items = {}};
  for (size_t i = 0; i < out.files.size(); ++i) out.files[i] = read_file_facts(json.at("files")[i]);
  json.at("items").list([&](const Reader& item) { out.items.push_back({item[0].text(), item[1].count(1)}); });
  int64_t left = out.sequences;  // -1 once there are too many
  for (const Item& item : out.items) left = item.sequences > left ? -1 : left - item.sequences;
  if (left != 0) json.at("items").fail(fmt::format("a list whose counts make {}", out.sequences));
  return out;
}

}  // namespace

Split find_split(std::string_view name) {
  for (size_t i = 0; i < kSplitNames.size(); ++i)
    if (kSplitNames[i] == name) return Split(i);
  throw Error(unknown_name("split", name, {kSplitNames.begin(), kSplitNames.end()}));
}

std::string to_json(const Manifest& manifest) {
  Ordered splits, sources = Ordered::array(), skipped = Ordered::array();
  for (const std::string_view name : kSplitNames)
    splits[std::string(name)] = json_of(manifest[find_split(name)]);
  for (const FileFacts& file : manifest.sources) sources.push_back(json_of(file));
  for (const Skipped& each : manifest.skipped)
    skipped.push_back({{"name", each.name},
                       {"reason", each.reason},
                       {"offset", each.offset ? Ordered(*each.offset) : Ordered(nullptr)}});
  Ordered json{{"format", Manifest::kFormat},
               {"kind", manifest.kind},
               {"vocabulary", manifest.vocabulary},
               {"stored_values", manifest.stored_values}};
  if (!manifest.tokenizer.empty()) json["tokenizer"] = manifest.tokenizer;
  if (manifest.ranks) json["ranks"] = json_of(*manifest.ranks);
  json.update(Ordered{{"options", manifest.options},
                      {"facts", manifest.facts},
                      {"splits", splits},
                      {"skipped", skipped},
                      {"sources", sources}});
  seal(json);
  return json.dump(1, ' ', false, Ordered::error_handler_t::replace) +
         "\n";  // a file's name need not be UTF-8
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  const Json json = parse_json(text, where);
  const Reader top(json, where);
  const int64_t format = top.at("format").count();
  if (format != Manifest::kFormat && format != Manifest::kFirstFormat)
    throw Error(
        fmt::format("{} is of format {}; this program reads formats {} and {}: prepare the data again", where,
                    format, Manifest::kFirstFormat, Manifest::kFormat));
  if (format == Manifest::kFormat || is_sealed(json)) check_seal(json, where);
  Manifest out{
      .kind = top.at("kind").text(),
      .vocabulary = top.at("vocabulary").count(1, kMostIds),
      .stored_values = top.at("stored_values").count(1, kMostIds),
      .tokenizer = json.contains("tokenizer") ? top.at("tokenizer").text() : "",
      .ranks = json.contains("ranks") ? std::optional(read_file_facts(top.at("ranks"))) : std::nullopt,
      .options = top.at("options").object(),
      .facts = top.at("facts").object(),
      .splits = {},
      .sources = {},
      .skipped = {}};
  for (size_t i = 0; i < kSplitNames.size(); ++i)
    out.splits[i] = read_split(top.at("splits").at(std::string(kSplitNames[i])));
  top.at("sources").list([&](const Reader& file) { out.sources.push_back(read_file_facts(file)); });
  top.at("skipped").list([&](const Reader& each) {
    const Reader offset = each.at("offset");
    out.skipped.push_back({each.at("name").text(), each.at("reason").text(),
                           offset.null() ? std::nullopt : std::optional(offset.count())});
  });
  return out;
}

bool is_prepared(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / kManifestFile);
}

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kManifestFile;
  if (!is_prepared(folder))
    throw Error(fmt::format("{} is no prepared dataset: it has no {}; 'darope data prepare' makes one",
                            folder.string(), kManifestFile));
  return parse_manifest(read_file(file), file.string());
}

}  // namespace darope
