"""Runs and comparisons read back in Python, and the notebook that does so."""

import json
import os
import subprocess

import darope
import pytest
from conftest import ROOT
from darope.files import new_folder, write_whole

PROGRAM = os.environ.get("DAROPE_BINARY", str(ROOT / "build" / "darope"))


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The names that the notebook's cells leave, run one after the other in a folder of their own."""
    folder = tmp_path_factory.mktemp("notebook")
    cells = json.loads((ROOT / "examples" / "decide.ipynb").read_text())["cells"]
    before, names = os.getcwd(), {}
    os.chdir(folder)
    try:
        for cell in cells:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
    finally:
        os.chdir(before)
    return folder, names


def test_the_notebook_comes_to_its_end(notebook):
    folder, names = notebook
    assert sorted(names["losses"].index) == ["nope", "rope", "yarn:factor=8"]
    assert list(names["losses"].columns) == [1, 2, 8] and names["losses"].notna().all().all()
    assert len(names["comparison"].runs) == 6
    rope = names["scores"].query("encoding == 'rope' and seed == 0 and metric == 'nll' and x == 1")
    lines = (folder / "runs/notebook/runs/my-rope-s0/results.jsonl").read_text().splitlines()
    assert sorted(rope.value) == sorted(
        row["value"] for row in map(json.loads, lines) if row["metric"] == "nll" and row["x"] == 1
    )


def test_one_run(notebook):
    folder, _ = notebook
    run = darope.load(folder / "runs/notebook/runs/my-rope-s1")
    assert run.finished and run.facts["encoding"] == "rope" and run.facts["seed"] == 1
    assert set(run.scores().seed) == {1} and list(run.metrics()["global_step"])[-1] == 60
    shown = subprocess.run(
        [PROGRAM, "report", folder / "runs/notebook"], capture_output=True, text=True
    ).stdout
    mean = run.scores().query("metric == 'nll' and x == 1").value.mean()
    other = darope.load(folder / "runs/notebook/runs/my-rope-s0").scores().query("metric == 'nll' and x == 1")
    assert f"{(mean + other.value.mean()) / 2:.4f}" in shown


def test_what_is_no_run(tmp_path):
    with pytest.raises(ValueError, match="neither a run's folder nor a comparison's"):
        darope.load(tmp_path)


def made_up(folder, **facts):
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("")
    (folder / "run.json").write_text(json.dumps({"schema": 3, **facts}))
    return folder


@pytest.mark.parametrize("file", ["run.json", "manifest.json"])
@pytest.mark.parametrize(
    "text, words",
    [
        ('{"schema": 4}', "schema 4 is none of 1 to 3"),
        ('{"schema": "3"}', "schema 3 is none of"),
        ('{"schema": 3, "data', "is not JSON"),
        ("[]", "is not a JSON object"),
    ],
)
def test_what_is_not_known_is_refused(tmp_path, file, text, words):
    run = made_up(tmp_path / "c" / "runs" / "a")
    (run / file).write_text(text)
    for folder in (run, tmp_path / "c"):
        with pytest.raises(ValueError, match=words) as refused:
            darope.load(folder)
        assert str(run / file) in str(refused.value) and type(refused.value) is ValueError


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_versions_that_are_known_are_read(tmp_path, schema):
    run = made_up(tmp_path / "a", schema=schema, seed=7)
    (run / "manifest.json").write_text("{}" if schema == 1 else json.dumps({"schema": schema}))
    (run / "results.jsonl").write_text('{"metric": "nll", "value": 2.5}\n{"metric": "n')
    loaded = darope.load(run)
    assert loaded.facts["seed"] == 7 and list(loaded.scores().value) == [2.5]  # of whole lines


def test_a_line_that_is_spoilt_is_named(tmp_path):
    run = made_up(tmp_path / "a")
    (run / "results.jsonl").write_text('{"value": 1}\n{"value"\n')
    with pytest.raises(ValueError, match="results.jsonl line 2 is not JSON"):
        darope.load(run).scores()
    for line in ("5", "[]", "null", '"x"'):
        (run / "results.jsonl").write_text('{"value": 1}\n' + line + "\n")
        with pytest.raises(ValueError, match="results.jsonl line 2 is not a JSON object"):
            darope.load(run).scores()


def test_facts_that_are_spoilt_are_named(tmp_path):
    run = made_up(tmp_path / "a", files=["results.jsonl"])
    with pytest.raises(ValueError, match="run.json: 'files' should have a hash for each name"):
        darope.load(run).scores()


def test_what_is_half_written_has_a_name_of_its_own_and_goes(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "a.json", "a" * 100_000 + "\ud800")
    with pytest.raises(KeyError), new_folder(tmp_path / "b") as half:
        assert half.name.startswith(".part-b-")
        raise KeyError
    assert not any(tmp_path.iterdir())
