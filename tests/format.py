"""Every file as the formatters write it, no complaint of the linter, no line over 110 columns where no
formatter looks. Says what to run; changes nothing.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLUMNS = 110
C_LIKE = (".cpp", ".h", ".cu")
BY_HAND = (".md", ".yaml", ".yml", ".cff", ".cmake", "CMakeLists.txt", "Makefile", ".js", ".css")


def program(name):
    """From this Python's environment, or one that it takes packages from; else from PATH."""
    for folder in map(pathlib.Path, [sys.prefix, *(f"{path}/../../.." for path in sys.path)]):
        if (folder / "bin" / name).exists():
            return folder / "bin" / name
    return shutil.which(name) or sys.exit(f"format: {name} is missing: ./setup test installs it")


def tracked():
    """The files of the project; in a folder that is no clone, all that are not built or hidden."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True)
    if listed.returncode == 0:
        names = listed.stdout.decode().splitlines()
    else:
        names = [str(file.relative_to(ROOT)) for file in ROOT.rglob("*") if file.is_file()]
        names = [name for name in names if not name.startswith((".venv/", "build/"))]
    return [name for name in names if (ROOT / name).is_file() and not name.startswith("docs/results/")]


def is_by_hand(name):
    """No formatter looks at it: names above, and shell scripts."""
    with (ROOT / name).open("rb") as file:
        return name.endswith(BY_HAND) or re.match(rb"#!.*sh\b", file.readline()) is not None


def is_too_long(name, line):
    """Rows of a table and a single word, such as an address, cannot be broken."""
    whole = len(line.split()) == 1 or (name.endswith(".md") and line.startswith("|"))
    return len(line) > COLUMNS and not whole


def run(*command):
    return subprocess.run(list(map(str, command)), cwd=ROOT).returncode == 0


def main():
    files = tracked()
    sound = run(program("clang-format"), "--dry-run", "-Werror", *(f for f in files if f.endswith(C_LIKE)))
    ruff = program("ruff")
    sound &= run(ruff, "format", "--no-cache", "--check", ".")
    sound &= run(ruff, "check", "--no-cache", ".")
    for name in filter(is_by_hand, files):
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            if is_too_long(name, line):
                print(f"{name}:{number}: {len(line)} columns; {COLUMNS} are the most")
                sound = False
    if not sound:
        print("format: .venv/bin/clang-format -i FILE and .venv/bin/ruff format write a file as it should be")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
