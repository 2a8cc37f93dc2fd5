#pragma once
#include <CLI/CLI.hpp>

namespace darope {

// Parses the words and does what they say; what goes wrong becomes a sentence and an exit code.
int run_verbs(CLI::App& app, int argc, char** argv);

// Of verbs that take settings: the front lists them without starting what computes.
inline constexpr const char* kHelpSettings = "--help-settings";
inline void take_settings(CLI::App& verb) {
  verb.add_flag_callback(
      kHelpSettings, [] {}, "print every setting with default, meaning, type and range, and stop");
  verb.allow_extras();
}

}  // namespace darope
