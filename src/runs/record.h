#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace darope {

// The smallest differences that matter, fixed before the runs.
struct Margins {
  double loss = 0.002, accuracy = 0.01;

  bool operator==(const Margins&) const = default;
  void fields(auto&& visit) {
    visit("loss", loss, "a smaller difference of losses does not matter, in nats", {.above = 0});
    visit("accuracy", accuracy, "likewise of accuracies, from the best constant answer (0) to perfect (1)",
          {.above = 0, .below = 1});
  }
};
void check(const Margins& margins);  // an Error where one of them says nothing

// A pair that a round decided, with the interval it decided by.
struct Decision {
  std::string first, second, verdict;  // of the first
  double difference = 0, low = 0, high = 0;
  int64_t seeds = 0;
};

// What one round of seeds said of a dataset at one place of its axis.
struct Look {
  int64_t round = 1;  // counted from 1
  double x = 0;
  bool learned = true;  // where not, no seeds are spent on it
  std::string leader = {};
  std::vector<std::string> open = {};  // encodings not told from the leader
  std::vector<Decision> decided = {};  // in this round
};

// Seeds added where they decide: rounds and time are fixed before the first of them.
inline constexpr int64_t kFewestJudged = 2, kMostSeeds = 1000;  // of an encoding, in a comparison

struct Settling {
  std::vector<int64_t> rounds = {3, 5, 8, 12};  // seeds in all, after each
  std::string until = {};                       // as typed; "" has no limit
  std::vector<Look> looks = {};                 // in the order of their rounds
  // Encodings that are scored with the weights of another, and that one: they have the same seeds.
  std::map<std::string, std::string> weights_of = {};

  bool same_plan(const Settling& other) const { return rounds == other.rounds && until == other.until; }
  int64_t rounds_made() const { return looks.empty() ? 0 : looks.back().round; }
  bool is_through() const;  // nothing is open, or no round is left
  // How many seeds of each encoding the rounds so far ask for; and how many the last of them has judged, or
  // the first will.
  std::map<std::string, int64_t> seeds_asked(const std::vector<std::string>& encodings) const;
  std::map<std::string, int64_t> seeds_judged(const std::vector<std::string>& encodings) const;
};
nlohmann::ordered_json to_json(const Settling& settling);
void check_rounds(const std::vector<int64_t>& rounds);

// What is fixed about a comparison before its first run, and what its rounds have decided since. It is told
// by dataset, so that comparisons can be joined in a report or a bundle.
struct ComparisonRecord {
  struct OfDataset {
    Margins margins;
    std::optional<Settling> settling = {};
  };
  std::map<std::string, OfDataset> datasets;
  double seconds = 0;   // that the rounds have taken
  std::string command;  // that made the runs, the last one where they were several; "" where none is known

  // An Error where the other one has fixed another margin or plan for a dataset; of one plan, the one that
  // has come further is kept.
  void join(const ComparisonRecord& other, const std::string& where);
};

std::string to_text(const ComparisonRecord& record);
ComparisonRecord parse_record(const std::string& text, const std::string& where);

}  // namespace darope
