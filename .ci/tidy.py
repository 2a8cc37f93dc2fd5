"""clang-tidy over every source that needs no torch, by the checks of .clang-tidy. alone.py has made the list
of commands it reads, or this does.
"""

import concurrent.futures
import os
import subprocess
import sys

import alone

FOLDERS = ["base", "data", "kernels", "report", "runs", "stats"]
# Warnings are GCC's, which the build asks for; clang means more by some, and knows others.
LEFT_OUT = ["unknown-warning-option", "sign-conversion", "deprecated-declarations"]


def needs_torch(entry):
    return "/torch/include" in entry["command"]


def tidy(file):
    program = alone.ROOT / ".venv" / "bin" / "clang-tidy"
    done = subprocess.run(
        [program, "--quiet", *(f"--extra-arg=-Wno-{each}" for each in LEFT_OUT), "-p", alone.BUILD, file],
        cwd=alone.ROOT,
        capture_output=True,
        text=True,
    )
    return done.returncode == 0 or print(done.stdout, flush=True)


def main():
    wanted = [alone.ROOT / "src" / folder for folder in FOLDERS]
    files = [
        file
        for file, entry in alone.configure().items()
        if any(str(folder) in file for folder in wanted) and file.endswith(".cpp") and not needs_torch(entry)
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sound = list(pool.map(tidy, sorted(files)))
    print(f"tidy: {sum(map(bool, sound))} of {len(sound)} files are clean")
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
