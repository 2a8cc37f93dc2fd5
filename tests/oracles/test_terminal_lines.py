"""What a comparison and its report say on a terminal: lines that fit, cautions, failures, the newest loss."""

import fcntl
import html
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest
from commands import SMALL, TASK, done, run, task_but, text_file
from programs import DAROPE


def on_terminal(stream, columns, words, cwd):
    """What the program shows on a terminal of so many columns, which is its "stdout" or its "stderr"."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
    job = subprocess.Popen([DAROPE, *words], cwd=cwd, **streams)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    assert job.wait() == 0
    return shown.decode()


def test_the_progress_line_has_the_newest_loss(tmp_path):
    words = task_but("steps=2000")
    words = ["compare", *words, "logging.freq=1", "jobs=1", "--out", "mine"]
    shown = on_terminal("stderr", 200, words, tmp_path)
    told = re.findall(r"parity-nope-s0 loss (\d+\.\d{3})", shown)
    metrics = (tmp_path / "mine/runs/parity-nope-s0/metrics.jsonl").read_text().splitlines()
    assert told and set(told) <= {f"{json.loads(line)['loss/out']:.3f}" for line in metrics}


def test_sentences_are_folded_on_a_terminal_alone(tmp_path):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    plain = done("report", "mine", cwd=tmp_path)
    assert max(map(len, plain.splitlines())) > 80

    def shown(*words):
        return on_terminal("stdout", 60, words, tmp_path).replace("\r\n", "\n")

    narrow = shown("report", "mine")
    assert max(map(len, narrow.splitlines())) <= 60
    assert narrow.split() == plain.split()
    text_file(tmp_path)
    small = ["--encodings", "nope", "--seeds", "1", *SMALL]
    told, head, *plan = shown("compare", "--data", "own.txt", *small, "--dry-run").split("\n\n")
    assert told.startswith("own.txt: ") and max(map(len, told.splitlines())) <= 60 < len(told)
    assert head.startswith("encoding") and max(map(len, plan[0].splitlines())) <= 60


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_the_progress_line_fits(tmp_path, columns):
    """No line is longer than the terminal, so that none wraps."""
    shown = on_terminal("stderr", columns, ["compare", *TASK, "--out", "mine"], tmp_path)
    lines = [each for each in shown.split("\r\033[K") if each.startswith("comparing")]
    assert lines and all(len(each.split("\r\n")[0]) < columns for each in lines)
    assert columns < 40 or any("steps" in each for each in lines)
    assert re.search(r"parity-nope-s0: 4 steps in \d+:\d\d", shown)


def cautions_of(page):
    listed = page.partition("<h3>Before this is read</h3>")[2].partition("</ul>")[0]
    return [html.unescape(each) for each in re.findall("<li>(.*?)</li>", listed, re.S)]


def test_the_terminal_has_every_caution_of_the_page(tmp_path):
    """Above the table; and the same stand in results.json."""
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    printed = done("report", "mine", cwd=tmp_path)
    cautions = cautions_of((tmp_path / "mine" / "report.html").read_text())
    assert json.loads((tmp_path / "mine" / "results.json").read_text())["cautions"] == cautions
    before_the_table = printed[: printed.index("\n1x ")]
    for words in ("holds at this size", "too few logged steps to tell", "kept out"):
        assert any(words in each for each in cautions), (words, cautions)
    for caution in cautions:
        assert f"Note: {caution}\n" in before_the_table


def test_a_run_that_fails_says_why_in_the_terminal(tmp_path):
    (tmp_path / "mine" / "runs").mkdir(parents=True)
    (tmp_path / "mine" / "runs" / "parity-darope-s0").write_text("in the way")
    failed = run("compare", *TASK, "--out", "mine", cwd=tmp_path)
    assert failed.returncode == 1 and "The last lines of mine/jobs/parity-darope-s0.log" in failed.stderr
    assert "  darope: mine/runs/parity-darope-s0 is a file" in failed.stderr
