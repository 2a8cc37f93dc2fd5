#pragma once
#include "data/text/token_file.h"

namespace darope {

// What is kept of a source for the test: all of it that lies behind `begin`.
struct HeldOut {
  TokenSource source;
  int64_t begin;
  bool whole_documents = false;  // else the end of each
};

// Of a single document its end. Of several the end of each, so that every one is tested on; but where a tenth
// of the test holds the largest of them, so that there are many, whole ones, spread evenly over all. What is
// kept of them is moved behind what is learned from.
HeldOut hold_out(const TokenSource& source, double share);

}  // namespace darope
