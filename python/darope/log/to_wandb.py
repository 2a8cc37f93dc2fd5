"""Weights & Biases. Nothing is sent: the files it makes go up with `wandb sync`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

DONE = "told-by-darope"  # in the folder of a run that was told to its end


def tell(runs, project):
    import wandb

    quiet = wandb.Settings(
        x_disable_stats=True, x_disable_meta=True, disable_git=True, console="off", silent=True
    )
    root = Path(os.environ.get("WANDB_DIR") or ".") / "wandb"
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
        (folder / DONE).touch()
        yield run.name, f"to send it: wandb sync {os.path.relpath(folder)}"
