#include <fmt/format.h>

#include "cli/verbs.h"

namespace darope {
namespace {

// As roff takes it: a dash is a minus, and no line begins with a dot or an apostrophe.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() || out.back() == '\n')
      if (c == '.' || c == '\'') out += "\\&";
    if (c == '-')
      out += "\\-";
    else if (c == '\\')
      out += "\\e";
    else
      out += c;
  }
  return out;
}

std::string options(const VerbTable& verb) {
  std::string out;
  for (const OptionTable& each : verb.options) {
    std::string names;
    for (const std::string& name : each.names) names += (names.empty() ? "" : ", ") + roff(name);
    out +=
        fmt::format(".TP\n.B {}{}\n{}\n", names,
                    each.value.empty() ? "" : (names.empty() ? "" : " ") + roff(each.value), roff(each.help));
  }
  return out;
}

std::string page(const VerbTable& program) {
  std::string out = ".TH DAROPE 1 \"\" \"darope " DAROPE_VERSION "\"\n.SH NAME\ndarope \\- " +
                    roff("compare positional encodings for Transformers") +
                    "\n.SH SYNOPSIS\n.B darope\nVERB [OPTIONS] [a.b=c ...]\n.SH DESCRIPTION\n" +
                    roff(program.summary) + "\n.SH OPTIONS\n" + options(program) + ".SH VERBS\n";
  for (const VerbTable& verb : program.verbs) {
    out += fmt::format(".SS {}\n{}\n", verb.name, roff(verb.summary)) + options(verb);
    for (const VerbTable& each : verb.verbs)
      out += fmt::format(".SS {} {}\n{}\n", verb.name, each.name, roff(each.summary)) + options(each);
  }
  return out +
         ".SH EXIT STATUS\n0 done; 1 a failure at run time; 2 bad arguments, config or input; 3 a check said "
         "no; 4 training stopped on a value that is not finite, or its scores are not finite; 5 another "
         "process "
         "is at work there; 75 "
         "stopped on request after saving; 130 interrupted after saving.\n";
}

}  // namespace

void add_man(CLI::App& app, const VerbTable& program) {
  app.add_subcommand("man", "the manual page, for man -l")->callback([&program] {
    fmt::print("{}", page(program));
  });
}

}  // namespace darope
