"""One owner of the run folder: nobody else knows a file's name, and every file is as its schema says."""

import ast
import json
import re
import subprocess
import time

import jsonschema
import pytest
from commands import SMALL, text_file
from folder_schema import SCHEMA, validate, validate_folder
from programs import DAROPE, ROOT

NAMES = (
    "config.yaml base_config.yaml run.json results.jsonl results-best.jsonl metrics.jsonl metrics.eval.jsonl "
    "train.log history.txt MANIFEST.json COMPLETE model.safetensors optim.safetensors train_state.json "
    "results.json report.html comparison.json"
).split()
OWN_NAMES = ROOT / "python" / "darope" / "folders.py"
MODEL = [
    "model.style=nanogpt",
    "model.dim=16",
    "model.n_layers=1",
    "model.n_heads=2",
    "threads=1",
    "device=cpu",
]


def literals(path):
    """The texts of a source file; of Python without the words about its parts."""
    if path.suffix != ".py":
        return re.findall(r'"([^"\n]*)"', path.read_text())
    nodes = list(ast.walk(ast.parse(path.read_text())))
    words = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in words]
    return [node.value for node in texts if isinstance(node.value, str)]


def test_nobody_else_knows_a_file_name():
    sources = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".cpp", ".h", ".cu")]
    python = list((ROOT / "python" / "darope").rglob("*.py"))
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in [*sources, *python]
        if path.parent.name != "runs" and path != OWN_NAMES
        for text in literals(path)
        if any(re.search(rf"(^|[ /'`]){re.escape(name)}($|[ /'`,.:;])", text) for name in NAMES)
    ]
    assert len(sources) > 200 and len(python) > 20
    assert not found, found


def test_python_calls_files_as_their_owner_does():
    owners = [
        each for folder in ("runs", "data/prepared", "base") for each in (ROOT / "src" / folder).iterdir()
    ]
    known = {text for path in owners if path.suffix in (".h", ".cpp") for text in literals(path)}
    names = set(literals(OWN_NAMES))
    assert len(names) > 10 and names <= known, names - known


def darope(*arguments, cwd, code=0):
    result = subprocess.run(
        [DAROPE, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=300
    )
    assert result.returncode == code, (result.returncode, result.stderr)
    return result


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    config = ROOT / "configs" / "quick" / "train.yaml"
    small = ["steps=3", "logging.freq=1", "data.test_examples=4", "data.free_running=2", "dump_dir=run"]
    darope("train", config, *small, *MODEL, cwd=folder)
    darope("eval", "run", "data.test_examples=2", cwd=folder)
    return folder / "run"


def test_every_file_of_a_run_is_as_its_schema_says(run):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert validate_folder(run) >= {
        "run.json", "results.jsonl", "metrics.jsonl", "manifest.json", "evals/manifest.json", "MANIFEST.json",
        "train_state.json",
    }  # fmt: skip


def test_every_file_of_a_comparison_is_as_its_schema_says(tmp_path):
    """Rounds of seeds, and an evaluation that is compared as a run is."""
    text_file(tmp_path)
    words = ["--data", "own.txt", "--encodings", "rope,nope", *SMALL, "--out", "mine", "data.seq_len=32"]
    darope("compare", *words, "--settle", "rounds=[2]", cwd=tmp_path)
    lines = [json.dumps({"text": f"{i} and {i * i} and so on " * 4}) for i in range(4)]
    (tmp_path / "long.jsonl").write_text("\n".join(lines))
    for name in ("own-rope-s0", "own-nope-s0"):
        darope("eval", f"mine/runs/{name}", "--positions", 64, "--documents", "long.jsonl", cwd=tmp_path)
    assert validate_folder(tmp_path / "mine") >= {"comparison.json", "run.json", "evals/manifest.json"}
    apart = [json.loads(file.read_text()) for file in tmp_path.glob("mine/runs/*/evals/*/*/run.json")]
    assert [facts["evaluation"] for facts in apart] == ["positions"] * 2
    record = json.loads((tmp_path / "mine" / "comparison.json").read_text())
    assert record["datasets"]["own"]["settling"]["looks"]


def test_a_lock_is_as_its_schema_says(tmp_path):
    config = ROOT / "configs" / "quick" / "train.yaml"
    at_work = subprocess.Popen(
        [DAROPE, "train", config, *MODEL, "dump_dir=run", "steps=1000000"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    lock = tmp_path / "run" / ".lock"
    try:
        while not (lock.exists() and lock.read_text().endswith("\n")):
            assert at_work.poll() is None, at_work.stderr.read()
            time.sleep(0.05)
        validate(".lock", lock.read_text())
        assert json.loads(lock.read_text())["process"] == at_work.pid
    finally:
        at_work.terminate()
        at_work.communicate(timeout=120)


def test_the_document_names_every_file(run):
    document = (ROOT / "docs" / "run-folder.md").read_text()
    for path in run.rglob("*"):
        if path.is_file() and path.parent.name != "tb":
            assert f"`{path.name}`" in document, path


@pytest.mark.parametrize(
    "bundle", sorted((ROOT / "docs" / "results").glob("*/runs.tar.zst")), ids=lambda p: p.parent.name
)
def test_what_was_published_in_the_first_version_still_reads(bundle, tmp_path):
    darope("report", bundle, "--out", "again", cwd=tmp_path)
    published = json.loads((bundle.parent / "results.json").read_text())
    again = json.loads((tmp_path / "again" / "results.json").read_text())
    assert len(again["runs"]) == len(published["runs"])
    for then, now in zip(published["datasets"], again["datasets"], strict=True):
        for at_then, at_now in zip(then["lengths"], now["lengths"], strict=True):
            means = [[(cell["encoding"], cell["mean"]) for cell in at["cells"]] for at in (at_then, at_now)]
            assert means[0] == means[1]


@pytest.mark.parametrize(
    "change, words",
    [
        ({"schema": 4}, "schema 4 is none of 1 to 3"),
        ({"schema": "two"}, "'schema' is \"two\""),
        ({"metrics": []}, "which the run does not describe"),
        ({"metrics": None}, "'metrics' is no list"),
        ({"status": "asleep"}, "neither finished nor diverged"),
    ],
)
def test_another_version_is_refused_in_one_sentence(run, tmp_path, change, words):
    facts = json.loads((run / "run.json").read_text())
    folder = tmp_path / "c" / "runs" / "a"
    folder.mkdir(parents=True)
    for name in ("config.yaml", "results.jsonl", "metrics.jsonl"):
        (folder / name).write_bytes((run / name).read_bytes())
    del facts["sha256"], facts["files"]  # as versions before the third wrote it
    (folder / "run.json").write_text(json.dumps({**facts, "schema": 2, **change}))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refusal = darope("report", "c", cwd=tmp_path, code=2).stderr
    assert words in refusal and "c/runs/a/" in refusal and refusal.count("\n") == 1, refusal
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
