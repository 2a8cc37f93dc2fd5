"""Small books, bAbI's files and questions, for the tests of long prompts."""

import random

from darope.benchmarks.long import babilong
from darope.benchmarks.long.question import Question
from darope.benchmarks.long.suite import Source
from test_benchmarks import write

STORY = """1 Mary went to the garden.
2 John moved to the office.
3 Where is Mary?\tgarden\t1
4 Mary journeyed to the kitchen.
5 Where is Mary?\tkitchen\t4
1 Sandra moved to the hallway.
2 Where is Sandra?\thallway\t1
"""


def books_and_stories(folder):
    rng = random.Random(0)
    nouns = ["ships", "letters", "winter", "the old mill", "a lantern", "her brother", "the harbour"]
    verbs = ["passed", "was remembered by", "stood beside", "knew nothing of", "waited for"]
    sentences = [
        f"{rng.choice(nouns)} {rng.choice(verbs)} {rng.choice(nouns)}".capitalize() for _ in range(900)
    ]
    (folder / "books").mkdir()
    (folder / "books" / "one.txt").write_text(". ".join(sentences[:500]) + ".\n")
    write(folder / "books" / "more.jsonl", {"text": ". ".join(sentences[500:]) + "."})
    babi = folder / "babi" / "tasks_1-20_v1-2" / "en"
    babi.mkdir(parents=True)
    for task in babilong.TASKS:
        (babi / f"{task}_made-up_test.txt").write_text(STORY)
    write(folder / "babilong" / "test_100_idxs.json", {task: [2, 1] for task in babilong.TASKS})
    return folder


def source(data, prompts, limit=3):
    return Source(
        data=data,
        books=data / "books",
        prompts=prompts,
        tokens=lambda text: 1 + len(text.encode()),
        ends=lambda text, first, last: text,
        tokenizer="bytes",
        limit=limit,
    )


def made_question(part, answers, **more):
    empty = dict(length=0, prompt="", bare=None, lead="", right="", room=1)
    return Question(part=part, answers=answers, **{**empty, **more})
