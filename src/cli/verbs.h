#pragma once
#include <CLI/CLI.hpp>

namespace darope {

// One function per verb, each in the file of its name; it adds a subcommand whose callback does the work.
// A callback that fails throws darope::Error, which main() prints and turns into the exit code.
void add_encodings(CLI::App& app);
void add_bands(CLI::App& app);
void add_compare(CLI::App& app);
void add_train(CLI::App& app);
void add_data(CLI::App& app);
void add_eval(CLI::App& app);
void add_generate(CLI::App& app);
void add_inspect(CLI::App& app);
void add_ckpt(CLI::App& app);
void add_tasks(CLI::App& app);
void add_report(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_bench(CLI::App& app);
void add_doctor(CLI::App& app);

std::vector<std::string> encoding_order();  // names as the registry has them, for reports

}  // namespace darope
