"""Times the tokenizers against tiktoken on one core, in one run, and prints the ratios.

    bench/tokenizer.py RANKS TEXT... [--rounds 3]

RANKS is cl100k_base.tiktoken or r50k_base.tiktoken, a TEXT a .txt.xz or .jsonl.xz, whose documents are taken
as one text. Both hold the text and the tokens in memory. Times are the processor's; the fastest of the
rounds counts. Every document's tokens are compared besides.
"""

import argparse
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "oracles"))

from tiktoken_oracle import documents_of, original, ours, probe  # noqa: E402


def seconds_of(encoding, text):
    start = time.process_time()
    tokens = len(encoding.encode_ordinary(text))
    return time.process_time() - start, tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ranks", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    name = probe("name", arguments.ranks).strip()
    encoding = original(name, arguments.ranks)
    print(f"{name:<36} {'MB':>8} {'tokens':>12} {'tiktoken':>12} {'darope':>12} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.text:
            documents = list(documents_of(path))
            for text, ids in zip(
                documents, ours(name, arguments.ranks, documents, pathlib.Path(folder)), strict=True
            ):
                assert ids == encoding.encode_ordinary(text), f"another token in {path}: {text[:200]!r}"
            text = "\n\n".join(documents)
            file = pathlib.Path(folder) / "text"
            file.write_bytes(text.encode())
            theirs, mine = [], []
            for _ in range(arguments.rounds):  # one after the other, so that both meet the same machine
                theirs.append(seconds_of(encoding, text))
                seconds, tokens = probe("measure", name, arguments.ranks, file).split()
                mine.append((float(seconds), int(tokens)))
            (slow, count), (fast, same) = min(theirs), min(mine)
            assert count == same, "the two make different tokens"
            size = file.stat().st_size / 1e6
            print(
                f"{path.name:<36} {size:8.1f} {count:12,} {size / slow:7.1f} MB/s {size / fast:7.1f} MB/s"
                f" {slow / fast:7.2f}"
            )


if __name__ == "__main__":
    main()
