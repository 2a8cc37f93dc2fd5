#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

// A probe drives a part of the project for the Python tests beside it.
namespace darope {

using Words = std::span<const std::string>;

struct ProbeVerb {
  std::string usage;  // "copy FROM TO": its name and what it takes; the last may be "FILE..."
  std::function<void(Words)> run;
  bool fits(Words words) const {
    const auto taken = size_t(std::count(usage.begin(), usage.end(), ' ')) + 1;
    return !words.empty() && words[0] == usage.substr(0, usage.find(' ')) &&
           (words.size() == taken || (words.size() > taken && usage.ends_with("...")));
  }
};

// Its main().
inline int probe(int argc, char** argv, const std::vector<ProbeVerb>& verbs) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto verb = std::ranges::find_if(verbs, [&](const ProbeVerb& each) { return each.fits(words); });
  if (verb == verbs.end()) {
    std::string known;
    for (const ProbeVerb& each : verbs) known += fmt::format("{}{}", known.empty() ? "" : " | ", each.usage);
    throw Error(fmt::format("{} {}", argv[0], known));
  }
  verb->run(Words(words).subspan(1));
  return kDone;
} catch (const Error& e) {
  fmt::print(stderr, "{}\n", e.what());
  return e.code();
}

}  // namespace darope
