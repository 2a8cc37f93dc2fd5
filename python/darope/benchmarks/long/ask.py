"""Scores of a model on long prompts: what it writes, and the loss of the right answer.

Small models seldom write an answer, yet may find it likelier for having read its context: the gain says by
how much, in nats per token of the answer.
"""

from __future__ import annotations

import hashlib
import statistics
from dataclasses import dataclass
from pathlib import Path

import torch
from lm_eval.api.instance import Instance

from .question import Question, hash_of
from .suite import Source
from .suites import SUITES

__all__ = ["Read", "answer_losses", "bands", "score_long"]


@dataclass(frozen=True)
class Read:
    """How a model takes the tokens of a right answer when they are given to it."""

    nll: float  # per token
    accuracy: float  # the share of them that are the likeliest
    tokens: int


@torch.no_grad()
def answer_losses(model, pairs: list[tuple[str, str]], rooms: list[int]) -> list[Read]:
    """Of each answer behind its prompt, as far as there is room. Only the logits of answers are formed."""
    split = (model._encode_pair(*pair) for pair in pairs)
    encoded = [(prompt, right[:room]) for (prompt, right), room in zip(split, rooms)]
    order = sorted(range(len(pairs)), key=lambda i: -len(encoded[i][0]) - len(encoded[i][1]))
    found: dict[int, Read] = {}
    for first in range(0, len(order), model.batch_size):
        batch = order[first : first + model.batch_size]
        rows = [encoded[i][0] + encoded[i][1] for i in batch]
        for row in rows:
            model.refuse_long(len(row))
        width, kept = max(map(len, rows)), max(len(encoded[i][1]) for i in batch) + 1
        ids = torch.tensor([[0] * (width - len(row)) + row for row in rows], device=model.device)
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=model.device)
        logits = model.model(ids, attention_mask=mask, logits_to_keep=kept, use_cache=False).logits
        logs = logits[:, :-1].float().log_softmax(-1)
        for row, i in enumerate(batch):
            count = len(encoded[i][1])
            told, right = logs[row, -count:], ids[row, -count:]
            nll = -told.gather(1, right[:, None]).mean().item()
            found[i] = Read(nll, (told.argmax(1) == right).float().mean().item(), count)
    return [found[i] for i in range(len(pairs))]


def written(model, questions: list[Question]) -> list[str]:
    """Greedily, with a cache."""
    asked = [
        Instance(
            "generate_until",
            {},
            (each.prompt, {"until": list(each.stop), "max_gen_toks": each.room, "do_sample": False}),
            i,
        )
        for i, each in enumerate(questions)
    ]
    return model.generate_until(asked, disable_tqdm=True)


def source_of(model, options) -> Source:
    tokenizer = model.tokenizer

    def ends(text: str, first: int, last: int) -> str:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        if len(ids) <= first + last:
            return text
        return tokenizer.decode(ids[:first]) + tokenizer.decode(ids[len(ids) - last :])

    return Source(
        data=options.data,
        books=options.books or options.data / "books",
        prompts=options.prompts or Path(),
        tokens=lambda text: len(tokenizer(text)["input_ids"]),
        ends=ends,
        tokenizer=hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode()).hexdigest(),
        limit=options.limit,
    )


def score_long(model, name: str, options) -> dict[str, object]:
    """The hash of what was asked, metrics, scores, the tasks' names, and the bands over tasks."""
    suite = SUITES[name]
    trained = model.model.config.max_position_embeddings
    lengths = options.lengths or [times * trained for times in suite.times]
    if max(lengths) > model.max_length:
        raise ValueError(
            f"a length of {max(lengths)} tokens is asked for, and {model.max_length} may be read: "
            "give a larger --max-length"
        )
    source = source_of(model, options)
    questions = [each for length in lengths for each in suite.questions(source, length)]
    if not questions:
        raise ValueError(f"no question of {name} fits the lengths {', '.join(map(str, lengths))}")
    texts = written(model, questions)
    rooms = [each.room for each in questions]
    reads = answer_losses(model, [(each.prompt + each.lead, each.right) for each in questions], rooms)
    bares = [i for i, each in enumerate(questions) if each.bare is not None]
    alone = [(questions[i].bare + questions[i].lead, questions[i].right) for i in bares]
    losses = answer_losses(model, alone, [rooms[i] for i in bares])
    without = {i: read.nll for i, read in zip(bares, losses)}
    parts = sorted({each.part for each in questions})
    scores: list[dict] = []
    for example, (question, text, read) in enumerate(zip(questions, texts, reads)):
        values = {metric: (value, 1) for metric, value in suite.judge(question, text).items()}
        values["answer_nll"] = (read.nll, read.tokens)
        values["answer_accuracy"] = (read.accuracy, read.tokens)
        if question.bare is not None:
            values["gain"] = (without[example] - read.nll, read.tokens)
        cluster = parts.index(question.part) if len(parts) > 1 else example
        place = {"axis": "length", "x": question.length, "example": example, "cluster": cluster}
        scores += [{"metric": m, **place, "value": v, "tokens": n} for m, (v, n) in values.items()]
    names = [*suite.metrics, "answer_nll", "answer_accuracy", *(["gain"] if bares else [])]
    metrics = [describe(each, suite.metrics, min(lengths) > 0, trained) for each in names]
    over_tasks = bands(scores) if len(parts) > 1 else []
    return dict(hash=hash_of(questions), metrics=metrics, scores=scores, parts=parts, bands=over_tasks)


def bands(scores: list[dict]) -> list[dict]:
    """Median and quartiles over the tasks' means, of each metric at each length."""
    means: dict[tuple[str, int], dict[int, list[float]]] = {}
    for each in scores:
        of_task = means.setdefault((each["metric"], each["x"]), {})
        of_task.setdefault(each["cluster"], []).append(each["value"])
    rows = []
    for (metric, x), of_task in means.items():
        if len(of_task) > 1:
            values = [statistics.fmean(each) for each in of_task.values()]
            low, median, high = statistics.quantiles(values, n=4, method="inclusive")
            rows.append({"metric": metric, "x": x, "low": low, "median": median, "high": high})
    return rows


OF_THE_RIGHT_ANSWER = {  # title, unit and meaning
    "answer_nll": ("loss of the right answer", "nats per token", "negative log-likelihood, when it is given"),
    "answer_accuracy": ("likeliest tokens", "share", "tokens of the right answer that are the likeliest"),
    "gain": ("gain by the context", "nats per token", "loss without the context less the loss with it"),
}


def describe(metric: str, own: dict[str, tuple[str, str]], by_factors: bool, trained: int) -> dict:
    described = {name: (title, "share", meaning) for name, (title, meaning) in own.items()}
    title, unit, meaning = {**described, **OF_THE_RIGHT_ANSWER}[metric]
    return {
        "name": metric,
        "axis": {
            "name": "length",
            "unit": "tokens",
            "meaning": "tokens of the prompt with room for its answer",
            "by_factors": by_factors,
            "mark": trained,
            "mark_meaning": "the training length",
        },
        "title": title,
        "unit": unit,
        "meaning": meaning,
        "higher_better": metric != "answer_nll",
    }
