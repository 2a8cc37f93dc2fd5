#include "cli/common/run_verbs.h"

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/streams.h"

namespace darope {

namespace {

void parse(CLI::App& app, int argc, char** argv) try {
  app.parse(argc, argv);
} catch (const CLI::ParseError& e) {
  if (e.get_exit_code() != 0) throw;
  app.exit(e);  // --help and --version
}

// A sentence may list what a stranger's file holds without end.
void complain(const std::string& sentence) {
  constexpr int kMost = 4000;
  std::fprintf(stderr, "darope: %.*s%s\n", kMost, sentence.c_str(), sentence.size() > kMost ? " ..." : "");
}

}  // namespace

int run_verbs(CLI::App& app, int argc, char** argv) {
  try {
    parse(app, argc, argv);
    close_output();
    return kDone;
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr,
                 "darope: %s\nRun 'darope --help' for the verbs and 'darope VERB --help' for one of them.\n",
                 e.what());
    return kUsage;
  } catch (const Error& e) {
    complain(e.what());
    return e.code();
  } catch (const std::filesystem::filesystem_error& e) {  // a path as somebody gave it, or laid it out
    complain("cannot look at " + e.path1().string() + ": " + e.code().message());
    return kUsage;
  } catch (const std::exception& e) {
    complain(message_of(e));
    return kFailed;
  }
}

}  // namespace darope
