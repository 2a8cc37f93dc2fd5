# The PyTorch wheel as plain imported targets. find_package(Torch) would demand a CUDA toolkit beside a CUDA
# wheel and set global nvcc flags; a CPU build needs neither. torch/version.py is read without importing
# torch, which takes seconds.
execute_process(
  COMMAND ${DAROPE_PYTHON} -c [[
import importlib.util, os, runpy
folder = os.path.dirname(importlib.util.find_spec("torch").origin)
version = runpy.run_path(folder + "/version.py")
print(folder, version["__version__"], version["cuda"] or "none", sep=";")]]
  OUTPUT_VARIABLE torch_facts OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_VARIABLE torch_error RESULT_VARIABLE torch_missing)
if(torch_missing)
  message(FATAL_ERROR
    "${DAROPE_PYTHON} has no torch: run ./setup, or set TORCH_PYTHON to a python3 with one (2.11 to 2.13).")
endif()
list(GET torch_facts 0 TORCH_DIR)
list(GET torch_facts 1 TORCH_VERSION)
list(GET torch_facts 2 TORCH_CUDA)
if(TORCH_VERSION VERSION_LESS 2.11 OR TORCH_VERSION VERSION_GREATER_EQUAL 2.14)
  message(FATAL_ERROR "torch ${TORCH_VERSION} in ${TORCH_DIR}: darope builds against 2.11 to 2.13")
endif()
include(cmake/cuda.cmake)      # sets DAROPE_CUDA

add_library(torch INTERFACE)
# -idirafter: the wheel carries its own fmt, which must not shadow the system's.
target_compile_options(torch INTERFACE "SHELL:-idirafter ${TORCH_DIR}/include"
                                       "SHELL:-idirafter ${TORCH_DIR}/include/torch/csrc/api/include")
target_link_libraries(torch INTERFACE ${TORCH_DIR}/lib/libtorch_cpu.so ${TORCH_DIR}/lib/libc10.so)
# at::parallel_for is a header: without -fopenmp it runs on one thread, without a word. The wheel's own
# runtime serves it.
target_compile_options(torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
file(GLOB torch_gomp ${TORCH_DIR}/lib/libgomp*)
target_link_libraries(torch INTERFACE ${torch_gomp})
# The second run path serves binaries carried to a machine whose wheel lies elsewhere.
set(DAROPE_TORCH_RUNPATH "" CACHE STRING "torch/lib folder of another machine the binaries should run on")
set(CMAKE_BUILD_RPATH "$ORIGIN;${TORCH_DIR}/lib;${DAROPE_TORCH_RUNPATH}")

if(DAROPE_CUDA)
  add_library(torch_cuda INTERFACE)
  # Nothing references libtorch_cuda by symbol; without --no-as-needed its kernels would never register.
  target_link_libraries(torch_cuda INTERFACE torch
    -Wl,--no-as-needed ${TORCH_DIR}/lib/libtorch_cuda.so ${TORCH_DIR}/lib/libc10_cuda.so -Wl,--as-needed
    CUDA::cudart)
endif()
