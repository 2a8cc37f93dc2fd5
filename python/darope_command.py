"""The command `darope` of an installed wheel: becomes the program that lies in the package.

It stands outside the package, whose import loads torch: most verbs need none and answer in milliseconds.
"""

import importlib.util
import os
import sys
from pathlib import Path


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        sys.exit(f"darope: this Python has no {package} any more: pip install {package}")
    return Path(spec.origin).parent


def main():
    program = _folder("darope") / "darope"
    first = {
        "LD_LIBRARY_PATH": _folder("torch") / "lib",  # of this Python, wherever it is
        "PATH": Path(sys.executable).parent,  # its python3 is the one with the package
    }
    for name, folder in first.items():
        rest = os.environ.get(name)
        os.environ[name] = f"{folder}:{rest}" if rest else str(folder)
    os.execv(program, ["darope", *sys.argv[1:]])
