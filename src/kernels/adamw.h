#pragma once
#include "kernels/rotate.h"

// A whole step of AdamW, from the gradients that backward passes left to the weights that the next forward
// pass reads: plain data in, no torch.
namespace darope::kernels {

struct AdamW {
  int64_t count = 0, decayed = 0;  // elements, multiples of 4; so many of them from the front decay
  float *weight = nullptr, *first = nullptr, *second = nullptr;
  float* gradient = nullptr;                          // both are left at 0: the sum of ...
  bfloat16 *low_gradient = nullptr, *copy = nullptr;  // ... these two; copy: weight in 16 bits. Null: none
  float beta1 = 0, beta2 = 0, epsilon = 0, decay = 0;
  float clip = 0;                                // the largest norm of the gradient; 0: any
  const float *rate = nullptr, *loss = nullptr;  // [1]
  float *steps = nullptr, *stopped = nullptr;    // [1]: good steps so far; 1 from the first bad one on
  float* norm = nullptr;                         // [1]: of the gradient before clipping
  float* room = nullptr;                         // [adamw_room()]
};

int64_t adamw_room();
void adamw_cuda(const AdamW&, void* stream);

}  // namespace darope::kernels
