"""Benchmarks from files on this disk, as rows with the fields that lm-eval's own tasks read.

A reader takes the folder that the user named and gives the rows of each split. What a folder should hold is
said in docs/benchmarks.md.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

from ..files import Bounded, open_plain

__all__ = ["Reader", "Splits", "some_of"]

Row = dict[str, object]
Splits = dict[str, list[Row]]
Reader = Callable[[Path], Splits]


PACKED = {".gz": gzip.open, ".xz": lzma.open}


def open_text(file: Path, newline: str | None = None) -> io.TextIOWrapper:
    """As it is, or unpacked within limits."""
    plain = open_plain(file)
    unpack = PACKED.get(file.suffix)
    opened = io.BufferedReader(Bounded(unpack(plain), file)) if unpack else plain
    return io.TextIOWrapper(opened, encoding="utf-8", newline=newline)


def lines_of(file: Path) -> list[str]:
    if not file.is_file():
        raise ValueError(f"{file} is missing: docs/benchmarks.md says what each benchmark reads")
    try:
        with open_text(file) as text:
            return [line for line in text.read().split("\n") if line.strip()]
    except (EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{file} does not fit: {error}") from None


def objects_of(file: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(lines_of(file), 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{file}:{number}: no JSON: {error.msg}") from None
        except RecursionError:
            raise ValueError(f"{file}:{number}: nested too deep") from None
        if not isinstance(row, dict):
            raise ValueError(f"{file}:{number}: should be an object")
        rows.append(row)
    return rows


def some_of(folder: Path, files: dict[str, str]) -> dict[str, list[Row]]:
    """The rows of those files that are there, by what they are called."""
    found = {part: objects_of(folder / name) for part, name in files.items() if (folder / name).is_file()}
    if not found:
        raise ValueError(f"{folder} should hold one of {', '.join(files.values())}")
    return found


def converted(file: Path, convert: Callable[[Row], Row]) -> list[Row]:
    """The rows of a file; one that lacks a field is named by its number."""
    rows = []
    for number, row in enumerate(objects_of(file), 1):
        try:
            rows.append(convert(row))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"{file}: row {number} does not fit ({error!r})") from None
    return rows


def lettered(texts: list[str]) -> dict[str, list[str]]:
    return {"text": texts, "label": [chr(ord("A") + i) for i in range(len(texts))]}


def between(text: str, before: str, behind: str = "") -> str:
    if not (text.startswith(before) and text.endswith(behind)):
        raise ValueError(f"should be {before!r} ... {behind!r}")
    return text[len(before) : len(text) - len(behind)]


def hellaswag(folder: Path) -> Splits:
    return {"validation": objects_of(folder / "hellaswag" / "hellaswag_val.jsonl")}


def piqa(folder: Path) -> Splits:
    rows = objects_of(folder / "piqa" / "valid.jsonl")
    labels = lines_of(folder / "piqa" / "valid-labels.lst")
    if len(rows) != len(labels):
        raise ValueError(f"{folder / 'piqa'}: {len(rows)} questions and {len(labels)} labels")
    return {"validation": [{**row, "label": int(label)} for row, label in zip(rows, labels)]}


def commonsense_qa(folder: Path) -> Splits:
    return {"validation": objects_of(folder / "commonsenseqa" / "dev_rand_split.jsonl")}


def arc(name: str) -> Reader:
    def convert(row: Row) -> Row:
        choices = lettered(row["choices"])
        return {
            "question": between(row["query"], "Question: "),
            "choices": choices,
            "answerKey": choices["label"][row["gold"]],
        }

    return lambda folder: {"test": converted(folder / "llm-foundry" / f"{name}.jsonl", convert)}


def openbookqa(folder: Path) -> Splits:
    def convert(row: Row) -> Row:
        choices = lettered(row["choices"])
        return {
            "question_stem": row["query"],
            "choices": choices,
            "answerKey": choices["label"][row["gold"]],
        }

    return {"test": converted(folder / "llm-foundry" / "openbook_qa.jsonl", convert)}


def winogrande(folder: Path) -> Splits:
    """The two beginnings stand whole in the file, so that nothing is before the gap."""

    def convert(row: Row) -> Row:
        first, second = row["context_options"]
        return {
            "sentence": "_ " + row["continuation"],
            "option1": first,
            "option2": second,
            "answer": str(row["gold"] + 1),
        }

    return {"validation": converted(folder / "llm-foundry" / "winogrande.jsonl", convert)}


def copa(folder: Path) -> Splits:
    connectors = {", because": "cause", ", therefore": "effect"}

    def convert(row: Row) -> Row:
        (connector,) = [each for each in connectors if row["query"].endswith(each)]
        first, second = row["choices"]
        return {
            "premise": row["query"][: -len(connector)] + ".",
            "question": connectors[connector],
            "choice1": first,
            "choice2": second,
            "label": row["gold"],
        }

    return {"validation": converted(folder / "llm-foundry" / "copa.jsonl", convert)}


def mmlu(subject: str) -> Reader:
    def table(file: Path) -> list[Row]:
        lines_of(file)  # is it there?
        with open_text(file, newline="") as text:
            rows = list(csv.reader(text))
        if not rows or rows[0] != ["question", "choice0", "choice1", "choice2", "choice3", "answer"]:
            raise ValueError(f"{file}: the head should be question, choice0, ..., choice3, answer")
        return [{"question": row[0], "choices": row[1:5], "answer": int(row[5])} for row in rows[1:]]

    return lambda folder: {
        split: table(folder / "mmlu" / split / f"{subject}_{split}.csv") for split in ("dev", "test")
    }


def race(folder: Path) -> Splits:
    """One file for each article, as RACE is distributed."""
    files = sorted((folder / "RACE" / "test" / "high").glob("*.txt"))
    if not files:
        raise ValueError(f"{folder / 'RACE' / 'test' / 'high'} should hold RACE's articles, *.txt")

    def convert(row: Row) -> Row:
        problems = [
            {"question": question, "options": options, "answer": answer}
            for question, options, answer in zip(row["questions"], row["options"], row["answers"])
        ]
        return {"article": row["article"], "problems": repr(problems)}

    return {"test": [row for file in files for row in converted(file, convert)]}


def triviaqa(folder: Path) -> Splits:
    def convert(row: Row) -> Row:
        return {
            "question": between(row["context"], "Question: ", "\nAnswer:"),
            "answer": {"aliases": row["aliases"]},
        }

    return {"validation": converted(folder / "llm-foundry" / "triviaqa_sm_sub.jsonl", convert)}


def bbh(task: str) -> Reader:
    def read(folder: Path) -> Splits:
        file = folder / "bbh" / "bbh" / f"{task}.json"
        try:
            return {"test": json.loads("\n".join(lines_of(file)))["examples"]}
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(f"{file} does not fit ({error!r})") from None

    return read


def gsm8k(folder: Path) -> Splits:
    """Without a train file the worked examples are other questions of the test."""
    test = objects_of(folder / "gsm8k" / "test.jsonl")
    train = folder / "gsm8k" / "train.jsonl"
    return {"test": test} | ({"train": objects_of(train)} if train.exists() else {})


def humaneval(folder: Path) -> Splits:
    return {"test": objects_of(folder / "humaneval" / "HumanEval.jsonl.gz")}


MBPP_TEST = range(11, 511)  # by task_id, as its authors split it
MBPP_SHOWN = (2, 3, 4)


def mbpp(folder: Path) -> Splits:
    rows = objects_of(folder / "mbpp" / "mbpp.jsonl")
    return {
        "prompt": [{**row, "is_fewshot": True} for row in rows if row["task_id"] in MBPP_SHOWN],
        "test": [row for row in rows if row["task_id"] in MBPP_TEST],
    }
