"""Our safetensors files against those of the safetensors package."""

import itertools
import json
import struct

import numpy as np
import pytest
import safetensors
from programs import probe, refusal
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

DTYPES = [
    "uint64",
    "int64",
    "float64",
    "float32",
    "uint32",
    "int32",
    "float16",
    "uint16",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
]
SHAPES = [(), (1,), (3, 2), (0, 4), (2, 1, 5)]
NAMES = [
    "model.layers.10.weight",
    "model.layers.2.weight",
    "a",
    "A",
    "é",
    'quote"back\\slash',
    "tab\tand\nline",
    "\x7f\x01",
    "a.b",
    "漢",
]


def everything():
    random = np.random.default_rng(0)
    tensors = {}
    for i, (dtype, shape) in enumerate(itertools.product(DTYPES, SHAPES)):
        raw = random.integers(
            0, 2 if dtype == "bool" else 256, size=shape + (np.dtype(dtype).itemsize,), dtype=np.uint8
        )
        tensors[f"{NAMES[i % len(NAMES)]}.{i}"] = raw.view(dtype).reshape(
            shape
        )  # NaN and infinity among them
    return tensors


def test_same_bytes_as_the_reference_writer(tmp_path):
    save_file(everything(), tmp_path / "theirs", metadata={"format": "pt"})
    probe("format_probe", "copy-safetensors", tmp_path / "theirs", tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("padding", range(8))
def test_same_padding(tmp_path, padding):
    save_file({"x" * (padding + 1): np.ones(3, np.uint8)}, tmp_path / "theirs", metadata={"format": "pt"})
    probe("format_probe", "copy-safetensors", tmp_path / "theirs", tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_no_tensors(tmp_path):
    save_file({}, tmp_path / "theirs", metadata={"format": "pt"})
    probe("format_probe", "copy-safetensors", tmp_path / "theirs", tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_the_small_floats_in_the_reference_order(tmp_path):
    """numpy lacks these types, so the reference serialises bytes it is told the type of."""
    sizes = {
        "bool": 1,
        "uint8": 1,
        "int8": 1,
        "float8_e5m2": 1,
        "float8_e4m3fn": 1,
        "float8_e8m0fnu": 1,
        "float8_e4m3fnuz": 1,
        "float8_e5m2fnuz": 1,
        "int16": 2,
        "uint16": 2,
        "float16": 2,
        "bfloat16": 2,
        "int32": 4,
        "float32": 4,
        "float4_e2m1fn_x2": 1,
    }
    data = np.arange(8, dtype=np.uint8)
    specs = {
        f"t{i}": safetensors.TensorSpec(dtype=name, shape=[2], data_ptr=data.ctypes.data, data_len=2 * size)
        for i, (name, size) in enumerate(sizes.items())
    }
    (tmp_path / "theirs").write_bytes(bytes(safetensors.serialize(specs, {"format": "pt"})))
    probe("format_probe", "copy-safetensors", tmp_path / "theirs", tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_the_reference_reads_ours(tmp_path):
    tensors = everything()
    save_file(tensors, tmp_path / "theirs")
    probe("format_probe", "copy-safetensors", tmp_path / "theirs", tmp_path / "ours")
    ours = load_file(tmp_path / "ours")
    assert ours.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert (
            ours[name].dtype == tensor.dtype
            and ours[name].shape == tensor.shape
            and ours[name].tobytes() == tensor.tobytes()
        )


def file_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(shape, offsets, dtype="U8"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    "name, content",
    {
        "cut": file_of({"a": tensor([4], [0, 4])}, b"123"),
        "rest": file_of({"a": tensor([2], [0, 2])}, b"123"),
        "hole": file_of({"a": tensor([1], [0, 1]), "b": tensor([1], [2, 3])}, b"123"),
        "overlap": file_of({"a": tensor([2], [0, 2]), "b": tensor([2], [1, 3])}, b"123"),
        "wraps": file_of({"a": tensor([2**32, 2**32], [0, 0], "F32")}),
        "reversed": file_of({"a": tensor([1], [1, 0])}, b"1"),
        "dtype": file_of({"a": tensor([1], [0, 1], "U7")}, b"1"),
        "huge": struct.pack("<Q", 2**63) + b"{}",
        "long": struct.pack("<Q", 3) + b"{}",
        "utf8": file_of(b'{"\xff":1}'),
        "metadata": file_of({"__metadata__": {"a": 1}}),
    }.items(),
)
def test_both_refuse(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SafetensorError):
        load_file(tmp_path / name)
    assert name in refusal("format_probe", "copy-safetensors", tmp_path / name, tmp_path / "out")
    assert not (tmp_path / "out").exists()
