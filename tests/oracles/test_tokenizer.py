"""Tokens against tiktoken's, one for one: on text, on fuzzed Unicode and on pieces of any length."""

import random

import pytest
import tiktoken
from programs import ROOT
from shared_data import shared
from tiktoken_oracle import PATTERNS, documents_of, original, ours, probe, write_ranks

CLASSES = {r"\p{L}": 1, r"\p{N}": 2, r"[^\S\r\n]": 4, r"[\r\n]": 8, r"[^\s\p{L}\p{N}]": 16}
HARD = (
    ["'s", "'S", "'ll", "'Ve", "'rE", "'d", "'", "''", "'\u017f", "'\u212a", "\u2019s", "\r\n", "\n\n", "\t"]
    + ["\u00a0", "\u3000", "\u2028", "\x85", "\x0b", "\x1c", "\u200b", "\u00ad", "\ufeff", "\0", "\ufffd"]
    + ["1234567", "\u0663\u0664", "\u00b2", "\u2167", "\U0001d7d8", "\u0e51", "\u3007"]
    + ["\u4e16\u754c", "\u0939\u093f\u0928", "e\u0301", "\U0001f468\u200d\U0001f469", "\U0010ffff", "\u00df"]
    + ["hello", "World", " the", "  ", "   ", " ", "\n", "(", "...", " !?", "_", "def f(x):\n    return"]
)


@pytest.fixture(params=["own", "published"])
def ranks_of(request, tmp_path_factory):
    def path(name):
        if request.param == "published":
            return shared("data", "tokenizer", f"{name}_base.tiktoken")
        text = (ROOT / "docs" / "data.md").read_text()
        return write_ranks(tmp_path_factory.mktemp("ranks") / "own.tiktoken", text)

    return path


def check(name, ranks, documents, folder):
    encoding = original(name, ranks)
    for text, ids in zip(documents, ours(name, ranks, documents, folder), strict=True):
        assert ids == encoding.encode_ordinary(text), repr(text[:200])


def fuzzed(seed):
    rng = random.Random(seed)
    for _ in range(20_000):
        yield "".join(
            rng.choice(HARD) if rng.random() < 0.7 else chr(rng.choice(PLANES)(rng))
            for _ in range(rng.randint(1, 40))
        )


PLANES = [
    lambda rng: rng.randrange(0x80),
    lambda rng: rng.randrange(0x80, 0x3000),
    lambda rng: rng.randrange(0x3000, 0xD800),
    lambda rng: rng.randrange(0xE000, 0x110000),
]


def test_classes_of_every_code_point():
    found = probe("classes", text=False)
    every = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    bytes_alone = {bytes([byte]): byte for byte in range(256)}
    for pattern, value in CLASSES.items():
        encoding = tiktoken.Encoding(
            "one", pat_str=pattern, mergeable_ranks=bytes_alone, special_tokens={}
        )  # what the pattern does not match is left out
        members = bytes(encoding.encode_ordinary(every)).decode()
        assert members == "".join(c for c in every if found[ord(c)] == value), pattern


@pytest.mark.parametrize("name", PATTERNS)
def test_fuzzed_text(name, ranks_of, tmp_path):
    check(name, ranks_of(name), list(fuzzed(1)), tmp_path)


@pytest.mark.parametrize("name", PATTERNS)
def test_what_fuzzing_found(name, ranks_of, tmp_path):
    """Inputs that each reach what no other one does; of bytes that are no text, the text they stand for."""
    kept = sorted((ROOT / "tests" / "fuzz" / "corpus" / "tokenizer").iterdir())
    check(name, ranks_of(name), [file.read_bytes().decode(errors="replace") for file in kept], tmp_path)


@pytest.mark.parametrize("name", PATTERNS)
def test_long_pieces(name, ranks_of, tmp_path):
    rng = random.Random(2)
    lengths = [*range(120, 136), 1000, 100_000]
    pieces = ["a", " ", "\n", "ab", "!", "\u4e16", "1"]
    documents = [piece * n for piece in pieces for n in lengths]
    documents += ["".join(rng.choices("etaoins", k=n)) for n in lengths]
    documents += ["a" * 1_000_000, " " * 1_000_000]
    check(name, ranks_of(name), documents, tmp_path)


@pytest.mark.parametrize("name", PATTERNS)
def test_real_text(name, tmp_path):
    ranks = shared("data", "tokenizer", f"{name}_base.tiktoken")
    files = sorted([*shared("data", "text").glob("*.xz"), *shared("data", "books").glob("*.xz")])
    assert len(files) == 9
    for path in files:  # bench/tokenizer.py goes through all of it
        few = "train" in path.name or "eval256" in path.name
        documents = list(documents_of(path))[:: 40 if few else 4]
        check(name, ranks, documents, tmp_path)


def test_known_tokens(tmp_path):
    ranks = shared("data", "tokenizer", "cl100k_base.tiktoken")
    assert ours("cl100k", ranks, ["hello world", " quartz", " lantern", ""], tmp_path) == [
        [15339, 1917],
        [52255],
        [74265],
        [],
    ]


def test_what_is_no_utf8_is_split_as_its_replacement_and_kept(ranks_of, tmp_path):
    ranks = ranks_of("cl100k")
    encoding = original("cl100k", ranks)
    for broken in (
        b"caf\xe9 au lait",
        b"\xff\xfe",
        b"a\xc3 b",
        b"\xed\xa0\x80x",
        b"ok \xf0\x9f\x98",
        b"\x80\n",
    ):
        (ids,) = ours("cl100k", ranks, [broken], tmp_path)
        assert encoding.decode_bytes(ids) == broken
    assert ours("cl100k", ranks, [b"one two\xff three"], tmp_path)[0] == [
        *encoding.encode_ordinary("one two"),
        0xFF if ranks.name == "own.tiktoken" else encoding.encode_single_token(b"\xff"),
        *encoding.encode_ordinary(" three"),
    ]
