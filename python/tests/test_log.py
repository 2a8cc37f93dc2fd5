"""Finished runs in trackers of experiments, read back with their own readers."""

import json
import os
import shutil
import subprocess
import sys

import darope
import pytest
from conftest import ROOT
from darope import log
from darope.log.to_wandb import records as wandb_records

PROGRAM = os.environ.get("DAROPE_BINARY", str(ROOT / "build" / "darope"))


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logged") / "mine"
    small = ["steps=4", "logging.freq=2", "model.dim=16", "model.n_layers=1", "model.n_heads=2"]
    small += ["data.test_examples=8", "data.free_running=4", "tasks=parity"]
    config = ROOT / "configs" / "quick" / "quickstart.yaml"
    words = ["compare", config, "--encodings", "nope,rope", "--seeds", "1", *small, "--out", folder]
    subprocess.run([PROGRAM, *words], check=True, capture_output=True)
    return folder


def run_of(comparison, encoding):
    (found,) = (run for run in darope.load(comparison).runs if run.facts["encoding"] == encoding)
    return found


def tell(*words, cwd, before=(), **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("WANDB", "MLFLOW"))}
    return subprocess.run(
        [*before, sys.executable, "-m", "darope.log", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=kept | environment | {"HOME": str(cwd)},
    )


def expected(run):
    """The last training loss and the mean accuracy, from the files."""
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    scores = run.scores().query("metric == 'token_accuracy' and x == 1")
    return [row["global_step"] for row in rows], rows[-1]["loss/out"], scores.value.mean()


def test_mlflow_keeps_settings_steps_and_means_once(comparison, tmp_path):
    from mlflow import MlflowClient

    store = f"sqlite:///{tmp_path}/store.db"
    for said in (f" of 'mine' in {store}", f"is there already, in {store}"):
        told = tell(
            comparison, "--to", "mlflow", "--project", "mine", cwd=tmp_path, MLFLOW_TRACKING_URI=store
        )
        assert told.returncode == 0 and told.stdout.count(said) == 2, told.stderr
    client = MlflowClient(store)
    runs = client.search_runs([client.get_experiment_by_name("mine").experiment_id])
    assert sorted(each.info.run_name for each in runs) == ["parity-nope-s0", "parity-rope-s0"]
    (there,) = (each for each in runs if each.info.run_name == "parity-rope-s0")
    steps, loss, accuracy = expected(run_of(comparison, "rope"))
    assert there.data.params["model.encoding"] == "rope" and float(there.data.params["optim.lr"]) > 0
    history = client.get_metric_history(there.info.run_id, "loss/out")
    assert [point.step for point in history] == steps and history[-1].value == loss
    assert there.data.metrics["token_accuracy/length-1"] == pytest.approx(accuracy)


def test_wandb_writes_files_without_a_network(comparison, tmp_path):
    from wandb.proto import wandb_internal_pb2

    run = run_of(comparison, "rope")
    for said in ("wandb sync wandb/offline-run-", "is there already"):
        told = tell(run.folder, "--to", "wandb", cwd=tmp_path)
        assert told.returncode == 0 and said in told.stdout, told.stderr
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    records = [wandb_internal_pb2.Record.FromString(each) for each in wandb_records(file.read_bytes())]
    (about,) = (each.run for each in records if each.WhichOneof("record_type") == "run")
    settings = {item.key: json.loads(item.value_json) for item in about.config.update}
    assert about.project == "darope" and settings["model.encoding"] == "rope"
    rows = [
        {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in each.history.item}
        for each in records
        if each.WhichOneof("record_type") == "history"
    ]
    steps, loss, accuracy = expected(run)
    assert [row["_step"] for row in rows if "loss/out" in row] == steps and rows[-1]["loss/out"] == loss
    summary = {}
    for each in records:
        for item in each.summary.update:
            summary["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
    assert summary["token_accuracy/length-1"] == pytest.approx(accuracy)


def test_wandb_elsewhere_and_after_it_was_cut_off(comparison, tmp_path):
    run, place = run_of(comparison, "rope").folder, tmp_path / "elsewhere"
    place.mkdir()
    cut = place / "wandb" / f"offline-run-20260101_000000-{log.logged(run_of(comparison, 'rope')).id}"
    cut.mkdir(parents=True)  # of one that was killed
    for said in ("wandb sync ../elsewhere/wandb/offline-run-", "is there already"):
        (tmp_path / "here").mkdir(exist_ok=True)
        told = tell(run, "--to", "wandb", cwd=tmp_path / "here", WANDB_DIR=str(place))
        assert told.returncode == 0 and said in told.stdout, told.stderr
    assert len(list(place.glob("wandb/offline-run-*"))) == 1 and not cut.exists()


def test_wandb_that_was_cut_off_by_a_full_disk_is_told_again(comparison, tmp_path):
    run = run_of(comparison, "rope").folder
    told = tell(run, "--to", "wandb", cwd=tmp_path, before=["prlimit", "--fsize=4096"])
    assert told.returncode == 1 and told.stderr.count("\n") == 1 and "could not be written" in told.stderr
    told = tell(run, "--to", "wandb", cwd=tmp_path)
    assert told.returncode == 0 and "wandb sync" in told.stdout, told.stderr
    assert len(list(tmp_path.glob("wandb/offline-run-*"))) == 1


def test_a_name_cannot_steer_a_terminal(comparison, tmp_path):
    strange = tmp_path / "a\x1b]0;b\x07\u202ec"
    shutil.copytree(run_of(comparison, "rope").folder, strange)
    store = f"sqlite:///{tmp_path}/store.db"
    told = tell(strange, "--to", "mlflow", cwd=tmp_path, MLFLOW_TRACKING_URI=store)
    assert told.returncode == 0 and told.stdout.startswith("a?]0;b??c: is run "), told.stderr


def test_another_folder_or_other_results_are_another_run(comparison, tmp_path):
    run = run_of(comparison, "rope")
    here = log.logged(run).id
    shutil.copytree(run.folder, tmp_path / "copy")
    assert log.logged(darope.load(run.folder)).id == here != log.logged(darope.load(tmp_path / "copy")).id


def test_what_is_missing_is_said(comparison, tmp_path):
    (tmp_path / "wandb.py").write_text("raise ModuleNotFoundError('no', name='wandb')")
    told = tell(comparison, "--to", "wandb", cwd=tmp_path)
    assert told.returncode == 1 and told.stderr.count("\n") == 1 and "pip install wandb" in told.stderr
    told = tell(tmp_path, "--to", "mlflow", cwd=tmp_path)
    assert told.returncode == 2 and "neither a run's folder" in told.stderr
    run = tmp_path / "run"
    shutil.copytree(run_of(comparison, "rope").folder, run)
    (run / "run.json").unlink()
    told = tell(run, "--to", "mlflow", cwd=tmp_path)
    assert told.returncode == 2 and "none of these runs has ended" in told.stderr
    for module, reason in (("mlflow", "no server answers"), ("yaml", "No module named 'yaml'")):
        (tmp_path / module).mkdir()
        (tmp_path / module / f"{module}.py").write_text(f"raise RuntimeError({reason!r})")
        told = tell(comparison, "--to", "mlflow", cwd=tmp_path / module)
        assert told.returncode == 1 and told.stderr.count("\n") == 1 and reason in told.stderr
