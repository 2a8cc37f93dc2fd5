"""Python and the program take the same checkpoint of a run, and neither takes a damaged one."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("transformers", reason="needs transformers")
import transformers  # noqa: E402
from darope.hf import newest_checkpoint  # noqa: E402
from darope.terminal import Damaged  # noqa: E402

PROGRAM = os.environ.get("DAROPE_BINARY", str(ROOT / "build" / "darope"))
LAST, FIRST = "0000000008", "0000000004"


def call(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run with two checkpoints."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "text.txt").write_text("the cat sat on the mat, and the dog sat on the log.\n\n" * 100)
    (folder / "config.yaml").write_text("name: small\n")
    settings = f"""
        data.path={folder / "text.txt"} dump_dir={folder / "run"} steps=8 checkpoint.dump.every=4
        data.seq_len=16 data.batch_size=4 data.test_examples=2 model.dim=16 model.n_layers=1 model.n_heads=2
        model.hidden_multiple=8 threads=1 device=cpu
    """
    call(PROGRAM, "train", folder / "config.yaml", *settings.split())
    return folder / "run"


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def flip(file, place=-3):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def without_entry(checkpoint, name):
    manifest = json.loads((checkpoint / "MANIFEST.json").read_text())
    manifest["files"] = [each for each in manifest["files"] if each["file"] != name]
    (checkpoint / "MANIFEST.json").write_text(json.dumps(manifest))


def listed_twice(checkpoint):
    manifest = json.loads((checkpoint / "MANIFEST.json").read_text())
    (checkpoint / "MANIFEST.json").write_text(json.dumps({"files": 2 * manifest["files"]}))


def of_another_step(checkpoint):
    """Whose hashes are right."""
    state = checkpoint / "train_state.json"
    state.write_text(state.read_text().replace('"step": 8', '"step": 6'))
    manifest = json.loads((checkpoint / "MANIFEST.json").read_text())
    for each in manifest["files"]:
        if each["file"] == state.name:
            each["sha256"] = hashlib.sha256(state.read_bytes()).hexdigest()
    (checkpoint / "MANIFEST.json").write_text(json.dumps(manifest))


def moved(checkpoint):
    checkpoint.rename(checkpoint.parents[2] / "elsewhere")
    checkpoint.symlink_to(checkpoint.parents[2] / "elsewhere")


SOUND = {
    "untouched": lambda last: None,
    "without COMPLETE": lambda last: (last / "COMPLETE").unlink(),
    "moved and linked": moved,
    "beside a folder of another name": lambda last: shutil.copytree(last, last.with_name("000000012")),
}
UNSOUND = {
    "a bit of the weights": lambda last: flip(last / "model.safetensors"),
    "a cut optimizer": lambda last: os.truncate(last / "optim.safetensors", 100),
    "no optimizer listed": lambda last: without_entry(last, "optim.safetensors"),
    "files listed twice": listed_twice,
    "another step": of_another_step,
    "no manifest": lambda last: (last / "MANIFEST.json").unlink(),
    "a manifest that is none": lambda last: (last / "MANIFEST.json").write_text("[" * 100_000),
}


@pytest.mark.parametrize("damage", [*SOUND, *UNSOUND])
def test_the_program_and_python_take_the_same(damage, run, capsys):
    {**SOUND, **UNSOUND}[damage](run / "checkpoints" / LAST)
    taken = Path(newest_checkpoint(run)).name
    warning = capsys.readouterr().err
    said = call(PROGRAM, "eval", run, "--json")
    assert int(taken) == json.loads(said.stdout.splitlines()[0])["step"]
    assert taken == (LAST if damage in SOUND else FIRST)
    assert ("is damaged and will not be used" in warning) == (damage in UNSOUND)
    assert ("is damaged and will not be used" in said.stderr) == (damage in UNSOUND)


def export(run, out, code=0):
    return call(sys.executable, "-m", "darope.hf", "export", run, "--to", "hf", out, code=code)


def test_export_names_the_last_one_though_its_end_mark_is_lost(run, tmp_path):
    (run / "checkpoints" / LAST / "COMPLETE").unlink()
    export(run, tmp_path / "out")
    assert f"| checkpoint | {LAST} |" in (tmp_path / "out" / "README.md").read_text()


def test_damaged_weights_are_neither_exported_nor_scored(run, tmp_path):
    for each in (FIRST, LAST):
        flip(run / "checkpoints" / each / "model.safetensors")
    assert "none of the 2 checkpoints" in export(run, tmp_path / "out", code=3).stderr
    said = export(run / "checkpoints" / LAST, tmp_path / "out", code=3).stderr
    assert "model.safetensors does not have the bytes that were written" in said
    assert not (tmp_path / "out").exists()
    for folder in (run, run / "checkpoints" / LAST):
        with pytest.raises(Damaged):
            transformers.AutoModelForCausalLM.from_pretrained(folder)
    pytest.importorskip("lm_eval", reason="needs lm-eval")
    (tmp_path / "piqa").mkdir()
    (tmp_path / "piqa" / "valid.jsonl").write_text('{"goal": "a", "sol1": "b", "sol2": "c"}\n')
    (tmp_path / "piqa" / "valid-labels.lst").write_text("0\n")
    words = ["-m", "darope.benchmarks", run, "--tasks", "piqa", "--data", tmp_path]
    assert "none of the 2 checkpoints" in call(sys.executable, *words, code=3).stderr


def test_scores_are_kept_under_the_step_they_were_made_with(run, tmp_path):
    metric = {"name": "acc", "axis": {"name": "shots", "unit": "", "meaning": ""}, "title": "accuracy"}
    metric |= {"unit": "yes or no", "meaning": "right or wrong", "higher_better": True}
    score = {"metric": "acc", "axis": "shots", "x": 0, "example": 0, "cluster": 0, "value": 1, "tokens": 1}
    found = {
        "run": "run",
        "step": 4,
        "name": "piqa",
        "hash": "0" * 64,
        "metrics": [metric],
        "scores": [score],
    }
    (tmp_path / "found.json").write_text(json.dumps(found))
    call(PROGRAM, "eval", run, "--scores", tmp_path / "found.json")
    assert [each.name for each in (run / "evals").iterdir()] == [FIRST]
