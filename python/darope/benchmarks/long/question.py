"""What is asked of a model in one prompt, how long a prompt is made, and how prompts are kept.

Prompts are made once for a tokenizer, from a seed, and kept in a file: every model of that tokenizer is asked
the same.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from ...files import LARGE, read_json, write_whole

__all__ = ["Draft", "Plan", "Question", "fitted", "hash_of", "kept", "sha256_of"]

SEED = 42


@dataclass(frozen=True)
class Question:
    part: str  # the task it belongs to
    length: int  # tokens of the prompt and the room behind it, at most
    prompt: str
    bare: str | None  # the prompt without its context; None: there is no such
    lead: str  # what stands between the prompt and the right answer, where that is read and not written
    right: str  # the answer whose loss is measured
    answers: list[str]  # what an answer is compared with
    room: int  # tokens that the model may write
    stop: tuple[str, ...] = ()  # the model's answer ends before one of these
    facts: tuple[str, ...] = ()  # what else the judge wants to know


@dataclass(frozen=True)
class Draft:
    """A prompt as a function of its context, and the answer."""

    prompt: Callable[[str], str]
    context: str
    right: str
    answers: list[str]
    lead: str = ""
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """How prompts of a task grow: `draw` makes one of so many units, sentences for instance."""

    draw: Callable[[random.Random, int], Draft]
    room: int
    least: int
    most: int = sys.maxsize


def sha256_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def hash_of(questions: list[Question]) -> str:
    return sha256_of([asdict(each) for each in questions])


def fitted(
    tokens: Callable[[str], int], part: str, length: int, plan: Callable[[int], Plan], count: int
) -> list[Question]:
    """So many questions, each with as many units as there is room for; of length 0, with none. The one with
    the index i is a function of the seed, the task, the length, i, and the size that the first one has. None,
    if one of them does not fit.
    """
    questions, units, limit = [], None, length or sys.maxsize
    for index in range(count):
        this = plan(index)
        most = min(this.most, length)  # a unit is a token at least
        if this.least > most:
            return []

        def drawn(size: int) -> Draft:
            return this.draw(random.Random(f"{SEED}/{part}/{length}/{index}"), size)

        def needed(size: int) -> int:
            draft = drawn(size)
            return tokens(draft.prompt(draft.context) + draft.lead) + this.room

        if units is None:  # the later ones are nearly as long
            units = bisect_right(range(this.least, most + 1), limit, key=needed) + this.least - 1
        size = min(max(units, this.least), most)
        while needed(size) > limit:
            if size == this.least:
                return []
            size = max(this.least, size - max(1, size // 64))
        draft = drawn(size)
        questions.append(
            Question(
                part=part,
                length=length,
                prompt=draft.prompt(draft.context),
                bare=draft.prompt(""),
                lead=draft.lead,
                right=draft.right,
                answers=draft.answers,
                room=this.room,
                facts=draft.facts,
            )
        )
    return questions


def kept(folder: Path, name: str, made_of: object, make: Callable[[], list[Question]]) -> list[Question]:
    """Those of the file that was made of the same, or new ones, which go into it."""
    key = sha256_of(made_of)
    file = folder / f"{name}-{key[:16]}.json"
    if file.exists():
        try:
            held = read_json(file, LARGE)
            questions = [
                Question(**{**each, "stop": tuple(each["stop"]), "facts": tuple(each["facts"])})
                for each in held["questions"]
            ]
            sound = held["made_of"] == key and held["sha256"] == hash_of(questions)
        except (ValueError, KeyError, TypeError):
            sound = False
        if not sound:
            raise ValueError(f"{file} is not what was written there: remove it, and it is made again")
        return questions
    questions = make()
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "made_of": key,
        "sha256": hash_of(questions),
        "questions": [asdict(each) for each in questions],
    }
    write_whole(file, json.dumps(content, indent=1))
    return questions
