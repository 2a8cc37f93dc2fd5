"""Finished runs, told to trackers of experiments from the files they left (docs/files.md).

A tracker is one file here with `tell(runs, project)`, and one line in TRACKERS.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import folders
from ..runs import Comparison, Run, load
from ..settings import settings_of
from . import to_mlflow, to_wandb


@dataclass(frozen=True)
class Tracker:
    name: str
    package: str  # what pip calls it
    tell: Callable


TRACKERS = {
    "wandb": Tracker("Weights & Biases", "wandb", to_wandb.tell),
    "mlflow": Tracker("MLflow", "mlflow-skinny sqlalchemy alembic", to_mlflow.tell),
}


@dataclass(frozen=True)
class Logged:
    """A run as every tracker takes it."""

    name: str
    id: str  # of this folder with these results: telling it twice adds nothing
    settings: dict[str, str]  # "optim.lr": "0.003"
    steps: list[tuple[int, dict[str, float]]]  # what was logged after each step
    means: dict[str, float]  # of the scores: "nll/length-1"


def finished(folder: str | Path) -> Iterator[Logged]:
    """The runs there that have ended."""
    found = load(folder)
    runs = found.runs if isinstance(found, Comparison) else [found]
    for run in runs:
        if run.finished:
            yield logged(run)


def logged(run: Run) -> Logged:
    return Logged(
        name=run.folder.resolve().name,
        id=_identity(run),
        settings=dict(_settings(run)),
        steps=_steps(run),
        means=_means(run),
    )


def _identity(run: Run) -> str:
    text = json.dumps([str(run.folder.resolve()), run.facts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _settings(run: Run) -> Iterator[tuple[str, str]]:
    def flat(values, before):
        for key, value in values.items():
            if isinstance(value, dict):
                yield from flat(value, f"{before}{key}.")
            else:
                yield before + key, str(value)

    return flat(settings_of(run.folder), "")


def _steps(run: Run) -> list[tuple[int, dict[str, float]]]:
    out: dict[int, dict[str, float]] = {}
    for file in (folders.METRICS, folders.VALIDATIONS):
        for row in run.rows(file):
            values = {key: value for key, value in row.items() if "/" in key and value is not None}
            out.setdefault(row["global_step"], {}).update(values)
    return sorted(out.items())


def _means(run: Run) -> dict[str, float]:
    sums: dict[str, tuple[float, int]] = {}
    for row in run.rows(folders.SCORES):
        name = f"{row['metric']}/{row.get('axis', 'length')}-{row['x']:g}"
        total, count = sums.get(name, (0.0, 0))
        sums[name] = total + row["value"], count + 1
    return {name: total / count for name, (total, count) in sums.items()}
