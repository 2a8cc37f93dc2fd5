"""The build backend of `pip install --no-build-isolation .`: compiles the operators against the torch of the
environment.

Written out because the usual one needs packages that a plain environment lacks: here torch, and the
setuptools that torch
itself depends on, are enough.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = "0.1.0"
SUMMARY = (
    "Positional encodings for Transformers: RoPE, NoPE, HoPE, YaRN, CoPE, PoPE and DaRoPE "
    "as fused PyTorch operators"
)
METADATA = f"""Metadata-Version: 2.1
Name: darope
Version: {VERSION}
Summary: {SUMMARY}
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: torch>=2.11,<2.14
Provides-Extra: hf
Requires-Dist: transformers>=5,<6; extra == "hf"
Provides-Extra: eval
Requires-Dist: transformers>=5,<6; extra == "eval"
Requires-Dist: accelerate>=1.15; extra == "eval"
Requires-Dist: lm_eval>=0.4.13,<0.5; extra == "eval"
Requires-Dist: nltk>=3.9; extra == "eval"
Requires-Dist: wonderwords>=3,<4; extra == "eval"
"""
TAG = "py3-none-linux_x86_64"
FLAGS = ["-std=c++20", "-O3", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
# One build serves every x86-64, as in src/kernels/CMakeLists.txt.
LEVELS = {
    "baseline": [],
    "x86_64_v3": ["-march=x86-64-v3"],
    "x86_64_v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}
NVCC_FLAGS = [
    "-std=c++20",
    "-O3",
    "-gencode=arch=compute_80,code=sm_80",
    "-gencode=arch=compute_90,code=[sm_90,compute_90]",
]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    python = ROOT / "python"
    files = {
        str(path.relative_to(python)): path.read_bytes() for path in sorted(python.glob("darope/**/*.py"))
    }
    files["darope/py.typed"] = b""
    with tempfile.TemporaryDirectory() as build:
        files["darope/_ops.so"] = _compile(Path(build)).read_bytes()
    info = f"darope-{VERSION}.dist-info"
    files[f"{info}/METADATA"] = METADATA.encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: darope\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    )

    def digest(data):
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    name = f"darope-{VERSION}-{TAG}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("darope is built from its repository; a source distribution is not offered")


def _compile(build: Path) -> Path:
    cpp_extension, torch = _torch()
    home = cpp_extension.CUDA_HOME
    cuda = (
        torch.version.cuda is not None
        and home is not None
        and shutil.which("nvcc", path=str(Path(home) / "bin")) is not None
    )
    print(
        f"darope: torch {torch.__version__}; CUDA kernels "
        + (f"by {home}" if cuda else "left out (no nvcc): tensors on a GPU take the plain versions"),
        flush=True,
    )
    sources, vectorised = _sources(cuda)

    from setuptools import Distribution

    extension = (cpp_extension.CUDAExtension if cuda else cpp_extension.CppExtension)(
        "darope._ops",
        [str(path) for path in sources],
        include_dirs=[str(ROOT / "src")],
        extra_compile_args={"cxx": FLAGS, "nvcc": NVCC_FLAGS},
        extra_objects=[str(_compile_for(level, path, build)) for level in LEVELS for path in vectorised],
    )
    distribution = Distribution({"name": "darope", "ext_modules": [extension]})
    command = cpp_extension.BuildExtension(distribution, no_python_abi_suffix=True)
    command.build_lib, command.build_temp = str(build / "lib"), str(build / "temp")
    command.finalize_options()
    command.run()
    return build / "lib" / "darope" / "_ops.so"


def _sources(cuda: bool) -> tuple[list[Path], list[Path]]:
    """What is compiled once, and what once for each level."""
    found = [
        path
        for folder in ("ops", "encodings", "kernels")
        for path in sorted((ROOT / "src" / folder).glob("*.cpp"))
    ]
    found += sorted((ROOT / "src" / "kernels").glob("*.cu")) if cuda else []
    of_the_other = {"model_without_cuda.cpp"} if cuda else {"cuda.cpp", "model_cuda.cpp"}
    vectorised = [path for path in found if path.stem.endswith("_simd")]
    return [path for path in found if path not in vectorised and path.name not in of_the_other], vectorised


def _compile_for(level: str, source: Path, build: Path) -> Path:
    target = build / f"{source.stem}.{level}.o"
    flags = [
        *FLAGS,
        *LEVELS[level],
        "-fPIC",
        "-fopenmp-simd",
        "-Wno-psabi",
        f"-DDAROPE_ISA={level}",
        f"-I{ROOT / 'src'}",
    ]
    subprocess.run([os.environ.get("CXX", "c++"), *flags, "-c", str(source), "-o", str(target)], check=True)
    return target


def _torch():
    try:
        import torch
        from torch.utils import cpp_extension
    except ImportError:
        raise SystemExit(
            "darope is built against the torch of this environment, and there is none: "
            "run pip install 'torch>=2.11,<2.14', then pip install --no-build-isolation ."
        ) from None
    if not (2, 11) <= tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 14):
        raise SystemExit(
            f"darope builds against torch 2.11 to 2.13; this environment has {torch.__version__}"
        )
    return cpp_extension, torch
