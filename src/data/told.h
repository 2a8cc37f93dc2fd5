#pragma once
#include "data/config.h"
#include "data/dataset.h"
#include "data/text/token_file.h"

namespace darope {

// What a file or folder holds and what of it is tested on, for who starts a comparison: "notes: 12 files, 1.2
// MB; 1 skipped, which holds no text: a.png. Tested on the last tenth of each file: 331 windows of 128
// tokens, from 12 files."
std::string told(const DataConfig& config, const TokenSource& learned, const TokenSource& tested,
                 bool whole_documents, const TestSet& test);

}  // namespace darope
