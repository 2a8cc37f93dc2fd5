"""A feed-forward part from outside the tree, one file and one line: trained, scored and gone on with."""

import json
import math
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["DAROPE_BINARY"]
LAYERS = 3
SETTINGS = [
    "steps=4", "logging.freq=1", "checkpoint.dump.every=2", "threads=1", "device=cpu",
    "data.test_examples=4", "model.style=nanogpt", "model.init=gpt2", "model.dim=16", "model.n_heads=2",
    f"model.n_layers={LAYERS}",
]  # fmt: skip


def darope(*words, cwd, code=0):
    done = subprocess.run(
        [PROGRAM, *map(str, words)], capture_output=True, text=True, errors="replace", cwd=cwd, timeout=300
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def train(folder, *more, into="run", code=0):
    return darope(
        "train",
        ROOT / "configs/quick/train.yaml",
        f"dump_dir={into}",
        *SETTINGS,
        *more,
        cwd=folder,
        code=code,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("part")
    train(folder, "model.feed_forward=two-experts")
    return folder


def test_the_guide_shows_it():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert (ROOT / "tests/outside/two_experts.cpp").read_text() in guide
    assert "    feed_forward_of<class TwoExperts>(),\n" in guide


def test_its_term_is_in_the_loss_of_training(trained):
    """Weights that have learned nothing take all tokens for alike and share them among the experts alike: the
    loss is the log of the vocabulary, and the term 1 for each layer."""
    lines = (trained / "run/metrics.jsonl").read_text().splitlines()
    vocabulary = json.loads((trained / "run/config.json").read_text())["vocab_size"]
    assert json.loads(lines[0])["loss/out"] == pytest.approx(math.log(vocabulary) + LAYERS, abs=0.1)


def test_its_weights_are_in_the_checkpoint_and_the_run_can_be_used(trained):
    checkpoint = trained / "run/checkpoints/0000000004/model.safetensors"
    header = checkpoint.read_bytes()
    header = json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])
    for name, shape in (
        ("router.weight", [2, 16]),
        ("experts.0.up_proj.weight", [32, 16]),
        ("experts.1.down_proj.weight", [16, 32]),
    ):
        assert header[f"model.layers.{LAYERS - 1}.mlp.{name}"]["shape"] == shape
    assert json.loads((trained / "run/config.json").read_text())["feed_forward"] == "two-experts"
    darope("eval", "run", cwd=trained)
    scores = (trained / "run/results.jsonl").read_text()
    (again,) = trained.glob("run/evals/*/as-trained/results.jsonl")
    assert again.read_text() == scores
    darope("generate", "run", "--prompt", "1,2", "--tokens", 2, cwd=trained)


def test_another_name_is_refused_and_a_run_keeps_its_part(trained):
    refused = train(trained, "model.feed_forward=two-expert", into="other", code=2)
    assert "did you mean 'two-experts'?" in refused and refused.count("\n") == 1
    assert not (trained / "other").exists()
    assert "model.feed_forward was" in train(trained, "model.feed_forward=swiglu", code=2)
