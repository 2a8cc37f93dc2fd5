"""Where the music tests find data and programs, and MidiTok set up as the tokens are defined."""

import os
import pathlib
import struct
import subprocess
import tarfile

import miditok
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DAROPE_BUILD", ROOT / "build"))
SHARED = pathlib.Path(os.environ.get("DAROPE_SHARED", ROOT.parent / "shared"))


def darope(*words, code=0):
    """The data verb's standard output; it must end with the exit code given."""
    done = subprocess.run(
        [BUILD / "darope", "data", *map(str, words)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr


def probe(*words):
    done = subprocess.run(
        [BUILD / "midi_probe", *map(str, words)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text):
    return [[int(x) for x in line.split()] for line in text.splitlines()]


def unpack(name, folder):
    """The .midi files of an archive of ../shared/data/maestro, sorted; skips where it is missing."""
    archive = SHARED / "data" / "maestro" / name
    if not archive.exists():
        pytest.skip(f"no data at {archive}; DAROPE_SHARED names the folder that has it")
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    return sorted(folder.rglob("*.midi"))


def make_tokenizer():
    return miditok.REMI(
        miditok.TokenizerConfig(
            pitch_range=(21, 109),
            beat_res={(0, 4): 8, (4, 12): 4},
            num_velocities=32,
            use_chords=True,
            use_tempos=True,
            num_tempos=32,
            tempo_range=(40, 250),
            special_tokens=["PAD", "BOS", "EOS", "MASK"],
        )
    )


def midi_bytes(events, division=480, running=False):
    """A file of one track from (tick, bytes) pairs; `running` leaves out a status that repeats."""
    body, now, status = b"", 0, None
    for tick, event in sorted(events, key=lambda pair: pair[0]):
        body += length(tick - now)
        body += event[1:] if running and event[0] == status and event[0] < 0xF0 else event
        now, status = tick, event[0] if event[0] < 0xF0 else None
    body += b"\0\xff\x2f\0"
    return header(division=division) + b"MTrk" + struct.pack(">I", len(body)) + body


def header(form=0, tracks=1, division=480):
    return b"MThd" + struct.pack(">IHHH", 6, form, tracks, division)


def length(n):
    out = bytes([n & 0x7F])
    while n := n >> 7:
        out = bytes([n & 0x7F | 0x80]) + out
    return out
