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

void prepare_genome(const PrepareRequest& request, Preparation& out);
void prepare_fasta(const PrepareRequest& request, Preparation& out);
Tokens present_bases(Tokens stored, Random* random);
int64_t megabase_of(int64_t window);
std::string show_bases(std::span<const int64_t> stored);

void prepare_sleep_edf(const PrepareRequest& request, Preparation& out);
void prepare_edf(const PrepareRequest& request, Preparation& out);
void prepare_bonn(const PrepareRequest& request, Preparation& out);
std::string show_signal(std::span<const int64_t> tokens);

}  // namespace darope
