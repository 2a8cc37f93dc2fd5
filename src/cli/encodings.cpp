#include <fmt/format.h>

#include "cli/verbs.h"
#include "encodings/encoding.h"

namespace darope {
namespace {

void print_encodings() {
  constexpr auto line = "{:<19} {:<32} {:<10} {:>9}  {:<26} {:<15} {}\n";
  fmt::print(line, "encoding", "slow bands", "data-aware", "ktokens/s", "learns", "FlashAttention",
             "cached per token");
  for (const auto& [t, make] : encodings())
    fmt::print(line, t.name, t.slow_bands, t.data_aware,
               t.ktokens_per_second ? fmt::format("{:.1f}", *t.ktokens_per_second) : "-", t.learns,
               t.flash_attention, t.cache);
  fmt::print(
      "\nktokens/s: prefill throughput in the paper's first table (1B model, context 4096, one A100).\n"
      "Options follow a colon: hope:base=10000,slow_bands=4  yarn:factor=4,ramp=paper,temperature=off  "
      "cope:npos_max=64,scaling=scaled\n"
      "pope:delta_init=uniform  nope-window:window=128. rope-10k and rope-500k are rope with that base. yarn "
      "is not trained: it is "
      "rope, stretched at evaluation.\n");
}

}  // namespace

std::vector<std::string> encoding_order() {
  std::vector<std::string> names;
  for (const Spec& spec : encodings()) names.emplace_back(spec.traits.name);
  return names;
}

void add_encodings(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("encodings", "the positional encodings and what each needs");
  verb->add_flag("--json", *json, "print JSON");
  verb->callback([json] {
    if (*json)
      fmt::print("{}\n", encodings_json());
    else
      print_encodings();
  });
}

}  // namespace darope
