"""The runs of a comparison as programs of their own: stopped, waited for, one at a time, started by hand."""

import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
from commands import QUICK, SMALL, TASK, done, run, task_but
from programs import DAROPE


def stopped(*arguments, cwd, name="SIGTERM", after=lambda: True):
    """The exit code of a comparison that was sent a signal as soon as its first run is a process and
    `after` holds.
    """
    child = subprocess.Popen(
        [DAROPE, *map(str, arguments), "device=cpu"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
    )
    children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
    while child.poll() is None and not (children.read_text() and after()):
        pass
    child.send_signal(getattr(signal, name))
    return child.wait(timeout=120)


@pytest.mark.parametrize("name, code", [("SIGTERM", 75), ("SIGINT", 130)])
def test_a_stopped_comparison_goes_on(tmp_path, name, code):
    plan = ["compare", *task_but("steps=400"), "logging.freq=1", "--jobs", "1"]

    def begun():
        return any(tmp_path.glob("mine/runs/*/metrics.jsonl"))

    assert (
        stopped(*plan, "--out", "mine", "--bundle", "b.tar.zst", cwd=tmp_path, name=name, after=begun) == code
    )
    assert not any(tmp_path.glob("mine/runs/*/run.json")) and not (tmp_path / "mine" / "report.html").exists()
    done(*plan, "--out", "mine", "--bundle", "b.tar.zst", "device=cpu", cwd=tmp_path)
    done(*plan, "--out", "undisturbed", "device=cpu", cwd=tmp_path)
    done("report", "b.tar.zst", "--out", "packed", cwd=tmp_path)
    ends = [
        json.loads((tmp_path / out / "results.json").read_text())["datasets"]
        for out in ("mine", "undisturbed", "packed")
    ]
    assert ends[0] == ends[1] == ends[2]


def test_no_signal_is_lost_between_two_processes(tmp_path):
    """A run that is just being born hears of the stop too, and does not train to its end."""
    for i in range(10):
        assert stopped("compare", *task_but("steps=100000"), "--jobs", "1", "--out", i, cwd=tmp_path) == 75
        assert not any(tmp_path.glob(f"{i}/runs/*/run.json"))


def test_why_it_stopped_counts_for_more_than_its_bundle(tmp_path):
    (tmp_path / "sub").mkdir()

    def gone():
        return (tmp_path / "sub").exists() and not (tmp_path / "sub").rmdir()

    assert (
        stopped(
            "compare",
            *task_but("steps=100000"),
            "--out",
            "mine",
            "--bundle",
            "sub/b.tar.zst",
            cwd=tmp_path,
            after=gone,
        )
        == 75
    )


def test_more_threads_than_one_do_not_hang_it(tmp_path):
    """The comparison looks at its data with all threads there are before it starts a run."""
    larger = ["data.test_examples=64", "data.seq_len=128", "threads=2", "device=cpu", "tasks=parity"]
    plan = ["compare", QUICK, *SMALL[:-1], *larger, "--seeds", "1", "--jobs", "1", "--out", "mine"]
    done(*plan, "--encodings", "rope", cwd=tmp_path)
    done(*plan, "--encodings", "rope,hope", cwd=tmp_path)


def test_a_launcher_that_does_not_care_for_children(tmp_path):
    """Where SIGCHLD is ignored, the system keeps no word of how a child ended."""
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", ignoring, DAROPE, "compare", *TASK]
    result = subprocess.run(
        [*command, "--out", "mine"], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert result.returncode == 0 and (tmp_path / "mine" / "report.html").exists(), result.stderr
    (tmp_path / "other" / "runs").mkdir(parents=True)
    (tmp_path / "other" / "runs" / "parity-nope-s0").write_text("in the way")
    other = [*command, "--out", "other"]
    result = subprocess.run(other, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert result.returncode == 1 and "not every run came to its end" in result.stderr, result.stderr


def test_one_at_a_time(tmp_path):
    """A second comparison in the folder, and a training in a run of it, are refused and told by whom."""
    long = ["compare", *task_but("steps=100000"), "--jobs", "1", "--out", "mine"]
    first = subprocess.Popen(
        [DAROPE, *long], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=tmp_path
    )
    try:
        while not any(tmp_path.glob("mine/runs/*/metrics.jsonl")):
            assert first.poll() is None
            time.sleep(0.05)
        second = run(*long, cwd=tmp_path)
        assert second.returncode == 5 and second.stderr.count("\n") == 1, second.stderr
        assert (
            f"process {first.pid} on {socket.gethostname()} has been comparing in mine since" in second.stderr
        )
        trained = run("train", tmp_path / "mine/jobs/parity-nope-s0.yaml", cwd=tmp_path)
        assert trained.returncode == 5 and "has been training in mine/runs/parity-nope-s0" in trained.stderr
    finally:
        first.terminate()
        assert first.wait(timeout=120) == 75
    assert not any(tmp_path.rglob("*lock*"))


def test_a_run_can_be_started_by_hand(tmp_path):
    """With the first line of its log, from any folder."""
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    command = (tmp_path / "mine" / "jobs" / "parity-nope-s0.log").read_text().splitlines()[0]
    model = next(tmp_path.glob("mine/runs/parity-nope-s0/checkpoints/*/model.safetensors"))
    before = model.read_bytes()
    shutil.rmtree(tmp_path / "mine" / "runs" / "parity-nope-s0")
    again = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=300, cwd="/")
    assert again.returncode == 0, again.stderr
    assert model.read_bytes() == before


def test_finished_runs_that_somebody_removes_are_missed(tmp_path):
    plan = ["compare", *task_but("steps=400"), "--jobs", "1", "--out", "mine", "device=cpu"]
    child = subprocess.Popen([DAROPE, *plan], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    finished, removed = [], None
    while child.poll() is None and not (removed and not removed.exists()):
        finished = list(tmp_path.glob("mine/runs/*/run.json"))
        begun = list(tmp_path.glob("mine/runs/*/metrics.jsonl"))
        if len(begun) > len(finished) > 0:
            removed = finished[0].parent
            shutil.rmtree(removed)
    said = child.communicate(timeout=200)[1].decode()
    assert child.returncode == 1 and "1 of 2 runs in mine were removed while others went on" in said
    assert not (tmp_path / "mine" / "report.html").exists()
    done(*plan, cwd=tmp_path)
