"""Which checkpoint of a run's folder counts, by its sizes and hashes: as src/runs/checkpoint_dir.cpp says."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from os import PathLike
from pathlib import Path

from .. import folders
from ..files import read_json, sha256_of_file
from ..run_files import require_version
from ..terminal import Damaged, complain

__all__ = ["newest_checkpoint", "step_of"]


def newest_checkpoint(folder: str | PathLike) -> str | PathLike:
    """The newest sound checkpoint of a run's folder. A checkpoint's own folder has to be sound; whatever is
    neither stays as it is.
    """
    root = Path(folder) / folders.CHECKPOINTS
    if not root.is_dir():
        if (Path(folder) / folders.CHECKSUMS).is_file() and (problem := problem_of(Path(folder))):
            raise Damaged(f"checkpoint {folder} is damaged: {problem}")
        return folder
    require_version(root.parent)
    found = sorted((each for each in root.iterdir() if step_of(each) is not None), reverse=True)
    if not found:
        raise ValueError(f"{root} holds no checkpoint yet: train the run, or give a checkpoint's folder")
    for each in found:
        problem = problem_of(each)
        if problem is None:
            return str(each)
        complain("darope", f"WARNING: checkpoint {each} is damaged and will not be used: {problem}")
    raise Damaged(f"none of the {len(found)} checkpoints in {root} is sound")


def step_of(folder: str | PathLike) -> int | None:
    """None where a folder bears no step's name."""
    name = Path(os.path.abspath(folder)).name
    return int(name) if re.fullmatch("[0-9]{10}", name) else None


def problem_of(folder: Path) -> str | None:
    """Why a checkpoint cannot be trusted; None if it can."""
    try:
        stats = [(each.name, each.stat()) for each in sorted(folder.iterdir())]
        return _problem(folder, tuple((name, each.st_size, each.st_mtime_ns) for name, each in stats))
    except (OSError, ValueError) as error:
        return str(error)


@lru_cache(maxsize=64)  # several readers ask, and the weights of large models take a while
def _problem(folder: Path, _stamps: tuple) -> str | None:
    manifest, listed = read_json(folder / folders.CHECKSUMS), set()
    try:
        entries = [(each["file"], each["bytes"], each["sha256"]) for each in manifest["files"]]
        for name, size, sha256 in entries:
            if "/" in name or name in ("", ".", ".."):
                return f"{folders.CHECKSUMS} names a file outside the folder"
            if name in listed:
                return f"{folders.CHECKSUMS} lists {name} twice"
            found = (folder / name).stat().st_size
            if found != size:
                return f"{name} has {found} bytes, not {size}"
            if sha256_of_file(folder / name) != sha256:
                return f"{name} does not have the bytes that were written (sha256 differs)"
            listed.add(name)
    except (KeyError, TypeError):
        return f"{folders.CHECKSUMS} is not a list of files"
    needed = [folders.MODEL, folders.TRAIN_STATE]
    needed += [folders.OPTIMIZER] if Path(os.path.abspath(folder)).parent.name == folders.CHECKPOINTS else []
    for name in needed:
        if name not in listed:
            return f"{folders.CHECKSUMS} does not list {name}"
    told, step = read_json(folder / folders.TRAIN_STATE).get("step"), step_of(folder)
    if step is not None and told != step:
        return f"{folders.TRAIN_STATE} says step {told}, its folder {step}"
    return None
