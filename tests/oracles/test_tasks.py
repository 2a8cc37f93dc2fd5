"""The binary's synthetic tasks against the reference solver and generator (../shared/spec/tasks_oracle.py
beside the repository).

Every answer must be the reference's. Distributions are compared feature by feature with the reference
generator's
non-empty samples. Seeds are fixed, so the outcome never changes until the code does; the threshold lies at p
= 1e-4.
"""

import collections
import importlib.util
import json
import math
import os
import pathlib
import random
import statistics
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("DAROPE_BINARY", ROOT / "build" / "darope"))
ORACLE = ROOT.parent / "shared" / "spec" / "tasks_oracle.py"

if not ORACLE.exists():
    pytest.skip(f"no reference at {ORACLE}", allow_module_level=True)

spec = importlib.util.spec_from_file_location("tasks_oracle", ORACLE)
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)

TASKS = [row[0] for row in oracle.INFO.values()]
LENGTHS = [3, 8, 25, 61]  # each a quarter of the samples: short and long, odd and even
PER_LENGTH = 2500
Z = statistics.NormalDist().inv_cdf(1 - 1e-4)


def darope(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def draw(task, length, count, seed=1):
    lines = darope(
        "tasks", task, "--length", length, "--count", count, "--seed", seed, "--json"
    ).stdout.splitlines()
    return [(row["prompt"], row["answer"]) for row in map(json.loads, lines)]


def draw_reference(task, length, count):
    rng = random.Random(f"{task} {length}")
    samples = (oracle.generate(task, length, rng) for _ in iter(int, 1))
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
def test_the_suite_is_the_reference_suite():
    rows = {row["name"]: row for row in map(json.loads, darope("tasks", "--json").stdout.splitlines())}
    spelled_out = {"dcf": "context-free", "cs": "context-sensitive"}
    assert list(rows) == TASKS
    for prefix, (name, group, kind, chance, symbols) in oracle.INFO.items():
        row = rows[name]
        assert (row["prefix"], row["family"], row["answer"]) == (prefix, spelled_out.get(group, group), kind)
        assert row["chance"] == pytest.approx(chance) and row["true_chance"] == pytest.approx(1 / symbols)
        assert row["headline"] == (name in oracle.HEADLINE)
        assert row["shortest"] == oracle.MIN_N.get(name, 1)


@pytest.mark.parametrize("task", TASKS)
def test_answers_and_distributions(task):
    failures = []
    for length in LENGTHS:
        ours = draw(task, length, PER_LENGTH)
        assert len(ours) == PER_LENGTH
        for prompt, answer in ours:
            assert answer == oracle.solve(prompt) != "", prompt
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
    for prompt, answer in draw(task, oracle.n_max(task, 2048), 10, seed=2):
        assert answer == oracle.solve(prompt), prompt
        assert len(oracle.render(prompt, answer)) <= 2048


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
