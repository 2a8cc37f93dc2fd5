"""Books that hide what is asked for: .txt, and .jsonl with a `text` in each line, also packed as .xz."""

from __future__ import annotations

import json
import lzma
import random
import re
from functools import cached_property
from pathlib import Path

from nltk.tokenize.punkt import PunktSentenceTokenizer

from ..rows import open_text

__all__ = ["Books", "first_words"]


def texts_of(file: Path) -> list[str]:
    with open_text(file) as stream:
        try:
            if ".jsonl" not in file.suffixes:
                return [stream.read()]
            return [json.loads(line)["text"] for line in stream if line.strip()]
        except (ValueError, KeyError, TypeError, RecursionError, lzma.LZMAError) as error:
            raise ValueError(f"{file} does not fit ({error!r}): each line should have a `text`") from None


def first_words(sentences: list[str], count: int) -> list[str]:
    """So many words of sentences that follow one another; the last sentence may be cut."""
    found = []
    for sentence in sentences:
        if count <= 0:
            break
        words = sentence.split(" ")
        found.append(" ".join(words[:count]))
        count -= len(words)
    return found


class Books:
    def __init__(self, folder: Path) -> None:
        kinds = (".txt", ".jsonl", ".jsonl.xz", ".txt.xz")
        there = sorted(folder.iterdir()) if folder.is_dir() else []
        self.files = [file for file in there if file.name.endswith(kinds)]
        if not self.files:
            raise ValueError(f"{folder} should hold books, *.txt or *.jsonl, also as .xz: give --books")
        self.cuts: dict[int, list[str]] = {}

    @cached_property
    def texts(self) -> list[str]:
        spaced = (re.sub(r"\s+", " ", text).strip() for file in self.files for text in texts_of(file))
        texts = [text for text in spaced if text]
        if not texts:
            raise ValueError(f"{self.files[0].parent} holds books without a text")
        return texts

    def sentences(self, rng: random.Random, count: int) -> list[str]:
        """From a random place of a random book on, and on into the next ones."""
        book = rng.randrange(len(self.texts))
        cut = self.cut(book)
        found = cut[rng.randrange(len(cut)) :]
        while len(found) < count:
            book = (book + 1) % len(self.texts)
            found = found + self.cut(book)
        return found[:count]

    def cut(self, book: int) -> list[str]:
        """Its sentences, by the rules alone: a trained splitter would be fetched from the network."""
        if book not in self.cuts:
            self.cuts[book] = PunktSentenceTokenizer().tokenize(self.texts[book])
        return self.cuts[book]
