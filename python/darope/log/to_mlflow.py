"""MLflow, at MLFLOW_TRACKING_URI or where MLflow itself keeps runs by default."""

from __future__ import annotations

import re

TAG = "darope.id"
AT_ONCE = 1000  # metrics and 100 parameters in one call


def tell(runs, project):
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    client = MlflowClient()
    known = client.get_experiment_by_name(project)
    experiment = known.experiment_id if known else client.create_experiment(project)
    for run in runs:
        if client.search_runs([experiment], f"tags.`{TAG}` = '{run.id}'"):
            yield run.name, f"is there already, in {client.tracking_uri}"
            continue
        there = client.create_run(experiment, run_name=run.name).info.run_id
        params = [Param(key, value) for key, value in run.settings.items()]
        values = [(key, value, step) for step, row in run.steps for key, value in row.items()]
        last = run.steps[-1][0] if run.steps else 0
        values += [(key, value, last) for key, value in run.means.items()]
        metrics = [Metric(_name(key), value, 0, step) for key, value, step in values]
        for at in range(0, len(params), 100):
            client.log_batch(there, params=params[at : at + 100])
        for at in range(0, len(metrics), AT_ONCE):
            client.log_batch(there, metrics=metrics[at : at + AT_ONCE])
        client.set_tag(there, TAG, run.id)  # last: what was cut off is told again
        client.set_terminated(there)
        yield run.name, f"is run {there} of '{project}' in {client.tracking_uri}"


def _name(key: str) -> str:
    """MLflow takes letters, digits, and of signs these."""
    return re.sub(r"[^\w\-. :/]", "_", key)
