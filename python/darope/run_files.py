"""Which versions of a run's files are read."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from . import folders
from .files import read_json

__all__ = ["VERSIONS", "require_version"]

VERSIONS = range(1, 4)  # as docs/run-folder.md counts them


def require_version(run: str | PathLike) -> None:
    """ValueError where a run's files are of a version that is not known here."""
    for file in (Path(run) / folders.MANIFEST, Path(run) / folders.FACTS):
        if not file.exists():
            continue
        # Early manifests had none.
        schema = read_json(file).get("schema", VERSIONS[0] if file.name == folders.MANIFEST else None)
        if not isinstance(schema, int) or schema not in VERSIONS:
            raise ValueError(
                f"{file}: schema {schema} is none of {VERSIONS[0]} to {VERSIONS[-1]}, which this version of "
                "darope reads: take the version that wrote it"
            )
