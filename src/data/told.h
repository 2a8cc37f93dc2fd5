#pragma once
#include "data/config.h"
#include "data/dataset.h"
#include "data/prepared/manifest.h"

namespace darope {

// What a file or folder holds and what of it is tested on, for who starts a comparison: "notes: 12 files, 1.2
// MB; 1 skipped, which holds no text: a.png. Tested on the last tenth of each file: 331 windows of 128
// tokens, from 12 files."
std::string told(const DataConfig& config, const TokenSource& learned, const TokenSource& tested,
                 bool whole_documents, const TestSet& test);

// The same of a prepared dataset: "data/mine: 40 sources to learn from, 2 skipped by 'data prepare'. Tested
// on 77 examples from 5 sources."
std::string told(const DataConfig& config, const Manifest& manifest, const TestSet& test);

}  // namespace darope
