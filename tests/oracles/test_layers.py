"""Who includes whom, as docs/architecture.md draws it."""

import pathlib
import re

SOURCE = pathlib.Path(__file__).parents[2] / "src"
MAY_INCLUDE = {
    "base": set(),
    "kernels": set(),
    "ops": {"kernels"},
    "encodings": {"base", "kernels", "ops"},
    "data": {"base"},
    "model": {"base", "data", "encodings", "ops"},
    "train": {"base", "data", "model", "runs"},
    "eval": {"base", "data", "model", "runs"},
    "runs": {"base"},
    "stats": {"base"},
    "report": {"base", "runs", "stats"},
    "experiments": {"base", "data", "encodings", "eval", "model", "runs", "train"},
    "bench": {"base", "data", "experiments", "model", "train"},
    "cli": {
        "base",
        "bench",
        "data",
        "encodings",
        "eval",
        "experiments",
        "report",
        "runs",
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
