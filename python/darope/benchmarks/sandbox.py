"""Runs programs that a model wrote, in a process with few rights, little time and little memory.

This keeps accidents in: endless loops, memory without end, files outside a scratch folder's reach by their
relative names. It is no wall against a program written to attack: run what you do not trust in a container.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["passes"]

SECONDS = 3
MEMORY = 1 << 30
FILE_SIZE = 1 << 20


def limit() -> None:
    for what, most in [
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_CORE, 0),
    ]:
        resource.setrlimit(what, (most, most))


def passes(program: str) -> bool:
    """Whether its last line is reached, in time and without an error; leaving early is no success."""
    with tempfile.TemporaryDirectory() as scratch:
        last_line = "\nopen('reached', 'x').close()\n"
        started = subprocess.Popen(
            [sys.executable, "-I", "-"],
            cwd=scratch,
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=limit,
            start_new_session=True,
        )
        try:
            started.communicate((program + last_line).encode(errors="replace"), timeout=4 * SECONDS)
        except subprocess.TimeoutExpired:
            return False
        finally:
            end_group(started)
        return (Path(scratch) / "reached").exists()


def end_group(leader: subprocess.Popen) -> None:
    """Also what it has started and left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)
    leader.wait()
