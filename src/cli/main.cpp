#include <cstdio>

#include "base/error.h"
#include "base/names.h"
#include "cli/verbs.h"

namespace {

// CLI11 would only say that a subcommand is missing.
void check_verb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return;
  std::vector<std::string> known{"--help", "-h", "--version"};
  if (argv[1][0] != '-') {
    known.clear();
    for (const CLI::App* verb : app.get_subcommands(nullptr)) known.push_back(verb->get_name());
  }
  if (std::find(known.begin(), known.end(), argv[1]) == known.end())
    throw darope::Error(darope::unknown_name("verb", argv[1], known));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace darope;
  CLI::App app{
      "darope: positional encodings for Transformers - choose one for your data, train with it, look "
      "inside."};
  app.set_version_flag("--version", "darope " DAROPE_VERSION);
  app.require_subcommand(1);
  add_encodings(app);
  add_bands(app);
  add_compare(app);
  add_train(app);
  add_eval(app);
  add_generate(app);
  add_inspect(app);
  add_ckpt(app);
  add_data(app);
  add_tasks(app);
  add_report(app);
  add_calibrate(app);
  add_bench(app);
  add_doctor(app);

  try {
    check_verb(app, argc, argv);
    app.parse(argc, argv);
    return kDone;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help and --version
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
