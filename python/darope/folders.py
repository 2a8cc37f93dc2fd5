"""What files of runs, comparisons, checkpoints and datasets are called, and which versions of them are read.
src/runs owns the names and what is in the files (docs/run-folder.md); this is the one place in Python that
knows them.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from .files import read_json

VERSIONS = range(1, 4)  # of a run's files

TEMPORARY = ".part-"  # how the names of what is not whole yet begin

# of a run
SETTINGS = "config.yaml"
MANIFEST = "manifest.json"
FACTS = "run.json"  # there when the run has ended
SCORES = "results.jsonl"
METRICS = "metrics.jsonl"
VALIDATIONS = "metrics.eval.jsonl"
CHECKPOINTS = "checkpoints"

# of a checkpoint
MODEL = "model.safetensors"
MODEL_CONFIG = "config.json"  # as Hugging Face reads it
OPTIMIZER = "optim.safetensors"
TRAIN_STATE = "train_state.json"
CHECKSUMS = "MANIFEST.json"
COMPLETE = "COMPLETE"

# of a comparison
RUNS = "runs"
RESULTS = "results.json"

# of a prepared dataset
DATA_MANIFEST = "manifest.json"
RANKS = "tokenizer.tiktoken"


def require_version(run: str | PathLike) -> None:
    """ValueError where a run's files are of a version that is not known here."""
    for file in (Path(run) / MANIFEST, Path(run) / FACTS):
        if not file.exists():
            continue
        # Early manifests had none.
        schema = read_json(file).get("schema", VERSIONS[0] if file.name == MANIFEST else None)
        if not isinstance(schema, int) or schema not in VERSIONS:
            raise ValueError(
                f"{file}: schema {schema} is none of {VERSIONS[0]} to {VERSIONS[-1]}, which this version of "
                "darope reads: take the version that wrote it"
            )
