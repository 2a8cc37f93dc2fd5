"""Weights & Biases. Nothing is sent: the files it makes go up with `wandb sync`."""

from __future__ import annotations

from pathlib import Path


def tell(runs, project):
    import wandb

    quiet = wandb.Settings(
        x_disable_stats=True, x_disable_meta=True, disable_git=True, console="off", silent=True
    )
    for run in runs:
        if any(Path("wandb").glob(f"offline-run-*-{run.id}")):
            yield run.name, "is there already"
            continue
        told = wandb.init(
            mode="offline", project=project, name=run.name, id=run.id, config=run.settings, settings=quiet
        )
        for step, values in run.steps:
            told.log(values, step=step)
        told.summary.update(run.means)
        folder = Path(told.dir).parent
        told.finish()
        yield run.name, f"to send it: wandb sync {folder.relative_to(Path.cwd())}"
