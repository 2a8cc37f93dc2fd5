"""pip's build of the package compiles what CMake's does: the build itself takes minutes, so its choice of
files is what is tested.
"""

import importlib.util
import re

import pytest
from conftest import ROOT

KERNELS = ROOT / "src" / "kernels"


@pytest.fixture(scope="module")
def backend():
    spec = importlib.util.spec_from_file_location("build_backend", ROOT / "python" / "build_backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_nvcc_nothing_needs_its_headers(backend):
    for path in backend._sources(False)[0]:
        assert not re.search(r"#include <(c10/cuda|ATen/cuda|cuda)", path.read_text()), path


def test_each_side_has_its_own_model_and_all_else(backend):
    names = {cuda: {path.name for path in backend._sources(cuda)[0]} for cuda in (False, True)}
    assert names[True] - names[False] == {
        "cuda.cpp",
        "model_cuda.cpp",
        *(path.name for path in KERNELS.glob("*.cu")),
    }
    assert names[False] - names[True] == {"model_without_cuda.cpp"}


def test_vector_code_is_compiled_for_every_level(backend):
    lists = (KERNELS / "CMakeLists.txt").read_text()
    (objects,) = re.findall(r"OBJECT ([^)]*)\)", lists)
    assert {path.name for path in backend._sources(False)[1]} == set(objects.split())
    assert {*re.findall(r"(\w+)::function", (KERNELS / "cpu.cpp").read_text())} == set(backend.LEVELS)
    for level, flags in backend.LEVELS.items():
        (given,) = re.findall(rf"target_compile_options\(kernels_{level} PRIVATE ([^)]*)\)", lists) or [""]
        assert given.split() == flags, level
