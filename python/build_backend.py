"""The build backend of `pip install --no-build-isolation .`: compiles the operators against the torch of the
environment, and the program `darope` where what it needs is there (docs/install.md).

Written out because the usual ones need packages that a plain environment lacks: here torch is enough.
"""

import base64
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    from setuptools._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
INFO = f"{PROJECT['name']}-{PROJECT['version']}.dist-info"
TAG = f"py3-none-linux_{platform.machine()}"
FLAGS = ["-std=c++20", "-O3", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
# As in src/kernels/CMakeLists.txt: the CPU's best level is taken at run time.
LEVELS = {
    "baseline": [],
    "x86_64_v3": ["-march=x86-64-v3"],
    "x86_64_v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}
V3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
NEEDS = {"x86_64_v3": V3, "x86_64_v4": V3 | {f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")}}
# What the program needs beside torch: a header of each Debian package.
HEADERS = {
    "libcli11-dev": "CLI/CLI.hpp",
    "libyaml-cpp-dev": "yaml-cpp/yaml.h",
    "nlohmann-json3-dev": "nlohmann/json.hpp",
    "libfmt-dev": "fmt/format.h",
    "libboost-dev": "boost/math/distributions/students_t.hpp",
    "libzstd-dev": "zstd.h",
    "zlib1g-dev": "zlib.h",
    "libhts-dev": "htslib/faidx.h",
    "libhtscodecs-dev": "htscodecs/rANS_static.h",
    "libbz2-dev": "bzlib.h",
    "liblzma-dev": "lzma.h",
    "libssl-dev": "openssl/evp.h",
}


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory) / INFO
    folder.mkdir()
    for name, text in _info(_missing()).items():
        (folder / name).write_bytes(text)
    return INFO


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    target = _target((config_settings or {}).get("for", "machine"))
    missing = _missing()
    python = ROOT / "python"
    files = {
        str(path.relative_to(python)): path.read_bytes() for path in sorted(python.glob("darope/**/*.py"))
    }
    files["darope/py.typed"] = b""
    with tempfile.TemporaryDirectory() as build:
        _say(f"torch {importlib.metadata.version('torch')}; code for {_words(target)}")
        if missing:
            _say(f"operators alone, without the program darope, which also needs {', '.join(missing)}")
            files["darope/_ops.so"] = _compile(Path(build), *target).read_bytes()
        else:
            files["darope_command.py"] = (python / "darope_command.py").read_bytes()
            for path in _build_program(Path(build), *target):
                files[f"darope/{path.name}"] = path.read_bytes()
    files |= {f"{INFO}/{name}": text for name, text in _info(missing).items()}
    files[f"{INFO}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: darope\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    )
    return _pack(files, Path(wheel_directory))


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("darope is built from its repository; a source distribution is not offered")


def _info(missing: list[str]) -> dict[str, bytes]:
    """What the wheel says of itself. The operators fit the minor version of torch they were built with."""
    major, minor = _torch_version()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {PROJECT['name']}",
        f"Version: {PROJECT['version']}",
        f"Summary: {PROJECT['description']}",
        "License: Apache-2.0",
        f"Requires-Python: {PROJECT['requires-python']}",
    ]
    pinned = [f"torch>={major}.{minor},<{major}.{minor + 1}"]
    others = [each for each in PROJECT["dependencies"] if not each.startswith("torch")]
    lines += [f"Requires-Dist: {each}" for each in pinned + others]
    for extra, needs in PROJECT["optional-dependencies"].items():
        lines += [
            f"Provides-Extra: {extra}",
            *(f'Requires-Dist: {each}; extra == "{extra}"' for each in needs),
        ]
    out = {"METADATA": "\n".join([*lines, ""]).encode(), "LICENSE": (ROOT / "LICENSE").read_bytes()}
    if not missing:
        out["entry_points.txt"] = b"[console_scripts]\ndarope = darope_command:main\n"
    return out


def _pack(files: dict[str, bytes], folder: Path) -> str:
    def digest(data):
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{INFO}/RECORD"] = "\n".join([*rows, f"{INFO}/RECORD,,", ""]).encode()
    name = f"{PROJECT['name']}-{PROJECT['version']}-{TAG}.whl"
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if data.startswith(b"\x7fELF") else 0o100644) << 16
            wheel.writestr(entry, data)
    return name


def _say(text: str):
    """To the person at the terminal, from whom pip keeps what a build prints."""
    try:
        with open("/dev/tty", "w") as terminal:
            terminal.write(f"darope: {text}\n")
    except OSError:
        print(f"darope: {text}", flush=True)


def _target(wanted: str, features: set[str] | None = None, devices: list[str] | None = None):
    """The levels of the CPU and the architectures of GPUs that get code: those of this machine, or all."""
    if wanted not in ("machine", "any"):
        raise SystemExit(f"-C for={wanted}: it should be 'machine', what this one can use, or 'any'")
    x86 = platform.machine() == "x86_64"
    if wanted == "any":
        return list(LEVELS if x86 else ["baseline"]), ["80", "90"] if _cuda_home() else []
    if features is None:
        features = set(re.findall(r"\w+", _line_of("/proc/cpuinfo", "flags")))
    best = [level for level, needs in NEEDS.items() if x86 and needs <= features][-1:]
    if devices is None:
        devices = _devices()
    return ["baseline", *best], devices if _cuda_home() else []


def _words(target) -> str:
    levels, architectures = target
    gpus = [f"sm_{each}" for each in architectures] or ["no GPU, where the plain versions serve"]
    return ", ".join(levels + gpus) + " (-C for=any: every machine)"


def _line_of(file: str, key: str) -> str:
    return next((line for line in Path(file).read_text().splitlines() if line.startswith(key)), "")


def _devices() -> list[str]:
    import torch

    found = {torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())}
    return [f"{major}{minor}" for major, minor in sorted(found)]


def _cuda_home() -> str | None:
    import torch
    from torch.utils import cpp_extension

    home = cpp_extension.CUDA_HOME
    there = torch.version.cuda and home and shutil.which("nvcc", path=str(Path(home) / "bin"))
    return home if there else None


def _torch_version() -> tuple[int, int]:
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(
            "darope is built against the torch of this environment, and there is none: "
            "run pip install 'torch>=2.11,<2.14', then pip install --no-build-isolation ."
        ) from None
    major, minor = (int(part) for part in version.split(".")[:2])
    if not (2, 11) <= (major, minor) < (2, 14):
        raise SystemExit(f"darope builds against torch 2.11 to 2.13; this environment has {version}")
    return major, minor


def _missing(headers: dict[str, str] = HEADERS) -> list[str]:
    """What there is not, of what the program needs."""
    asked = "".join(f"#if !__has_include(<{file}>)\n{name}\n#endif\n" for name, file in headers.items())
    command = [_compiler(), "-E", "-P", "-x", "c++", "-"]
    if not shutil.which(command[0]):
        raise SystemExit(f"darope needs a C++ compiler, and there is no {command[0]}: install g++")
    found = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout.split()
    charts = ("/usr/share/javascript/chart.js", "/usr/share/nodejs/chart.js/dist")
    if not any(Path(folder, "chart.min.js").exists() for folder in charts):
        found.append("libjs-chart.js")
    return found if _program("cmake") else [*found, "cmake"]


def _program(name: str) -> str | None:
    """Beside this Python, where pip puts it, or in PATH."""
    return shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")


def _compiler() -> str:
    return os.environ.get("CXX", "c++")


def _build_program(build: Path, levels: list[str], architectures: list[str]) -> list[Path]:
    """The program, the one it starts, and the operators, which lie in one folder."""
    listed = "-DCMAKE_CUDA_ARCHITECTURES=" + ";".join(architectures)
    cmake, ninja = _program("cmake"), _program("ninja")
    configure = [cmake, "-S", ROOT, "-B", build, f"-DDAROPE_PYTHON={sys.executable}", "-DBUILD_TESTING=OFF"]
    configure += [
        f"-DDAROPE_LEVELS={';'.join(levels)}",
        *([listed] if architectures else ["-DDAROPE_CUDA=OFF"]),
    ]
    configure += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    _run(configure)
    command = [cmake, "--build", str(build), "--parallel", str(len(os.sched_getaffinity(0)))]
    command += ["--target", "darope", "darope_compute"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if step := re.match(r"\[ *(\d+)(?:/(\d+)|%)\] Building \w+ object .*?([\w.]+)\.o$", line):
                _say(f"file {step[1]} of {step[2]}: {step[3]}" if step[2] else f"{step[1]} %: {step[3]}")
    if process.returncode:
        raise SystemExit("the program did not compile: pip -v shows why")
    _run([cmake, "--install", build, "--prefix", build / "installed"])
    place = build / "installed" / "lib" / "darope"
    return [build / "installed/bin/darope", place / "darope-compute", place / "libdarope_ops.so"]


def _compile(build: Path, levels: list[str], architectures: list[str]) -> Path:
    import torch

    home = Path(torch.__file__).parent
    cuda = _cuda_home() if architectures else None
    once, vectorised = _sources(bool(cuda))
    common = ["-fPIC", f"-I{ROOT / 'src'}", *([f"-I{cuda}/include"] if cuda else [])]
    with_torch = [
        flag for path in ("include", "include/torch/csrc/api/include") for flag in ("-idirafter", home / path)
    ]
    gencode = [f"-gencode=arch=compute_{each},code=[sm_{each},compute_{each}]" for each in architectures]
    commands = {}
    for path in once:
        if path.suffix == ".cu":
            command = [f"{cuda}/bin/nvcc", "-std=c++20", "-O3", *gencode, "-Xcompiler", *common]
        else:
            command = [_compiler(), *FLAGS, *common, *with_torch]
        commands[build / f"{path.parent.name}.{path.name}.o"] = [*command, "-c", path]
    for level in levels:
        flags = [*FLAGS, *LEVELS[level], *common, "-fopenmp-simd", "-Wno-psabi", f"-DDAROPE_ISA={level}"]
        for path in vectorised:
            commands[build / f"{path.stem}.{level}.o"] = [_compiler(), *flags, "-c", path]
    commands[build / "kernels.cpu.cpp.o"] += [
        f"-DDAROPE_WITHOUT_{each}" for each in LEVELS if each not in levels
    ]
    _run_all(commands)
    library = build / "_ops.so"
    libraries = [home / "lib" / f"lib{name}.so" for name in ("torch_cpu", "c10")]
    if cuda:
        libraries += ["-Wl,--no-as-needed", home / "lib/libtorch_cuda.so", home / "lib/libc10_cuda.so"]
        libraries += [f"-L{cuda}/lib64", "-lcudart"]
    gomp = sorted((home / "lib").glob("libgomp*"))
    _run([_compiler(), "-shared", *commands, *libraries, *gomp, "-o", library])
    return library


def _run(command):
    subprocess.run([*map(str, command)], check=True)


def _run_all(commands):
    """Compiles on all cores, and says how far it is."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        jobs = {
            pool.submit(_run, [*command, "-o", target]): target.name for target, command in commands.items()
        }
        try:
            for i, job in enumerate(as_completed(jobs), 1):
                job.result()
                _say(f"file {i} of {len(jobs)}: {jobs[job].removesuffix('.o')}")
        except subprocess.CalledProcessError:
            pool.shutdown(cancel_futures=True)
            raise SystemExit("the operators did not compile: pip -v shows why") from None


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
