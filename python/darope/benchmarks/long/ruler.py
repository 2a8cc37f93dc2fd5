"""RULER's thirteen tasks (Hsieh et al., 2024), with its prompts for base models and its measure.

Two things differ from its scripts: the essays are passages of the user's books, and every prompt is drawn
from a stream of its own, so that the first ones are the same however many are asked for.
"""

from __future__ import annotations

import math
import random
import re
import string
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .books import Books, first_words
from .question import SEED, Draft, Plan, Question
from .ruler_qa import FILES
from .suite import GROWING, Source, Suite, books_of, made

__all__ = ["SUITE", "TASKS"]

# These sentences are the benchmark's own: other words would make it another one.
NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
NEEDLE = "One of the special magic {kind} for {key} is: {value}."
HIDDEN = (
    "Some special magic {kind} are hidden within the following text. Make sure to memorize it. "
    "I will quiz you about the {kind} afterwards.\n{context}\n"
    "What are all the special magic {kind} for {query} mentioned in the provided text? "
    "The special magic {kind} for {query} mentioned in the provided text are"
)
HIDDEN_ONE = (
    "A special magic {kind} is hidden within the following text. Make sure to memorize it. "
    "I will quiz you about the {kind} afterwards.\n{context}\n"
    "What is the special magic {kind} for {query} mentioned in the provided text? "
    "The special magic {kind} for {query} mentioned in the provided text is"
)
CHAIN = (
    "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n{context}\n"
    "Question: Find all variables that are assigned the value {value} in the text above. "
    "Answer: According to the chain(s) of variable assignment in the text above, {count} variables are "
    "assgined the value {value}, they are: "
)
COMMON = (
    "Below is a numbered list of words. In these words, some appear more often than others. "
    "Memorize the ones that appear most often.\n{context}\n"
    "Question: What are the 10 most common words in the above list? "
    "Answer: The top 10 words that appear most often in the list are:"
)
FREQUENT = (
    "Read the following coded text and track the frequency of each coded word. "
    "Find the three most frequently appeared coded words. {context}\n"
    "Question: Do not provide any explanation. Please ignore the dots '....'. "
    "What are the three most frequently appeared words in the above coded text? "
    "Answer: According to the coded text above, the three most frequently appeared words are:"
)

DEPTHS = [round(100 * i / 39) for i in range(40)]  # of needles in essays, in percent


@cache
def words_of(*kinds: str) -> list[str]:
    try:
        from wonderwords import RandomWord
    except ImportError:
        raise ValueError("RULER draws its words from wonderwords: run pip install 'darope[eval]'") from None
    return sorted(set(RandomWord().filter(include_categories=list(kinds))))


DRAWN = {
    "words": lambda rng: f"{rng.choice(words_of('adjective'))}-{rng.choice(words_of('noun'))}",
    "numbers": lambda rng: str(rng.randint(10**6, 10**7 - 1)),
    "uuids": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
}


@dataclass(frozen=True)
class Needles:
    """Sentences that give a key a value, hidden in a haystack: noise, other needles, or an essay."""

    haystack: str
    keys: str = "words"
    values: str = "numbers"
    of_keys: int = 1  # so many keys,
    of_values: int = 1  # so many values for each,
    asked: int = 1  # and so many keys are asked for
    room = 128

    def plan(self, books: Books, length: int, rng: random.Random) -> Plan:
        count = self.of_keys * self.of_values
        if self.haystack != "essay":
            return Plan(self.draw, self.room, least=count)
        essay = books.sentences(rng, length // 2 + 8)
        return Plan(lambda rng, size: self.draw(rng, size, essay), self.room, least=1)

    def draw(self, rng: random.Random, size: int, essay: list[str] | None = None) -> Draft:
        values = {
            DRAWN[self.keys](rng): [DRAWN[self.values](rng) for _ in range(self.of_values)]
            for _ in range(self.of_keys)
        }
        needles = [self.needle(key, value) for key, given in values.items() for value in given]
        rng.shuffle(needles)
        queries = rng.sample(list(values), self.asked)
        answers = [value for key in queries for value in values[key]]
        query = queries[0] if len(queries) == 1 else ", ".join(queries[:-1]) + ", and " + queries[-1]
        one = len(answers) == 1
        template, kind = (HIDDEN_ONE, self.values[:-1]) if one else (HIDDEN, self.values)
        return Draft(
            prompt=lambda context: template.format(kind=kind, query=query, context=context),
            context=(
                self.in_essay(rng, needles, first_words(essay, size))
                if essay
                else self.in_lines(rng, needles, size)
            ),
            right=" " + ", ".join(answers),
            answers=answers,
        )

    def needle(self, key: str, value: str) -> str:
        return NEEDLE.format(kind=self.values, key=key, value=value)

    def in_essay(self, rng: random.Random, needles: list[str], essay: list[str]) -> str:
        sentences = list(essay)
        depths = sorted(rng.sample(DEPTHS, len(needles)), reverse=True)
        for depth, needle in zip(depths, needles):
            sentences.insert(len(essay) * depth // 100, needle)
        return " ".join(sentences)

    def in_lines(self, rng: random.Random, needles: list[str], size: int) -> str:
        places = sorted(rng.sample(range(size), len(needles)), reverse=True)
        lines = [NOISE] * size
        if self.haystack == "needle":
            lines = [self.needle(DRAWN[self.keys](rng), DRAWN[self.values](rng)) for _ in range(size)]
        for place, needle in zip(places, needles):
            lines.insert(place, needle)
        return "\n".join(lines)


HOPS = 4


def variables(books: Books, length: int, rng: random.Random) -> Plan:
    """One chain of assignments in noise: every variable of it has the first one's value."""

    def draw(rng: random.Random, size: int) -> Draft:
        names: list[str] = []
        while len(names) <= HOPS:
            name = "".join(rng.choices(string.ascii_uppercase, k=5))
            names += [name] * (name not in names)
        value = rng.randrange(10000, 99999)
        chain = [f"VAR {names[0]} = {value}"]
        chain += [f"VAR {to} = VAR {of} " for of, to in zip(names, names[1:])]
        lines = [NOISE + "\n"] * size
        for behind, place in enumerate(sorted(rng.sample(range(size), len(chain)))):
            lines.insert(place + behind, chain[behind])
        return Draft(
            prompt=lambda context: CHAIN.format(context=context, value=value, count=len(names)),
            context=" ".join(lines).replace(". \n", ".\n"),
            right=" ".join(names),
            answers=names,
        )

    return Plan(draw, room=30, least=HOPS + 2)


def listed(words: list[str]) -> str:
    return " ".join(f"{i}. {word}" for i, word in enumerate(words, 1))


def common_words(books: Books, length: int, rng: random.Random) -> Plan:
    """Ten words of a list occur more often than the others. A worked example stands before it."""
    small = length < 4096
    shown, often, seldom = (20, 3, 1) if small else (40, 10, 3)

    def some(rng: random.Random, count: int, often: int, seldom: int) -> tuple[str, list[str]]:
        drawn = rng.sample(words_of("noun", "adjective", "verb"), count)
        repeated = drawn[:10] * often + drawn[10:] * seldom
        rng.shuffle(repeated)
        return listed(repeated), drawn[:10]

    def draw(rng: random.Random, size: int) -> Draft:
        example, told = some(rng, shown, often, seldom)
        context, answers = some(rng, size, *((6, 1) if small else (30, 3)))
        before = COMMON.format(context=example) + listed(told) + "\n"
        return Draft(
            prompt=lambda context: before + COMMON.format(context=context),
            context=context,
            right=listed(answers),
            answers=answers,
        )

    return Plan(draw, room=120, least=11, most=len(words_of("noun", "adjective", "verb")))


def frequent_words(books: Books, length: int, rng: random.Random) -> Plan:
    """Coded words whose frequencies fall as the square of their rank; the first rank is dots."""

    def draw(rng: random.Random, size: int) -> Draft:
        codes: dict[str, None] = {}
        while len(codes) < length // 50:
            codes["".join(rng.choices(string.ascii_lowercase, k=6))] = None
        ranked = ["...", *list(codes)[1:]]
        share = size / (math.pi**2 / 6)
        text = [word for rank, word in enumerate(ranked, 1) for _ in range(int(share / rank**2))]
        rng.shuffle(text)
        return Draft(
            prompt=lambda context: FREQUENT.format(context=context),
            context=" ".join(text),
            right=" " + ", ".join(ranked[1:4]),
            answers=ranked[1:4],
        )

    return Plan(draw, room=50, least=27)  # fewer, and the fourth rank occurs no more often than the fifth


Task = Callable[[Books, int, random.Random], Plan]
TASKS: dict[str, Task] = {
    "niah_single_1": Needles("noise").plan,
    "niah_single_2": Needles("essay").plan,
    "niah_single_3": Needles("essay", values="uuids").plan,
    "niah_multikey_1": Needles("essay", of_keys=4).plan,
    "niah_multikey_2": Needles("needle").plan,
    "niah_multikey_3": Needles("needle", keys="uuids", values="uuids").plan,
    "niah_multivalue": Needles("essay", of_values=4).plan,
    "niah_multiquery": Needles("essay", of_keys=4, asked=4).plan,
    "vt": variables,
    "cwe": common_words,
    "fwe": frequent_words,
}


def judge(question: Question, written: str) -> dict[str, float]:
    """The share of the answers that occur; of a question with several right answers, whether one does."""
    text = re.sub(r"[\x00-\x1f]", "\n", written.strip()).strip().lower()
    found = [answer.lower() in text for answer in question.answers]
    return {"match": float(any(found)) if question.part.startswith("qa_") else sum(found) / len(found)}


def documents_in(data: Path) -> dict[str, Path]:
    return {part: data / "ruler" / name for part, (name, _) in FILES.items()}


def check(data: Path, books: Path) -> None:
    books_of(books)
    words_of("noun")
    for part, file in documents_in(data).items():
        if not file.is_file():
            print(f"left out: ruler's {part}: {file} is missing", file=sys.stderr)


def questions(source: Source, length: int) -> list[Question]:
    if length == 0:
        raise ValueError("RULER has no length 0: give --lengths of at least 1024")
    books = books_of(source.books)
    files = {part: file for part, file in documents_in(source.data).items() if file.is_file()}

    def own(part: str, task: Task) -> Callable[[int], Plan]:
        return lambda index: task(books, length, random.Random(f"{SEED}/book/{part}/{length}/{index}"))

    count = source.limit or 500
    parts = {part: (count, own(part, task)) for part, task in TASKS.items()}
    for part, file in files.items():
        documents = FILES[part][1](file)
        parts[part] = (min(count, len(documents.questions)), documents.plan)
    return made(source, "ruler", length, [*books.files, *files.values()], parts)


SUITE = Suite(
    metrics={"match": ("answers that match", "the share of the right answers that occur in what is written")},
    judge=judge,
    check=check,
    questions=questions,
    times=GROWING,
)
