"""Which versions of a run's files are read, and whether they are what the run wrote."""

from __future__ import annotations

import hashlib
import json
import re
from os import PathLike
from pathlib import Path

from . import folders
from .files import read_json, read_text, sha256_of_file
from .terminal import Damaged

__all__ = ["VERSIONS", "read_sealed", "require_version", "require_written"]

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


def read_sealed(file: str | PathLike) -> dict:
    """The object of a file that may hold its own hash; Damaged where that is not the one."""
    found = read_json(file)
    if "sha256" in found and found["sha256"] != _seal(read_text(file)):
        raise Damaged(f"{file} is not what was written (its sha256 differs): put it back as it was")
    return found


def require_written(run: str | PathLike, facts: dict, name: str) -> None:
    """Damaged where a file of a finished run is not what it wrote; a bundle has thinner metrics."""
    hashes = facts.get("files", {})
    if not isinstance(hashes, dict):
        raise ValueError(f"{Path(run) / folders.FACTS}: 'files' should have a hash for each name")
    known = [hashes[key] for key in (name, f"{name} of a bundle") if key in hashes]
    file = Path(run) / name
    if known and file.exists() and sha256_of_file(file) not in known:
        raise Damaged(f"{file} is not what the run wrote (its sha256 differs): put it back as it was")


def _seal(text: str) -> str:
    """The hash of an object without its own, by sorted keys; numbers stay as they are written."""

    def verbatim(number: str) -> str:
        return f"\0{number}"

    found = json.loads(text, parse_float=verbatim, parse_int=verbatim)
    del found["sha256"]
    line = json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(re.sub(r'"\\u0000([^"]*)"', r"\1", line).encode()).hexdigest()
