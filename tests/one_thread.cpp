#include <ATen/Parallel.h>

// Small tensors: a second thread only waits.
[[maybe_unused]] static const bool one_thread = (at::set_num_threads(1), true);
