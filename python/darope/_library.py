"""Loads the operators, torch.ops.darope.*, from the library beside this file."""

from pathlib import Path

import torch


def _find() -> Path:
    here = Path(__file__).parent
    for pattern in ("libdarope_ops.so", "_ops*.so"):  # built by CMake; built by pip
        for library in sorted(here.glob(pattern)):
            return library
    raise ImportError(
        f"darope's operator library is missing in {here}; build it with 'make build' or "
        "'pip install --no-build-isolation .'"
    )


LIBRARY: Path = _find()
torch.ops.load_library(str(LIBRARY))
