"""Token files and configs against numpy, gzip, zstandard and PyYAML."""

import gzip
import json

import numpy as np
import pytest
import yaml
import zstandard
from programs import probe, refusal

DOCUMENTS = ["first", "", "zweites é 漢 \U0001f600 \x00", 'a\nb\\"' * 5000]


def tokens(path):
    vocabulary, starts, ids = probe("format_probe", "tokens", path).split("\n")[:3]
    return int(vocabulary), [int(x) for x in starts.split()], [int(x) for x in ids.split()]


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("dtype", ["u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8"])
def test_npy(tmp_path, dtype, version):
    array = np.random.default_rng(1).integers(
        0, np.iinfo(dtype).max if np.dtype(dtype).itemsize < 8 else 2**32, size=(7, 3), dtype=dtype
    )
    with open(tmp_path / "a.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    assert tokens(tmp_path / "a.npy") == (int(array.max()) + 1, [0], array.ravel().tolist())


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3, "f4"),
        np.zeros(3, ">u2"),
        np.zeros((2, 3), "u2", order="F"),
        np.zeros(3, [("a", "u2")]),
        np.array([None]),
        np.zeros(0, "u2"),
        np.array(["a"]),
        np.zeros(2, bool),
    ],
    ids=str,
)
def test_npy_of_other_things(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    assert "a.npy" in refusal("format_probe", "tokens", tmp_path / "a.npy")


def test_nanogpt_bin(tmp_path):
    array = np.random.default_rng(2).integers(0, 50257, size=1000, dtype=np.uint16)
    array.tofile(tmp_path / "a.bin")
    assert tokens(tmp_path / "a.bin") == (int(array.max()) + 1, [0], array.tolist())


@pytest.mark.parametrize("magic, version, dtype", [(20240520, 1, np.uint16), (20240801, 7, np.uint32)])
def test_llmc_bin(tmp_path, magic, version, dtype):
    header = np.zeros(256, np.int32)
    header[:3] = magic, version, 1000
    array = np.random.default_rng(3).integers(0, 50257, size=1000, dtype=dtype)
    (tmp_path / "a.bin").write_bytes(header.tobytes() + array.tobytes())
    assert tokens(tmp_path / "a.bin")[2] == array.tolist()


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "jsonl.zst"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_jsonl(tmp_path, packing, ascii_only):
    text = "".join(
        json.dumps({"text": d, "id": i}, ensure_ascii=ascii_only) + "\n" for i, d in enumerate(DOCUMENTS)
    ).encode()
    if packing == "jsonl.gz":
        text = gzip.compress(text[:40]) + gzip.compress(text[40:])
    elif packing == "jsonl.zst":
        text = zstandard.ZstdCompressor().compress(text)
    (tmp_path / f"a.{packing}").write_bytes(text)
    ids, starts = [], []
    for document in DOCUMENTS:
        starts.append(len(ids))
        ids += [*document.encode(), 256]
    assert tokens(tmp_path / f"a.{packing}") == (257, starts, ids)


def test_printed_config_means_the_same_to_pyyaml(tmp_path):
    (tmp_path / "a.yaml").write_text("")
    printed = probe("format_probe", "config", tmp_path / "a.yaml")
    expected = {
        "name": 'it\'s: a "test" #1',
        "words": ["yes", "1", "", "é\n", "null", "plain"],
        "numbers": [1e-5, 1e20, -0.0, 1 / 3, 123456789.0, 5e-324],
        "seed": None,
        "flag": True,
    }
    assert yaml.safe_load(printed) == expected
    assert all(isinstance(x, float) for x in yaml.safe_load(printed)["numbers"])


def test_config_as_pyyaml_writes_it(tmp_path):
    values = {
        "name": "on",
        "words": ["a: b", "#", "- x", "'", '"', "multi\nline", "true"],
        "numbers": [1e-7, 3.0, 2.5e30],
        "seed": -5,
        "flag": False,
    }
    for style in (None, False, True):
        (tmp_path / "a.yaml").write_text(yaml.safe_dump(values, default_flow_style=style))
        assert yaml.safe_load(probe("format_probe", "config", tmp_path / "a.yaml")) == values
