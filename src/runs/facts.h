#pragma once
#include "runs/scores.h"

namespace darope {

inline constexpr int64_t kRunSchema = 2, kFirstRunSchema = 1;  // of a run's files; both can be read

// What a run says of itself when it ends. Absent facts stay empty.
struct RunFacts {
  std::string dataset, family;
  std::string encoding;  // with its options, as typed
  int64_t seed = 0;
  bool diverged = false;
  int64_t steps = 0, tokens = 0, parameters = 0, peak_memory_bytes = 0;
  double seconds = 0, tokens_per_second = 0, scoring_seconds = 0;
  // Equal hashes: runs that began from the same weights, saw the same data, differ in the encoding alone.
  std::string shared_init = {}, data_order = {}, config_without_encoding = {};
  std::string dtype = {}, commit = {}, machine = {}, torch = {};
  std::string history = {};          // what it was begun from, and which settings changed at which step
  std::string evaluation = {};       // what it was asked after its end; empty: these are its test's scores
  std::vector<Metric> metrics = {};  // what it was scored by; the first is what encodings are compared on
};

std::string to_text(const RunFacts& facts);
// Facts of this version, or of the first, where `metrics` stay empty; an Error names what does not fit.
RunFacts parse_facts(const nlohmann::json& json, const std::string& where);
bool is_first_version(const nlohmann::json& json, const std::string& where);

}  // namespace darope
