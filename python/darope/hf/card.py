"""A model card: what a model was trained with, on what, and what it scored."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from .. import folders
from ..files import read_json
from ..run_files import read_sealed
from ..runs import Run
from ..settings import data_settings, read_settings
from .checkpoints import newest_checkpoint

__all__ = ["card_of"]

MOST_SOURCES = 50  # files of a dataset that are named; the manifest has all


def card_of(run: Path, model) -> str:
    facts = _object(run / folders.MANIFEST) | Run(run).facts
    parts = [
        "---\nlibrary_name: transformers\ntags:\n- darope\n---\n",
        f"# {_cell(run.resolve().name)}\n",
        _table(["", ""], _how_it_was_made(run, model, facts)),
        _data(run),
        _scores(run, facts),
    ]
    if settings := read_settings(run):
        fence = _fence(settings, 3)
        parts.append(f"## Settings\n\n{fence}yaml\n{_printable(settings)}{fence}\n")
    return "\n".join(part for part in parts if part)


def _how_it_was_made(run: Path, model, facts: dict) -> list[tuple]:
    rows = [
        ("encoding", getattr(model.config, "encoding", None) or model.config.rope_parameters),
        ("parameters", model.num_parameters()),
        ("training length", model.config.max_position_embeddings),
        ("data", facts.get("dataset")),
        ("steps", facts.get("steps")),
        ("tokens", facts.get("tokens")),
        ("checkpoint", Path(newest_checkpoint(run)).name),
        ("commit of darope", facts.get("commit")),
        ("command", facts.get("arguments")),
        ("hash of the data's order", facts.get("data_order")),
    ]
    return [row for row in rows if row[1] not in (None, "")]


def _data(run: Path) -> str:
    """What the manifest of a prepared dataset says, where that still lies."""
    root = Path(data_settings(run).get("root_dir", ""))
    file = root / folders.DATA_MANIFEST
    if not root.name or not file.exists():
        return ""
    manifest = read_sealed(file)
    if "sha256" not in manifest or not manifest.get("kind"):
        return ""  # some other program's file of that name
    splits, sources = manifest["splits"], manifest["sources"]
    rows = [(key, manifest[key]) for key in ("kind", "tokenizer", "vocabulary") if manifest.get(key)]
    rows += [
        (name, f"{split.get('sequences')} sequences, {split.get('values')} values")
        for name, split in splits.items()
    ]
    rows.append(("sha256 of the manifest", manifest["sha256"]))
    named = [(each.get("name"), each.get("bytes"), each.get("sha256")) for each in sources[:MOST_SOURCES]]
    more = f"\nand {len(sources) - MOST_SOURCES} more.\n" if len(sources) > MOST_SOURCES else ""
    return f"## Data\n\n{_table(['', ''], rows)}\n" + _table(["made of", "bytes", "sha256"], named) + more


def _scores(run: Path, facts: dict) -> str:
    """Those of the end of the training, and those that evaluations left."""
    rows = [*_means(Run(run), facts.get("steps"), "")] if facts.get("metrics") else []
    for results in sorted(run.glob(f"evals/*/*/{folders.SCORES}")):
        rows += _means(Run(results.parent), results.parts[-3], results.parts[-2])
    head = ["step", "asked", "metric", "place", "mean", "examples", "without a model"]
    return f"## Scores\n\n{_table(head, rows)}" if rows else ""


def _means(run: Run, step: object, asked: str) -> Iterable[tuple]:
    """A row for each metric and place, in the order of the file."""
    metrics = (run.facts or _object(run.folder / folders.MANIFEST)).get("metrics", [])
    described = {(each["name"], each["axis"]["name"]): each for each in metrics}

    def place(row: dict) -> tuple:
        return row["metric"], row.get("axis", "length"), row["x"]

    scores: dict[tuple, list[float]] = {}
    for key, rows in groupby(run.rows(folders.SCORES), place):
        scores.setdefault(key, []).extend(row["value"] for row in rows if row["value"] is not None)
    for (metric, axis, x), values in scores.items():
        about, at = described.get((metric, axis), {}), f"{x:g}"
        known = {"best constant answer": about.get("floor", {}), **about.get("baselines", {})}
        beside = ", ".join(f"{name} {places[at]:.4f}" for name, places in known.items() if at in places)
        mean = f"{statistics.fmean(values):.4f} {about.get('unit', '')}" if values else "none"
        yield step, asked, about.get("title", metric), f"{axis} {at}", mean, len(values), beside


def _object(file: Path) -> dict:
    return read_json(file) if file.exists() else {}


def _table(head: list[str], rows: Iterable[tuple]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines)


def _cell(value: object) -> str:
    """On one line, and no cell of its own; names may hold anything, so what is not plain stands as code."""
    text = _printable(str(value).replace("\n", " ")).strip()
    if re.fullmatch(r"[\w .,:()+=;%-]*", text):
        return text
    if "|" in text:
        text = text.replace("\\", "\\\\").replace("|", "\\|")
    fence = _fence(text, 1)
    return f"{fence} {text} {fence}"


def _fence(text: str, least: int) -> str:
    """More backticks than stand together anywhere in a text, which they then enclose."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)
