"""BABILong (Kuratov et al., 2024): bAbI's facts between the sentences of books, and a question behind them.

Instructions and worked examples are those of the lm-eval that is installed, in the paper's form. An answer is
right if the first sentence names the right label and no other; labels that the question names do not count.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lm_eval.tasks._yaml_loader import load_yaml

from ...files import LARGE, read_json, read_text
from ..tasks import manager
from .books import Books, first_words
from .question import SEED, Draft, Plan, Question
from .suite import GROWING, Source, Suite, books_of, made

__all__ = ["SUITE", "TASKS", "read_babi"]

PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
TASKS = {  # the labels among which an answer is
    "qa1": PLACES,
    "qa2": PLACES,
    "qa3": PLACES,
    "qa4": PLACES,
    "qa5": ("bill", "fred", "jeff", "mary", "apple", "football", "milk"),
}
# Where the worked examples answer in a sentence: what stands in it before the label.
SAID = {
    "qa1": (r"Where is (\w+)\?", "The most recent location of {0} is"),
    "qa2": (r"Where is the (\w+)\?", "The {0} is in the"),
    "qa3": (r"Where was the (\w+) before the (\w+)\?", "Before the {1} the {0} was in the"),
}
SHORTEST = 10  # tokens of a sentence of a book
ROOM = 20  # tokens that may be written


@dataclass(frozen=True)
class Sample:
    facts: list[str]
    question: str
    answer: str


def read_babi(file: Path) -> list[Sample]:
    """Each question with the facts told before it; a story may hold several. Some copies have | for tabs."""
    if not file.is_file():
        raise ValueError(f"{file} is missing: docs/benchmarks.md says what each benchmark reads")
    samples: list[Sample] = []
    facts: list[str] = []
    for number, line in enumerate(read_text(file, LARGE).splitlines(), 1):
        match = re.fullmatch(r"(\d+) ([^\t|]*)(?:[\t|]([^\t|]*)[\t|][\d ]*)?", line)
        if not match:
            raise ValueError(f"{file}:{number}: should be a numbered fact, or a question and its answer")
        if match[1] == "1":
            facts = []
        if match[3] is None:
            facts = [*facts, match[2].strip()]
        else:
            samples.append(Sample(facts, match[2].strip(), match[3]))
    return samples


def form_of(task: str) -> Callable[[str, str], str]:
    stock = load_yaml(Path(manager().task_index[f"babilong_{task}"].yaml_path), resolve_func=False)
    instruction, how = re.split(r"\n(?=Always|Your answer)", stock["description"].strip(), maxsplit=1)
    examples = "\n\n".join(
        f"<example>\n{each['input']} {each['question']}\nAnswer: {each['target']}\n</example>"
        for each in stock["fewshot_config"]["samples"]
    )
    head = f"{instruction}\n\n{examples}\n\n{how}"
    return lambda context, question: f"{head}\n\n<context>\n{context}\n</context>\n\nQuestion: {question}"


def plan(
    task: str, sample: Sample, books: Books, tokens: Callable[[str], int], length: int, rng: random.Random
) -> Plan:
    """Facts between so many words of a book, in whole sentences but for the last; length 0: facts alone."""
    form = form_of(task)
    # The token before a document counts with each of them, which is not one of the sentence.
    noise = [each for each in books.sentences(rng, length // 4) if tokens(each) > SHORTEST]
    pattern, said = SAID.get(task, ("", ""))
    words = re.fullmatch(pattern, sample.question)
    lead = "\nAnswer:" + (" " + said.format(*words.groups()) if said and words else "")

    def draw(rng: random.Random, size: int) -> Draft:
        mixed = first_words(noise, size)
        places = sorted(rng.choices(range(len(mixed) + 1), k=len(sample.facts)), reverse=True)
        for place, fact in zip(places, reversed(sample.facts)):
            mixed.insert(place, fact)
        return Draft(
            prompt=lambda context: form(context, sample.question),
            context=" ".join(mixed),
            right=" " + sample.answer,
            answers=[sample.answer],
            lead=lead,
            facts=(sample.question,),
        )

    return Plan(draw, ROOM, least=0)


def judge(question: Question, written: str) -> dict[str, float]:
    text = written.lower().split(".")[0].split("<context>")[0].split("<example>")[0]
    asked = question.facts[0].lower()
    named = {label for label in TASKS[question.part] if label in text and label not in asked}
    return {"match": float(named == {question.answers[0].lower()})}


def babi_files(data: Path) -> list[Path]:
    folder = data / "babi" / "tasks_1-20_v1-2" / "en"
    files = [next(iter(sorted(folder.glob(f"{task}_*_test.txt"))), None) for task in TASKS]
    if None in files:
        raise ValueError(f"{folder} should hold bAbI's qa1_*_test.txt to qa5_*_test.txt")
    return files


def index_file(data: Path) -> Path:
    return data / "babilong" / "test_100_idxs.json"


def samples_in(data: Path) -> dict[str, list[Sample]]:
    """Those that the authors chose, by task."""
    file = index_file(data)
    if not file.is_file():
        raise ValueError(f"{file} is missing: docs/benchmarks.md says what each benchmark reads")
    whole = {task: read_babi(each) for task, each in zip(TASKS, babi_files(data))}
    try:
        chosen = read_json(file)
        return {task: [samples[index] for index in chosen[task]] for task, samples in whole.items()}
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{file} does not fit bAbI's files ({error!r})") from None


def check(data: Path, books: Path) -> None:
    books_of(books)
    samples_in(data)


def questions(source: Source, length: int) -> list[Question]:
    books, samples = books_of(source.books), samples_in(source.data)

    def own(task: str) -> Callable[[int], Plan]:
        def planned(index: int) -> Plan:
            rng = random.Random(f"{SEED}/book/{task}/{length}/{index}")
            return plan(task, samples[task][index], books, source.tokens, length, rng)

        return planned

    parts = {task: (len(each[: source.limit]), own(task)) for task, each in samples.items()}
    files = [*books.files, *babi_files(source.data), index_file(source.data)]
    return made(source, "babilong", length, files, parts)


SUITE = Suite(
    metrics={"match": ("right labels", "whether the first sentence names the right label and no other")},
    judge=judge,
    check=check,
    questions=questions,
    times=GROWING,
)
