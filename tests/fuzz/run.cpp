#include <array>
#include <string>

#include "base/json.h"
#include "base/seal.h"
#include "base/sha256.h"
#include "fuzz.h"
#include "runs/bundle.h"
#include "runs/finished_run.h"
#include "runs/tar.h"

namespace darope {
namespace {

constexpr std::array<const char*, 5> kFiles{"config.yaml", "metrics.jsonl", "results-best.jsonl",
                                            "results.jsonl", "run.json"};
using Texts = std::array<std::string, kFiles.size()>;

Texts split(std::string_view input) {
  Texts texts;
  for (std::string& text : texts) {
    text = input.substr(0, input.find('\0'));
    input.remove_prefix(std::min(input.size(), text.size() + 1));
  }
  return texts;
}

// run.json with the hashes of the other files and of itself, as the run would have written it.
void hash(Texts& texts) {
  may_refuse([&] {
    nlohmann::ordered_json facts = parse_json(texts.back(), "input");
    if (!facts.is_object()) return;
    facts["files"] = nlohmann::ordered_json::object();
    for (size_t i = 0; i + 1 < texts.size(); ++i)
      if (!texts[i].empty()) facts["files"][kFiles[i]] = sha256(texts[i]);
    seal(facts);
    texts.back() = facts.dump();
  });
}

std::string packed(const Texts& texts) {
  std::string tar;
  for (size_t i = 0; i < texts.size(); ++i) {
    const TarBlock header = tar_header("runs/a", kFiles[i], int64_t(texts[i].size()));
    tar.append(header.data(), header.size()).append(texts[i]);
    tar.append((kTarBlock - tar.size() % kTarBlock) % kTarBlock, '\0');
  }
  tar.append(2 * kTarBlock, '\0');
  return compressed(tar);
}

}  // namespace
}  // namespace darope

// The files of one run, a zero byte between them, in a bundle whose hashes are right: what they say is read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  Texts texts = split({reinterpret_cast<const char*>(data), size});
  hash(texts);
  const std::string bundle = packed(texts);
  may_refuse([&] {
    parse_bundle(std::as_bytes(std::span(bundle)), "input", BundleLimits{}, [&](const RunFiles& run) {
      must(run.facts == texts.back() && run.scores == texts[3]);
      for (const auto& [key, places] : read_finished(run).scores)
        for (const auto& [at, scores] : places) must(scores.examples.size() == scores.values.size());
    });
  });
  return 0;
}
