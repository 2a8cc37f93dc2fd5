"""What the program wrote, as data: `darope.load("runs/mine")` (docs/run-folder.md).

Nothing here needs the operators; tables need pandas, which is imported when one is asked for.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from . import folders
from .files import LARGE, parse_json, read_json, read_text
from .run_files import read_sealed, require_version, require_written

__all__ = ["Comparison", "Run", "load"]


def _lines(file: Path) -> list[dict]:
    """Those that are whole: what has no end yet is still being written."""
    if not file.exists():
        return []
    *lines, _ = read_text(file, LARGE).split("\n")
    return [_object(line, f"{file} line {i}") for i, line in enumerate(lines, 1) if line]


def _object(line: str, where: str) -> dict:
    found = parse_json(line, where)
    if not isinstance(found, dict):
        raise ValueError(f"{where} is not a JSON object")
    return found


def _table(rows: list[dict]):
    try:
        import pandas
    except ImportError:
        raise ImportError("tables of runs are pandas' data frames: pip install pandas") from None
    return pandas.DataFrame(rows)


class Run:
    """One run: what it says of itself, every score, and how its training went."""

    def __init__(self, folder: str | PathLike):
        self.folder = Path(folder)
        require_version(self.folder)
        facts = self.folder / folders.FACTS
        self.finished = facts.exists()
        self.facts: dict = read_sealed(facts) if self.finished else {}

    def scores(self):
        """One row per score, as results.jsonl has them, beside dataset, encoding and seed."""
        names = {key: self.facts.get(key) for key in ("dataset", "encoding", "seed")}
        return _table([{**names, **row} for row in self.rows(folders.SCORES)])

    def metrics(self):
        """One row per logged step: the training loss is `loss/out`."""
        return _table(self.rows(folders.METRICS))

    def rows(self, name: str) -> list[dict]:
        """The objects of one of its files of lines, as the run wrote them; none where it is not."""
        require_written(self.folder, self.facts, name)
        return _lines(self.folder / name)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"


class Comparison:
    """All runs of a comparison, and the report's numbers where it has been written."""

    def __init__(self, folder: str | PathLike):
        self.folder = Path(folder)
        self.runs = [Run(each) for each in sorted((self.folder / folders.RUNS).iterdir()) if _is_run(each)]
        results = self.folder / folders.RESULTS
        self.results: dict = read_json(results) if results.exists() else {}

    def scores(self):
        """The scores of all finished runs, one under the other."""
        names = ("dataset", "encoding", "seed")
        return _table(
            [
                {**{key: run.facts.get(key) for key in names}, **row}
                for run in self.runs
                if run.finished
                for row in run.rows(folders.SCORES)
            ]
        )

    def __repr__(self) -> str:
        return f"Comparison({str(self.folder)!r}, {len(self.runs)} runs)"


def _is_run(folder: Path) -> bool:
    return not folder.name.startswith(folders.TEMPORARY) and (folder / folders.SETTINGS).exists()


def load(folder: str | PathLike) -> Run | Comparison:
    """The run or the comparison of a folder."""
    path = Path(folder)
    if (path / folders.RUNS).is_dir():
        return Comparison(path)
    if _is_run(path):
        return Run(path)
    raise ValueError(
        f"{folder} is neither a run's folder nor a comparison's: "
        f"neither {folders.SETTINGS} nor {folders.RUNS}/ is there"
    )
