#pragma once
#include <fstream>
#include <functional>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"

namespace darope::report {

// Folders of a comparison as `darope compare` leaves them, with planted scores.
class Comparison {
 public:
  using Score = std::function<double(const std::string& encoding, int64_t seed, double x, int64_t example)>;

  const std::filesystem::path& path() const { return scratch_.path(); }
  std::filesystem::path folder(const std::string& dataset, const std::string& encoding, int64_t seed) const {
    return path() / "runs" / (safe(dataset) + "-" + safe(encoding) + "-s" + std::to_string(seed));
  }

  void add(const std::string& dataset, const std::string& encoding, int64_t seed, const std::string& metric,
           const std::vector<double>& lengths, const Score& score, const Json& changes = Json::object(),
           int64_t examples = 40) const {
    const std::filesystem::path at = folder(dataset, encoding, seed);
    std::filesystem::create_directories(at);
    Json run{{"schema", 1},
             {"dataset", dataset},
             {"family", "regular"},
             {"encoding", encoding},
             {"seed", seed},
             {"status", "finished"},
             {"steps", 10},
             {"tokens", 5000},
             {"parameters", 1000},
             {"seconds", 2.5},
             {"tokens_per_second", 2000.0},
             {"peak_memory_bytes", 1 << 20},
             {"shared_init", "init" + dataset + std::to_string(seed)},
             {"data_order", "order"},
             {"config_without_encoding", "config"},
             {"commit", "abc"},
             {"machine", "here"},
             {"torch", "2.11.0"}};
    const bool accuracy = metric == "token_accuracy";
    if (accuracy)
      run.update({{"chance", 0.1}, {"true_chance", 0.5}, {"best_constant", {{"1", 0.5}, {"2", 0.5}}}});
    run.update(changes);
    std::string results, metrics;
    for (const double x : lengths)
      for (int64_t i = 0; i < examples; ++i) {
        const auto line = [&](const std::string& of, double value) {
          results +=
              Json{{"metric", of}, {"x", x}, {"example", i}, {"value", value}, {"tokens", 1 + i % 7}}.dump() +
              "\n";
        };
        line(metric, score(encoding, seed, x, i));
        if (accuracy) line("exact_match", i % 4 == 0);
      }
    for (int step = 1; step <= 1000; ++step)
      metrics += Json{{"global_step", step}, {"loss/out", 1.0 / step}}.dump() + "\n";
    std::ofstream(at / "run.json") << run;
    std::ofstream(at / "results.jsonl") << results;
    std::ofstream(at / "metrics.jsonl") << metrics;
    std::ofstream(at / "config.yaml") << "seed: " << seed << "\n";
  }

 private:
  static std::string safe(std::string name) {
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
  }
  Scratch scratch_;
};

}  // namespace darope::report
