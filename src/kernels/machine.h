#pragma once
#include <cstdint>

// What the kernels assume of machines, in one place: nothing here changes what is computed, but where a sum
// is taken in parts, their number is part of its rounding.
namespace darope::kernels::machine {

// CPU: work that outweighs starting a thread, in the unit a loop counts, and blocks that stay in near caches.
inline constexpr int64_t kPairsPerThread = 1 << 14;        // pairs of channels that are turned
inline constexpr int64_t kElementsPerThread = 1 << 14;     // of activations and logits
inline constexpr int64_t kKeysPerThread = 1 << 13;         // of CoPE's rows
inline constexpr int64_t kScoreSumsPerThread = 1 << 16;    // multiply-adds of short attention
inline constexpr int64_t kProductSumsPerThread = 1 << 20;  // multiply-adds of a small product
inline constexpr int64_t kRowsAtOnce = 64;                 // of a norm, or tokens between two kernels
inline constexpr int64_t kColumnsAtOnce = 64;
inline constexpr int64_t kSmallProduct = 1 << 18;  // elements of its three matrices together
inline constexpr int64_t kProductRows = 256;       // what products with a large matrix are cut into
inline constexpr int64_t kPastCaches = 2 << 20;    // bytes of a result from which on it is written past them

// CUDA: for each multiprocessor of the device (processors() in cuda.h).
inline constexpr int64_t kThreads = 2048;  // that keep it busy
inline constexpr int64_t kRotateBlocks = 32, kNormBlocks = 16, kPolarBlocks = 8, kSwiGluBlocks = 64,
                         kAdamBlocks = 8;
inline constexpr int64_t kSumParts = 4;              // partial sums of a gradient that is added up at the end
inline constexpr int kCopeWarps = 4, kRowWarps = 8;  // warps of a block, one row each
inline constexpr int kRotateThreads = 256, kPolarThreads = 256, kMostPolarThreads = 512,
                     kAdamThreads = 256;        // of a block
inline constexpr int64_t kSumRowsAlone = 1024;  // rows that one block adds up
inline constexpr int64_t kSumRows = 256;        // that each takes, or more, where they are several
inline constexpr int64_t kSmallVocabulary =
    1024;  // beyond, the indicator of a batch outgrows its activations

}  // namespace darope::kernels::machine
