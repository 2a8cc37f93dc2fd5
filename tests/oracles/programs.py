"""The programs of a build: DAROPE_BUILD, or build/ in the repository."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DAROPE_BUILD", ROOT / "build"))
DAROPE = pathlib.Path(os.environ.get("DAROPE_BINARY", BUILD / "darope"))


def run_probe(name, *words, **how):
    return subprocess.run([BUILD / name, *map(str, words)], capture_output=True, timeout=600, **how)


def probe(name, *words, text=True, **how):
    """What it printed; AssertionError with its complaint if it refused."""
    done = run_probe(name, *words, text=text, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(name, *words):
    """The one sentence with which it refused."""
    done = run_probe(name, *words, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, (done.returncode, done.stderr)
    return done.stderr.strip()
