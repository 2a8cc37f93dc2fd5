"""RULER's questions on documents: SQuAD's and HotpotQA's, in files that the user brings."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from ...files import LARGE, parse_json, read_text
from .question import Draft, Plan

__all__ = ["FILES", "Documents", "read_hotpotqa", "read_squad"]

DOCUMENTS = (
    "Answer the question based on the given documents. Only give me the answer and do not output any other "
    "words.\n\nThe following are given documents.\n\n{context}\n\nAnswer the question based on the given "
    "documents. Only give me the answer and do not output any other words.\n\nQuestion: {query} Answer:"
)


@dataclass(frozen=True)
class Asked:
    query: str
    answers: list[str]
    needed: list[str]  # the documents that hold the answer
    near: list[str]  # those about the same


@dataclass(frozen=True)
class Documents:
    questions: list[Asked]
    texts: list[str]

    def plan(self, index: int) -> Plan:
        """Of the question of that number: documents that answer it, then of the same subject, then others."""
        asked = self.questions[index]
        held = {*asked.needed, *asked.near}
        others = [text for text in self.texts if text not in held]

        def draw(rng: random.Random, size: int) -> Draft:
            more = size - len(asked.needed)
            rest = (
                asked.near + rng.sample(others, more - len(asked.near))
                if more > len(asked.near)
                else rng.sample(asked.near, more)
            )
            texts = asked.needed + rest
            rng.shuffle(texts)
            return Draft(
                prompt=lambda context: DOCUMENTS.format(context=context, query=asked.query),
                context="\n\n".join(f"Document {i}:\n{text}" for i, text in enumerate(texts, 1)),
                right=" " + asked.answers[0],
                answers=asked.answers,
            )

        return Plan(draw, room=32, least=len(asked.needed), most=len(held) + len(others))


def opened(file: Path) -> object:
    return parse_json(read_text(file, LARGE), str(file))


def read_squad(file: Path) -> Documents:
    """SQuAD 2.0's dev file."""
    questions, texts = [], set()
    try:
        for article in opened(file)["data"]:
            about = [each["context"] for each in article["paragraphs"]]
            texts.update(about)
            for paragraph in article["paragraphs"]:
                own = paragraph["context"]
                near = sorted({each for each in about if each != own})
                for each in paragraph["qas"]:
                    if not each["is_impossible"]:
                        answers = [answer["text"] for answer in each["answers"]]
                        questions.append(Asked(each["question"], answers, [own], near))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file} is not as SQuAD 2.0 ({error!r})") from None
    return Documents(questions, sorted(texts))


def read_hotpotqa(file: Path) -> Documents:
    """HotpotQA's dev file in the distractor setting: each question comes with ten documents."""
    questions, texts = [], set()
    try:
        for each in opened(file):
            own = [f"{title}\n{''.join(sentences)}" for title, sentences in each["context"]]
            own = list(dict.fromkeys(own))
            texts.update(own)
            questions.append(Asked(each["question"], [each["answer"]], own, []))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is not as HotpotQA ({error!r})") from None
    return Documents(questions, sorted(texts))


FILES = {"qa_1": ("squad.json", read_squad), "qa_2": ("hotpotqa.json", read_hotpotqa)}
