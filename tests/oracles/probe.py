"""Runs the format_probe binary of a build (DAROPE_BUILD, or build/ in the repository)."""

import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ.get("DAROPE_BUILD", pathlib.Path(__file__).parents[2] / "build"))


def probe(*words):
    """What it printed; AssertionError with its complaint if it refused."""
    done = subprocess.run([BUILD / "format_probe", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(*words):
    """The one sentence with which it refused."""
    done = subprocess.run([BUILD / "format_probe", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, (done.returncode, done.stderr)
    return done.stderr.strip()
