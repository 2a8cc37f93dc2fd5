#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace darope {

// Means over examples, by length and metric.
class ScoreTable {
 public:
  struct Row {
    int64_t x;  // length as a multiple of the training length
    std::string metric;
    double mean, deviation;
    int64_t examples;
  };
  void add(int64_t x, std::string_view metric, double value);
  void add_lines(const std::string& results);  // of a results.jsonl
  std::vector<Row> rows() const;
  std::string text() const;  // for people

 private:
  struct Sum {
    int64_t count = 0;
    double sum = 0, squares = 0;
  };
  std::map<std::pair<int64_t, std::string>, Sum> sums_;
};

}  // namespace darope
