"""The folders of the trainer, as far as a reader of its checkpoints must know them (docs/run-folder.md)."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import yaml

from .. import folders
from ..run_files import require_version

__all__ = ["data_settings", "newest_checkpoint", "read_settings"]


def newest_checkpoint(folder: str | PathLike) -> str | PathLike:
    """The newest complete checkpoint of a run's folder; whatever is no run's folder stays as it is."""
    root = Path(folder) / folders.CHECKPOINTS
    if not root.is_dir():
        return folder
    require_version(root.parent)
    steps = [
        each for each in sorted(root.iterdir()) if each.name.isdigit() and (each / folders.COMPLETE).exists()
    ]
    if not steps:
        raise ValueError(f"{root} holds no complete checkpoint: train the run, or give a checkpoint's folder")
    return str(steps[-1])


def read_settings(run: str | PathLike) -> str:
    """config.yaml; "" where there is none."""
    file = Path(run) / folders.SETTINGS
    return file.read_text() if file.exists() else ""


def data_settings(run: str | PathLike) -> dict[str, object]:
    """The block `data` of config.yaml."""
    return (yaml.safe_load(read_settings(run)) or {}).get("data", {})
