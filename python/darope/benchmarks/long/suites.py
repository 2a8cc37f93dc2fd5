"""The suites of long prompts: one line each."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from . import babilong, code, longbench, ruler, ruler_qa
from .books import Books
from .question import SEED, Plan, Question, fitted, kept

__all__ = ["SUITES", "Source", "Suite"]


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
    metrics: tuple[str, ...]  # what the judge gives, the one that is compared first
    judge: Callable[[Question, str], dict[str, float]]
    check: Callable[[Path, Path], None]  # are its files there?
    questions: Callable[[Source, int], list[Question]]
    times: tuple[int, ...]  # the training length, where no lengths are asked for


@lru_cache(maxsize=64)
def file_hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@lru_cache(maxsize=2)
def books_of(folder: Path) -> Books:
    return Books(folder)


def made(source: Source, suite: str, length: int, files: list[Path], parts, count: int) -> list[Question]:
    """Of every part that fits, a plan for each index. What is left out is said."""
    made_of = [suite, length, count, SEED, source.tokenizer, [[each.name, file_hash(each)] for each in files]]

    def make() -> list[Question]:
        each_part = (fitted(source.tokens, part, length, plan, count) for part, plan in parts.items())
        return [question for questions in each_part for question in questions]

    questions = kept(source.prompts, f"{suite}-{length}", made_of, make)
    for part in parts:
        if part not in {each.part for each in questions}:
            print(f"left out: {suite}'s {part} does not fit {length} tokens", file=sys.stderr)
    return questions


def ruler_documents(data: Path) -> dict[str, Path]:
    return {part: data / "ruler" / name for part, (name, _) in ruler_qa.FILES.items()}


def ruler_check(data: Path, books: Path) -> None:
    books_of(books)
    ruler.words_of("noun")
    for part, file in ruler_documents(data).items():
        if not file.is_file():
            print(f"left out: ruler's {part}: {file} is missing", file=sys.stderr)


def ruler_questions(source: Source, length: int) -> list[Question]:
    if length == 0:
        raise ValueError("RULER has no length 0: give --lengths of at least 1024")
    books = books_of(source.books)
    files = {part: file for part, file in ruler_documents(source.data).items() if file.is_file()}

    def own(part: str, task: ruler.Task) -> Callable[[int], Plan]:
        return lambda index: task(books, length, random.Random(f"{SEED}/book/{part}/{length}/{index}"))

    parts = {part: own(part, task) for part, task in ruler.TASKS.items()}
    for part, file in files.items():
        parts[part] = ruler_qa.FILES[part][1](file).plan
    count = source.limit or 500
    return made(source, "ruler", length, [*books.files, *files.values()], parts, count)


def babi_files(data: Path) -> list[Path]:
    folder = data / "babi" / "tasks_1-20_v1-2" / "en"
    files = [next(iter(sorted(folder.glob(f"{task}_*_test.txt"))), None) for task in babilong.TASKS]
    if None in files:
        raise ValueError(f"{folder} should hold bAbI's qa1_*_test.txt to qa5_*_test.txt")
    return files


def babi_chosen(data: Path) -> dict[str, list[int]]:
    file = data / "babilong" / "test_100_idxs.json"
    if not file.is_file():
        raise ValueError(f"{file} is missing: docs/benchmarks.md says what each benchmark reads")
    return json.loads(file.read_text())


def babilong_check(data: Path, books: Path) -> None:
    books_of(books)
    babi_files(data)
    babi_chosen(data)


def babilong_questions(source: Source, length: int) -> list[Question]:
    books, files, chosen = books_of(source.books), babi_files(source.data), babi_chosen(source.data)
    samples = {task: babilong.read_babi(file) for task, file in zip(babilong.TASKS, files)}

    def own(task: str) -> Callable[[int], Plan]:
        return lambda index: babilong.plan(
            task,
            samples[task][chosen[task][index]],
            books,
            source.tokens,
            length,
            random.Random(f"{SEED}/book/{task}/{length}/{index}"),
        )

    count = min(source.limit or sys.maxsize, min(len(chosen[task]) for task in samples))
    parts = {task: own(task) for task in samples}
    return made(source, "babilong", length, [*books.files, *files], parts, count)


def fitting(source: Source, question: Question) -> Question:
    """Pieces that were cut can be more tokens once they stand together: then the first ones go."""
    most = question.length - question.room
    if most < 2:
        raise ValueError(f"{question.part} takes {question.room} tokens to answer: give larger --lengths")
    prompt, kept = question.prompt, most - 1
    while source.tokens(prompt) > most:
        prompt, kept = source.ends(prompt, 0, kept), kept - 1
    return replace(question, prompt=prompt)


def longbench_check(data: Path, books: Path) -> None:
    folder = data / "longbench"
    there = longbench.rows_of(folder)
    for name in ("prompt", "maxlen"):
        for task in set(there) - set(longbench.read_config(folder, name)):
            raise ValueError(f"{folder}/config/dataset2{name}.json says nothing of {task}")
    for task in [each for each in longbench.MEASURES if each not in there]:
        print(f"left out: longbench's {task}: there is no {folder}/data/{task}.jsonl", file=sys.stderr)


def longbench_questions(source: Source, length: int) -> list[Question]:
    folder = source.data / "longbench"
    templates, rooms = longbench.read_config(folder, "prompt"), longbench.read_config(folder, "maxlen")
    return [
        fitting(source, longbench.question(task, row, templates[task], rooms[task], length, source.ends))
        for task, rows in longbench.rows_of(folder).items()
        for row in rows[: source.limit]
    ]


def crosscodeeval_check(data: Path, books: Path) -> None:
    if "python" in code.rows_of(data / "crosscodeeval", code.CROSSCODEEVAL):
        code.python_parser()


def crosscodeeval_questions(source: Source, length: int) -> list[Question]:
    return [
        fitting(source, code.crosscodeeval_question(part, row, length, source.ends))
        for part, rows in code.rows_of(source.data / "crosscodeeval", code.CROSSCODEEVAL).items()
        for row in rows[: source.limit]
    ]


def repobench_check(data: Path, books: Path) -> None:
    code.rows_of(data / "repobench", code.REPOBENCH)


def repobench_questions(source: Source, length: int) -> list[Question]:
    return [
        fitting(source, code.repobench_question(part, row, length, source.tokens))
        for part, rows in code.rows_of(source.data / "repobench", code.REPOBENCH).items()
        for row in rows[: source.limit]
    ]


IDENTIFIERS = ("identifier_match", "identifier_f1")
LINES = ("edit_similarity", "exact_match")
GROWING, WHOLE = (1, 2, 4, 8), (8,)
SUITES = {
    "ruler": Suite(("match",), ruler.judge, ruler_check, ruler_questions, GROWING),
    "babilong": Suite(("match",), babilong.judge, babilong_check, babilong_questions, GROWING),
    "longbench": Suite(("score",), longbench.judge, longbench_check, longbench_questions, WHOLE),
    "crosscodeeval": Suite(
        LINES + IDENTIFIERS, code.crosscodeeval_judge, crosscodeeval_check, crosscodeeval_questions, WHOLE
    ),
    "repobench": Suite(LINES, code.repobench_judge, repobench_check, repobench_questions, WHOLE),
}
