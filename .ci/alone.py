"""Compiles every file by itself, without precompiled header: each includes what it needs. C++ is only
checked; CUDA sources, where there is an nvcc, are compiled.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "alone"


def configure():
    """Leaves compile_commands.json with one command for each file."""
    tools = ROOT / ".venv" / "bin"
    subprocess.run(
        [tools / "cmake", "-B", BUILD, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools}/ninja"]
        + [f"-DDAROPE_PYTHON={tools}/python", "-DCMAKE_UNITY_BUILD=OFF"]
        + ["-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", ROOT],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    ours = [entry for entry in entries if not pathlib.Path(entry["file"]).is_relative_to(ROOT / "build")]
    return {entry["file"]: entry for entry in reversed(ours)}  # of several commands for one file the first


def check(entry):
    words = shlex.split(entry["command"])
    if words[0].endswith("ccache"):
        words = words[1:]
    words[words.index("-o") + 1] = "/dev/null"
    if not entry["file"].endswith(".cu"):
        words += ["-fsyntax-only", "-O0"]
    done = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True)
    return done.returncode == 0 or print(f"{entry['file']}\n{done.stderr}", flush=True)


def main():
    entries = configure()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sound = list(pool.map(check, entries.values()))
    cuda = sum(file.endswith(".cu") for file in entries)
    print(f"alone: {sum(map(bool, sound))} of {len(sound)} files compile, {cuda} of them CUDA")
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
