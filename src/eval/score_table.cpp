#include "eval/score_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace darope {

void ScoreTable::add(int64_t x, std::string_view metric, double value) {
  Sum& s = sums_[{x, std::string(metric)}];
  ++s.count, s.sum += value, s.squares += value * value;
}

void ScoreTable::add_lines(const std::string& results) {
  for (size_t begin = 0, end; (end = results.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const Json line = parse_json(results.substr(begin, end - begin), "results.jsonl");
    add(line.at("x"), line.at("metric").get<std::string>(), line.at("value"));
  }
}

std::vector<ScoreTable::Row> ScoreTable::rows() const {
  std::vector<Row> out;
  for (const auto& [key, s] : sums_) {
    const double mean = s.sum / double(s.count);
    const double deviation =
        s.count > 1 ? std::sqrt(std::max(0.0, (s.squares - s.sum * mean) / double(s.count - 1))) : 0;
    out.push_back({key.first, key.second, mean, deviation, s.count});
  }
  return out;
}

std::string ScoreTable::text() const {
  std::string out =
      fmt::format("{:>8}  {:16} {:>10} {:>10} {:>9}\n", "length", "metric", "mean", "deviation", "examples");
  for (const Row& row : rows())
    out += fmt::format("{:>7}x  {:16} {:10.4f} {:10.4f} {:9}\n", row.x, row.metric, row.mean, row.deviation,
                       row.examples);
  return out;
}

}  // namespace darope
