#pragma once
#include <cstdint>

namespace darope::kernels {

// out = x Phi(x), with Phi the normal distribution, and in the place of x its slope Phi(x) + x phi(x): both
// come of one exponential, and on the way back a product is left. Elements first .. last-1; x and out may not
// overlap.
void gelu_cpu(float* x, float* out, int64_t first, int64_t last);

}  // namespace darope::kernels
