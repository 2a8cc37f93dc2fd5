// report_probe DIR... [--out DIR] [--bundle FILE]: what `darope report` does, without the rest of darope.
#include <cstdio>
#include <string>

#include "base/error.h"
#include "report/report.h"
#include "runs/bundle.h"

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> comparisons;
  std::filesystem::path out, bundle;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--out")
      out = argv[++i];
    else if (word == "--bundle")
      bundle = argv[++i];
    else
      comparisons.push_back(word);
  }
  try {
    std::fputs(
        terminal_table(darope::report::write_report(out.empty() ? comparisons.at(0) : out, comparisons))
            .c_str(),
        stdout);
    if (!bundle.empty()) darope::write_bundle(bundle, comparisons);
    return 0;
  } catch (const darope::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return e.code();
  }
}
