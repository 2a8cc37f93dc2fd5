#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <thread>

#include "base/machine.h"
#include "cli/compute/verbs.h"

namespace darope {
namespace {

bool has_kernel(const char* op, c10::DispatchKey key) {
  const auto handle = c10::Dispatcher::singleton().findSchema({op, ""});
  return handle && handle->hasKernelForDispatchKey(key);
}

void print_doctor() {
  const auto row = [](std::string_view what, const std::string& found) {
    fmt::print("{:<14} {}\n", what, found);
  };
  const bool gpu = at::hasCUDA(), kernels = has_kernel("darope::rotate", c10::DispatchKey::CUDA);
  row("darope", DAROPE_VERSION);
  row("compiler", __VERSION__);
  row("torch", fmt::format("built against {}", TORCH_VERSION));
  row("cpu",
      fmt::format("{}, {} cores, torch uses {} threads, {}", cpu_name(), std::thread::hardware_concurrency(),
                  at::get_num_threads(), at::get_cpu_capability()));
  row("CUDA kernels",
      kernels ? "built in"
              : "left out of this build: no nvcc was found; tensors on a GPU take the plain versions");
  row("GPU", gpu ? fmt::format("{} device(s), cuDNN {}", at::getNumGPUs(),
                               at::detail::getCUDAHooks().versionRuntimeCuDNN())
                 : "none that torch can use: everything runs on the CPU");
  row("attention",
      gpu ? "scaled_dot_product_attention picks cuDNN or FlashAttention for rotary encodings in bfloat16"
          : "scaled_dot_product_attention's CPU kernel for rotary encodings; dense for cope");
}

}  // namespace

void add_doctor(CLI::App& app) {
  app.add_subcommand("doctor", "what this machine and this build can do")->callback(print_doctor);
}

}  // namespace darope
