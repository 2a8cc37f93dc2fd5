"""Text from files of any packing to token shards, as Python reads and tiktoken encodes it."""

import gzip
import json
import lzma
import os
import pathlib
import random
import signal
import subprocess
import time

import numpy as np
import pyarrow
import pytest
import zstandard
from programs import DAROPE, ROOT
from pyarrow import parquet
from tiktoken_oracle import original, write_ranks

PACKINGS = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    ".xz": lzma.compress,
}
WORDS = (ROOT / "docs" / "encodings.md").read_text().split()


def darope(*words, code=0):
    done = subprocess.run([DAROPE, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout + done.stderr


def documents(count, seed=0):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 300))) for _ in range(count)]


def jsonl(texts, field="text"):
    return "".join(json.dumps({"id": i, field: text}) + "\n" for i, text in enumerate(texts)).encode()


def sequences(folder, split):
    values, starts = np.load(folder / f"{split}.npy"), np.load(folder / f"{split}.starts.npy")
    return [values[a:b].tolist() for a, b in zip(starts, starts[1:])]


@pytest.fixture
def ranks(tmp_path):
    return write_ranks(tmp_path / "own.tiktoken", " ".join(WORDS))


@pytest.mark.parametrize("packing", PACKINGS)
def test_marked_files_become_begin_tokens_end(packing, ranks, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    texts = {split: documents(20, i) for i, split in enumerate(["train", "valid", "test"])}
    for split, some in texts.items():
        (source / f"wiki-{split}.jsonl{packing}").write_bytes(PACKINGS[packing](jsonl(some)))
    darope("data", "prepare", "text", source, "--out", tmp_path / "set", "--tokenizer", ranks)
    encoding, begin = original("cl100k", ranks), 3256
    for split, name in {"train": "train", "valid": "validation", "test": "test"}.items():
        expected = [[begin, *encoding.encode_ordinary(text), begin + 1] for text in texts[split]]
        assert sequences(tmp_path / "set", name) == expected
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert manifest["vocabulary"] == begin + 256 and manifest["tokenizer"] == "cl100k"
    assert (tmp_path / "set" / manifest["ranks"]["name"]).read_bytes() == ranks.read_bytes()
    shown = darope("data", "inspect", tmp_path / "set", "--split", "test", "--index", 3)
    assert texts["test"][3] in shown
    darope("data", "audit", tmp_path / "set")


def test_documents_are_held_out_by_their_text(tmp_path):
    texts = documents(400)
    (tmp_path / "a.jsonl").write_bytes(jsonl(texts, "content"))
    (tmp_path / "b.jsonl").write_bytes(jsonl(texts[::-1]))
    for source in "ab":
        darope("data", "prepare", "text", tmp_path / f"{source}.jsonl", "--out", tmp_path / source)
    for split in ("train", "validation", "test"):
        of_a = [bytes(ids[:-1]).decode() for ids in sequences(tmp_path / "a", split)]
        assert of_a == [text for text in texts if text in set(of_a)]
        assert sequences(tmp_path / "b", split)[::-1] == sequences(tmp_path / "a", split)
        if split != "train":
            assert 8 <= len(of_a) <= 35  # 20 of 400, within three deviations and a half


def test_a_long_text_is_read_in_parts_and_tokenized_as_one(ranks, tmp_path):
    long = " ".join(random.Random(1).choices([*WORDS, "\n", "1234567", "'ll", "\u4e16\u754c"], k=600_000))
    for split, text in {"train": long, "valid": "one two three", "test": "four five six"}.items():
        (tmp_path / f"{split}.txt").write_text(text)
    darope(
        "data", "prepare", "text", *sorted(tmp_path.glob("*.txt")), "--out", tmp_path / "set",
        "--tokenizer", ranks,
    )  # fmt: skip
    (ids,) = sequences(tmp_path / "set", "train")
    assert len(long) > 3_000_000 and ids[1:-1] == original("cl100k", ranks).encode_ordinary(long)


def test_what_is_no_document_is_listed_and_the_rest_prepared(tmp_path):
    good = documents(300)
    lines = [json.dumps({"text": text}).encode() for text in good]
    bad = {
        b"{": "",
        b'{"title": "no text"}': "`text` or `content`",
        b'{"text": 7}': "`text` or `content`",
        b'{"text": "a\\u0000b"}': "zero byte",
        b'{"text": "\xff"}': "UTF-8",
    }
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([*lines, *bad, b'{"text": ""}', b""]))
    (tmp_path / "b.txt").write_bytes(b"caf\xe9 " * 10)
    (tmp_path / "c.txt").write_bytes("a wide text".encode("utf-16"))
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(jsonl(good[:5]))[:-20])
    said = darope("data", "prepare", "text", tmp_path, "--out", tmp_path / "set", "--strict", code=3)
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    reasons = {each["name"]: each["reason"] for each in manifest["skipped"]}
    for i, reason in enumerate(bad.values()):
        assert reason in reasons[f"a.jsonl:{301 + i}"]
    assert "zero byte" in reasons["c.txt"] and "d.parquet: " in reasons["d.parquet"]
    assert "cut short" in reasons["e.jsonl.gz"] and "skipped d.parquet" in said
    assert manifest["facts"]["bytes_outside_utf8"] == 10 and manifest["facts"]["empty_documents"] == 1
    every = sum((sequences(tmp_path / "set", split) for split in ("train", "validation", "test")), [])
    assert [*b"caf\xe9 " * 10, 256] in every


def test_rows_of_parquet_are_documents(ranks, tmp_path):
    texts = [*documents(200), "", None]
    (tmp_path / "lines.jsonl").write_bytes(jsonl([text or "" for text in texts]))
    for column in ("text", "content"):
        table = pyarrow.table({"id": range(len(texts)), column: texts})
        parquet.write_table(table, tmp_path / f"{column}.parquet", row_group_size=70)
        for name in (f"{column}.parquet", "lines.jsonl"):
            words = ["--out", tmp_path / f"of-{column}-{name}", "--tokenizer", ranks]
            darope("data", "prepare", "text", tmp_path / name, *words)
        for split in ("train", "validation", "test"):
            rows, lines = (
                sequences(tmp_path / f"of-{column}-{name}", split)
                for name in (f"{column}.parquet", "lines.jsonl")
            )
            assert rows == lines and rows
    manifest = json.loads((tmp_path / "of-text-text.parquet" / "manifest.json").read_text())
    assert manifest["facts"]["empty_documents"] == 2


def test_parquet_without_text_or_without_its_reader(tmp_path):
    parquet.write_table(pyarrow.table({"id": [1, 2], "text": [3, 4]}), tmp_path / "none.parquet")
    out = ["--out", tmp_path / "set"]
    said = darope("data", "prepare", "text", tmp_path / "none.parquet", *out, code=2)
    assert "no column of strings called text or content; there are id (int64), text (int64)" in said
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "pyarrow.py").write_text("raise ImportError")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path / "hidden"))
        said = darope("data", "prepare", "text", tmp_path / "none.parquet", *out, code=1)
    assert said.count("\n") == 1 and "-m pip install pyarrow" in said


def test_clear_refusals(ranks, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl(documents(100)))
    (tmp_path / "cl100k_base.tiktoken").write_bytes(ranks.read_bytes())
    (tmp_path / "none.jsonl").write_bytes(jsonl(documents(9), "body"))
    out = tmp_path / "set"

    def refused(*words):
        return darope("data", "prepare", "text", *words, "--out", out, code=2)

    assert "not the published" in refused(
        tmp_path / "a.jsonl", "--tokenizer", tmp_path / "cl100k_base.tiktoken"
    )
    assert "each line of a rank file" in refused(tmp_path / "a.jsonl", "--tokenizer", tmp_path / "a.jsonl")
    assert "`text` or `content`" in refused(tmp_path / "none.jsonl")
    assert "--held-out" in refused(tmp_path / "a.jsonl", "--held-out", 0.7)
    assert not out.exists()
    darope("data", "prepare", "text", tmp_path / "a.jsonl", "--out", out, "--tokenizer", ranks)
    other = ranks.read_text().splitlines()[:-1]
    (out / "tokenizer.tiktoken").write_text("\n".join(other) + "\n")
    assert "not the rank file" in darope("data", "inspect", out, code=2)


def test_a_line_of_a_gigabyte_takes_no_memory(tmp_path):
    lines = jsonl(documents(200))
    with open(tmp_path / "a.jsonl", "wb") as file:
        file.write(lines + b'{"text": "')
        for _ in range(1024):
            file.write(b"a" * (1 << 20))
        file.write(b'"}\n' + lines.replace(b"the", b"der"))
    words = [DAROPE, "data", "prepare", "text", tmp_path / "a.jsonl", "--out", tmp_path / "set"]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0 and "a.jsonl:201: the line is longer" in child.stderr.read()
    assert usage.ru_maxrss < 1500 * 1024  # the mapped file counts, a second copy would not fit


def test_killed_and_begun_again(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl(documents(20_000)))
    words = [DAROPE, "data", "prepare", "text", tmp_path / "a.jsonl", "--out", tmp_path / "set"]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    while not (tmp_path / "set.preparing" / "train.npy").exists():
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "set").exists()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    assert pathlib.Path(tmp_path / "set" / "manifest.json").exists()
    assert not (tmp_path / "set.preparing").exists()
