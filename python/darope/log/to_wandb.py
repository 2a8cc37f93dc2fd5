"""Weights & Biases. Nothing is sent: the files it makes go up with `wandb sync`."""

from __future__ import annotations

import os
import shlex
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

DONE = "told-by-darope"  # in the folder of a run that was told to its end


def tell(runs, project):
    import wandb

    quiet = wandb.Settings(
        x_disable_stats=True, x_disable_meta=True, disable_git=True, console="off", silent=True
    )
    root = Path(os.environ.get("WANDB_DIR") or ".") / "wandb"
    written = []
    for run in runs:
        before = list(root.glob(f"offline-run-*-{run.id}"))
        if any((each / DONE).exists() for each in before):
            yield run.name, "is there already"
            continue
        for each in before:  # cut off before its end
            shutil.rmtree(each)
        told = wandb.init(
            mode="offline", project=project, name=run.name, id=run.id, config=run.settings, settings=quiet
        )
        for step, values in run.steps:
            told.log(values, step=step)
        told.summary.update(run.means)
        folder = Path(told.dir).parent
        told.finish()
        written.append((run, folder))
    wandb.teardown()  # waits for the last byte
    for run, folder in written:
        if not _is_whole(folder / f"run-{run.id}.wandb"):  # of which W&B itself says nothing
            raise RuntimeError(f"{folder} could not be written to its end: see that the disk has room")
        (folder / DONE).touch()
        yield run.name, f"to send it: wandb sync {shlex.quote(os.path.relpath(folder))}"


def _is_whole(file: Path) -> bool:
    from wandb.proto.wandb_internal_pb2 import Record

    *_, last = [b"", *records(file.read_bytes())]
    return Record.FromString(last).WhichOneof("record_type") == "exit"


def records(data: bytes) -> Iterator[bytes]:
    """LevelDB's log, behind a header: blocks of 32 KiB, in them pieces of records with a head of 7 bytes."""
    at, whole = 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4) and at <= len(data):  # all of a record, or its end
            yield whole
            whole = b""
