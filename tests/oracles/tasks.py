"""The synthetic suite once more, from its definitions and in plain Python: what each task asks, what answers
it, and how bodies are drawn. Expressions are left to Python's own arithmetic.
"""

import dataclasses
import math
import re
import string
from collections.abc import Callable

DIGITS, LETTERS, MODULUS = string.digits, string.ascii_lowercase, 5
SENSITIVE = "context-sensitive"


@dataclasses.dataclass
class Task:
    name: str
    prefix: str
    family: str
    single: bool  # the answer is one byte
    chance: float  # as the paper prints it
    symbols: int  # that an answer can hold
    solve: Callable[[str], str]
    draw: Callable  # (rng, n) -> body
    shortest: int = 1
    body: Callable[[int], int] = lambda n: n  # bytes, at most
    answer: Callable[[int], int] = lambda n: 1
    headline: bool = True

    def sample(self, rng, n):
        body = self.draw(rng, n)
        return f"{self.prefix}:{body}", self.solve(body)

    def longest(self, context):
        """The largest n whose rendering always fits so many bytes."""
        marks, n = len(self.prefix) + len(":>\n"), self.shortest
        while marks + self.body(n + 1) + self.answer(n + 1) <= context:
            n += 1
        return n


def of(alphabet):
    return lambda rng, n: "".join(rng.choices(alphabet, k=n))


def value(expression):
    """Numbers of one digit, + - * and brackets. Python reads "2*-3" and "-(-1)" as the suite does."""
    assert re.fullmatch(r"[0-4()+*-]+", expression), expression
    return eval(expression) % MODULUS


# ------------------------------------------------------------------ regular
def even_pairs(body):
    return str(sum(a != b for a, b in zip(body, body[1:])) % 2)


def walk(body):
    return str((body.count("2") - body.count("0")) % MODULUS)


def calculated(body):
    return str(value(body))


def flat(rng, n):
    return "".join(rng.choice("+*-" if i % 2 else "01234") for i in range(n if n % 2 else n - 1))


# ------------------------------------------------------------------ context-free
def nested(rng, size, operators="+-*"):
    digit = rng.choice("01234")
    if size <= 4:
        return {1: digit, 2: "-" + digit, 3: f"({digit})", 4: f"(-{digit})"}[size]
    left = rng.randint(1, size - 4)
    right = size - 3 - left
    operator = rng.choice(operators)
    return f"({nested(rng, left, operators)}{operator}{nested(rng, right, operators)})"


def equation(rng, n):
    text = nested(rng, n - 2, "+-")
    start = rng.randrange(len(text))
    hidden = next(i for i in [*range(start, len(text)), *range(start)] if text[i].isdigit())
    return f"{text[:hidden]}x{text[hidden + 1 :]}={value(text)}"


def solve_equation(body):
    left, right = body.split("=")
    (solution,) = (x for x in "01234" if value(left.replace("x", x)) == int(right))
    return solution


def stack(rng, n):
    height = rng.randint(1, max(1, n - 1))
    return of("01")(rng, height) + of("234")(rng, n - height)


def run_stack(body):
    contents = ""  # top first
    for symbol in body:
        contents = contents[1:] if symbol == "2" else {"3": "0", "4": "1"}.get(symbol, symbol) + contents
    return contents


# ------------------------------------------------------------------ context-sensitive
def number(bits):
    """Little-endian."""
    return int(bits[::-1], 2)


def two_numbers(operator):
    def draw(rng, n):
        first = rng.randint(1, n - 2)
        widths = first, n - 1 - first
        return operator.join(f"{rng.randrange(1, 2**w):0{w}b}"[::-1] for w in widths)

    return draw


def add(body):
    return f"{sum(map(number, body.split('+'))):b}"[::-1]


def multiply(body):
    return f"{math.prod(map(number, body.split('*'))):b}"[::-1]


def positive(rng, n):
    return f"{rng.randrange(1, 2**n):0{n}b}"


def missing(rng, n):
    body = 2 * [*of("01")(rng, n // 2)]
    body[rng.randrange(len(body))] = "2"
    return "".join(body)


def find_missing(body):
    half = len(body) // 2
    return body[(body.index("2") + half) % (2 * half)]


def square_root(body):
    return f"{math.isqrt(int(body, 2)):0{(len(body) + 1) // 2}b}"


# ------------------------------------------------------------------ retrieval and positional
def follower(body):
    """For each symbol what came after its last occurrence before, or 0."""
    return "".join(body[body.rindex(c, 0, i) + 1] if c in body[:i] else "0" for i, c in enumerate(body))


def seen(body):
    return "".join(str(int(c in body[:i])) for i, c in enumerate(body))


def at_offset(body):
    digits, back = body.split("#")
    return digits[len(digits) - int(back)]


def offset(rng, n):
    return f"{of(DIGITS)(rng, n)}#{rng.randint(1, n):04}"


def pairs(times):
    """Of a key that is asked for, and occurs so often with different values, among others."""

    def draw(rng, n):
        asked = rng.choice(LETTERS)
        others = LETTERS.replace(asked, "")
        keys = [asked] * times + rng.choices(others, k=n - times)
        values = rng.sample(DIGITS, times) + rng.choices(DIGITS, k=n - times)
        bindings = [key + value for key, value in zip(keys, values)]
        rng.shuffle(bindings)
        return f"{''.join(bindings)}?{asked}"

    return draw


def recall(body):
    bindings = re.findall("([a-z])([0-9])", body)
    return dict(bindings)[body[-1]]  # a later binding replaces an earlier one


def same(n):
    return n


def twice(n):
    return 2 * n


def half_up(n):
    return (n + 1) // 2


def offset_length(n):
    return n + len("#0000")


def pairs_length(n):
    return 2 * n + len("?a")


TASKS = [
    Task("even_pairs", "EP", "regular", True, 1 / 2, 2, even_pairs, of("01")),
    Task("parity", "P", "regular", True, 1 / 2, 2, lambda s: str(s.count("1") % 2), of("01")),
    Task("cycle_navigation", "CY", "regular", True, 1 / 5, 5, walk, of("012")),
    Task("modular_arithmetic", "MA", "regular", True, 1 / 5, 5, calculated, flat, headline=False),
    Task("reverse_string", "R", "context-free", False, 0.1, 10, lambda s: s[::-1], of(DIGITS), answer=same),
    Task("stack_manipulation", "ST", "context-free", False, 1 / 3, 2, run_stack, stack, answer=same),
    Task(
        "modular_arithmetic_brackets",
        "MB",
        "context-free",
        True,
        1 / 5,
        5,
        calculated,
        nested,
        headline=False,
    ),
    Task("solve_equation", "EQ", "context-free", True, 1 / 5, 5, solve_equation, equation, 3, headline=False),
    Task("duplicate_string", "D", SENSITIVE, False, 0.1, 10, lambda s: 2 * s, of(DIGITS), answer=twice),
    Task("missing_duplicate_string", "MD", SENSITIVE, True, 0.1, 2, find_missing, missing, 2),
    Task("odds_first", "OF", SENSITIVE, False, 0.1, 10, lambda s: s[1::2] + s[::2], of(DIGITS), answer=same),
    Task("binary_addition", "BA", SENSITIVE, False, 1 / 3, 2, add, two_numbers("+"), 3, answer=same),
    Task(
        "bucket_sort", "S", SENSITIVE, False, 0.1, 10, lambda s: "".join(sorted(s)), of(DIGITS), answer=same
    ),
    Task(
        "binary_multiplication",
        "BM",
        SENSITIVE,
        False,
        1 / 2,
        2,
        multiply,
        two_numbers("*"),
        3,
        answer=same,
        headline=False,
    ),
    Task(
        "compute_sqrt",
        "SQ",
        SENSITIVE,
        False,
        1 / 2,
        2,
        square_root,
        positive,
        answer=half_up,
        headline=False,
    ),
    Task("needle", "N", "retrieval", False, 0.06, 2, seen, of(DIGITS), answer=same),
    Task("induction", "I", "retrieval", False, 0.02, 10, follower, of(DIGITS), answer=same),
    Task("fixed_offset", "FO", "positional", True, 0.1, 10, at_offset, offset, body=offset_length),
    Task("dup_key_recall", "DK", "positional", True, 0.1, 10, recall, pairs(2), 2, body=pairs_length),
    Task("assoc_recall", "AR", "positional", True, 0.1, 10, recall, pairs(1), body=pairs_length),
]
