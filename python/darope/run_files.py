"""JSON of a run's folder, or one sentence that says why it cannot be read."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

from . import folders

__all__ = ["VERSIONS", "parse_json", "read_json", "require_version"]

VERSIONS = range(1, 4)  # as docs/run-folder.md counts them


def parse_json(text: str, where: str) -> dict:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{where} is not a JSON object")
    return found


def read_json(file: Path) -> dict:
    return parse_json(file.read_text(), str(file))


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
