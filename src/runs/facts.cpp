#include "runs/facts.h"

#include "base/seal.h"
#include "runs/lines.h"

namespace darope {

static constexpr size_t kLongestHistory = 1 << 16;

std::string to_text(const RunFacts& f, const FileHashes& files) {
  nlohmann::ordered_json json{{"schema", kRunSchema},
                              {"dataset", f.dataset},
                              {"family", f.family},
                              {"encoding", f.encoding},
                              {"seed", f.seed},
                              {"status", f.diverged ? "diverged" : "finished"},
                              {"steps", f.steps},
                              {"tokens", f.tokens},
                              {"parameters", f.parameters},
                              {"seconds", f.seconds},
                              {"scoring_seconds", f.scoring_seconds},
                              {"tokens_per_second", f.tokens_per_second},
                              {"peak_memory_bytes", f.peak_memory_bytes},
                              {"config_without_encoding", f.config_without_encoding},
                              {"commit", f.commit},
                              {"machine", f.machine},
                              {"torch", f.torch},
                              {"metrics", to_json(f.metrics)},
                              {"shared_init", f.shared_init},
                              {"data_order", f.data_order},
                              {"dtype", f.dtype}};
  if (!f.history.empty()) json["history"] = f.history;
  if (!f.evaluation.empty()) json["evaluation"] = f.evaluation;
  json["files"] = files;
  seal(json);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";  // names need not be UTF-8
}

int64_t schema_of(const Json& json, const std::string& where) {
  const auto schema = need<int64_t>(json, "schema", where);
  if (schema < kFirstRunSchema || schema > kRunSchema)
    throw Error(
        fmt::format("{}: schema {} is none of {} to {}, which this version of darope reads: take the "
                    "version that wrote it",
                    where, schema, kFirstRunSchema, kRunSchema));
  return schema;
}

RunFacts parse_facts(const Json& json, const std::string& where) {
  const bool first = schema_of(json, where) == kFirstRunSchema;
  const auto status = need<std::string>(json, "status", where);
  if (status != "finished" && status != "diverged")
    throw Error(fmt::format("{}: status '{}' is neither finished nor diverged", where, status.substr(0, 80)));
  return {.dataset = need_name(json, "dataset", where),
          .family = name_or_none(json, "family", where),
          .encoding = no_longer(need<std::string>(json, "encoding", where), kLongestText, "encoding", where),
          .seed = need<int64_t>(json, "seed", where),
          .diverged = status == "diverged",
          .steps = get_or<int64_t>(json, "steps", 0, where),
          .tokens = need<int64_t>(json, "tokens", where),
          .parameters = get_or<int64_t>(json, "parameters", 0, where),
          .peak_memory_bytes = get_or<int64_t>(json, "peak_memory_bytes", 0, where),
          .seconds = get_or<double>(json, "seconds", 0, where),
          .tokens_per_second = get_or<double>(json, "tokens_per_second", 0, where),
          .scoring_seconds = get_or<double>(json, "scoring_seconds", 0, where),
          .shared_init = need_name(json, "shared_init", where),
          .data_order = need_name(json, "data_order", where),
          .config_without_encoding = need_name(json, "config_without_encoding", where),
          .dtype = name_or_none(json, "dtype", where),
          .commit = name_or_none(json, "commit", where),
          .machine = name_or_none(json, "machine", where),
          .torch = name_or_none(json, "torch", where),
          .history =
              no_longer(get_or<std::string>(json, "history", "", where), kLongestHistory, "history", where),
          .evaluation = name_or_none(json, "evaluation", where),
          .metrics = first ? std::vector<Metric>{} : read_metrics(need<Json>(json, "metrics", where), where)};
}

}  // namespace darope
