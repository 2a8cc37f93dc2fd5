"""JSB Chorales as published."""

import json
import lzma
import signal
import subprocess

import pytest
from music import darope, load
from programs import DAROPE
from shared_data import shared


@pytest.fixture(scope="module")
def chorales(tmp_path_factory):
    packed = shared("data", "jsb", "Jsb16thSeparated.json.xz")
    folder = tmp_path_factory.mktemp("jsb")
    (folder / "Jsb16thSeparated.json").write_bytes(lzma.decompress(packed.read_bytes()))
    darope("prepare", "jsb", folder, "--out", folder / "set", "--strict")
    return folder


def test_chorales_are_the_published_ones(chorales):
    pieces = json.loads((chorales / "Jsb16thSeparated.json").read_text())
    manifest = json.loads((chorales / "set" / "manifest.json").read_text())
    assert manifest["vocabulary"] == 90 and manifest["skipped"] == []
    published = [
        ("train", "train", 229, 220_912),
        ("validation", "valid", 76, 73_632),
        ("test", "test", 77, 75_600),
    ]
    for ours, theirs, count, tokens in published:
        sequences = load(chorales / "set", ours)
        assert sequences == [
            [1 if note == -1 else note - 19 for step in piece for note in step] for piece in pieces[theirs]
        ]
        assert len(sequences) == count == manifest["splits"][ours]["sequences"]
        assert sum(map(len, sequences)) == tokens == manifest["splits"][ours]["values"]
    assert sum(min(len(s), 2048) - 1 for s in load(chorales / "set", "test")) == 74_739


def test_chorales_are_shown_as_notes(chorales):
    lines = darope(
        "inspect", chorales / "set", "--split", "test", "--index", "3", "--count", "2"
    ).splitlines()
    piece = json.loads((chorales / "Jsb16thSeparated.json").read_text())["test"][3]
    names = ["C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B"]
    shown = [line.split() for line in lines[2 : 2 + len(piece)]]
    assert shown == [
        [str(t)] + ["." if n < 0 else f"{names[n % 12]}{n // 12 - 1}" for n in step]
        for t, step in enumerate(piece)
    ]
    assert lines[2 + len(piece)].startswith("test 4 (test/4)")


def test_audit_of_the_chorales(chorales):
    report = json.loads(darope("audit", chorales / "set", "--json"))
    assert report["damaged"] == [] and report["items_twice"] == []
    train = {tuple(s) for s in load(chorales / "set", "train")}
    runs = {s[i : i + 64] for s in train for i in range(len(s) - 63)}
    for split in ("validation", "test"):
        facts = report["splits"][split]
        own = [tuple(s) for s in load(chorales / "set", split)]
        assert facts["repeats"] == len(own) - len(set(own))
        assert facts["sequences_in_train"] == sum(s in train for s in own)
        assert facts["distinct_values"] == len({x for s in own for x in s})
        assert facts["runs_in_train"] == sum(
            s[i : i + 64] in runs for s in own for i in range(0, len(s) - 63, 64)
        )


def test_another_grid_of_the_chorales_is_refused(tmp_path):
    pieces = [[[60, 64], [], [60, 64, 67, 72]]]
    (tmp_path / "a.json").write_text(json.dumps({"train": pieces, "valid": pieces, "test": pieces}))
    assert "step 0 should have 4 voices" in darope(
        "prepare", "jsb", tmp_path / "a.json", "--out", tmp_path / "set", code=2
    )
    assert not (tmp_path / "set").exists()


def test_one_bad_piece_is_left_out(tmp_path):
    good, bad = [[60, 55, 50, 45]] * 4, [[60, 55, 50, 45], [60, 55, 50, 109]]
    (tmp_path / "a.json").write_text(
        json.dumps({"train": [good, bad, good], "valid": [good], "test": [good]})
    )
    assert "--strict" in darope(
        "prepare", "jsb", tmp_path / "a.json", "--out", tmp_path / "set", "--strict", code=3
    )
    skipped = json.loads((tmp_path / "set" / "manifest.json").read_text())["skipped"]
    assert [each["name"] for each in skipped] == ["train/1"] and "step 1 holds the note 109" in skipped[0][
        "reason"
    ]
    assert len(load(tmp_path / "set", "train")) == 2


def test_a_signal_leaves_nothing(tmp_path):
    """The source is so long that the signal comes while the program reads."""
    piece = "[[60, 55, 50, 45], [60, 55, 50, 45]]"
    train = ", ".join([piece] * 500_000)
    (tmp_path / "a.json").write_text(f'{{"train": [{train}], "valid": [{piece}], "test": [{piece}]}}')
    words = [DAROPE, "data", "prepare", "jsb", tmp_path / "a.json", "--out", tmp_path / "set"]
    program = subprocess.Popen(words, stderr=subprocess.PIPE)
    while not (tmp_path / "set.preparing").exists():
        assert program.poll() is None
    program.send_signal(signal.SIGINT)
    assert program.wait(60) == 130 and b"stopped on request" in program.stderr.read()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
