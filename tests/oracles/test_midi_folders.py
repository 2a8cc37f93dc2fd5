"""Folders of MIDI files, sound and broken, as datasets."""

import hashlib
import json
import random
import shutil
import subprocess

import numpy as np
import programs
import pytest
import symusic
from music import darope, load, midi_bytes, probe, rows


def piece(seed, notes=400):
    rng = random.Random(seed)
    events = []
    for i in range(notes):
        pitch = rng.randrange(21, 109)
        events += [(i * 120, bytes([0x90, pitch, 80])), (i * 120 + 100, bytes([0x80, pitch, 0]))]
    return midi_bytes(events)


@pytest.fixture
def pieces(tmp_path):
    folder = tmp_path / "mine"
    (folder / "deep").mkdir(parents=True)
    for i in range(40):
        (folder / ("deep" if i % 2 else ".") / f"{i:02}.{'MID' if i % 3 else 'midi'}").write_bytes(piece(i))
    return folder


def test_own_files(pieces, tmp_path):
    darope("prepare", "midi", pieces, "--out", tmp_path / "set", "--seed", 5)
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    splits = manifest["splits"]
    assert [len(splits[s]["items"]) for s in ("train", "validation", "test")] == [36, 2, 2]
    names = [item[0] for s in splits.values() for item in s["items"]]
    assert sorted(names) == sorted(str(f.relative_to(pieces)) for f in pieces.rglob("*.*"))
    mean = manifest["facts"]["tokens_per_note"]
    assert mean == pytest.approx(
        np.mean([len(r) for r in rows(probe("whole", *(pieces / n for n in names)))]) / 400
    )
    for split, facts in splits.items():
        expected = [
            s for s in rows(probe("sequences", mean, *(pieces / item[0] for item in facts["items"]))) if s
        ]
        assert load(tmp_path / "set", split) == expected
    again = tmp_path / "again"
    darope("prepare", "midi", pieces, "--out", again, "--seed", 6)
    assert (
        json.loads((again / "manifest.json").read_text())["splits"]["test"]["items"]
        != splits["test"]["items"]
    )


def leave_one_item_to_test(folder):
    """Says that all test sequences are of one piece."""
    manifest = json.loads((folder / "manifest.json").read_text())
    test = manifest["splits"]["test"]
    test["items"] = [[test["items"][0][0], test["sequences"]]]
    manifest.pop("sha256")
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    manifest["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_few_pieces_leave_a_test_of_several(tmp_path):
    folder = tmp_path / "few"
    folder.mkdir()
    for i in range(13):
        (folder / f"{i:02}.mid").write_bytes(piece(i, notes=20 if i < 5 else 700))
    said = darope("prepare", "midi", folder, "--out", tmp_path / "set")
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    splits = manifest["splits"]
    assert [len(splits[s]["items"]) for s in ("train", "validation", "test")] == [4, 2, 2]
    tested = splits["test"]["sequences"]
    assert f"8 pieces: 4 to learn from, 2 to validate, 2 to test ({tested} sequences)" in said
    assert [each["name"] for each in manifest["skipped"]] == [f"{i:02}.mid" for i in range(5)]
    said = darope("prepare", "midi", folder, "--out", tmp_path / "all", "--keep-short")
    assert "13 pieces: 7 to learn from, 3 to validate, 3 to test" in said and "skipped" not in said
    names = [f"{i:02}.mid" for i in range(13)]
    kept = json.loads((tmp_path / "all" / "manifest.json").read_text())["splits"]
    assert sorted(item[0] for facts in kept.values() for item in facts["items"]) == names
    one = tmp_path / "one"  # as such sets came before
    shutil.copytree(tmp_path / "set", one)
    leave_one_item_to_test(one)
    small = ["steps=2", "model.dim=16", "model.n_layers=1", "model.n_heads=2", "data.seq_len=16"]
    compare = [programs.DAROPE, "compare", "--data", one, "--out", tmp_path / "runs", *small]
    refused = subprocess.run(compare, capture_output=True, text=True)
    assert refused.returncode == 2 and "comes from one source" in refused.stderr
    assert not (tmp_path / "runs").exists()
    (folder / "12.mid").unlink()
    refused = darope("prepare", "midi", folder, "--out", tmp_path / "none", code=2)
    assert "7 usable pieces are too few" in refused and "at least 8" in refused and "--keep-short" in refused


def test_events_are_shown_in_words(pieces, tmp_path):
    darope("prepare", "midi", pieces, "--out", tmp_path / "set")
    words = probe("vocabulary").split()
    shown = darope("inspect", tmp_path / "set", "--split", "train", "--index", 2).split("\n", 1)[1]
    assert shown.split() == [words[id] for id in load(tmp_path / "set", "train")[2]]


def test_equal_pieces_in_two_splits_are_told(pieces, tmp_path):
    done = subprocess.run(
        [programs.DAROPE, "data", "prepare", "midi", pieces, "--out", tmp_path / "a"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stderr == ""
    assert darope("audit", tmp_path / "a").splitlines()[-1].startswith("sound: every file is as it was")
    splits = json.loads((tmp_path / "a" / "manifest.json").read_text())["splits"]
    (learned, _), (tested, _) = splits["train"]["items"][0], splits["test"]["items"][0]
    shutil.copy(pieces / tested, pieces / learned)
    done = subprocess.run(
        [programs.DAROPE, "data", "prepare", "midi", pieces, "--out", tmp_path / "b"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "Note: 1 of the pieces hold the same as one in another split" in done.stderr
    assert learned in done.stderr and f"{tested} (test)" in done.stderr
    verdict = darope("audit", tmp_path / "b").partition("sound: ")[2]
    assert "of test stand in train as well" in verdict


def test_a_model_of_music_speaks_its_words_and_writes_a_file(pieces, tmp_path):
    darope("prepare", "midi", pieces, "--out", tmp_path / "set")
    small = "steps=3 model.dim=16 model.n_layers=1 model.n_heads=2 data.batch_size=2 threads=1 device=cpu"
    config = programs.ROOT / "configs/quick/train.yaml"
    settings = ["data.task=", f"data.root_dir={tmp_path / 'set'}", "data.seq_len=64", *small.split()]

    def call(*words, code=0):
        told = subprocess.run(
            [programs.DAROPE, *map(str, words)], capture_output=True, text=True, cwd=tmp_path
        )
        assert told.returncode == code, told.stderr
        return told

    refused = call("train", config, "dump_dir=run", *settings, "data.test_examples=3", code=2)
    assert "data.test_examples is 3: of prepared music" in refused.stderr
    longer = [each for each in settings if "seq_len" not in each] + ["data.seq_len=8192"]
    assert (
        "more than half of every batch would be padding"
        in call("train", config, "dump_dir=run", *longer, code=2).stderr
    )
    trained = call("train", config, "dump_dir=run", *settings)
    lengths = [len(piece) for piece in load(tmp_path / "set", "train")]
    share = 100 * 64 * len(lengths) / sum(lengths)
    assert f"the first 64 tokens are read, {share:.0f} % of all" in trained.stderr
    words = probe("vocabulary").split()
    prompt = "Bar_None Position_0 Tempo_121.29 Pitch_60 Velocity_99 Duration_1.0.8"
    told = call("generate", "run", "--prompt", prompt, "--tokens", 40, "--out", "piece.mid").stdout
    said, file = told.splitlines()
    assert said.startswith(prompt + " ") and len(said.split()) == 46 and set(said.split()) <= set(words)
    assert file == "piece.mid"
    note = symusic.Score(str(tmp_path / "piece.mid")).tracks[0].notes[0]
    assert (note.pitch, note.velocity) == (60, 99)
    ids = ",".join(str(words.index(word)) for word in prompt.split())
    by_number = call("generate", "run", "--prompt", ids, "--tokens", 40).stdout.strip().split(",")
    assert [words[int(id)] for id in by_number] == said.split()
    wrong = call("generate", "run", "--prompt", "Bar_None Pich_60", code=2).stderr
    assert "no word 'Pich_60'; near it is 'Pitch_60'" in wrong


def broken():
    """Files that are not sound: name, bytes, a word of the reason, the byte it is found at."""
    good = piece(99)
    head, body = good[:14], good[22:]

    def track(body, length=None):
        return head + b"MTrk" + (len(body) if length is None else length).to_bytes(4, "big") + body

    yield "empty", b"", "empty", 0
    yield "magic", b"RIFF" + good[4:], "MThd", 0
    yield "header_cut", good[:10], "reaches beyond", 8
    yield "header_short", good[:4] + b"\0\0\0\5" + good[8:], "6 are needed", 8
    yield "header_huge", good[:4] + b"\xff\xff\xff\xff" + good[8:], "reaches beyond", 8
    yield "format_2", good[:9] + b"\2" + good[10:], "format 2", 8
    yield "division_0", good[:12] + b"\0\0" + good[14:], "division is 0", 12
    yield "smpte", good[:12] + b"\xe7\x28" + good[14:], "SMPTE", 12
    yield "no_track", head, "before track 1", 14
    yield "tracks_missing", good[:10] + b"\0\2" + good[12:], "before track 2", len(good)
    yield "truncated", good[: len(good) // 2], "reaches beyond", 22
    yield "length_absurd", track(body, 0x7FFFFFFF), "reaches beyond", 22
    yield "length_short", track(body, 10), "middle of an event", 32
    yield "no_status", track(b"\0\x40\x40" + body), "no status byte", 23
    yield "no_status_after_meta", track(b"\0\x90\x40\x40\0\xff\x01\0\0\x40\x40" + body), "no status byte", 31
    yield "status_as_data", track(b"\0\x90\x80\x40" + body), "status byte stands", 24
    yield "real_time", track(b"\0\xf8" + body), "0xf8", 24
    yield "number_long", track(b"\x81\x81\x81\x81\x01" + body), "four bytes", 26
    yield "meta_absurd", track(b"\0\xff\x01\xff\xff\xff\x7f" + body), "meta event", 29
    yield "sysex_absurd", track(b"\0\xf0\xff\xff\xff\x7f" + body), "system exclusive", 28
    yield "time_absurd", track(b"\xff\xff\xff\x7f\x90\x40\x40" * 9 + body), "bars", 26
    yield "no_notes", track(b"\0\xff\x2f\0"), "no notes", 26


def test_bad_files_are_listed_with_reason_and_place(pieces, tmp_path):
    cases = list(broken())
    for name, content, _, _ in cases:
        (pieces / f"bad_{name}.mid").write_bytes(content)
    (pieces / "short.mid").write_bytes(piece(1, notes=20))
    assert f"{len(cases) + 1} skipped" in darope(
        "prepare", "midi", pieces, "--out", tmp_path / "set", "--strict", code=3
    )
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    skipped = {each["name"]: each for each in manifest["skipped"]}
    for name, _, reason, offset in cases:
        each = skipped.pop(f"bad_{name}.mid")
        assert reason in each["reason"] and each["offset"] == offset, (name, each)
    assert list(skipped) == ["short.mid"] and "too short" in skipped["short.mid"]["reason"]
    assert sum(len(s["items"]) for s in manifest["splits"].values()) == 40
    darope("audit", tmp_path / "set")


def test_what_is_listed_and_missing_is_skipped(pieces, tmp_path):
    names = [str(f.relative_to(pieces)) for f in sorted(pieces.rglob("*.*"))]
    rows_of_table = "".join(f'X,"Sonata, ""No. 1""",{name},1.5\n' for name in [*names, "2018/gone.midi"])
    (pieces / "maestro-v3.0.0.csv").write_text(
        "canonical_composer,canonical_title,midi_filename,duration\n" + rows_of_table
    )
    darope("prepare", "maestro", pieces, "--out", tmp_path / "set")
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert [each["name"] for each in manifest["skipped"]] == ["2018/gone.midi"]
    assert manifest["facts"]["pieces"] == 40


@pytest.mark.parametrize(
    "words, message",
    [
        (["midy", "SRC", "--out", "OUT"], "did you mean 'midi'"),
        (["midi", "SRC/none", "--out", "OUT"], "is no folder"),
        (["midi", "SRC/deep", "--out", "OUT", "--seed", "-1"], "--seed -1"),
        (["midi", "SRC/text", "--out", "OUT"], "no file that ends in .mid, .midi"),
        (["midi", "SRC", "--out", "OUT", "--held-out", "0.1"], "--held-out is an option of 'text'"),
        (["fasta", "SRC", "--out", "OUT", "--keep-short"], "--keep-short is an option of 'midi'"),
        (["maestro", "SRC", "--out", "OUT"], "maestro-v3.0.0.csv"),
        (["jsb", "SRC/none", "--out", "OUT"], "no such file"),
        (["midi", "SRC", "--out", "SRC"], "is there already"),
    ],
)
def test_bad_arguments(pieces, tmp_path, words, message):
    (pieces / "text").mkdir()
    (pieces / "text" / "notes.txt").write_text("no music")
    words = [w.replace("SRC", str(pieces)).replace("OUT", str(tmp_path / "set")) for w in words]
    assert message in darope("prepare", *words, code=2)
    assert not (tmp_path / "set").exists() and not (tmp_path / "set.preparing").exists()
