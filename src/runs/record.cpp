#include "runs/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/config.h"
#include "base/seal.h"
#include "runs/lines.h"

namespace darope {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kRecordSchema = 1, kMostRounds = 20;

ordered_json to_json(const Decision& d) {
  return {{"first", d.first}, {"second", d.second}, {"verdict", d.verdict}, {"difference", d.difference},
          {"low", d.low},     {"high", d.high},     {"seeds", d.seeds}};
}

ordered_json to_json(const Look& look) {
  ordered_json decided = ordered_json::array();
  for (const Decision& each : look.decided) decided.push_back(to_json(each));
  return {{"round", look.round},   {"x", look.x},       {"learned", look.learned},
          {"leader", look.leader}, {"open", look.open}, {"decided", decided}};
}

const Json& list(const Json& object, const char* key, const std::string& where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_array())
    throw Error(fmt::format("{}: '{}' should be a list", where, key));
  return *found;
}

Decision parse_decision(const Json& json, const std::string& where) {
  return {.first = need<std::string>(json, "first", where),
          .second = need<std::string>(json, "second", where),
          .verdict = need<std::string>(json, "verdict", where),
          .difference = need<double>(json, "difference", where),
          .low = need<double>(json, "low", where),
          .high = need<double>(json, "high", where),
          .seeds = need<int64_t>(json, "seeds", where)};
}

Look parse_look(const Json& json, const std::string& where) {
  Look look{.round = need<int64_t>(json, "round", where),
            .x = need<double>(json, "x", where),
            .learned = need<bool>(json, "learned", where),
            .leader = need<std::string>(json, "leader", where),
            .open = need<std::vector<std::string>>(json, "open", where)};
  for (const Json& each : list(json, "decided", where)) look.decided.push_back(parse_decision(each, where));
  return look;
}

Settling parse_settling(const Json& json, const std::string& where) {
  Settling settling{.rounds = need<std::vector<int64_t>>(json, "rounds", where),
                    .until = need<std::string>(json, "until", where)};
  check_rounds(settling.rounds);
  if (json.contains("weights_of"))
    settling.weights_of = need<std::map<std::string, std::string>>(json, "weights_of", where);
  for (const Json& each : list(json, "looks", where)) {
    const Look look = parse_look(each, where);
    if (look.round < std::max<int64_t>(1, settling.rounds_made()) ||
        look.round > int64_t(settling.rounds.size()))
      throw Error(fmt::format("{}: round {} is not one of {}, or stands behind a later one", where,
                              look.round, settling.rounds.size()));
    settling.looks.push_back(look);
  }
  return settling;
}

// What the looks of the first rounds ask for.
std::map<std::string, int64_t> asked_until(const Settling& settling, int64_t round,
                                           const std::vector<std::string>& encodings) {
  const std::vector<int64_t>& rounds = settling.rounds;
  std::map<std::string, int64_t> asked;
  for (const std::string& encoding : encodings) asked[encoding] = rounds.front();
  for (const Look& look : settling.looks) {
    if (look.round > round || look.open.empty() || look.round == int64_t(rounds.size())) continue;
    asked[look.leader] = rounds[size_t(look.round)];
    for (const std::string& encoding : look.open) asked[encoding] = rounds[size_t(look.round)];
  }
  // Weights that are there cost nothing to score, and none can be scored that are not.
  std::map<std::string, std::string> scored = settling.weights_of;
  std::erase_if(
      scored, [&](const auto& each) { return !asked.contains(each.first) || !asked.contains(each.second); });
  for (const auto& [encoding, trained] : scored) asked[trained] = std::max(asked[trained], asked[encoding]);
  for (const auto& [encoding, trained] : scored) asked[encoding] = asked[trained];
  return asked;
}

}  // namespace

void check(const Margins& margins) {
  Margins values = margins;
  check_values(list_fields(values, "margins."));
}

void check_rounds(const std::vector<int64_t>& rounds) {
  if (rounds.empty() || int64_t(rounds.size()) > kMostRounds || rounds.front() < kFewestJudged ||
      rounds.back() > kMostSeeds || !std::is_sorted(rounds.begin(), rounds.end(), std::less_equal<>()))
    throw Error(
        fmt::format("rounds is [{}]: numbers of seeds in all that rise from 2 or more, such as [3, 5, 8]",
                    fmt::join(rounds, ", ")));
}

ordered_json to_json(const Settling& settling) {
  ordered_json looks = ordered_json::array();
  for (const Look& look : settling.looks) looks.push_back(to_json(look));
  ordered_json json{{"rounds", settling.rounds},
                    {"alpha_of_a_round", 0.05 / double(settling.rounds.size())},
                    {"until", settling.until},
                    {"looks", looks}};
  if (!settling.weights_of.empty()) json["weights_of"] = settling.weights_of;
  return json;
}

bool Settling::is_through() const {
  if (rounds_made() == 0 || rounds_made() == int64_t(rounds.size())) return rounds_made() > 0;
  return std::ranges::none_of(
      looks, [&](const Look& look) { return look.round == rounds_made() && !look.open.empty(); });
}

std::map<std::string, int64_t> Settling::seeds_asked(const std::vector<std::string>& encodings) const {
  return asked_until(*this, rounds_made(), encodings);
}

std::map<std::string, int64_t> Settling::seeds_judged(const std::vector<std::string>& encodings) const {
  return asked_until(*this, rounds_made() - 1, encodings);
}

void ComparisonRecord::join(const ComparisonRecord& other, const std::string& where) {
  seconds = std::max(seconds, other.seconds);
  if (command.empty()) command = other.command;
  for (const auto& [name, theirs] : other.datasets) {
    OfDataset& ours = datasets.emplace(name, theirs).first->second;
    if (ours.margins != theirs.margins)
      throw Error(fmt::format(
          "{}: the margins for {} were fixed before its runs, {} nats and {} of accuracy; {} and {} cannot "
          "take their place",
          where, name, theirs.margins.loss, theirs.margins.accuracy, ours.margins.loss,
          ours.margins.accuracy));
    if (!theirs.settling) continue;
    if (ours.settling && !ours.settling->same_plan(*theirs.settling))
      throw Error(
          fmt::format("{}: the rounds for {} were fixed before the first, [{}] until '{}'; [{}] until '{}' "
                      "cannot take their place",
                      where, name, fmt::join(theirs.settling->rounds, ", "), theirs.settling->until,
                      fmt::join(ours.settling->rounds, ", "), ours.settling->until));
    std::map<std::string, std::string> weights_of = theirs.settling->weights_of;
    if (ours.settling) weights_of.insert(ours.settling->weights_of.begin(), ours.settling->weights_of.end());
    if (!ours.settling || ours.settling->rounds_made() < theirs.settling->rounds_made())
      ours.settling = theirs.settling;
    ours.settling->weights_of = weights_of;
  }
}

std::string to_text(const ComparisonRecord& record) {
  ordered_json datasets = ordered_json::object();
  for (const auto& [name, of] : record.datasets) {
    datasets[name] = {{"margins", {{"loss", of.margins.loss}, {"accuracy", of.margins.accuracy}}}};
    if (of.settling) datasets[name]["settling"] = to_json(*of.settling);
  }
  ordered_json json{{"schema", kRecordSchema}, {"seconds", record.seconds}, {"datasets", datasets}};
  if (!record.command.empty()) json["command"] = record.command;
  seal(json);
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ComparisonRecord parse_record(const std::string& text, const std::string& where) {
  const Json json = parse_json(text, where);
  if (const auto schema = need<int64_t>(json, "schema", where); schema != kRecordSchema)
    throw Error(fmt::format("{}: schema {} is not {}, which this version of darope reads", where, schema,
                            kRecordSchema));
  if (is_sealed(json)) check_seal(json, where);  // earlier versions did not seal it
  ComparisonRecord record;
  record.seconds = need<double>(json, "seconds", where);
  if (json.contains("command")) record.command = need<std::string>(json, "command", where);
  for (const auto& [name, of] : need<std::map<std::string, Json>>(json, "datasets", where)) {
    const std::string here = fmt::format("{}, {}", where, name.substr(0, 80));
    const auto margins = need<Json>(of, "margins", here);
    ComparisonRecord::OfDataset& dataset = record.datasets[name];
    dataset.margins = {need<double>(margins, "loss", here), need<double>(margins, "accuracy", here)};
    check(dataset.margins);
    if (of.contains("settling")) dataset.settling = parse_settling(of.at("settling"), here);
  }
  return record;
}

}  // namespace darope
