"""Prose and a rank file for tests of language models, without the nouns that the probes hide in prompts."""

import base64
import collections
import json
import random
import re
import subprocess

from programs import DAROPE, ROOT

NOUNS = re.findall(
    r"[a-z]{4,9}", "".join(re.findall(r'"([a-z ]+)"', (ROOT / "src/data/prompt_words.cpp").read_text()))
)


def words_of_docs():
    text = " ".join((ROOT / "docs" / name).read_text() for name in ("encodings.md", "data.md", "cli.md"))
    return [word for word in re.findall(r"[a-z]+", text) if not word.startswith(tuple(NOUNS))]


def prose(sentences, seed):
    rng, words = random.Random(seed), words_of_docs()
    some = (" ".join(rng.choices(words, k=rng.randint(6, 20))) for _ in range(sentences))
    return " ".join(each[0].upper() + each[1:] + rng.choice(".!?") for each in some)


def write_ranks(path):
    """All bytes, common words with and without the space before them, and the nouns of the probes."""
    common = [word for word, _ in collections.Counter(words_of_docs()).most_common(300)]
    whole = [f" {word}" for word in [*NOUNS, *common, "report", "codeword", "of", "="]] + ["Summary", ".\n"]
    whole += re.findall(r'"([A-Z][a-z]+|[a-z]+)"', (ROOT / "src/data/prompts.cpp").read_text())  # syllables
    whole += [str(number) for number in range(100, 1000)]
    names = [
        front + end for front in whole if front.istitle() for end in whole if re.fullmatch("[a-z]+", end)
    ]
    whole += [*names, *(f" {name}" for name in names)]
    tokens = [bytes([byte]) for byte in range(256)] + [word.encode() for word in dict.fromkeys(whole)]
    path.write_text("".join(f"{base64.b64encode(t).decode()} {rank}\n" for rank, t in enumerate(tokens)))
    return path


def prepare_set(folder, **documents):
    """FOLDER/set: so many documents of each split, by a rank file of their own beside it."""
    ranks = write_ranks(folder / "own.tiktoken")
    for split, count in documents.items():
        lines = (json.dumps({"text": prose(40, f"{split}{i}")}) for i in range(count))
        (folder / f"wiki-{split}.jsonl").write_text("\n".join(lines))
    words = [*sorted(folder.glob("wiki-*")), "--out", "set", "--tokenizer", ranks]
    subprocess.run([DAROPE, "data", "prepare", "text", *words], cwd=folder, check=True, capture_output=True)
