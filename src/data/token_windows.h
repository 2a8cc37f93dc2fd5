#pragma once
#include "data/dataset.h"
#include "data/text/token_file.h"

namespace darope {

inline constexpr int64_t kFewestWindows = 8;  // fewer test windows say nothing

// Windows of length + 1 tokens, one under the other: each token but the first is a target. Where each token's
// document is told, documents are read apart, and what begins one is no target.
Batch pack_windows(const std::vector<std::vector<int64_t>>& windows,
                   const std::vector<std::vector<int64_t>>& documents = {});

// `count` windows of length + 1 tokens side by side from `begin` on, the last token of each the first of the
// next. A window's cluster is the document in which it begins; where all begin in one, neighbours go
// together.
std::shared_ptr<const TestSet> test_of_stream(std::shared_ptr<const TokenSource> source, int64_t begin,
                                              int64_t count, int64_t length, bool documents_apart);

}  // namespace darope
