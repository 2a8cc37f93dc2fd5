#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

// An evaluation says numbers about examples; means and tests are made from them later. What the numbers mean
// travels with them, so that whoever reads scores needs to know no metric by name.

// What scores are laid out along: length, position, distance, number of keys, layer.
struct Axis {
  std::string name;
  std::string unit;  // behind a place: the x of "8x"
  std::string meaning;
  bool by_factors = false;          // places lie apart by factors, and are drawn so
  std::optional<double> mark = {};  // a place worth a line of its own
  std::string mark_meaning = {};    // such as "training length"
};
inline const Axis kLength{"length", "x", "length as a multiple of the training length"};

inline constexpr std::string_view kShare = "share";        // from 0 to 1, shown in %
inline constexpr std::string_view kYesOrNo = "yes or no";  // 1 or 0 for each example; their mean is a share
inline constexpr std::string_view kNats = "nats per token";

// One metric along one axis.
struct Metric {
  std::string name;  // as lines of scores have it
  Axis axis = kLength;
  std::string title;    // for people
  std::string unit;     // one of the above, or whatever follows the number
  std::string meaning;  // in one line
  bool higher_better = true;
  bool by_example = false;  // examples differ so much that each is shown beside the mean
  std::optional<double> chance = {}, true_chance = {};  // of guessing: as the paper prints it, and as it is
  std::map<double, double> floor = {};                  // by place: what the best constant answer gets

  // By name and place: what counting gets that learns nothing, such as "unigram".
  std::map<std::string, std::map<double, double>> baselines = {};

  bool is_share() const { return unit == kShare || unit == kYesOrNo; }
};

struct ScoreKey {
  std::string metric, axis;
  auto operator<=>(const ScoreKey&) const = default;
};
inline ScoreKey key_of(const Metric& metric) { return {metric.name, metric.axis.name}; }

struct Score {
  std::string metric, axis = kLength.name;
  double at = 0;  // the place on the axis
  int64_t example = 0;
  int64_t cluster = 0;  // examples cut from one source are one witness, and share it
  double value = 0;
  int64_t tokens = 1;  // scored ones, of which the value is the mean
};
std::string to_line(const Score& score);

// All scores of one metric at one place, by rising example.
struct Scores {
  std::vector<int64_t> examples, clusters;  // clusters: empty where none are told
  std::vector<double> values, tokens;       // tokens: empty where they are not told
};
using ScoreTable = std::map<ScoreKey, std::map<double, Scores>>;

// Lines of this version and of the first, which had no axis and no cluster. An Error names the file and the
// line of what does not fit, and of a score that stands twice.
ScoreTable read_scores(std::string_view lines, const std::string& file);

nlohmann::ordered_json to_json(const std::vector<Metric>& metrics);

std::vector<Metric> read_metrics(const nlohmann::json& list, const std::string& where);

// What the first version left unsaid of its metrics; `facts` are those of its run. Its examples count up from
// 0, so that a missing line leaves a gap, which is an Error.
std::vector<Metric> metrics_of_first_version(const ScoreTable& scores, const nlohmann::json& facts,
                                             const std::string& file);
// An Error where a score is of no metric that is described, or a metric has no score.
void check_described(const ScoreTable& scores, const std::vector<Metric>& metrics, const std::string& file);

}  // namespace darope
