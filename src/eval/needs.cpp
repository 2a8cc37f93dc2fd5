#include "eval/needs.h"

#include <fmt/format.h>

#include <algorithm>

namespace darope {
namespace {

bool has_coordinates(const Decoder& model) {
  const std::vector<Plan::Layer>& layers = model.plan().layers;
  return std::any_of(layers.begin(), layers.end(),
                     [](const Plan::Layer& each) { return each.encoding->has_coordinate(); });
}

struct Words {
  Need need;
  std::string_view what, add;  // add: what opens it; "" where a run has it or not
  bool (*met)(const Dataset& data, const Decoder& model);
};

// What nobody can add comes first.
constexpr Words table[] = {
    {Need::task, "a synthetic task", "",
     [](const Dataset& data, const Decoder&) { return data.measure == Measure::accuracy; }},
    {Need::likelihood, "a file of tokens or a prepared dataset", "",
     [](const Dataset& data, const Decoder&) { return data.measure == Measure::nll; }},
    {Need::coordinates, "coordinates that the model learns", "",
     [](const Dataset&, const Decoder& model) { return has_coordinates(model); }},
    {Need::own_answers, "examples to answer without help", "data.free_running=N",
     [](const Dataset& data, const Decoder&) { return data.free_running > 0; }},
    {Need::documents, "long documents", "--positions N",
     [](const Dataset& data, const Decoder&) { return data.documents != nullptr; }},
    {Need::prompts, "prompts", "--retrieval",
     [](const Dataset& data, const Decoder&) { return data.prompts != nullptr; }},
};

}  // namespace

std::string lacking(Needs needs, const Dataset& data, const Decoder& model) {
  for (const Words& each : table)
    if ((needs & each.need).any() && !each.met(data, model))
      return each.add.empty() ? fmt::format("{}: this run has none", each.what)
                              : fmt::format("{}: add {}", each.what, each.add);
  return "";
}

std::string how_to_ask_for(Needs opened) {
  std::string out;
  for (const Words& each : table)
    if ((opened & each.need).any()) out += fmt::format("{}{}", out.empty() ? "" : " and ", each.add);
  return out;
}

}  // namespace darope
