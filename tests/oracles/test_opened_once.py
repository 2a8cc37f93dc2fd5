"""A run opens each file of its dataset once, as the system counts it."""

import base64
import collections
import ctypes
import json
import os
import struct
import subprocess

import pytest
from commands import SMALL, text_file
from programs import DAROPE, ROOT

IN_OPEN, IN_NONBLOCK = 0x20, 0o4000
CONFIG = ROOT / "configs" / "quick" / "train.yaml"


class Opened:
    """Counts how often any process opens each file of a folder, by inotify. The folder is watched beside each
    of the files, because two events that are alike become one unless another stands between them.
    """

    def __init__(self, folder):
        libc = ctypes.CDLL(None, use_errno=True)
        self.queue = libc.inotify_init1(IN_NONBLOCK)
        self.names = {}
        for path in [folder, *(each for each in folder.iterdir() if each.is_file())]:
            watch = libc.inotify_add_watch(self.queue, os.fsencode(path), IN_OPEN)
            assert watch >= 0, os.strerror(ctypes.get_errno())
            if path != folder:
                self.names[watch] = path.name

    def counts(self):
        found = collections.Counter()
        while True:
            try:
                events = os.read(self.queue, 1 << 16)
            except BlockingIOError:
                return found
            while events:
                watch, _, _, length = struct.unpack_from("iIII", events)
                if watch in self.names:
                    found[self.names[watch]] += 1
                events = events[16 + length :]


def test_the_count_counts(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("x")
    opened = Opened(tmp_path)
    with open(tmp_path / "a"), open(tmp_path / "a"), open(tmp_path / "b"):
        pass
    assert opened.counts() == {"a": 2, "b": 1}


def a_file(folder):
    text_file(folder)
    return f"data.path={folder / 'own.txt'}", ["own.txt"]


def prepared(folder, *words):
    folder.rmdir()
    prepare = [DAROPE, "data", "prepare", *map(str, words), "--out", folder]
    subprocess.run(prepare, check=True, capture_output=True, timeout=300)
    return f"data.root_dir={folder}", [file.name for file in folder.iterdir()]


def chorales(folder):
    piece = [[60, 55, 50, 45], [62, 57, 52, 47]] * 16
    source = folder.parent / "a.json"
    source.write_text(json.dumps({"train": [piece] * 8, "valid": [piece], "test": [piece] * 2}))
    return prepared(folder, "jsb", source)


def text_by_ranks(folder):
    """Its rank file belongs to the dataset: here every byte by itself."""
    ranks, source = folder.parent / "own.tiktoken", folder.parent / "own.jsonl"
    ranks.write_text("".join(f"{base64.b64encode(bytes([i])).decode()} {i}\n" for i in range(256)))
    source.write_text("".join(json.dumps({"text": f"document {i} " * 20}) + "\n" for i in range(100)))
    return prepared(folder, "text", source, "--tokenizer", ranks, "--held-out", 0.2)


@pytest.mark.parametrize("make", [a_file, chorales, text_by_ranks])
def test_a_dataset_is_opened_once(tmp_path, make):
    folder = tmp_path / "data"
    folder.mkdir()
    setting, files = make(folder)
    opened = Opened(folder)
    small = [each for each in SMALL if not each.startswith("data.test_examples")]
    words = ["data.task=", setting, "data.seq_len=16", "device=cpu", f"dump_dir={tmp_path / 'run'}", *small]
    done = subprocess.run([DAROPE, "train", CONFIG, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert opened.counts() == dict.fromkeys(files, 1)
