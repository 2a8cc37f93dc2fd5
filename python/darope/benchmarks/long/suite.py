"""What a suite of long prompts is made of, and what it says of itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ...files import sha256_of_file
from ..rows import Row
from .books import Books
from .question import SEED, Plan, Question, fitted, kept

__all__ = ["GROWING", "WHOLE", "Source", "Suite", "books_of", "fitting", "made", "of_rows"]

GROWING, WHOLE = (1, 2, 4, 8), (8,)  # times the training length, where no lengths are asked for


@dataclass(frozen=True)
class Source:
    data: Path
    books: Path
    prompts: Path  # where they are kept
    tokens: Callable[[str], int]  # of a text, as a model reads it
    ends: Callable[[str, int, int], str]  # a text's first and last tokens, so many of each, if it has more
    tokenizer: str  # its hash
    limit: int | None  # questions of each part


@dataclass(frozen=True)
class Suite:
    metrics: dict[
        str, tuple[str, str]
    ]  # what the judge gives, from 0 to 1: title and meaning; the main one first
    judge: Callable[[Question, str], dict[str, float]]
    check: Callable[[Path, Path], None]  # are its files there, and the books?
    questions: Callable[[Source, int], list[Question]]
    times: tuple[int, ...]


@lru_cache(maxsize=64)
def file_hash(file: Path) -> str:
    return sha256_of_file(file)


@lru_cache(maxsize=2)
def books_of(folder: Path) -> Books:
    return Books(folder)


def made(
    source: Source,
    suite: str,
    length: int,
    files: list[Path],
    parts: dict[str, tuple[int, Callable[[int], Plan]]],
) -> list[Question]:
    """Of every part that fits, so many questions, with a plan for each index. What is left out is said."""
    counts = {part: count for part, (count, _) in parts.items()}
    hashes = [[each.name, file_hash(each)] for each in files]
    made_of = [suite, length, counts, SEED, source.tokenizer, hashes]

    def make() -> list[Question]:
        fit = (fitted(source.tokens, part, length, plan, count) for part, (count, plan) in parts.items())
        return [question for questions in fit for question in questions]

    questions = kept(source.prompts, f"prompts-{suite}-{length}", made_of, make)
    for part in parts:
        if part not in {each.part for each in questions}:
            print(f"left out: {suite}'s {part} does not fit {length} tokens", file=sys.stderr)
    return questions


def fitting(source: Source, question: Question) -> Question:
    """Pieces that were cut can be more tokens once they stand together: then the first ones go."""
    most = question.length - question.room
    if most < 2:
        raise ValueError(f"{question.part} takes {question.room} tokens to answer: give larger --lengths")
    prompt, kept = question.prompt, most - 1
    while source.tokens(prompt) > most:
        prompt, kept = source.ends(prompt, 0, kept), kept - 1
    return replace(question, prompt=prompt)


def of_rows(
    source: Source, files: dict[str, list[Row]], question: Callable[[str, Row], Question]
) -> list[Question]:
    """One question for each row of each file, as many as are asked for."""
    return [
        fitting(source, question(part, row)) for part, rows in files.items() for row in rows[: source.limit]
    ]
