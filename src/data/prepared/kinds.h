#pragma once
#include "data/prepared/kind.h"

namespace darope {

// One for each line of the table in kinds.cpp, in the file of its name.
void prepare_jsb(const PrepareRequest& request, Preparation& out);
std::string show_chorale(std::span<const int64_t> tokens);

void prepare_maestro(const PrepareRequest& request, Preparation& out);
void prepare_midi(const PrepareRequest& request, Preparation& out);
std::string show_events(std::span<const int64_t> tokens);
Tokens transpose(Tokens tokens, Random* random);

}  // namespace darope
