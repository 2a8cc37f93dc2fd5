"""Where the music tests find data and programs, and MidiTok set up as the tokens are defined."""

import functools
import struct
import subprocess

import miditok
import numpy as np
import programs
import shared_data

probe = functools.partial(programs.probe, "midi_probe")


def darope(*words, code=0):
    """The data verb's standard output; it must end with the exit code given."""
    done = subprocess.run(
        [programs.DAROPE, "data", *map(str, words)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr


def rows(text):
    return [[int(x) for x in line.split()] for line in text.splitlines()]


def load(folder, split):
    """The sequences of a prepared dataset."""
    values, starts = np.load(folder / f"{split}.npy"), np.load(folder / f"{split}.starts.npy")
    return [values[a:b].tolist() for a, b in zip(starts, starts[1:])]


def midi_files(folder):
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in (".mid", ".midi"))


def unpack(name, folder):
    """The files of an archive of performances; skips where it is missing."""
    return midi_files(shared_data.unpack(shared_data.shared("data", "maestro", name), folder))


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
