"""An evaluation from outside the tree, one file and one line: listed, asked for by name, and in a report."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["DAROPE_BINARY"]
MODEL = [
    "model.style=nanogpt",
    "model.dim=16",
    "model.n_layers=1",
    "model.n_heads=2",
    "threads=1",
    "device=cpu",
]


def darope(*arguments, cwd):
    result = subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    (folder / "own.txt").write_text(
        "".join(f"{i} and {i * i % 97} make {i + i * i % 97}.\n" for i in range(400))
    )
    data = ["--data", "own.txt", "data.seq_len=16", "data.test_examples=8", "steps=3"]
    darope("compare", *data, *MODEL, "--encodings", "rope,hope", "--seeds", 1, "--out", "mine", cwd=folder)
    return folder


def test_the_guide_shows_it():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert (ROOT / "tests" / "outside" / "nll_by_position.cpp").read_text() in guide
    assert "    evaluation_of<class NllByPosition>(),\n" in guide


def test_it_is_listed(comparison):
    listed = darope("eval", "mine/runs/own-rope-s0", "--list", cwd=comparison)
    assert "nll-by-position" in listed and "nll along position, nats per token" in listed
    assert "not for this run: it needs a synthetic task" in listed  # the answers of one


def test_positions_make_up_the_whole(comparison):
    """The mean over the positions of a window is what the likelihood of the window says, by another way."""
    shown = darope("eval", "mine/runs/own-rope-s0", "--only", "nll-by-position,likelihood", cwd=comparison)
    file = shown.rstrip().rpartition(": ")[2]
    lines = [json.loads(line) for line in (comparison / file).read_text().splitlines()]
    by_position = {}
    for line in lines:
        if line["axis"] == "position":
            by_position.setdefault(line["example"], {})[line["x"]] = line["value"]
    windows = {each["example"]: each for each in lines if each["axis"] == "length" and each["x"] == 1}
    assert len(by_position) == len(windows) == 8
    for example, line in windows.items():
        values = by_position[example]
        assert sorted(values) == list(range(16))
        assert sum(values.values()) / 16 == pytest.approx(line["value"], abs=1e-6)


def test_the_report_reads_it(comparison):
    results = json.loads((comparison / "mine" / "results.json").read_text())
    dataset = results["datasets"][0]
    assert (dataset["metric"], dataset["axis"]) == ("nll", "length")
    (beside,) = dataset["beside"]
    assert (beside["metric"], beside["axis"]) == ("nll", "position")
    assert [place["x"] for place in beside["places"]] == list(range(16))
    assert all(
        [cell["encoding"] for cell in place["cells"]] == ["rope", "hope"] for place in beside["places"]
    )
    described = dataset["metrics"][1]
    assert described["axis"]["name"] == "position" and not described["higher_better"]
    darope("report", "mine", "--csv", "scores.csv", cwd=comparison)
    assert ",nll,position,15,rope," in (comparison / "scores.csv").read_text()
