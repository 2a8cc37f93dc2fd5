#include "base/config.h"

#include "fuzz.h"

namespace {

struct Inner {
  double lr = 0.1;
  std::optional<std::string> note;
  void fields(auto&& visit) {
    visit("lr", lr, "");
    visit("note", note, "");
  }
};
struct Outer {
  std::string name = "x";
  int64_t steps = 1;
  bool compile = false;
  std::vector<std::string> sources;
  std::vector<std::vector<double>> table;
  std::optional<int64_t> seed;
  Inner optim;
  void fields(auto&& visit) {
    visit("name", name, "");
    visit("steps", steps, "");
    visit("compile", compile, "");
    visit("sources", sources, "");
    visit("table", table, "");
    visit("seed", seed, "");
    visit("optim", optim, "");
  }
};

}  // namespace

// The input is a YAML file; behind a zero byte come up to eight overrides, with zero bytes between them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto next = [&] {
    const std::string_view part = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
  };
  Outer config;
  bool sound = false;
  may_refuse([&] {
    read_yaml(list_fields(config), next(), "input");
    sound = true;  // what a file gave is UTF-8 and must survive printing
  });
  if (sound) {
    Outer back;
    read_yaml(list_fields(back), to_yaml(config), "printed");
    must(to_canonical_json(back) == to_canonical_json(config));
  }
  for (int i = 0; i < 8 && !text.empty(); ++i)
    may_refuse([&] { read_overrides(list_fields(config), {std::string(next())}); });
  must(differences(config, config).empty() && !help_text(list_fields(config)).empty());
  return 0;
}
