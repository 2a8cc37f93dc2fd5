#pragma once
#include "data/midi/remi.h"
#include "data/prepared/preparation.h"

namespace darope {

// Files below a folder whose names end so, by their names relative to it, sorted.
std::vector<std::string> midi_files(const std::filesystem::path& folder,
                                    std::span<const std::string_view> endings);

// The sequences of each sound file (data/midi/chunks.h) into the split that is drawn for it.
void prepare_performances(const PrepareRequest& request, const std::vector<std::string>& names,
                          Preparation& out);

std::string show_events(std::span<const int64_t> tokens);
std::string midi_of_events(std::span<const int64_t> tokens);
Tokens transpose(Tokens tokens, Random* random);

}  // namespace darope
