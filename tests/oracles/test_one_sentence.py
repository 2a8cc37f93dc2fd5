"""Absurd and hostile input gets one sentence and a documented exit code, or is taken for what it is."""

import hashlib
import json
import os
import shutil
import subprocess

import pytest
from commands import QUICK, done, on_a_terminal
from programs import DAROPE, ROOT
from trainings import TRAIN, darope, rewrite, train


@pytest.mark.parametrize(
    "setting, words",
    [
        (
            "data.test_examples=1000000000000",
            "data.test_examples is 1000000000000: it must be from 1 to 1048576",
        ),
        ("data.test_examples=1e12", "'data.test_examples' should be an integer, not '1e12'"),
        ("threads=3000", "threads is 3000: it must be from 0 to 1024"),
        ("optim.lr=1e300", "optim.lr is 1e+300: it must be above 0 and at most 1e+30"),
        ("optim.clip=1e300", "optim.clip is 1e+300: it must be from 0 to 1e+30"),
        ("optim.epsilon=1e300", "optim.epsilon is 1e+300: it must be above 0 and at most 1e+30"),
        ("optim.weight_decay=1e300", "optim.weight_decay is 1e+300: it must be from 0 to 1e+30"),
        ("seed=1e300", "'seed' should be an integer, not '1e300'"),
    ],
)
def test_absurd_settings_are_refused_with_a_sentence(tmp_path, setting, words):
    settings = [each for each in TRAIN if each.partition("=")[0] != setting.partition("=")[0]]
    config = ROOT / "configs/quick/train.yaml"
    refused = darope("train", config, "dump_dir=run", "steps=4", *settings, setting, cwd=tmp_path)
    assert refused.returncode == 2 and words in refused.stderr, refused.stderr
    assert refused.stderr.count("\n") == 1 and not (tmp_path / "run").exists()


def test_very_many_seeds_are_refused_with_a_sentence(tmp_path):
    refused = darope("compare", QUICK, "--seeds", "1000000000", cwd=tmp_path)
    assert refused.returncode == 2 and "seeds" in refused.stderr and refused.stderr.count("\n") == 1


def test_want_of_memory_is_one_sentence(tmp_path):
    config = ROOT / "configs/quick/train.yaml"
    model = ["model.dim=65536", "model.n_heads=64", "model.n_layers=1"]  # 64 GB of weights at once
    words = ["train", config, "dump_dir=run", "steps=4", "threads=1", "device=cpu", *model]
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -v 8000000; exec "$@"', "bash", *map(str, [DAROPE, *words])],
        capture_output=True, text=True, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert limited.returncode == 1 and limited.stderr.count("\n") == 1, limited.stderr
    assert "there is not enough memory" in limited.stderr


@pytest.mark.parametrize(
    "state", [b"{}", b"[]", b"", b'{"step": "8"}', b'{"step": 1e300}', b'{"step": 8.5}', b"\xff\xfe"]
)
def test_a_state_that_says_nothing_is_a_damaged_checkpoint(finished, tmp_path, state):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    for checkpoint in (folder / "checkpoints").iterdir():
        rewrite(checkpoint, "train_state.json", state)
    longer = train(folder, "--allow-config-change=steps", steps=12)
    assert longer.returncode == 3 and "train_state.json" in longer.stderr, longer.stderr
    assert longer.stderr.splitlines()[-1].startswith("darope: none of the 2 checkpoints")
    verified = darope("ckpt", "verify", folder, cwd=tmp_path)
    assert verified.returncode == 3 and verified.stdout.count("train_state.json") == 2, verified


@pytest.mark.parametrize("verb", [["eval"], ["generate", "--prompt", "01"], ["inspect"]])
def test_weights_that_are_no_numbers_are_not_scored(finished, tmp_path, verb):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    for checkpoint in (folder / "checkpoints").iterdir():
        weights = bytearray((checkpoint / "model.safetensors").read_bytes())
        weights[-4:] = b"\x00\x00\xc0\x7f"  # a NaN, little-endian
        rewrite(checkpoint, "model.safetensors", bytes(weights))
    refused = darope(verb[0], folder, *verb[1:], cwd=tmp_path)
    assert refused.returncode == 2 and refused.stdout == "" and refused.stderr.count("\n") == 1, refused
    assert "holds a value that is not finite" in refused.stderr


@pytest.mark.parametrize(
    "change", [{"sequences": 1}, {"sequences": 10**18}, {"items": []}, {"items": [["a", -1]]}]
)
def test_wrong_counts_of_items_are_refused_even_under_a_right_hash(tmp_path, change):
    piece = [[60, 64, 67, 72]] * 40
    (tmp_path / "a.json").write_text(json.dumps({split: [piece] * 3 for split in ("train", "valid", "test")}))
    done("data", "prepare", "jsb", "a.json", "--out", "set", cwd=tmp_path)
    file = tmp_path / "set" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["splits"]["test"] |= change
    del manifest["sha256"]
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    file.write_text(json.dumps(manifest | {"sha256": hashlib.sha256(text.encode()).hexdigest()}))
    for verb in ("audit", "inspect"):
        refused = darope("data", verb, "set", cwd=tmp_path)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused
        assert "manifest.json: splits: test" in refused.stderr


def test_names_that_are_not_utf8_are_taken_everywhere(tmp_path):
    name = os.fsdecode(b"n\xff\xfeotes.txt")
    (tmp_path / name).write_bytes(bytes(97 + i * i % 23 for i in range(20000)))
    mine, bundle = os.fsdecode(b"m\xff"), os.fsdecode(b"b\xff.tar.zst")
    sources, made = tmp_path / "source", os.fsdecode(b"set\xff")
    sources.mkdir()
    for i in range(60):
        (sources / os.fsdecode(b"\xff%d.txt" % i)).write_text(f"{i} and {i * i} make more.\n" * 40)
    for words in (
        ["compare", "--data", name, "--out", mine, "--encodings", "nope,rope", "--seeds", "1", "steps=3",
         "threads=1", "--bundle", bundle],
        ["eval", mine + "/runs/n__otes-rope-s0"],
        ["eval", mine + "/runs/n__otes-rope-s0", "--json"],
        ["report", bundle, "--out", "out", "--csv", os.fsdecode(b"\xff.csv")],
        ["ckpt", "verify", mine + "/runs/n__otes-rope-s0"],
        ["data", "prepare", "text", "source", "--out", made],
        ["data", "audit", made],
    ):  # fmt: skip
        told = subprocess.run([DAROPE, *words], cwd=tmp_path, capture_output=True, timeout=300)
        assert told.returncode == 0, (words, told.stderr)
    json.loads((tmp_path / mine / "results.json").read_text())


def test_whole_numbers_of_a_stranger_are_whole(comparison, tmp_path):
    shutil.copytree(comparison / "mine", tmp_path / "mine")
    file = sorted((tmp_path / "mine" / "runs").iterdir())[0] / "run.json"
    facts = json.loads(file.read_text())
    del facts["sha256"], facts["files"]
    file.write_text(json.dumps(facts | {"schema": 1, "seed": 1e300}))
    refused = darope("report", "mine", "--out", "out", cwd=tmp_path)
    assert refused.returncode == 2 and "'seed' is 1e+300, which does not fit" in refused.stderr, (
        refused.stderr
    )


@pytest.mark.parametrize("there", [True, False], ids=["shown", "refused"])
def test_names_do_not_steer_a_terminal(tmp_path, there):
    name = "a\x1b]0;owned\x07\x1b[2Jb\x9b31m.txt"
    if there:
        (tmp_path / name).write_bytes(bytes(97 + i * i % 23 for i in range(20000)))
    words = ["--encodings", "nope,rope", "--seeds", "1", "steps=3", "--dry-run"]
    sent = on_a_terminal("compare", "--data", name, *words, cwd=tmp_path)
    assert b"owned" in sent and b"31m" in sent, sent
    left = sent.replace(b"\x1b[K", b"")  # of the progress line
    assert b"\x1b" not in left and b"\x07" not in left and "\x9b".encode() not in left, left
