"""Times REMI tokens of MIDI files against MidiTok's, in one run on the same files, and prints the ratio.

    bench/remi.py FOLDER [--files 60]      every .mid and .midi below FOLDER, or that many, evenly chosen

Both read each file from the disk and end with its ids, on one core; seconds are the processor's, which a busy
machine changes little. Three rounds in turn, the fastest of each counts.
"""

import argparse
import pathlib
import sys
import time

import symusic

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "oracles"))

from music import make_tokenizer, midi_files, probe  # noqa: E402


def ours(files):
    tokens, seconds = probe("measure", *files).split()
    return int(tokens), float(seconds)


def theirs(tokenizer, files):
    start = time.process_time()
    tokens = sum(len(sequence.ids) for file in files for sequence in tokenizer(symusic.Score(str(file))))
    return tokens, time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=60)
    arguments = parser.parse_args()
    every = midi_files(arguments.folder)
    files = every[:: max(1, len(every) // arguments.files)]
    tokenizer = make_tokenizer()
    ours(files), theirs(tokenizer, files[:1])  # the disk's cache and the libraries, once
    rounds = [(ours(files), theirs(tokenizer, files)) for _ in range(3)]
    (count, fast), (same, slow) = (min(side, key=lambda pair: pair[1]) for side in zip(*rounds))
    assert count == same, (count, same)
    print(f"{len(files)} files, {count:,} tokens")
    print(f"darope   {fast:8.3f} s  {count / fast / 1e6:8.2f} million tokens/s")
    print(f"MidiTok  {slow:8.3f} s  {count / slow / 1e6:8.2f} million tokens/s")
    print(f"ratio    {slow / fast:8.1f}")


if __name__ == "__main__":
    main()
