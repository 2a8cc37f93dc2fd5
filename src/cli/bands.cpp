#include "encodings/bands.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/verbs.h"

namespace darope {
namespace {

struct BandsSettings {
  int64_t head_dim = 128, context = 4096;
  double base = 500'000;
  bool json = false;
};

void print_bands(const BandsSettings& s) {
  check_head_dim(s.head_dim, "--head-dim");
  check_base(s.base, "--base");
  check_train_length(s.context, "--context");
  const std::vector<Band> bands = describe_bands(s.head_dim, s.base, s.context);
  int64_t fast = 0;
  for (const Band& band : bands) fast += band.fast;
  const int64_t slow = int64_t(bands.size()) - fast;

  if (s.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Band& b : bands)
      rows.push_back({{"band", b.index},
                      {"theta", b.theta},
                      {"wavelength", b.wavelength},
                      {"turns", b.turns},
                      {"fast", b.fast}});
    fmt::print("{}\n", nlohmann::ordered_json{{"head_dim", s.head_dim},
                                              {"base", s.base},
                                              {"context", s.context},
                                              {"fast", fast},
                                              {"slow", slow},
                                              {"bands", rows}}
                           .dump());
    return;
  }
  fmt::print("head width {}, base {:.10g}, context {}: {} fast and {} slow bands\n\n", s.head_dim, s.base,
             s.context, fast, slow);
  fmt::print("{:>4}  {:>12}  {:>15}  {:>15}  {}\n", "band", "theta", "wavelength", "turns in window", "kind");
  for (const Band& b : bands)
    fmt::print("{:>4}  {:>12.6g}  {:>15.6g}  {:>15.6g}  {}\n", b.index, b.theta, b.wavelength, b.turns,
               b.fast ? "fast" : "slow");
}

}  // namespace

void add_bands(CLI::App& app) {
  auto settings = std::make_shared<BandsSettings>();
  CLI::App* verb = app.add_subcommand("bands", "wavelength and speed of every rotary band");
  verb->add_option("--head-dim", settings->head_dim, "channels per head, an even number")
      ->capture_default_str();
  verb->add_option("--base", settings->base, "rotary base")->capture_default_str();
  verb->add_option("--context", settings->context, "training context L in tokens")->capture_default_str();
  verb->add_flag("--json", settings->json, "print JSON");
  verb->callback([settings] { print_bands(*settings); });
}

}  // namespace darope
