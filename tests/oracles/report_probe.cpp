// report_probe DIR...: what `darope report` does, without the rest of darope.
#include <cstdio>

#include "base/error.h"
#include "report/report.h"

int main(int argc, char** argv) {
  try {
    const std::vector<std::filesystem::path> folders(argv + 1, argv + argc);
    std::fputs(terminal_table(darope::report::write_report(folders.at(0), folders)).c_str(), stdout);
    return 0;
  } catch (const darope::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return e.code();
  }
}
