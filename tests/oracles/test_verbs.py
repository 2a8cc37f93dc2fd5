"""What one does with a trained run: text sampled from it, its checkpoints listed and verified."""

import json
import re
import subprocess

import pytest
from commands import done, refused, run
from programs import DAROPE, ROOT

SETTINGS = ["data.seq_len=16", "data.batch_size=8", "data.test_examples=4", "device=cpu", "threads=1"]
SETTINGS += ["model.dim=16", "model.n_layers=1", "model.n_heads=2", "steps=120", "optim.lr=0.02"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model of a text that only goes on in one way."""
    folder = tmp_path_factory.mktemp("verbs")
    (folder / "abc.txt").write_text("abc" * 2000)
    config = ROOT / "configs" / "quick" / "train.yaml"
    done("train", config, "data.task=", "data.path=abc.txt", "dump_dir=run", *SETTINGS, cwd=folder)
    return folder


def test_it_goes_on_as_it_learned(trained):
    words = ["generate", "run", "--prompt", "bcab", "--tokens", 8]
    assert done(*words, "--temperature", 0, cwd=trained) == "bcabcabcabca\n"
    hot = [DAROPE, *map(str, words), "--temperature", "50", "--seed"]  # bytes that need not be text
    sampled = [subprocess.check_output([*hot, str(seed)], cwd=trained, timeout=60) for seed in (1, 1, 2)]
    assert sampled[0] == sampled[1] != sampled[2]


@pytest.mark.parametrize("option, value", [("--tokens", 0), ("--tokens", 1 << 21), ("--temperature", -1)])
def test_what_cannot_be_sampled(trained, option, value):
    assert f"{option} is {value}" in refused(
        "generate", "run", "--prompt", "a", f"{option}={value}", cwd=trained
    )


def test_other_data_must_have_the_same_vocabulary(trained):
    (trained / "a.fa").write_text("".join(f">r{i}\n{'ACGT' * 1600}\n" for i in range(8)))
    done("data", "prepare", "fasta", "a.fa", "--out", "genes", cwd=trained)
    said = refused("eval", "run", "data.path=", "data.root_dir=genes", cwd=trained)
    assert "genes has a vocabulary of 4107, and run was trained on one of 257" in said
    genes = [each for each in SETTINGS if "test_examples" not in each] + ["model.vocab_size=4107"]
    config = ROOT / "configs" / "quick" / "train.yaml"
    done("train", config, "data.task=", "data.root_dir=genes", "dump_dir=of-genes", *genes, cwd=trained)
    done("eval", "of-genes", cwd=trained)
    pieces = [[[60, 64, 67, 72]] * 40] * 3
    (trained / "a.json").write_text(json.dumps({part: pieces for part in ("train", "valid", "test")}))
    done("data", "prepare", "jsb", "a.json", "--out", "chorales", cwd=trained)
    said = refused("eval", "of-genes", "data.root_dir=chorales", cwd=trained)
    assert "chorales has a vocabulary of 90, and of-genes was trained on one of 4107" in said
    (trained / "cba.txt").write_text("cba" * 2000)
    assert "nll" in done("eval", "run", "data.path=cba.txt", cwd=trained)


def test_a_test_file_that_has_changed_is_said(trained):
    (trained / "test.txt").write_text("bca" * 300)
    config = ROOT / "configs" / "quick" / "train.yaml"
    files = ["data.task=", "data.path=abc.txt", "data.test_path=test.txt", "dump_dir=apart"]
    done("train", config, *files, *SETTINGS, cwd=trained)
    caution = "WARNING: the data are not what they were when apart was trained"
    asked = (["eval", "apart"], ["eval", "apart", "threads=2"], ["eval", "apart", "data.test_examples=3"])
    for words in asked:
        assert caution not in run(*words, cwd=trained).stderr
    (trained / "test.txt").write_text("cab" * 300)
    for words in asked:
        assert caution in run(*words, cwd=trained).stderr, words


def test_a_dry_run_counts_validations_and_scores(trained):
    """Of so many examples that scoring them outweighs a training of two steps."""
    config = ROOT / "configs" / "quick" / "train.yaml"
    small = [each for each in SETTINGS if each.partition("=")[0] not in ("steps", "data.test_examples")]
    words = ["train", config, *small, "data.free_running=0", "steps=2", "--dry-run"]
    text = ["data.task=", "data.path=abc.txt", "data.validation_path=more.txt", "validation.every=1"]
    (trained / "more.txt").write_text("abc" * 300)
    few, many, validated = (
        done(*words, *more, cwd=trained).splitlines()[-1]
        for more in (["data.test_examples=4"], ["data.test_examples=300000"], [*text, "data.test_examples=4"])
    )
    assert re.fullmatch(r"estimated     \d+:\d\d: 0:00 for training, 0:00 for scoring", few), few
    whole, training, scoring = re.findall(r"\d+:\d\d", many)
    assert training == "0:00" and "0:00" not in (scoring, whole), many
    assert "for 2 validations, " in validated, validated


def test_checkpoints_are_listed_and_damage_is_found(trained):
    (checkpoint,) = (trained / "run" / "checkpoints").iterdir()
    assert done("ckpt", "list", "run", cwd=trained).startswith(f"run/checkpoints/{checkpoint.name}  ")
    assert done("ckpt", "verify", "run", cwd=trained) == f"run/checkpoints/{checkpoint.name}  sound\n"
    model = checkpoint / "model.safetensors"
    whole = model.read_bytes()
    model.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    damaged = run("ckpt", "verify", "run", cwd=trained)
    assert damaged.returncode == 3 and "model.safetensors" in damaged.stdout
    assert "1 of the checkpoints in run cannot be trusted" in damaged.stderr
    model.write_bytes(whole)
