"""Who includes whom, as docs/architecture.md draws it."""

import json
import re
import subprocess

from programs import DAROPE, ROOT

SOURCE = ROOT / "src"
MAY_INCLUDE = {
    "base": set(),
    "kernels": set(),
    "ops": {"kernels"},
    "encodings": {"base", "kernels", "ops"},
    "data": {"base"},
    "model": {"base", "data", "encodings", "ops"},
    "train": {"base", "data", "model", "ops", "runs"},
    "eval": {"base", "data", "model", "runs"},
    "runs": {"base"},
    "stats": {"base"},
    "report": {"base", "runs", "stats"},
    "settings": {"base", "data", "model", "runs", "train"},
    "experiments": {
        "base",
        "data",
        "encodings",
        "eval",
        "model",
        "ops",
        "report",
        "runs",
        "settings",
        "train",
    },
    "bench": {"base", "data", "encodings", "experiments", "model", "ops", "settings", "train"},
    "cli": {
        "base",
        "bench",
        "data",
        "encodings",
        "eval",
        "experiments",
        "report",
        "runs",
        "settings",
        "stats",
        "train",
    },
}
WITHOUT_TORCH = [
    "base",
    "kernels",
    "runs",
    "stats",
    "report",
    "settings",
    "data/text",
    "data/tasks",
    "data/midi",
    "data/genome",
    "data/eeg",
    "data/prepared",
]


def sources(folder):
    found = [path for path in (SOURCE / folder).rglob("*") if path.suffix in (".h", ".cpp", ".cu")]
    assert found, folder
    return found


def test_every_folder_has_its_rule():
    assert {path.name for path in SOURCE.iterdir() if path.is_dir()} == set(MAY_INCLUDE)


def test_includes_point_down():
    wrong = [
        f"{path.relative_to(SOURCE)} includes {other}/"
        for folder, allowed in MAY_INCLUDE.items()
        for path in sources(folder)
        for other in re.findall(r'#include "(\w+)/', path.read_text())
        if other != folder and other not in allowed
    ]
    assert not wrong, wrong


def test_torch_stays_where_it_belongs():
    wrong = [
        str(path.relative_to(SOURCE))
        for folder in WITHOUT_TORCH
        for path in sources(folder)
        if re.search(r"#include <(ATen|torch|c10)/", path.read_text())
    ]
    assert not wrong, wrong


def printed(*words):
    return subprocess.run([DAROPE, *words], capture_output=True, text=True, check=True, timeout=60).stdout


def code_of(path):
    """Without comments, and without the program's own name, which is an encoding's."""
    return re.sub(r"//.*|darope (?=train|data|report|bench)", "", path.read_text())


def test_reports_and_statistics_name_nothing_that_can_be_added():
    """Encodings, tasks, families, kinds of data and metrics come out of the runs and of paper.json."""
    tasks = [json.loads(line) for line in printed("tasks", "--json").splitlines()]
    names = {row["name"] for row in [*json.loads(printed("encodings", "--json")), *tasks]}
    names |= {task["family"] for task in tasks}
    for folder in ("data/prepared", "eval"):
        for path in sources(folder):
            names |= set(re.findall(r'\.name = "([\w-]+)"', path.read_text()))
    names -= {"text", "positional", "answers", "margin", "right", "learned"}  # words that pages have anyhow
    assert {"darope", "parity", "regular", "jsb", "nll", "free_running"} <= names
    found = [
        f"{path.relative_to(SOURCE)}: {literal}"
        for folder in ("report", "stats")
        for path in sources(folder)
        for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code_of(path))
        if names & set(re.findall(r"[\w-]+", literal))
    ]
    assert not found, found
