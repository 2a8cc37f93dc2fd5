"""Folders of runs of other versions: older ones are read and gone on with, newer ones left as they are."""

import json
import shutil

import pytest
from commands import TASK
from programs import ROOT
from trainings import TRAIN, darope, train

SMALL = ["model.style=nanogpt", "model.dim=16", "model.n_layers=1", "model.n_heads=2", "device=cpu"]
STEP = "checkpoints/0000000008"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("versions") / "c" / "runs" / "a"
    folder.parent.mkdir(parents=True)
    done = train(folder, *SMALL, "data.free_running=2")
    assert done.returncode == 0, done.stderr
    return folder.parents[1]


@pytest.fixture
def run(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "c")
    return tmp_path / "c" / "runs" / "a"


def change(file, **values):
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def newer(run):
    change(run / "manifest.json", schema=4)
    change(run / "run.json", schema=4)
    return "schema 4 is none of 1 to 3"


def newer_and_unfinished(run):
    newer(run)
    (run / "run.json").unlink()
    (run / "results.jsonl").unlink()
    return "manifest.json: schema 4 is none of 1 to 3"


def torn(run):
    (run / "run.json").write_bytes((run / "run.json").read_bytes()[:100])
    return "run.json"


def tree(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("spoil", [newer, newer_and_unfinished, torn], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "words",
    [
        ["train"],
        ["train", "steps=9", "--allow-config-change=steps"],
        ["train", "dump_dir=c/runs/b", f"--resume=c/runs/a/{STEP}"],
        ["eval", "c/runs/a"],
        ["eval", "c/runs/a", "--list"],
        ["eval", "c/runs/a", "--scores", "scores.json"],
        ["generate", "c/runs/a", "--prompt", "1,2"],
        ["inspect", "c/runs/a"],
        ["ckpt", "list", "c/runs/a"],
        ["ckpt", "verify", "c/runs/a"],
        ["compare", *TASK, "--out", "c"],
        ["report", "c"],
    ],
    ids=lambda words: " ".join(str(each) for each in [*words[:1], *words[-1:]]),
)
def test_what_is_not_known_is_refused_and_left_as_it_is(run, spoil, words):
    said, cwd = spoil(run), run.parents[2]
    scores = {"name": "b", "hash": "0", "metrics": [], "scores": []}
    (cwd / "scores.json").write_text(json.dumps(scores))
    before = tree(cwd)
    if words[0] == "train":
        given = {"dump_dir": "c/runs/a", "steps": 8, "data.free_running": 2}
        options = [each for each in words if each.startswith("--")]
        given.update(each.split("=") for each in words[1:] if each not in options)
        settings = [f"{key}={value}" for key, value in given.items()]
        words = ["train", ROOT / "configs/quick/train.yaml", *settings, *TRAIN, *SMALL, *options]
    refused = darope(*words, cwd=cwd)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1, (refused.returncode, refused.stderr)
    assert said in refused.stderr and "c/runs/a/" in refused.stderr, refused.stderr
    assert tree(cwd) == before


def test_a_newer_evaluation_is_not_written_over(run):
    assert darope("eval", "c/runs/a", cwd=run.parents[2]).returncode == 0
    (manifest,) = run.glob("evals/*/*/manifest.json")
    change(manifest, schema=4)
    before = tree(run)
    refused = darope("eval", "c/runs/a", cwd=run.parents[2])
    assert refused.returncode == 2 and f"{manifest.relative_to(run)}: schema 4" in refused.stderr
    assert tree(run) == before


def without(file, *keys):
    file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k not in keys}))


def as_second_version(run):
    """Without hashes."""
    change(run / "manifest.json", schema=2)
    change(run / "run.json", schema=2)
    without(run / "run.json", "files", "sha256")


def as_first_version(run):
    """Scores have no axis and no cluster and are described nowhere, and a checkpoint keeps no settings."""
    facts = json.loads((run / "run.json").read_text())
    (accuracy,) = [each for each in facts["metrics"] if each["name"] == "token_accuracy"]
    as_second_version(run)
    change(run / "run.json", schema=1, chance=accuracy["chance"], true_chance=accuracy["true_chance"],
           best_constant=accuracy["floor"])  # fmt: skip
    without(run / "run.json", "metrics", "dtype")
    without(run / "manifest.json", "schema")
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    keys = ("metric", "x", "example", "value")
    (run / "results.jsonl").write_text(
        "".join(json.dumps({key: line[key] for key in keys}) + "\n" for line in lines)
    )
    for checkpoint in (run / "checkpoints").iterdir():
        (checkpoint / "config.yaml").unlink(missing_ok=True)
        listed = json.loads((checkpoint / "MANIFEST.json").read_text())["files"]
        change(checkpoint / "MANIFEST.json", files=[each for each in listed if each["file"] != "config.yaml"])


def means(folder):
    darope("report", folder.parents[1].name, "--out", "out", cwd=folder.parents[2])
    results = json.loads((folder.parents[2] / "out" / "results.json").read_text())
    assert results["runs"]
    return [(data["name"], at["x"], [cell["mean"] for cell in at["cells"]])
            for data in results["datasets"] for at in data["lengths"]]  # fmt: skip


@pytest.mark.parametrize("older", [as_first_version, as_second_version], ids=lambda f: f.__name__)
def test_an_older_folder_is_read_evaluated_and_gone_on_with(run, older):
    expected, scores = means(run), (run / "results.jsonl").read_text()
    older(run)
    assert means(run) == expected
    assert darope("eval", "c/runs/a", cwd=run.parents[2]).returncode == 0
    assert (run / "evals" / "0000000008" / "as-trained" / "results.jsonl").read_text() == scores

    # It goes on as if it had never been interrupted, and is of this version when it ends.
    for each in (run / "run.json", run / "results.jsonl"):
        each.unlink()
    shutil.rmtree(run / STEP)
    again = train(run, *SMALL, "data.free_running=2")
    assert again.returncode == 0 and "checkpoints/0000000004" in again.stderr, again.stderr
    assert (run / "results.jsonl").read_text() == scores
    assert json.loads((run / "run.json").read_text())["schema"] == 3

    # Lengthened, it is another run.
    older(run)
    longer = train(run, *SMALL, "data.free_running=2", "--allow-config-change=steps", steps=9)
    assert longer.returncode == 0, longer.stderr
    assert json.loads((run / "run.json").read_text())["steps"] == 9
