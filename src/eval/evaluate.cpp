#include "eval/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "eval/batches.h"

namespace darope {

const Evaluation& find_evaluation(const std::string& name) {
  std::vector<std::string> known;
  for (const Evaluation& each : evaluations()) {
    if (each.traits.name == name) return each;
    known.emplace_back(each.traits.name);
  }
  throw Error(unknown_name("evaluation", name, known));
}

static std::vector<const Evaluation*> those_that(
    const Dataset& data, const Decoder& model, const std::function<bool(const Evaluation::Traits&)>& wanted) {
  std::vector<const Evaluation*> chosen;
  for (const Evaluation& each : evaluations())
    if (wanted(each.traits) && lacking(each.traits.needs, data, model).empty()) chosen.push_back(&each);
  return chosen;
}

std::vector<const Evaluation*> evaluations_of(const Dataset& data, const Decoder& model) {
  return those_that(data, model, [](const Evaluation::Traits& each) { return each.ends_a_run; });
}

std::vector<const Evaluation*> evaluations_reading(Needs opened, const Dataset& data, const Decoder& model) {
  return those_that(data, model, [&](const Evaluation::Traits& each) { return (each.needs & opened).any(); });
}

std::vector<const Evaluation*> evaluations_named(const std::vector<std::string>& names, const Dataset& data,
                                                 const Decoder& model) {
  std::vector<const Evaluation*> chosen;
  for (const std::string& name : names) {
    const Evaluation& found = find_evaluation(name);
    if (const std::string lack = lacking(found.traits.needs, data, model); !lack.empty())
      throw Error(fmt::format("{} needs {}", name, lack));
    if (std::find(chosen.begin(), chosen.end(), &found) == chosen.end()) chosen.push_back(&found);
  }
  return chosen;
}

std::vector<Metric> metrics_of(const std::vector<const Evaluation*>& chosen, const Dataset& data) {
  std::vector<Metric> all;
  for (const Evaluation* each : chosen)
    for (Metric& metric : each->metrics(data)) all.push_back(std::move(metric));
  return all;
}

void evaluate(Decoder& model, const Dataset& data, const std::vector<const Evaluation*>& chosen,
              const Emit& emit) {
  const at::NoGradGuard no_grad;
  model.refresh();
  for (const Evaluation* each : chosen) each->score(model, data, emit);
}

double mean_nll(Decoder& model, const TestSet& set) {
  const at::NoGradGuard no_grad;
  model.refresh();
  double sum = 0;
  in_batches(model, set, examples_at_once(model, model.config().max_seqlen), set.size(),
             [&](const Batch& batch, int64_t) {
               sum += mean_by_example(model.nll(batch), batch).sum().item<double>();
             });
  return sum / double(set.size());
}

}  // namespace darope
