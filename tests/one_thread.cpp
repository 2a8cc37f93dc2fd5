#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

// Small tensors: a second thread only waits.
[[maybe_unused]] static const bool one_thread = (at::set_num_threads(1), true);

// Some virtual machines announce matrix instructions that they do not have: there a plain product of torch in
// bfloat16 ends the process. Tests then go on without them, as whoever works there must.
[[maybe_unused]] static const bool products_work = [] {
  const pid_t child = ::fork();
  if (child == 0) {
    const at::Tensor x = at::ones({64, 64}, at::kBFloat16);
    at::matmul(x, x);
    ::_exit(0);
  }
  int status = 0;
  const bool dies =
      ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGILL;
  if (dies) ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", 1);
  return !dies;
}();
