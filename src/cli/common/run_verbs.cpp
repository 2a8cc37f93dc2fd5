#include "cli/common/run_verbs.h"

#include <cstdio>

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
    std::fprintf(stderr, "darope: %s\n", e.what());
    return e.code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "darope: %s\n", message_of(e).c_str());
    return kFailed;
  }
}

}  // namespace darope
