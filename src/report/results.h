#pragma once
#include <nlohmann/json.hpp>

#include "report/summary.h"

namespace darope::report {

// results.json; docs/results-schema.md says what each key means.
nlohmann::ordered_json results_json(const Summary& summary, const Gathered& all);
std::string results_csv(const Summary& summary);  // a row per dataset, metric, place and encoding

}  // namespace darope::report
