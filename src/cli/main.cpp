#include <cstdio>

#include "base/error.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  using namespace darope;
  CLI::App app{"darope: positional encodings for Transformers - choose one for your data, train with it, look inside."};
  app.set_version_flag("--version", "darope " DAROPE_VERSION);
  app.require_subcommand(1);
  add_encodings(app);
  add_bands(app);
  add_compare(app);
  add_train(app);
  add_tasks(app);
  add_doctor(app);

  try {
    app.parse(argc, argv);
    return kDone;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);          // --help and --version
    std::fprintf(stderr, "darope: %s\nRun 'darope --help' for the verbs and 'darope VERB --help' for one of them.\n", e.what());
    return kUsage;
  } catch (const Error& e) {
    std::fprintf(stderr, "darope: %s\n", e.what());
    return e.code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "darope: %s\n", e.what());
    return kFailed;
  }
}
