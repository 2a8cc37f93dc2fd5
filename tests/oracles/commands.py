"""Runs darope as people do, on comparisons of seconds."""

import os
import pty
import subprocess

from programs import DAROPE, ROOT

QUICK = str(ROOT / "configs" / "quick" / "quickstart.yaml")
# A comparison of seconds: what it finds means nothing, but every part of it runs.
SMALL = ["steps=4", "model.dim=16", "model.n_layers=1", "model.n_heads=2", "data.test_examples=8"]
TASK = [QUICK, "--encodings", "nope,darope", "--seeds", "1", *SMALL, "tasks=parity", "data.free_running=4"]


def task_but(*settings):
    """TASK with other settings."""
    keys = {setting.partition("=")[0] for setting in settings}
    return [each for each in TASK if each.partition("=")[0] not in keys] + list(settings)


def run(*arguments, cwd):
    return subprocess.run(
        [DAROPE, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=cwd
    )


def done(*arguments, cwd):
    result = run(*arguments, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(*arguments, cwd, code=2):
    """The one sentence it was refused with; nothing is left behind."""
    before = sorted(cwd.rglob("*"))
    result = run(*arguments, cwd=cwd)
    assert result.returncode == code and result.stdout == "", (
        result.returncode,
        result.stdout,
        result.stderr,
    )
    assert sorted(cwd.rglob("*")) == before
    assert result.stderr.startswith("darope: ") and result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def text_file(folder, name="own.txt"):
    (folder / name).write_text("".join(f"{i} and {i * i % 97} make {i + i * i % 97}.\n" for i in range(400)))


def on_a_terminal(*arguments, cwd):
    """All that a terminal is sent while darope runs."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [DAROPE, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd
    )
    os.close(theirs)
    sent = b""
    try:
        while some := os.read(ours, 65536):
            sent += some
    except OSError:  # how Linux says that nobody writes there any more
        pass
    os.close(ours)
    child.wait(timeout=60)
    return sent
