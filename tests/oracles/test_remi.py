"""REMI tokens against MidiTok on real and generated files.

DAROPE_ALL_MAESTRO=1 adds every one of the 1276 performances, which takes MidiTok some minutes.
"""

import collections
import os
import random

import miditok
import pytest
import symusic
from music import make_tokenizer, midi_bytes, probe, rows, unpack

MEAN_TOKENS_PER_NOTE = (
    3.67262  # over all performances; any from 2048 / 558 to 2048 / 557 cuts at the same bars
)
CONTEXT, BOS, EOS = 2048, 1, 2


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
    Orderly: no note without length and no two tempos at one time, whose order the files that MidiTok writes
    of its chunks do not keep.
    """
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


def sparse_file(rng):
    """Notes of which none of a pitch begins before another of it has ended, and drums beside them."""
    events, free = [], {}
    for _ in range(rng.randrange(20, 200)):
        drum = rng.random() < 0.2
        pitch, held = rng.randrange(30, 80), 60 * rng.randrange(1, 12)
        at = max(60 * rng.randrange(400), free.get((drum, pitch), 0))
        free[drum, pitch] = at + held
        events += [
            (at, bytes([0x99 if drum else 0x90, pitch, rng.randrange(1, 128)])),
            (at + held, bytes([0x89 if drum else 0x80, pitch, 0])),
        ]
    tempos = [
        (i * 1920, b"\xff\x51\x03" + rng.randrange(300_000, 900_000).to_bytes(3, "big")) for i in range(3)
    ]
    return midi_bytes(sorted(events, key=lambda e: (e[0], e[1][0] >= 0x90)) + tempos)


def notes_of(score):
    return sorted(
        (note.time / score.tpq, note.duration / score.tpq, note.pitch, note.velocity)
        for track in score.tracks
        for note in track.notes
    )


def test_tokens_become_the_piece_that_miditok_makes_of_them(tokenizer, tmp_path):
    """Read by symusic and by ourselves; MidiTok has one track, in which drums are notes like any other."""
    rng = random.Random(3)
    for i in range(40):
        file, again = tmp_path / f"{i}.mid", tmp_path / f"{i}-again.mid"
        file.write_bytes(sparse_file(rng))
        probe("write", file, again)
        (ids,) = rows(probe("whole", file))
        assert rows(probe("whole", again)) == [ids]
        ours, theirs = symusic.Score(str(again)), tokenizer.decode([ids])
        assert notes_of(ours) == notes_of(theirs)
        assert any(track.is_drum for track in ours.tracks)
        tempos = [[(t.time / s.tpq, round(t.qpm, 1)) for t in s.tempos] for s in (ours, theirs)]
        assert tempos[0] == tempos[1]


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
