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
    torch = _folder("torch")
    first = {  # torch and CUDA's runtime of this Python, and its python3, which has the package
        "LD_LIBRARY_PATH": [torch / "lib", *sorted(torch.parent.glob("nvidia/*/lib"))],
        "PATH": [Path(sys.executable).parent],
    }
    for name, folders in first.items():
        before = os.environ.get(name)
        os.environ[name] = ":".join([*map(str, folders), *([before] if before else [])])
    os.execv(program, ["darope", *sys.argv[1:]])
