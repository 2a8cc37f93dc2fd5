"""RepoBench 1.1 (Liu et al., 2023): the next line of code, with other files of the repository before it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ..rows import some_of
from .measures import edit_similarity
from .question import Question
from .suite import WHOLE, Source, Suite, of_rows

__all__ = ["SUITE", "first_line", "question"]

FILES = {
    f"{language}-{setting}": f"{language}/{setting}.jsonl"
    for language in ("python", "java")
    for setting in ("cross_file_first", "cross_file_random", "in_file")
}


def question(part: str, row: dict, length: int, tokens: Callable[[str], int]) -> Question:
    """Lines of other files go from behind until the prompt fits."""
    room, mark = 128, "#" if part.startswith("python") else "//"
    try:
        snippets = [f"{mark} Path: {each['path']}\n{each['snippet']}\n\n" for each in row["context"]]
        others = f"{mark} Repo Name: {row['repo_name']}\n" + "".join(snippets)
        own = f"{mark} Path: {row['file_path']}\n{row['import_statement']}\n{row['cropped_code']}\n"
        right = row["next_line"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"a row of RepoBench's {part} does not fit ({error!r})") from None
    excess = tokens(others) + tokens(own) - (length - room)
    if excess > 0:
        lines = others.split("\n")
        while lines and excess >= 0:
            excess -= tokens(lines.pop())
        others = "\n".join(lines) + "\n\n" if lines else ""
    return Question(
        part=part,
        length=length,
        prompt=re.sub("\n{4,}", "\n\n", others + own),
        bare=None,
        lead="",
        right=right,
        answers=[right],
        room=room,
    )


def first_line(told: str, language: str) -> str:
    """The first that is no comment; where there is none, the first."""
    begins, ends, single = (
        (('"""', "'''"), ('"""', "'''"), "#") if language == "python" else ("/*", "*/", "//")
    )
    lines, inside = told.lstrip("\n").split("\n"), False
    for line in lines:
        bare = line.strip()
        if not bare:
            continue
        if not inside and bare.startswith(begins):
            inside = True
        elif inside:
            inside = not bare.endswith(ends)
        elif not bare.startswith(single):
            return line
    return lines[0]


def judge(asked: Question, told: str) -> dict[str, float]:
    line, right = first_line(told, asked.part.split("-")[0]), asked.answers[0]
    return {
        "edit_similarity": edit_similarity(line, right),
        "exact_match": float(line.split() == right.split()),
    }


def check(data: Path, books: Path) -> None:
    some_of(data / "repobench", FILES)


def questions(source: Source, length: int) -> list[Question]:
    files = some_of(source.data / "repobench", FILES)
    return of_rows(source, files, lambda part, row: question(part, row, length, source.tokens))


SUITE = Suite(
    metrics={
        "edit_similarity": ("edit similarity", "matching characters of the line and the right one"),
        "exact_match": ("exact match", "lines that are the right one, but for spaces"),
    },
    judge=judge,
    check=check,
    questions=questions,
    times=WHOLE,
)
