#pragma once
#include <CLI/CLI.hpp>

namespace darope {

// Parses the words and does what they say; what goes wrong becomes a sentence and an exit code.
int run_verbs(CLI::App& app, int argc, char** argv);

}  // namespace darope
