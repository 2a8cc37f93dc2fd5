#pragma once
#include "experiments/run.h"
#include "runs/facts.h"
#include "runs/runs.h"

namespace darope {

// What differs between the config of another life of a run, or its `text`, and this one, in words; empty if
// nothing. Its name, folder and threads, how often it logs and saves, and what `may_change` names may differ.
std::string changes(const RunConfig& before, const RunConfig& now,
                    const std::vector<std::string>& may_change = {});
std::string changes(const std::string& text, const std::filesystem::path& file, const RunConfig& config,
                    const std::vector<std::string>& may_change = {});
void check_same_config(const std::string& text, const std::filesystem::path& file, const RunConfig& config,
                       const std::vector<std::string>& may_change = {});

// An Error where the run's folder, or the checkpoint it begins from, is of another run, or there is nothing
// to go on from.
void check_past(const RunConfig& config, const Resume& resume);
// Likewise where its numbers were of another type than they would be now, or its data are not what they were.
void check_dtype(const RunConfig& config, const Resume& resume, const std::string& dtype);
// `data_order_now` is the hash of the data that `config` names, "" where it is not known yet.
void check_data(const RunConfig& config, const Resume& resume = {}, const std::string& data_order_now = "");
// Likewise for another run of the same comparison, found in `run`, whose data order had the hash `known`; ""
// is any.
void check_same_data(const std::filesystem::path& run, const std::string& known, const RunConfig& config);
std::string data_order_of(const RunFiles& run);  // what a finished run says of its data
bool is_finished_as(const RunConfig& config);

// A run's history says what it was begun from and which settings changed at which step, a line each. Two runs
// are comparable only if it is the same.
void add_to_history(const RunConfig& config, const Resume& resume, int64_t step);

}  // namespace darope
