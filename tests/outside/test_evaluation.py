"""Evaluations from outside the tree, one file and one line each: listed, asked for, and in a report. One
scores the run's own data, the other long documents, which are opened only where they are asked for."""

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


def darope(*arguments, cwd, code=0):
    result = subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=300
    )
    assert result.returncode == code, result.stderr
    return result.stdout if code == 0 else result.stderr


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
    lines = [line.split(maxsplit=1) for line in listed.splitlines()]
    said = {
        name: lines[i + 1] for i, (name, _) in enumerate(lines) if not listed.splitlines()[i][0].isspace()
    }
    assert " ".join(said["answers"]) == "needs a synthetic task: this run has none"
    assert " ".join(said["document-end"]) == "needs long documents: add --positions N"
    assert " ".join(said["recall"]) == "needs prompts: add --retrieval"
    assert " ".join(said["shuffle"]) == "needs coordinates that the model learns: this run has none"


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
    page = (comparison / "mine" / "report.html").read_text()
    shown = page.partition("<section id='evaluations'>")[2].partition("</section>")[0]
    assert "loss by position" in shown and "tokens before the one that is told" in shown
    assert all(f"</svg>{encoding}</span>" in shown for encoding in ("rope", "hope"))


def test_padding_is_not_scored(tmp_path):
    """Of pieces of different lengths, each has a score for every token of its own. A curve of so many places
    is left to the report."""
    pieces = [[[60, 64, 67, 60 + step % 7] for step in range(3 + i)] for i in range(8)]
    parts = {part: pieces for part in ("train", "valid", "test")}
    (tmp_path / "pieces.json").write_text(json.dumps(parts))
    darope("data", "prepare", "jsb", "pieces.json", "--out", "jsb", cwd=tmp_path)
    words = ["--data", "jsb", "steps=2", "data.seq_len=48", *MODEL]
    darope("compare", *words, "--encodings", "rope", "--seeds", 1, "--out", "mine", cwd=tmp_path)
    run = tmp_path / "mine" / "runs" / "jsb-rope-s0"
    whole, by_position = {}, {}
    for text in (run / "results.jsonl").read_text().splitlines():
        line = json.loads(text)
        if line["axis"] == "length":
            whole[line["example"]] = line
        else:
            by_position.setdefault(line["example"], {})[line["x"]] = line["value"]
    assert {example: len(values) for example, values in by_position.items()} == {
        i: 4 * len(piece) - 1 for i, piece in enumerate(pieces)
    }
    for example, values in by_position.items():
        assert sum(values.values()) / len(values) == pytest.approx(whole[example]["value"], abs=1e-6)
    told = darope("eval", run, "--only", "nll-by-position", cwd=tmp_path)
    assert "nll along position: 39 places" in told and told.count("\n") == 3


DOCUMENTS = ["--positions", 64, "--documents", "long.jsonl"]


@pytest.fixture(scope="module")
def asked(comparison):
    """The same of both runs: the scores of each evaluation, by its folder."""
    texts = ["".join(f"{i * k % 89} after {i}, " for i in range(9)) for k in range(2, 7)]
    (comparison / "long.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for run in ("own-rope-s0", "own-hope-s0"):
        darope("eval", f"mine/runs/{run}", *DOCUMENTS, cwd=comparison)
    found = {}
    for file in comparison.glob("mine/runs/own-rope-s0/evals/*/*/results.jsonl"):
        if "document-end" in file.parent.name or "positions" in file.parent.name:
            name = "document-end" if "document-end" in file.parent.name else "positions"
            found[name] = [json.loads(line) for line in file.read_text().splitlines()]
    return found


def test_what_reads_documents_is_asked_for_with_them(asked):
    """The last quarter of each document, by the tree's own evaluation of every position."""
    by_position = {}
    for line in asked["positions"]:
        if line["axis"] == "position" and line["metric"] == "nll":
            by_position.setdefault(line["example"], {})[line["x"]] = line["value"]
    ends = {line["example"]: line for line in asked["document-end"]}
    assert len(ends) == len(by_position) == 5
    for example, line in ends.items():
        positions = by_position[example]
        assert sorted(positions) == list(range(64)) and (line["x"], line["tokens"]) == (64, 16)
        assert sum(positions[at] for at in range(48, 64)) / 16 == pytest.approx(line["value"], abs=1e-5)


def test_it_stands_apart_in_the_report(asked, comparison):
    darope("report", "mine", cwd=comparison)
    results = json.loads((comparison / "mine" / "results.json").read_text())
    (dataset,) = [each for each in results["evaluations"] if "document-end" in each["name"]]
    assert {cell["encoding"] for cell in dataset["lengths"][0]["cells"]} == {"rope", "hope"}


def test_one_that_lacks_its_need_is_told_what_to_add(comparison):
    run = "mine/runs/own-rope-s0"
    for name, words in (
        ("document-end", "document-end needs long documents: add --positions N"),
        ("recall", "recall needs prompts: add --retrieval"),
        ("shuffle", "shuffle needs coordinates that the model learns: this run has none"),
    ):
        assert darope("eval", run, "--only", name, cwd=comparison, code=2) == f"darope: {words}\n"
    alone = darope("eval", run, *DOCUMENTS, "--only", "document-end", cwd=comparison)
    assert "document-end at step 3" in alone and "positions at step" not in alone
    refused = darope("eval", run, *DOCUMENTS, "--only", "likelihood", cwd=comparison, code=2)
    assert "none of the evaluations of --only reads what --positions N opens" in refused
