#include "cli/common/run_verbs.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/streams.h"

namespace darope {

namespace {

void parse(CLI::App& app, int argc, char** argv) try {
  app.parse(argc, argv);
} catch (const CLI::ParseError& e) {
  if (e.get_exit_code() != 0) throw;
  std::ostringstream text;
  app.exit(e, text, text);  // --help and --version
  std::fputs(text.str().c_str(), stdout);
}

const CLI::App& deepest(const CLI::App& app) {
  const std::vector<const CLI::App*> parsed =
      app.get_subcommands([](const CLI::App* each) { return each->parsed(); });
  return parsed.empty() ? app : deepest(*parsed.front());
}

// In words of ours: what the option takes, and what was given.
std::string sentence_of(const CLI::App& app, const CLI::ParseError& e) {
  const std::string what = e.what();
  const CLI::App& verb = deepest(app);
  if (what.starts_with("The following argument"))
    return fmt::format("'{}' takes no further word:{}", verb.get_name(), what.substr(what.find(':') + 1));
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = option->get_name();
    if (what.starts_with("Could not convert: " + name + " ="))
      return fmt::format("{} takes a {}number, not{}", name,
                         option->get_type_name().starts_with("FLOAT") ? "" : "whole ",
                         what.substr(what.find('=') + 1));
    if (what.starts_with(name + ": At Most 1 required")) return name + " is given twice; it takes one value";
    if (what.starts_with(name + ": 1 required")) return name + " needs a value behind it";
  }
  return what;
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
                 sentence_of(app, e).c_str());
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
