"""Trainings of seconds, as people start them."""

import hashlib
import json
import subprocess

from programs import DAROPE, ROOT

TRAIN = [
    "threads=1", "data.batch_size=8", "data.test_examples=4", "checkpoint.dump.every=4", "logging.freq=2",
]  # fmt: skip


def darope(*words, cwd, **how):
    return subprocess.run(
        [DAROPE, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300, **how
    )


def train(folder, *more, steps=8, **how):
    config = ROOT / "configs/quick/train.yaml"
    return darope(
        "train", config, f"dump_dir={folder}", f"steps={steps}", *TRAIN, *more, cwd=folder.parent, **how
    )


def until_it_steps(child):
    """Waits for what a training says of its first steps; before that it tells what it will take."""
    next((line for line in child.stderr if "step" in str(line)), None)


def rewrite(checkpoint, name, content):
    """A file of a checkpoint, changed by somebody who knows of its hashes."""
    (checkpoint / name).write_bytes(content)
    manifest = json.loads((checkpoint / "MANIFEST.json").read_text())
    for entry in manifest["files"]:
        if entry["file"] == name:
            entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (checkpoint / "MANIFEST.json").write_text(json.dumps(manifest))
