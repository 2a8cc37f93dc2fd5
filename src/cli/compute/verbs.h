#pragma once
#include <CLI/CLI.hpp>

namespace darope {

// One function per verb that computes, each in the file of its name; it adds a subcommand whose callback does
// the work. A callback that fails throws darope::Error, which becomes a sentence and the exit code.
void add_compare(CLI::App& app);
void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_generate(CLI::App& app);
void add_inspect(CLI::App& app);
void add_bench(CLI::App& app);
void add_doctor(CLI::App& app);

}  // namespace darope
