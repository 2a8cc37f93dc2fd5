"""Faults at system calls: killed, killed half way through a write, no room, input/output error. After each of
them the same command, undisturbed, has to end as if nothing had happened, and leave nothing over.

.venv/bin/python tests/oracles/faults.py [VERB[:i/N]...]     # every call of every verb, or of those named

VERB:i/N is every N-th fault of a verb, from the i-th, counted from 0: all take hours.
"""

import errno
import hashlib
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from programs import BUILD, DAROPE, ROOT

KINDS = ["kill", "half", str(errno.ENOSPC), str(errno.EIO)]
DOCUMENTED = {0, 1, 2, 3, 75, -9}
SMALL = [
    "threads=1",
    "data.batch_size=4",
    "data.test_examples=4",
    "checkpoint.dump.every=2",
    "logging.freq=2",
]
MODEL = ["model.style=nanogpt", "model.dim=16", "model.n_layers=1", "model.n_heads=2", "device=cpu"]
TRAIN = ["train", ROOT / "configs/quick/train.yaml", "dump_dir=run", "steps=4", *SMALL, *MODEL]
COMPARE = ["compare", ROOT / "configs/quick/quickstart.yaml", "tasks=[parity]", "--encodings", "nope,rope",
           "--seeds", "1", "--jobs", "1", "--out", "mine", "steps=2", "data.test_examples=4",
           "data.batch_size=4", *MODEL]  # fmt: skip


def run(words, cwd, fault=None, calls=None):
    environment = dict(os.environ)
    if fault:
        calls.write_bytes(bytes(8))
        environment |= {
            "LD_PRELOAD": str(BUILD / "libfaults.so"),
            "DAROPE_FAULT": fault,
            "DAROPE_FAULT_CALLS": str(calls),
        }
    return subprocess.run([DAROPE, *map(str, words)], cwd=cwd, capture_output=True, text=True,
                          errors="replace", timeout=300, env=environment)  # fmt: skip


def sha(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def of_run(folder):
    weights = max((folder / "checkpoints").iterdir()) / "model.safetensors"
    return {str(each.relative_to(folder)): sha(each) for each in (weights, folder / "results.jsonl")}


def of_comparison(folder):
    return {
        str(each.relative_to(folder)): sha(each) for each in sorted(folder.glob("runs/*/results.jsonl"))
    } | {"datasets": json.dumps(json.loads((folder / "results.json").read_text())["datasets"])}


def chorales(folder):
    piece = [[60, 64, 67, 72]] * 40
    (folder / "a.json").write_text(json.dumps({split: [piece] * 3 for split in ("train", "valid", "test")}))


def trained(folder):
    assert run(TRAIN, folder).returncode == 0


def compared(folder):
    assert run(COMPARE, folder).returncode == 0


# verb: what must be there before, the command, and what it leaves that counts
VERBS = {
    "train": (lambda folder: None, TRAIN, lambda folder: of_run(folder / "run")),
    "compare": (lambda folder: None, COMPARE, lambda folder: of_comparison(folder / "mine")),
    "eval": (
        trained,
        ["eval", "run", "data.test_examples=2"],
        lambda folder: {each.parent.name: sha(each) for each in folder.glob("run/evals/*/*/results.jsonl")},
    ),
    "report": (compared, ["report", "mine"], lambda folder: of_comparison(folder / "mine")),
    "bundle": (
        compared,
        ["report", "mine", "--bundle", "b.tar.zst"],
        lambda folder: {"b": sha(folder / "b.tar.zst")},
    ),
    "prepare": (
        chorales,
        ["data", "prepare", "jsb", "a.json", "--out", "set"],
        lambda folder: {each.name: sha(each) for each in (folder / "set").glob("[!.]*")},
    ),
}


def left_by(name, folder):
    """What a verb left that counts; None where that is not there."""
    try:
        return VERBS[name][2](folder)
    except (OSError, ValueError):
        return None


class Verb:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        prepare, self.command, _ = VERBS[name]
        (folder / "before").mkdir(parents=True)
        prepare(folder / "before")
        shutil.copytree(folder / "before", folder / "undisturbed")
        self.count = folder / "count"
        done = run(self.command, folder / "undisturbed", "count:0", self.count)
        assert done.returncode == 0, done.stderr
        self.calls = int.from_bytes(self.count.read_bytes(), sys.byteorder)
        self.expected = left_by(name, folder / "undisturbed")

    def strike(self, kind, call):
        """What went wrong; nothing if nothing did."""
        where = self.folder / "struck"
        shutil.rmtree(where, ignore_errors=True)
        shutil.copytree(self.folder / "before", where)
        struck = run(self.command, where, f"{kind}:{call}", self.count)
        if struck.returncode not in DOCUMENTED or "terminate called" in struck.stderr:
            return f"exit code {struck.returncode}: {struck.stderr[-300:]}"
        if struck.returncode == 0 and left_by(self.name, where) != self.expected:
            return "another outcome under exit code 0"
        if self.name == "prepare" and left_by(self.name, where) == self.expected:
            return None  # whole already: a dataset that is there is left alone
        again = run(self.command, where)
        if again.returncode != 0:
            return f"the command again: exit code {again.returncode}: {again.stderr[-300:]}"
        if left_by(self.name, where) != self.expected:
            return "another outcome of the command again"
        left = [
            str(each.relative_to(where))
            for each in where.rglob("*")
            if each.name.startswith((".tmp-", ".part-"))  # the next holder takes a dead one's lock over
        ]
        return f"left over: {left}" if left else None


def sample(share, seed):
    """Of many trials, a share drawn by a seed."""
    draw = random.Random(seed)
    return lambda number: draw.random() < share


def part(words):
    """Of many trials, those of "i/N"."""
    index, count = map(int, words.split("/"))
    assert 0 <= index < count, f"{words}: i should be from 0 to N - 1"
    return lambda number: number % count == index


def every_fault(verb, wanted):
    """(kind, call, what went wrong) of each fault that is wanted."""
    faults = itertools.product(range(1, verb.calls + 1), KINDS)
    for number, (call, kind) in enumerate(faults):
        if wanted(number):
            yield kind, call, verb.strike(kind, call)


def main(names, trials, where="at"):
    """Says what went wrong in `trials(name, folder, wanted)`, (kind, call, problem) each, and how many there
    were.
    """
    wrong = 0
    for name, _, words in (each.partition(":") for each in names):
        with tempfile.TemporaryDirectory() as folder:
            count = last = 0
            for kind, call, problem in trials(name, pathlib.Path(folder), part(words or "0/1")):
                count, last = count + 1, max(last, call)
                if problem:
                    wrong += 1
                    print(f"{name}: {kind} {where} call {call}: {problem}", flush=True)
            print(f"{name}: {last} calls, {count} trials", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(
        main(sys.argv[1:] or VERBS, lambda name, folder, wanted: every_fault(Verb(name, folder), wanted))
    )
