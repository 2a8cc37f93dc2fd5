#include <cstdio>

#include "base/config.h"
#include "base/error.h"
#include "base/streams.h"
#include "cli/common/help.h"
#include "cli/common/run_verbs.h"
#include "cli/compute.h"
#include "cli/verbs.h"
#include "cli/words.h"

namespace darope {
namespace {

bool has(const std::vector<std::string>& words, const char* word) {
  return std::ranges::find(words, word) != words.end();
}

// Prints the help of the verb, or of the one beneath it, that the words name.
int print_help(const VerbTable& verb, const std::vector<std::string>& words) {
  const VerbTable* asked = &verb;
  if (words.size() > 1)
    for (const VerbTable& each : verb.verbs)
      if (each.name == words[1]) asked = &each;
  std::fputs(asked->help.c_str(), stdout);
  close_output();
  return kDone;
}

int print_settings(const VerbTable& verb) {
  std::fputs(help_text(settings_of(verb)).c_str(), stdout);
  close_output();
  return kDone;
}

int run(int argc, char** argv);

// `darope help VERB` is `darope VERB --help`.
int run_help(int argc, char** argv) {
  std::string help = "--help";
  std::vector<char*> words{argv[0]};
  words.insert(words.end(), argv + 2, argv + argc);
  words.insert(words.end(), {help.data(), nullptr});
  return run(int(words.size()) - 1, words.data());
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") return run_help(argc, argv);
  CLI::App app{
      "darope: positional encodings for Transformers - choose one for your data, train with it, look inside.",
      "darope"};
  app.set_version_flag("--version", "darope " DAROPE_VERSION);
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(1);
  VerbTable program;
  for (const VerbTable& each : compute_verbs()) app.add_subcommand(each.name, each.summary);
  add_encodings(app);
  add_bands(app);
  add_ckpt(app);
  add_data(app);
  add_tasks(app);
  add_report(app);
  add_calibrate(app);
  add_settings(app);
  add_export(app);
  add_import(app);
  add_lm_eval(app);
  add_log(app);
  add_completion(app, program);
  add_man(app, program);
  app.footer(
      "To begin: darope compare --data my.txt says which encoding is best on a text of\n"
      "your own; docs/tutorial.md goes on from there. darope VERB --help explains a verb.");  // last, or
                                                                                              // every verb
                                                                                              // would end
                                                                                              // with it
  program = table_of(app);
  std::ranges::copy(compute_verbs(), program.verbs.begin());  // the first, as they were added
  check_words(program, words);
  for (const VerbTable& each : compute_verbs())
    if (!words.empty() && words.front() == each.name) {
      if (has(words, "--help") || has(words, "-h")) return print_help(each, words);
      if (each.settings && has(words, kHelpSettings)) return print_settings(each);
      compute(argv);
    }
  return run_verbs(app, argc, argv);
}

}  // namespace
}  // namespace darope

int main(int argc, char** argv) {
  darope::prepare_streams();
  try {
    return darope::run(argc, argv);
  } catch (const darope::Error& e) {
    std::fprintf(stderr, "darope: %s\n", e.what());
    return e.code();
  }
}
