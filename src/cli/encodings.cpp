#include <fmt/format.h>

#include "cli/compute.h"
#include "cli/verbs.h"

namespace darope {
namespace {

void print_encodings() {
  constexpr auto line = "{:<19} {:<32} {:<10} {:>9}  {:<31} {:<15} {}\n";
  fmt::print(line, "encoding", "slow bands", "data-aware", "ktokens/s", "learns", "FlashAttention",
             "cached per token");
  const auto text = [](const nlohmann::ordered_json& row, const char* column) {
    return row.at(column).get<std::string>();
  };
  for (const auto& row : encoding_rows()) {
    const auto& speed = row.at("ktokens_per_second");
    fmt::print(line, text(row, "name"), text(row, "slow_bands"), text(row, "data_aware"),
               speed.is_null() ? "-" : fmt::format("{:.1f}", speed.get<double>()), text(row, "learns"),
               text(row, "flash_attention"), text(row, "cache"));
  }
  fmt::print(
      "\nktokens/s: prefill throughput in the paper's first table (1B model, context 4096, one A100).\n"
      "rope-10k and rope-500k are rope with that base. yarn is not trained: it is rope, stretched at "
      "evaluation.\nOptions follow a colon, as in hope:base=10000,slow_bands=4:\n");
  for (const auto& row : encoding_rows()) {
    std::string options;
    for (const auto& [option, values] : row.at("options").items())
      options += fmt::format("  {}{}{}", option, values == "" ? "" : "=", values.get<std::string>());
    if (!options.empty()) fmt::print("  {:<18}{}\n", text(row, "name"), options);
  }
}

}  // namespace

void add_encodings(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("encodings", "the positional encodings and what each needs");
  verb->add_flag("--json", *json, "print JSON");
  verb->callback([json] {
    if (*json)
      fmt::print("{}\n", encoding_rows().dump(2));
    else
      print_encodings();
  });
}

}  // namespace darope
