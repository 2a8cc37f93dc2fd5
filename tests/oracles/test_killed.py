"""`darope train`, killed with SIGKILL at random moments and started again until it is through, ends as if nobody had killed it:
the checkpoint's files byte for byte, and metrics.jsonl but for times and speeds."""
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BINARY = os.environ.get("DAROPE_BINARY", str(ROOT / "build" / "darope"))
SETTINGS = ["grad_acc_steps=2", "checkpoint.dump.every=4", "logging.freq=3", "model.dropout=0.1", "threads=1", "data.test_examples=4", "data.batch_size=8"]


def command(folder, steps=60):
    return [BINARY, "train", ROOT / "configs/quick/train.yaml", f"dump_dir={folder}", f"steps={steps}", *SETTINGS]


def outcome(folder):
    newest = max((folder / "checkpoints").iterdir())
    files = {name: (newest / name).read_bytes() for name in ("model.safetensors", "optim.safetensors", "config.json")}
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return newest.name, files, [{key: value for key, value in line.items() if not key.startswith("speed/") and key != "created_at"} for line in lines], (folder / "results.jsonl").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    subprocess.run(command(folder), check=True, capture_output=True)
    return outcome(folder)


@pytest.mark.parametrize("seed", range(3))
def test_kill_and_resume(tmp_path, undisturbed, seed):
    draw, kills = random.Random(seed), 0
    for _ in range(60):
        child = subprocess.Popen(command(tmp_path / "run"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # from its first sign of life on, wherever that finds it: in a step, in a save, in the evaluation
        child.stderr.readline()
        time.sleep(draw.uniform(0, 0.15))
        child.send_signal(signal.SIGKILL)
        child.stderr.close()
        if child.wait() == 0:
            break
        kills += 1
        if kills == 8:
            subprocess.run(command(tmp_path / "run"), check=True, capture_output=True)
            break
    assert kills > 0
    assert outcome(tmp_path / "run") == undisturbed


def test_a_finished_run_is_left_alone(tmp_path):
    folder = tmp_path / "run"
    subprocess.run(command(folder, 4), check=True, capture_output=True)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    done = subprocess.run(command(folder, 4), capture_output=True, text=True)
    assert done.returncode == 0 and "finished" in done.stderr
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("name, code", [("SIGTERM", 75), ("SIGUSR1", 75), ("SIGINT", 130)])
def test_signals(tmp_path, undisturbed, name, code):
    child = subprocess.Popen(command(tmp_path / "run"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    child.stderr.readline()
    child.send_signal(getattr(signal, name))
    message = child.stderr.read()
    assert child.wait(timeout=60) == code, message
    subprocess.run(command(tmp_path / "run"), check=True, capture_output=True)
    assert outcome(tmp_path / "run") == undisturbed


def test_one_process_at_a_time(tmp_path):
    first = subprocess.Popen(command(tmp_path / "run", 2000), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    first.stderr.readline()
    second = subprocess.run(command(tmp_path / "run", 2000), capture_output=True, text=True)
    first.kill()
    first.wait()
    assert second.returncode == 2 and "another process" in second.stderr, second.stderr


def test_a_run_goes_on_in_the_type_it_began_with(tmp_path):
    child = subprocess.Popen(command(tmp_path / "run"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    child.stderr.readline()
    child.kill()
    child.wait()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({**manifest, "dtype": "bf16"}))
    again = subprocess.run(command(tmp_path / "run"), capture_output=True, text=True)
    assert again.returncode == 2 and "dtype=bf16" in again.stderr, again.stderr
