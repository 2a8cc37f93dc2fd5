"""LongBench's English tasks (Bai et al., 2023), from its own files: prompts, lengths of answers and rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ...files import read_json
from ..rows import objects_of
from . import measures
from .question import Question
from .suite import WHOLE, Source, Suite, fitting

__all__ = ["MEASURES", "SUITE", "question"]

MEASURES: dict[str, Callable[[str, str], float]] = {
    "narrativeqa": measures.token_f1,
    "qasper": measures.token_f1,
    "multifieldqa_en": measures.token_f1,
    "hotpotqa": measures.token_f1,
    "2wikimqa": measures.token_f1,
    "musique": measures.token_f1,
    "gov_report": measures.rouge_l,
    "qmsum": measures.rouge_l,
    "multi_news": measures.rouge_l,
    "trec": measures.class_named,
    "triviaqa": measures.token_f1,
    "samsum": measures.rouge_l,
    "passage_count": measures.number_found,
    "passage_retrieval_en": measures.paragraph_found,
    "lcc": measures.code_similarity,
    "repobench-p": measures.code_similarity,
}
OF_A_LINE = ("trec", "triviaqa", "samsum")  # whose first line alone counts


def read_config(folder: Path, name: str) -> dict:
    file = folder / "config" / f"dataset2{name}.json"
    if not file.is_file():
        raise ValueError(f"{file} is missing: docs/benchmarks.md says what each benchmark reads")
    return read_json(file)


def rows_of(folder: Path) -> dict[str, list[dict]]:
    files = {task: folder / "data" / f"{task}.jsonl" for task in MEASURES}
    found = {task: objects_of(file) for task, file in files.items() if file.is_file()}
    if not found:
        raise ValueError(f"{folder / 'data'} should hold LongBench's files, {', '.join(MEASURES)}, as .jsonl")
    return found


def question(
    task: str, row: dict, template: str, room: int, length: int, ends: Callable[[str, int, int], str]
) -> Question:
    """What is too long loses its middle."""
    try:
        half = max(0, length - room - 1) // 2
        prompt, answers = ends(template.format(**row), half, half), list(row["answers"])
        classes = tuple(row["all_classes"] or ())
        right = answers[0]
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"a row of LongBench's {task} does not fit ({error!r})") from None
    return Question(
        part=task,
        length=length,
        prompt=prompt,
        bare=None,
        lead="",
        right=right if prompt[-1:].isspace() else " " + right,
        answers=answers,
        room=room,
        stop=("\n",) if task == "samsum" else (),
        facts=classes,
    )


def judge(asked: Question, told: str) -> dict[str, float]:
    """The best over the right answers."""
    if asked.part in OF_A_LINE:
        told = told.lstrip("\n").split("\n")[0]
    more = (list(asked.facts),) if asked.part == "trec" else ()
    return {"score": max(MEASURES[asked.part](told, right, *more) for right in asked.answers)}


def check(data: Path, books: Path) -> None:
    folder = data / "longbench"
    there = rows_of(folder)
    for name in ("prompt", "maxlen"):
        for task in set(there) - set(read_config(folder, name)):
            raise ValueError(f"{folder}/config/dataset2{name}.json says nothing of {task}")
    for task in [each for each in MEASURES if each not in there]:
        print(f"left out: longbench's {task}: there is no {folder}/data/{task}.jsonl", file=sys.stderr)


def questions(source: Source, length: int) -> list[Question]:
    folder = source.data / "longbench"
    templates, rooms = read_config(folder, "prompt"), read_config(folder, "maxlen")
    return [
        fitting(source, question(task, row, templates[task], rooms[task], length, source.ends))
        for task, rows in rows_of(folder).items()
        for row in rows[: source.limit]
    ]


SUITE = Suite(
    metrics={"score": ("the task's own measure", "what the task's authors measure, from 0 to 1")},
    judge=judge,
    check=check,
    questions=questions,
    times=WHOLE,
)
