"""`darope train`, killed with SIGKILL at random moments and started again until it is through, ends as if
nobody had killed it: the checkpoint's files byte for byte, and its logs but for times, speeds and memory.
"""

import json
import random
import signal
import subprocess
import time

import pytest
from programs import DAROPE, ROOT
from trainings import until_it_steps

SETTINGS = [
    "grad_acc_steps=2",
    "checkpoint.dump.every=4",
    "logging.freq=3",
    "model.dropout=0.1",
    "threads=1",
    "data.batch_size=8",
]


FEW = ["data.test_examples=4"]  # of a task; prepared data are scored whole


def command(folder, steps=60, more=FEW):
    return [
        DAROPE,
        "train",
        ROOT / "configs/quick/train.yaml",
        f"dump_dir={folder}",
        f"steps={steps}",
        *SETTINGS,
        *more,
    ]


def logged(file):
    """The lines of a log, but for what depends on the machine and the hour."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [
        {key: value for key, value in line.items() if not key.startswith(("speed/", "memory/", "created_at"))}
        for line in lines
    ]


def outcome(folder):
    newest = max((folder / "checkpoints").iterdir())
    files = [newest / name for name in ("model.safetensors", "optim.safetensors", "config.json")] + [
        folder / "results.jsonl"
    ]
    best = [file for file in (folder / "best").glob("*/*.safetensors")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files + best} | {
        name: logged(folder / name) for name in ("metrics.jsonl", "metrics.eval.jsonl")
    }


def chorales(folder):
    """Settings for a dataset with a validation split."""
    draw = random.Random(0)

    def piece():
        return [[draw.randint(50, 70) for _ in range(4)] for _ in range(40)]

    (folder / "a.json").write_text(
        json.dumps({split: [piece() for _ in range(8)] for split in ("train", "valid", "test")})
    )
    subprocess.run(
        [DAROPE, "data", "prepare", "jsb", folder / "a.json", "--out", folder / "set"],
        check=True,
        capture_output=True,
    )
    return ["data.task=", f"data.root_dir={folder / 'set'}", "data.seq_len=160", "validation.every=5"]


@pytest.fixture(scope="module", params=["task", "chorales"])
def undisturbed(request, tmp_path_factory):
    """What the run ends with when nobody disturbs it, and its settings."""
    folder = tmp_path_factory.mktemp("undisturbed")
    more = chorales(folder) if request.param == "chorales" else FEW
    subprocess.run(command(folder / "run", more=more), check=True, capture_output=True)
    end = outcome(folder / "run")
    assert len(end["metrics.jsonl"]) == 20 and len(end["metrics.eval.jsonl"]) == (0 if more == FEW else 12)
    return end, more


@pytest.mark.parametrize("seed", range(2))
def test_kill_and_resume(tmp_path, undisturbed, seed):
    end, more = undisturbed
    draw, kills = random.Random(seed), 0
    for _ in range(60):
        child = subprocess.Popen(
            command(tmp_path / "run", more=more), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        # from its first sign of life on, wherever that finds it: in a step, in a save, in the evaluation
        until_it_steps(child)
        time.sleep(draw.uniform(0, 0.15))
        child.send_signal(signal.SIGKILL)
        child.stderr.close()
        if child.wait() == 0:
            break
        kills += 1
        if kills == 8:
            subprocess.run(command(tmp_path / "run", more=more), check=True, capture_output=True)
            break
    assert kills > 0
    assert outcome(tmp_path / "run") == end


def test_a_finished_run_is_left_alone(tmp_path):
    folder = tmp_path / "run"
    subprocess.run(command(folder, 4), check=True, capture_output=True)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    done = subprocess.run(command(folder, 4), capture_output=True, text=True)
    assert done.returncode == 0 and "finished" in done.stderr
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("name, code", [("SIGTERM", 75), ("SIGUSR1", 75), ("SIGINT", 130)])
def test_signals(tmp_path, undisturbed, name, code):
    end, more = undisturbed
    child = subprocess.Popen(
        command(tmp_path / "run", more=more), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    until_it_steps(child)
    child.send_signal(getattr(signal, name))
    message = child.stderr.read()
    assert child.wait(timeout=60) == code, message
    subprocess.run(command(tmp_path / "run", more=more), check=True, capture_output=True)
    assert outcome(tmp_path / "run") == end


def test_one_process_at_a_time(tmp_path):
    first = subprocess.Popen(
        command(tmp_path / "run", 2000), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    until_it_steps(first)
    second = subprocess.run(command(tmp_path / "run", 2000), capture_output=True, text=True)
    first.kill()
    first.wait()
    assert second.returncode == 5 and f"process {first.pid} on " in second.stderr, second.stderr


def test_a_run_goes_on_in_the_type_it_began_with(tmp_path):
    child = subprocess.Popen(
        command(tmp_path / "run"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    until_it_steps(child)
    child.kill()
    child.wait()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({**manifest, "dtype": "bf16"}))
    again = subprocess.run(command(tmp_path / "run"), capture_output=True, text=True)
    assert again.returncode == 2 and "dtype=bf16" in again.stderr, again.stderr
