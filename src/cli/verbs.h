#pragma once
#include <CLI/CLI.hpp>

#include "cli/common/table.h"

namespace darope {

// One function per verb that needs no torch, each in the file of its name; those that compute are in
// compute/. It adds a subcommand whose callback does the work. A callback that fails throws darope::Error,
// which becomes a sentence and the exit code.
void add_encodings(CLI::App& app);
void add_bands(CLI::App& app);
void add_data(CLI::App& app);
void add_ckpt(CLI::App& app);
void add_tasks(CLI::App& app);
void add_report(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_settings(CLI::App& app);
// In python.cpp: the Python package does these.
void add_export(CLI::App& app);
void add_import(CLI::App& app);
void add_lm_eval(CLI::App& app);
void add_log(CLI::App& app);
// Those that describe all verbs, which `program` holds once all are there.
void add_completion(CLI::App& app, const VerbTable& program);
void add_man(CLI::App& app, const VerbTable& program);

}  // namespace darope
