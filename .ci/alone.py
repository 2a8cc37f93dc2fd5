"""Compiles every file by itself, without precompiled header: each includes what it needs. What the build has
compiled in this way already is left out; C++ is only checked, CUDA sources are compiled.
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


def commands(build):
    """By file; of several commands for one the first."""
    entries = json.loads((build / "compile_commands.json").read_text())
    ours = [entry for entry in entries if not pathlib.Path(entry["file"]).is_relative_to(ROOT / "build")]
    return {entry["file"]: entry for entry in reversed(ours)}


def built_alone():
    """Files that the build beside this one does not join with others, and gives no precompiled header."""
    if not (ROOT / "build" / "compile_commands.json").exists():
        return set()
    return {file for file, entry in commands(ROOT / "build").items() if "cmake_pch" not in entry["command"]}


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
    return commands(BUILD)


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
    entries, known = configure(), built_alone()
    asked = [entry for file, entry in entries.items() if file not in known]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sound = list(pool.map(check, asked))
    print(
        f"alone: {sum(map(bool, sound))} of {len(sound)} files compile; "
        f"{len(entries) - len(asked)} more did in the build"
    )
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
