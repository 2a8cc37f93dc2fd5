#pragma once
#include "data/dataset.h"
#include "model/decoder.h"

namespace darope {

// What an evaluation may need of a run: its data, its model, or what is opened where it is asked for. The
// words for each, and how it is met, stand in needs.cpp, a line each.
enum class Need : unsigned {
  task = 1 << 0,         // answers that are right or wrong
  own_answers = 1 << 1,  // some of them without help
  likelihood = 1 << 2,   // test data that are told, token by token
  coordinates = 1 << 3,  // a layer that learns where tokens stand
  documents = 1 << 4,    // Dataset::documents
  prompts = 1 << 5,      // Dataset::prompts
};

class Needs {
 public:
  constexpr Needs() = default;
  constexpr Needs(Need need) : bits_(unsigned(need)) {}
  constexpr Needs operator|(Needs other) const { return Needs(bits_ | other.bits_); }
  constexpr Needs operator&(Needs other) const { return Needs(bits_ & other.bits_); }
  constexpr bool any() const { return bits_ != 0; }

 private:
  explicit constexpr Needs(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};
constexpr Needs operator|(Need a, Need b) { return Needs(a) | b; }

// The first need that is not met, in words: "prompts: add --retrieval". "" if all are.
std::string lacking(Needs needs, const Dataset& data, const Decoder& model);
std::string how_to_ask_for(Needs opened);  // the options that open these: "--retrieval"

}  // namespace darope
