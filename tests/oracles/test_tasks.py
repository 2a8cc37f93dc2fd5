"""The binary's synthetic tasks against a solver and a generator of their own (tasks.py).

Every answer must be that solver's. Distributions are compared feature by feature with that generator's
non-empty samples. Seeds are fixed, so the outcome never changes until the code does; the threshold lies at
p = 1e-4.
"""

import collections
import json
import math
import random
import statistics
import subprocess

import pytest
import tasks
from programs import DAROPE

TASKS = {task.name: task for task in tasks.TASKS}
LENGTHS = [3, 8, 25, 61]  # each a quarter of the samples: short and long, odd and even
PER_LENGTH = 2500
Z = statistics.NormalDist().inv_cdf(1 - 1e-4)


def darope(*arguments):
    return subprocess.run([DAROPE, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def draw(task, length, count, seed=1):
    lines = darope(
        "tasks", task, "--length", length, "--count", count, "--seed", seed, "--json"
    ).stdout.splitlines()
    return [(row["prompt"], row["answer"]) for row in map(json.loads, lines)]


def solve(prompt):
    prefix, body = prompt.split(":", 1)
    (task,) = (task for task in tasks.TASKS if task.prefix == prefix)
    return task.solve(body)


def draw_reference(task, length, count):
    rng = random.Random(f"{task} {length}")
    samples = (TASKS[task].sample(rng, length) for _ in iter(int, 1))
    return [next(s for s in samples if s[1]) for _ in range(count)]


# ------------------------------------------------------------------ what is compared
def features(task, prompt, answer):
    """Named categorical facts about a sample; each is compared as a distribution."""
    body = prompt.split(":", 1)[1]
    yield "prompt length", len(prompt)
    yield "answer length", len(answer)
    yield "first symbol of the answer", answer[0]
    yield "last symbol of the answer", answer[-1]
    yield "first symbol of the body", body[0]
    yield "middle symbol of the body", body[len(body) // 2]
    yield "ones in the answer", answer.count("1")
    if task == "fixed_offset":
        yield "offset", int(body.split("#")[1])
    elif task == "stack_manipulation":
        yield "stack depth", len(body) - len(body.lstrip("01"))
        yield "pops", body.count("2")
    elif task in ("binary_addition", "binary_multiplication"):
        yield "length of the first number", min(body.find(s) for s in "+*" if s in body)
    elif task == "missing_duplicate_string":
        yield "blank", body.index("2")
    elif task == "solve_equation":
        yield "place of x", body.index("x")
        yield "right side", body[-1]
    elif task == "modular_arithmetic_brackets":
        yield "operators", sum(body.count(op) for op in "+*")
        yield "depth", max(body[:i].count("(") - body[:i].count(")") for i in range(len(body) + 1))
    elif task in ("dup_key_recall", "assoc_recall"):
        keys = body[:-2:2]
        yield "query", body[-1]
        yield "distinct keys", len(set(keys))
        yield "most frequent key", max(collections.Counter(keys).values())
        yield "times the query occurs", keys.count(body[-1])
        yield (
            "values of the query",
            len({body[i + 1] for i in range(0, len(body) - 2, 2) if body[i] == body[-1]}),
        )
        yield "last place of the query", keys.rindex(body[-1])
        yield "first place of the query", keys.index(body[-1])


def histograms(task, samples):
    table = collections.defaultdict(collections.Counter)
    for prompt, answer in samples:
        for name, value in features(task, prompt, answer):
            table[name][value] += 1
    return table


def chi_square(a, b):
    """Two-sample chi-square of equally many draws; cells too thin for it are pooled. Returns statistic and
    degrees of freedom.
    """
    cells, thin = [], [0, 0]
    for value in set(a) | set(b):
        if a[value] + b[value] >= 10:
            cells.append((a[value], b[value]))
        else:
            thin = [thin[0] + a[value], thin[1] + b[value]]
    if sum(thin) >= 10:
        cells.append(tuple(thin))
    return sum((x - y) ** 2 / (x + y) for x, y in cells), len(cells) - 1


def critical(df):
    """The chi-square quantile at 1 - 1e-4 (Wilson and Hilferty's approximation, right to a percent)."""
    return df * (1 - 2 / (9 * df) + Z * math.sqrt(2 / (9 * df))) ** 3


# ------------------------------------------------------------------ tests
def test_the_suite_is_the_defined_one():
    rows = {row["name"]: row for row in map(json.loads, darope("tasks", "--json").stdout.splitlines())}
    assert list(rows) == list(TASKS)
    for task in tasks.TASKS:
        row = rows[task.name]
        kind = "single" if task.single else "sequence"
        assert (row["prefix"], row["family"], row["answer"]) == (task.prefix, task.family, kind)
        assert row["chance"] == pytest.approx(task.chance)
        assert row["true_chance"] == pytest.approx(1 / task.symbols)
        assert row["headline"] == task.headline
        assert row["shortest"] == task.shortest


# As the paper prints them.
@pytest.mark.parametrize(
    "prompt, answer",
    [
        *[("EP:01110011", "1"), ("P:01110011", "1"), ("CY:11220022", "2"), ("MA:2-3*0+4", "1")],
        *[("R:45790189", "98109754"), ("ST:11102442", "1111"), ("MB:(-2+(3))", "1"), ("EQ:(2+-x)=4", "3")],
        *[("D:45790189", "4579018945790189"), ("MD:21110111", "0"), ("OF:45790189", "59194708")],
        *[("BA:111+0111", "10101"), ("S:45790189", "01457899"), ("BM:111*0111", "0100011")],
        *[("SQ:11110011", "1111"), ("N:45790189", "00000001"), ("I:55791289", "05000001")],
        *[("FO:3141592#0003", "5"), ("DK:a3b7a9c1?a", "9"), ("AR:a3b7c1?b", "7")],
    ],
)
def test_the_solver_solves_the_printed_examples(prompt, answer):
    assert solve(prompt) == answer


@pytest.mark.parametrize("task", TASKS)
def test_answers_and_distributions(task):
    failures = []
    for length in LENGTHS:
        ours = draw(task, length, PER_LENGTH)
        assert len(ours) == PER_LENGTH
        for prompt, answer in ours:
            assert answer == solve(prompt) != "", prompt
        mine, reference = histograms(task, ours), histograms(task, draw_reference(task, length, PER_LENGTH))
        assert mine.keys() == reference.keys()
        for name in mine:
            statistic, df = chi_square(mine[name], reference[name])
            if df == 0:
                assert set(mine[name]) == set(reference[name]), (task, length, name)
            elif statistic > critical(df):
                failures.append((length, name, round(statistic, 1), df))
    assert not failures


@pytest.mark.parametrize("task", TASKS)
def test_long_bodies_are_solved_right(task):
    for prompt, answer in draw(task, TASKS[task].longest(2048), 10, seed=2):
        assert answer == solve(prompt), prompt
        assert len(f"{prompt}>{answer}\n") <= 2048


def test_the_comparison_can_fail():
    """A generator that is only slightly wrong is caught: offsets that never reach the first digit."""
    right = histograms("fixed_offset", draw_reference("fixed_offset", 8, PER_LENGTH))["offset"]
    wrong = collections.Counter(random.Random(1).randint(1, 7) for _ in range(PER_LENGTH))
    statistic, df = chi_square(right, wrong)
    assert statistic > critical(df)


def test_seeds_decide():
    assert draw("parity", 40, 5, seed=3) == draw("parity", 40, 5, seed=3) != draw("parity", 40, 5, seed=4)
    assert draw("parity", 40, 5) == draw("parity", 40, 9)[:5]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["dup_key_recal"], "did you mean 'dup_key_recall'"),
        (["parity", "--length", "0"], "at least 1"),
        (["binary_addition", "--length", "2"], "at least 3"),
        (["parity", "--length", "1000000"], "at most"),
        (["parity", "--count", "0"], "--count 0"),
        (["parity", "--count", "many"], "--count"),
        (["parity", "--seed", "-1"], "--seed -1"),
        (["--length", "8"], "NAME"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(arguments, words):
    done = darope("tasks", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
