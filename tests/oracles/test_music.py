"""Music against its originals: JSB Chorales as published, REMI tokens against MidiTok on real and generated
files.

DAROPE_ALL_MAESTRO=1 adds every one of the 1276 performances, which takes MidiTok some minutes.
"""

import collections
import json
import lzma
import os
import random
import signal
import subprocess

import miditok
import numpy as np
import pytest
import symusic
from music import BUILD, SHARED, darope, make_tokenizer, midi_bytes, probe, rows, unpack

MEAN_TOKENS_PER_NOTE = (
    3.67262  # over all performances; any from 2048 / 558 to 2048 / 557 cuts at the same bars
)
CONTEXT, BOS, EOS = 2048, 1, 2


def load(folder, split):
    values, starts = np.load(folder / f"{split}.npy"), np.load(folder / f"{split}.starts.npy")
    return [values[a:b].tolist() for a, b in zip(starts, starts[1:])]


# ------------------------------------------------------------------ JSB Chorales
@pytest.fixture(scope="module")
def chorales(tmp_path_factory):
    packed = SHARED / "data" / "jsb" / "Jsb16thSeparated.json.xz"
    if not packed.exists():
        pytest.skip(f"no data at {packed}; DAROPE_SHARED names the folder that has it")
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
    assert sum(min(len(s), CONTEXT) - 1 for s in load(chorales / "set", "test")) == 74_739


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


# ------------------------------------------------------------------ REMI against MidiTok
@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return unpack("maestro-originals-60.tar.xz", tmp_path_factory.mktemp("originals"))


def whole(tokenizer, file):
    tokens = tokenizer(symusic.Score(str(file)))
    return (tokens[0] if isinstance(tokens, list) else tokens).ids


def chunks(tokenizer, file, folder):
    """What MidiTok's own splitting and its own dataset give for one file."""
    from miditok.pytorch_data import DatasetMIDI
    from miditok.utils import split_files_for_training

    folder.mkdir(
        parents=True, exist_ok=True
    )  # a piece too short for a part leaves its mark there all the same
    parts = split_files_for_training(
        [file], tokenizer, folder, CONTEXT, MEAN_TOKENS_PER_NOTE, num_overlap_bars=2
    )
    data = DatasetMIDI(parts, tokenizer, CONTEXT, bos_token_id=BOS, eos_token_id=EOS) if parts else []
    return [data[i]["input_ids"].tolist() for i in range(len(parts))]


def sequences_of(files):
    """Ours, for each file; a file too short for one has none."""
    cut, block = [], []
    for line in probe("sequences", MEAN_TOKENS_PER_NOTE, *files).split("\n"):
        if line:
            block.append([int(word) for word in line.split()])
        else:
            cut, block = [*cut, block], []
    return cut[: len(files)]


def compare_all(tokenizer, files, folder):
    """Token for token, whole and in sequences; returns the counts."""
    counts = collections.Counter()
    ours = rows(probe("whole", *files))
    cut = sequences_of(files)
    for i, file in enumerate(files):
        assert ours[i] == whole(tokenizer, file), file
        sequences = chunks(tokenizer, file, folder / str(i))
        assert cut[i] == sequences, file
        counts += {"tokens": len(ours[i]), "sequences": len(sequences), "cut": sum(map(len, sequences))}
    return counts


def test_vocabulary(tokenizer):
    assert (
        probe("vocabulary").split() == sorted(tokenizer.vocab, key=tokenizer.vocab.get)
        and len(tokenizer) == 328
    )


def test_originals(tokenizer, originals, tmp_path):
    assert len(originals) == 60
    assert compare_all(tokenizer, originals, tmp_path)["tokens"] == 1_018_769


@pytest.mark.skipif(
    "DAROPE_ALL_MAESTRO" not in os.environ, reason="takes minutes; DAROPE_ALL_MAESTRO=1 runs it"
)
def test_all_performances(tokenizer, tmp_path):
    files = unpack("maestro-v3-notes-only-1276.tar.xz", tmp_path / "all")
    assert len(files) == 1276
    assert compare_all(tokenizer, files, tmp_path / "parts") == {
        "tokens": 25_616_789,
        "sequences": 13_945,
        "cut": 27_482_858,
    }


def draw_file(rng, groups=60, beats=12, orderly=False):
    """Notes that overlap, repeat, stack to chords and leave the piano, tempos that change, pedals between.
    Orderly: no note without
    length and no two tempos at one time, whose order the files that MidiTok writes of its chunks do not
    keep."""
    events, division = [], rng.choice([24, 96, 120, 220, 384, 480, 960])
    for _ in range(rng.randrange(1, groups)):
        start, pitch = rng.randrange(0, beats * division), rng.randrange(15, 115)
        chord = rng.choice([(0,), (0, 4, 7), (0, 3, 7, 10), (0, 4, 7, 10, 14), (0, 5, 7), (0, 7, 4)])
        held = rng.randrange(orderly, (16 if rng.random() < 0.2 else 2) * division)
        for interval in chord:
            if pitch + interval > 127:
                continue
            on = start + rng.choice([0, 0, 0, division // 9])
            events.append((on, bytes([0x90, pitch + interval, rng.randrange(1, 128)])))
            events.append(
                (on + held, bytes([*rng.choice([(0x80, pitch + interval, 64), (0x90, pitch + interval, 0)])]))
            )
    for i in range(rng.choice([0, 0, 1, 1, 3])):
        tempo = rng.randrange(200_000, 1_700_000).to_bytes(3, "big")
        at = (
            i * (beats * division // 4 + rng.randrange(division))
            if orderly
            else rng.choice([0, rng.randrange((beats + 2) * division)])
        )
        events.append((at, b"\xff\x51\x03" + tempo))
    for _ in range(5):
        events.append((rng.randrange(0, beats * division), bytes([0xB0, 64, rng.randrange(128)])))
    return midi_bytes(events, division, running=rng.random() < 0.5)


def test_generated_files(tokenizer, tmp_path):
    rng = random.Random(1)
    files = [tmp_path / f"{i}.mid" for i in range(400)]
    for file in files:
        file.write_bytes(draw_file(rng))
    for file, ours in zip(files, rows(probe("whole", *files))):
        assert ours == whole(tokenizer, file), file.read_bytes().hex()


def test_sequences_of_generated_files(tokenizer, tmp_path):
    rng = random.Random(4)
    files = [tmp_path / f"{i}.mid" for i in range(24)]
    for file in files:
        file.write_bytes(draw_file(rng, groups=1000, beats=rng.choice([16, 100, 400]), orderly=True))
    cut = sequences_of(files)
    expected = [chunks(tokenizer, file, tmp_path / file.stem) for file in files]
    assert sum(map(len, expected)) > 48
    for file, ours, theirs in zip(files, cut, expected):
        assert ours == theirs, file.read_bytes().hex()


def score_file(rng, tracks):
    """Several hands on one grid: chords whose notes lie in different tracks, begin together and end apart."""
    score = symusic.Score(480)
    for program in range(tracks):
        track = symusic.Track(program=rng.choice([0, program]), is_drum=False)
        for beat in range(rng.randrange(8, 64)):
            for _ in range(rng.randrange(4)):
                held, pitch = 120 * rng.choice([1, 1, 2, 4, 8]), rng.randrange(30, 100)
                track.notes.append(symusic.Note(240 * beat, held, pitch, rng.randrange(1, 128)))
        score.tracks.append(track)
    for i in range(rng.randrange(3)):
        score.tempos.append(symusic.Tempo(960 * i, rng.uniform(50, 200)))
    return score


@pytest.mark.parametrize("tracks", [1, 2, 4])
def test_tracks_are_put_into_one(tokenizer, tmp_path, tracks):
    """As MidiTok tokenizes the score after its own merge_tracks; how notes lie in tracks tells nothing."""
    rng = random.Random(tracks)
    files = [tmp_path / f"{i}.mid" for i in range(60)]
    for file in files:
        score_file(rng, tracks).dump_midi(str(file))
    several = 0
    for file, ours in zip(files, rows(probe("whole", *files))):
        score = symusic.Score(str(file))
        several += len(score.tracks) > 1
        if len(score.tracks) > 1:
            miditok.utils.merge_tracks(score)
        assert ours == tokenizer(score)[0].ids, file.read_bytes().hex()
    assert several == (60 if tracks > 1 else 0)


def test_channels_and_programs_of_one_track_are_voices(tokenizer, tmp_path):
    """symusic makes a track of each channel, and of each program a channel takes."""
    for name, events in {
        "channels": [(0, b"\x90\x48\x50"), (0, b"\x91\x30\x50"), (240, b"\x80\x48\0"), (240, b"\x81\x30\0")],
        "programs": [
            *[(0, b"\x90\x48\x50"), (0, b"\xc0\x07"), (0, b"\x90\x30\x50")],
            *[(240, b"\x80\x48\0"), (240, b"\x80\x30\0")],
        ],
    }.items():
        file = tmp_path / f"{name}.mid"
        file.write_bytes(midi_bytes(events))
        score = symusic.Score(str(file))
        assert len(score.tracks) == 2
        miditok.utils.merge_tracks(score)
        assert rows(probe("whole", file))[0] == tokenizer(score)[0].ids


def test_percussion_has_tokens_of_its_own(tokenizer, tmp_path):
    rng = random.Random(2)
    events = []
    for _ in range(40):
        at, pitch = rng.randrange(9000), rng.randrange(20, 95)
        events += [
            (at, bytes([0x99, pitch, rng.randrange(1, 128)])),
            (at + rng.randrange(1, 900), bytes([0x89, pitch, 0])),
        ]
    (tmp_path / "drums.mid").write_bytes(midi_bytes(events))
    assert rows(probe("whole", tmp_path / "drums.mid"))[0] == whole(tokenizer, tmp_path / "drums.mid")


# ------------------------------------------------------------------ folders of MIDI files
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


def test_events_are_shown_in_words(pieces, tmp_path):
    darope("prepare", "midi", pieces, "--out", tmp_path / "set")
    words = probe("vocabulary").split()
    shown = darope("inspect", tmp_path / "set", "--split", "train", "--index", 2).split("\n", 1)[1]
    assert shown.split() == [words[id] for id in load(tmp_path / "set", "train")[2]]


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


def test_a_signal_leaves_nothing(tmp_path):
    """The source is a pipe, so that the signal comes while the program reads."""
    os.mkfifo(tmp_path / "a.json")
    words = [BUILD / "darope", "data", "prepare", "jsb", tmp_path / "a.json", "--out", tmp_path / "set"]
    program = subprocess.Popen(words, stderr=subprocess.PIPE)
    with open(tmp_path / "a.json", "w") as pipe:  # opens once the program does
        assert (tmp_path / "set.preparing").exists()
        program.send_signal(signal.SIGINT)
        pieces = [[[60, 55, 50, 45]] * 4]
        pipe.write(json.dumps({"train": pieces, "valid": pieces, "test": pieces}))
    assert program.wait(60) == 130 and b"stopped on request" in program.stderr.read()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["midy", "SRC", "--out", "OUT"], "did you mean 'midi'"),
        (["midi", "SRC/none", "--out", "OUT"], "is no folder"),
        (["midi", "SRC/deep", "--out", "OUT", "--seed", "-1"], "--seed -1"),
        (["maestro", "SRC", "--out", "OUT"], "maestro-v3.0.0.csv"),
        (["jsb", "SRC/none", "--out", "OUT"], "no such file"),
        (["midi", "SRC", "--out", "SRC"], "is there already"),
    ],
)
def test_bad_arguments(pieces, tmp_path, words, message):
    words = [w.replace("SRC", str(pieces)).replace("OUT", str(tmp_path / "set")) for w in words]
    assert message in darope("prepare", *words, code=2)
    assert not (tmp_path / "set").exists() and not (tmp_path / "set.preparing").exists()
