"""What `darope train` says of memory: before it begins, and where there is not enough."""

import re
import resource
import subprocess

from commands import done, run
from programs import DAROPE, ROOT

SETTINGS = [ROOT / "configs" / "quick" / "train.yaml", "device=cpu", "threads=1", "steps=2", "dump_dir=run"]
SETTINGS += ["data.test_examples=4", "data.free_running=0"]
ENOUGH = "darope: there is not enough memory for this training: try "
LARGE = ["model.dim=16384", "model.n_heads=128", "model.n_layers=96"]  # terabytes of weights
CHANGES = "try data.batch_size=10000 grad_acc_steps=2 (steps of as many sequences), or recompute=full, or "


def test_it_is_said_before_the_start(tmp_path):
    said = run("train", *SETTINGS, cwd=tmp_path)
    assert said.returncode == 0
    first = said.stderr.splitlines()[0]
    assert re.fullmatch(r"memory: about [1-9]\d* MiB \(.* of activations\), .* GiB are free", first), first


def test_what_cannot_fit_is_not_begun(tmp_path):
    asked = run("train", *SETTINGS, "data.batch_size=20000", *LARGE, cwd=tmp_path)
    assert asked.returncode == 1 and asked.stdout == ""
    (sentence,) = asked.stderr.splitlines()
    assert (
        sentence.startswith("darope: there is not enough memory for this training: it takes about ")
        and CHANGES in sentence
    )
    assert not (tmp_path / "run" / "checkpoints").exists()
    again = run("train", *SETTINGS, "data.batch_size=20000", *LARGE, "recompute=full", cwd=tmp_path)
    assert again.returncode == 1 and "recompute=full" not in again.stderr


def test_memory_that_runs_out_is_a_sentence(tmp_path):
    """A limit that the system does not tell: room for the program, and not for the batch."""

    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (3 << 29, 3 << 29))

    def sentences(*settings):
        words = map(str, [*SETTINGS[:-3], "data.test_examples=4", "data.free_running=0", *settings])
        asked = subprocess.run(
            [DAROPE, "train", *words], capture_output=True, text=True, cwd=tmp_path, preexec_fn=limit
        )
        assert asked.returncode == 1, asked.stderr
        return asked.stderr.splitlines()

    *_, last = sentences("dump_dir=run", "data.batch_size=1000", "data.seq_len=128", "model.dim=256")
    assert last.startswith(f"{ENOUGH}data.batch_size=500 "), last
    # Activations that are not there, and weights that are: it warns, and begins.
    _, warning, *_, last = sentences(
        "data.batch_size=100000", "model.dim=512", "model.n_layers=16", "dump_dir=other"
    )
    assert warning.startswith("there may be too little memory for this training: it takes about "), warning
    assert last.startswith(f"{ENOUGH}data.batch_size=50000 "), last


def test_less_is_taken_where_blocks_are_computed_again(tmp_path):
    """And it is no other run: one goes on as the other."""
    done("train", *SETTINGS, "model.dropout=0.1", cwd=tmp_path)
    more = run("train", *SETTINGS, "model.dropout=0.1", "recompute=full", cwd=tmp_path)
    assert more.returncode == 0 and "finished already" in more.stderr
    wrong = run("train", *SETTINGS, "recompute=some", cwd=tmp_path)
    assert wrong.returncode == 2 and "recompute" in wrong.stderr and "none, full" in wrong.stderr
