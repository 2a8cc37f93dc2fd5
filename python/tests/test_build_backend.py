"""pip's build of the package compiles what CMake's does: the build itself takes minutes, so what it chooses
and what it says of itself is tested.
"""

import email
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import zipfile

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


def metadata(backend, folder):
    info = folder / backend.prepare_metadata_for_build_wheel(folder)
    return info, email.message_from_bytes((info / "METADATA").read_bytes())


def test_metadata_comes_without_compiling_and_pins_the_torch_that_is_there(backend, tmp_path, monkeypatch):
    monkeypatch.setattr(backend, "_compile", None)
    monkeypatch.setattr(backend, "_build_program", None)
    _, said = metadata(backend, tmp_path)
    toml = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{said["Version"]}"' in toml and f'name = "{said["Name"]}"' in toml
    major, minor = importlib.metadata.version("torch").split(".")[:2]
    assert f"torch>={major}.{minor},<{major}.{int(minor) + 1}" in said.get_all("Requires-Dist")
    assert 'transformers>=5,<6; extra == "hf"' in said.get_all("Requires-Dist")


def test_code_for_this_machine_unless_asked(backend, monkeypatch):
    monkeypatch.setattr(backend.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(backend, "_cuda_home", lambda: "/cuda")
    assert backend._target("machine", backend.V3, ["90"]) == (["baseline", "x86_64_v3"], ["90"])
    assert backend._target("machine", backend.NEEDS["x86_64_v4"], []) == (["baseline", "x86_64_v4"], [])
    assert backend._target("machine", {"avx2"}, []) == (["baseline"], [])
    assert backend._target("any") == (["baseline", "x86_64_v3", "x86_64_v4"], ["80", "90"])
    monkeypatch.setattr(backend, "_cuda_home", lambda: None)
    assert backend._target("any")[1] == backend._target("machine", set(), ["90"])[1] == []
    with pytest.raises(SystemExit, match="it should be 'machine'.* or 'any'"):
        backend._target("all")


def test_levels_of_this_machine_are_those_the_compiler_sees(backend):
    asked = ["c++", "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"]
    defined = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert ("x86_64_v4" in backend._target("machine", devices=[])[0]) == ("__AVX512VL__" in defined)


def test_headers_that_are_missing_are_named(backend):
    there = {"libstdc++": "vector"}
    assert not set(backend._missing(there)) & {"libstdc++"}
    assert "nothing-dev" in backend._missing({**there, "nothing-dev": "no/such.h"})


def wheel(backend, folder, monkeypatch, missing):
    """Made of small files in place of what takes minutes; the words it says go to a list."""

    def small(build, *_):
        for name in ("darope", "darope-compute", "libdarope_ops.so", "_ops.so"):
            (build / name).write_bytes(b"\x7fELF" + name.encode())
        return [build / name for name in ("darope", "darope-compute", "libdarope_ops.so")]

    said = []
    monkeypatch.setattr(backend, "_say", said.append)
    monkeypatch.setattr(backend, "_missing", lambda: missing)
    monkeypatch.setattr(backend, "_build_program", small)
    monkeypatch.setattr(backend, "_compile", lambda *given: small(*given)[0].with_name("_ops.so"))
    return folder / backend.build_wheel(folder), said


def test_the_wheel_has_the_command_where_the_program_can_be_built(backend, tmp_path, monkeypatch):
    path, said = wheel(backend, tmp_path, monkeypatch, [])
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "-q",
        "--prefix",
        tmp_path / "to",
    ]
    subprocess.run([*pip, path], check=True)
    command = (tmp_path / "to" / "bin" / "darope").read_text()
    assert "from darope_command import main" in command and len(said) == 1
    (program,) = (tmp_path / "to").rglob("darope/darope")
    assert program.stat().st_mode & 0o111
    (tmp_path / "hook").mkdir()
    info, _ = metadata(backend, tmp_path / "hook")
    with zipfile.ZipFile(path) as packed:
        for file in info.iterdir():
            assert packed.read(f"{info.name}/{file.name}") == file.read_bytes()


def test_without_the_headers_it_has_the_operators_alone_and_says_so(backend, tmp_path, monkeypatch):
    path, said = wheel(backend, tmp_path, monkeypatch, ["libcli11-dev", "cmake"])
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
    assert "darope/_ops.so" in names and not any("command" in name or "entry" in name for name in names)
    assert any("without the program darope, which also needs libcli11-dev, cmake" in line for line in said)


def test_the_command_becomes_the_program_of_its_package(tmp_path):
    for package in ("darope", "torch"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise AssertionError('loaded')")
    program = tmp_path / "darope" / "darope"
    program.write_text('#!/bin/sh\necho "$@" "$LD_LIBRARY_PATH" "$(command -v python3)"\n')
    program.chmod(0o755)
    code = "import sys; sys.argv[1:] = ['eval', 'a b']; import darope_command; darope_command.main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}/python", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    folder = sys.executable.rpartition("/")[0]
    assert done.stdout == f"eval a b {tmp_path}/torch/lib {folder}/python3\n", done.stderr
