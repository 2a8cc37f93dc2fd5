#pragma once
#include "runs/hashes.h"
#include "runs/scores.h"

namespace darope {

// Of a run's files; all can be read. From the third on, run.json keeps the hashes of the others and its own.
inline constexpr int64_t kRunSchema = 3, kSealedRunSchema = 3, kFirstRunSchema = 1;

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

std::string to_text(const RunFacts& facts, const FileHashes& files);
// Facts of any version, the first of which has no `metrics`; an Error names what does not fit.
RunFacts parse_facts(const nlohmann::json& json, const std::string& where);
int64_t schema_of(const nlohmann::json& json, const std::string& where);

}  // namespace darope
