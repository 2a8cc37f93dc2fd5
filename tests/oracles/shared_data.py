"""Where the real data lie: DAROPE_SHARED, or ../shared beside the repository. A test that needs them says
what is missing and skips.
"""

import lzma
import os
import pathlib
import tarfile

import pytest

SHARED = pathlib.Path(os.environ.get("DAROPE_SHARED", pathlib.Path(__file__).resolve().parents[3] / "shared"))


def shared(*parts):
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no data at {path}")
    return path


def unpack(archive, folder, select=lambda name: True):
    with tarfile.open(archive) as tar:
        tar.extractall(folder, [m for m in tar.getmembers() if m.isfile() and select(m.name)])
    return folder


def text_of_xz(path):
    with lzma.open(path, "rt") as file:
        return file.read()
