"""Times six-mers of a genome against a plain Python loop and against reading the bytes, in one run, and
prints the ratios.

    bench/genome.py FILE.fa [--rounds 5]

Windows of 6100 bases are made into 1000 tokens each, as for a model. Both sides use one core and hold the
bases in memory; reading the bytes means the system's read calls on a file that is in its cache. Times are the
processor's; the fastest of the rounds counts.
"""

import argparse
import itertools
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "oracles"))

from programs import probe  # noqa: E402

IDS = {"".join(word): 6 + i for i, word in enumerate(itertools.product("ATCG", repeat=6))} | {
    b: 4102 + i for i, b in enumerate("ATCGN")
}


def tokenize(bases):
    tokens, i = [], 0
    while i < len(bases) and len(tokens) < 1000:
        word = bases[i : i + 6]
        if len(word) == 6 and "N" not in word:
            tokens.append(IDS[word])
            i += 6
        else:
            run = len(word.split("N")[0]) or 1
            tokens += [IDS[base] for base in word[:run]]
            i += run
    return tokens[:1000]


def python_loop(bases):
    start, count, total = time.process_time(), 0, 0
    for i in range(0, len(bases) - 6099, 6050):
        tokens = tokenize(bases[i : i + 6100])
        count += len(tokens)
        total += tokens[0] + tokens[-1]
    return time.process_time() - start, count, total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    bases = "".join(line for line in arguments.file.read_text().splitlines() if not line.startswith(">"))

    rounds = [probe("signal_probe", "measure", arguments.file).split() for _ in range(arguments.rounds)]
    read, parse, fast, count, total = (min(map(float, each)) for each in zip(*rounds))
    slow, same_count, same_total = min(python_loop(bases) for _ in range(arguments.rounds))
    assert (count, total) == (same_count, same_total), "the two make different tokens"
    print(f"{len(bases):,} bases, {int(count):,} tokens")
    print(f"reading the bytes   {read * 1e3:9.2f} ms")
    print(f"FASTA to bases      {parse * 1e3:9.2f} ms  {parse / read:8.2f} times reading")
    print(f"bases to tokens     {fast * 1e3:9.2f} ms  {fast / read:8.2f} times reading")
    print(f"Python loop         {slow * 1e3:9.2f} ms  {slow / fast:8.1f} times ours")


if __name__ == "__main__":
    main()
