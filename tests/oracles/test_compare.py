"""darope compare and report from the outside: files of one's own, plans, shards, bundles, and everything
that is refused.
"""

import html
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time

import numpy
import pytest
import zstandard

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("DAROPE_BINARY", ROOT / "build" / "darope"))
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
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=cwd
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


def ids_file(folder, name):
    ids = numpy.random.default_rng(1).integers(0, 50, 9000).astype("uint16")
    ids.tofile(folder / name) if name.endswith(".bin") else numpy.save(folder / name, ids)


def documents_file(folder, name):
    (folder / name).write_text(
        "".join(json.dumps({"text": f"document {i} says {i * 7 % 13}. " * 20}) + "\n" for i in range(40))
    )


@pytest.mark.parametrize(
    "name, write",
    [("own.txt", text_file), ("own.jsonl", documents_file), ("own.bin", ids_file), ("own.npy", ids_file)],
)
def test_a_file_of_ones_own(tmp_path, name, write):
    write(tmp_path, name)
    printed = done(
        "compare", "--data", name, "--encodings", "rope,darope", "--seeds", "1", *SMALL, cwd=tmp_path
    )
    assert printed.rstrip().endswith("runs/own/report.html") and "these trained models alone" in printed
    results = json.loads((tmp_path / "runs" / "own" / "results.json").read_text())
    assert results["encodings"] == ["rope", "darope"] and [d["name"] for d in results["datasets"]] == ["own"]
    assert results["datasets"][0]["metric"] == "nll" and results["lengths"][0] == 1
    assert "Test loss" in (tmp_path / "runs" / "own" / "report.html").read_text()


def test_the_model_fits_the_file(tmp_path):
    text_file(tmp_path)
    small = done("compare", "--data", "own.txt", "--print-config", cwd=tmp_path)
    (tmp_path / "large.txt").write_text((tmp_path / "own.txt").read_text() * 100)
    large = done("compare", "--data", "large.txt", "--print-config", cwd=tmp_path)
    settings = [
        dict(line.strip().split(": ", 1) for line in text.splitlines() if ": " in line)
        for text in (small, large)
    ]
    assert int(settings[0]["dim"]) < int(settings[1]["dim"]) and int(settings[0]["seq_len"]) < int(
        settings[1]["seq_len"]
    )
    assert "steps: 7" in done(
        "compare", "--data", "own.txt", "steps=7", "--print-config", cwd=tmp_path
    )  # the command line wins


def test_a_config_on_a_file_of_ones_own(tmp_path):
    text_file(tmp_path)
    config = done("compare", QUICK, "--data", "own.txt", "--print-config", cwd=tmp_path)
    assert "path: own.txt" in config and "tasks: []" in config and "steps: 900" in config


def test_dry_run_says_what_it_would_cost_and_keeps_nothing(tmp_path):
    printed = done("compare", *TASK, "--dry-run", cwd=tmp_path)
    header, nope, darope, empty, total = printed.splitlines()
    assert header.split() == ["encoding", "parameters", "a", "step", "a", "run", "memory", "disk"]
    assert nope.startswith("nope") and darope.startswith("darope") and "ms" in nope and "MB" in darope
    assert total.startswith("2 runs, 0 of them finished.") and "of memory" in total and "of disk" in total
    assert list(tmp_path.iterdir()) == []


def test_dry_run_of_a_share_times_that_share_alone(tmp_path):
    header, darope, empty, total = done(
        "compare", *TASK, "--shard", "1/2", "--dry-run", cwd=tmp_path
    ).splitlines()
    assert darope.startswith("darope") and total.startswith("1 runs, 0 of them finished.")


def test_shards_and_bundles_make_one_comparison(tmp_path):
    for i in range(2):
        printed = done(
            "compare",
            *TASK,
            "--out",
            f"shard{i}",
            "--shard",
            f"{i}/2",
            "--bundle",
            f"{i}.tar.zst",
            cwd=tmp_path,
        )
        assert (
            "1 of 2 runs are still missing" in printed
            and not (tmp_path / f"shard{i}" / "report.html").exists()
        )
    done("report", "0.tar.zst", "1.tar.zst", "--out", "whole", cwd=tmp_path)
    whole = json.loads((tmp_path / "whole" / "results.json").read_text())
    assert sorted(run["encoding"] for run in whole["runs"]) == ["darope", "nope"]
    plan = done("compare", *TASK, "--out", "again", "--from", "0.tar.zst", "--dry-run", cwd=tmp_path)
    assert "2 runs, 1 of them finished." in plan and not (tmp_path / "again").exists()
    done("compare", *TASK, "--out", "again", "--from", "0.tar.zst", "--from", "1.tar.zst", cwd=tmp_path)
    again = json.loads((tmp_path / "again" / "results.json").read_text())
    assert again["datasets"] == whole["datasets"]
    assert [run["seconds"] for run in again["runs"]] == [
        run["seconds"] for run in sorted(whole["runs"], key=lambda r: r["encoding"])
    ]


def stopped(*arguments, cwd, name="SIGTERM", after=lambda: True):
    """The exit code of a comparison that was sent a signal as soon as its first run is a process and
    `after` holds.
    """
    child = subprocess.Popen(
        [PROGRAM, *map(str, arguments), "device=cpu"],
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


def test_a_bundle_to_write_is_looked_at_first(tmp_path):
    done("compare", *TASK, "--out", "mine", "--bundle", "b.tar.zst", cwd=tmp_path)
    again = ["--out", "other", "--bundle", "b.tar.zst"]
    assert (
        "b.tar.zst belongs to another comparison (of parity-darope-s0, steps was 4 and is now 5)"
        in refused("compare", *task_but("steps=5"), *again, cwd=tmp_path)
    )
    assert "take its runs with --from b.tar.zst" in refused("compare", *TASK, *again, cwd=tmp_path)
    assert "cannot write nowhere/b.tar.zst: there is no folder nowhere" in refused(
        "compare", *TASK, "--out", "other", "--bundle", "nowhere/b.tar.zst", cwd=tmp_path
    )
    done("compare", *TASK, *again, "--from", "b.tar.zst", cwd=tmp_path)


@pytest.mark.parametrize("facts", ["[]", '"x"', '{"a": 1}', '{"schema": 99}'])
def test_a_bundle_no_report_can_read_is_not_taken(tmp_path, facts):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    next(tmp_path.glob("mine/runs/*nope*/run.json")).write_text(facts)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in sorted(tmp_path.glob("mine/runs/*/*")):
            if file.name in ("config.yaml", "metrics.jsonl", "results.jsonl", "run.json"):
                archive.add(file, file.relative_to(tmp_path / "mine"))
    (tmp_path / "b.tar.zst").write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
    assert "run.json" in refused("compare", *TASK, "--out", "other", "--from", "b.tar.zst", cwd=tmp_path)


def test_tasks_are_scored_in_every_way(tmp_path):
    done("compare", *TASK, "--out", "one", cwd=tmp_path)
    lines = [
        json.loads(line)
        for line in (tmp_path / "one" / "runs" / "parity-nope-s0" / "results.jsonl").read_text().splitlines()
    ]
    counts = {(line["metric"], line["x"]) for line in lines}
    assert counts == {
        (metric, x) for metric in ("token_accuracy", "exact_match", "free_running") for x in (1, 2, 8)
    }
    assert sum(line["metric"] == "free_running" for line in lines) == 3 * 4 and {
        line["tokens"] for line in lines
    } == {1}


def test_a_diverged_run_is_shown_as_such(tmp_path):
    printed = done("compare", *TASK, "--out", "wild", "optim.lr=1e30", "optim.warmup=0", cwd=tmp_path)
    assert "darope diverged on parity with seed 0" in printed
    assert "diverged" in (tmp_path / "wild" / "report.html").read_text()
    again = run(
        "train",
        tmp_path / "wild" / "runs" / "parity-darope-s0" / "config.yaml",
        "dump_dir=again",
        cwd=tmp_path,
    )
    assert again.returncode == 4


BAD = {
    "an unknown encoding": ([QUICK, "--encodings", "nope,ropee"], ["ropee", "did you mean 'rope'?"]),
    "an unknown task": ([*TASK[:-2], "tasks=parrity"], ["parrity", "did you mean 'parity'?"]),
    "an encoding twice": ([QUICK, "--encodings", "rope,rope"], ["'rope' twice"]),
    "no seeds": ([QUICK, "--seeds", "0"], ["seeds is 0", "at least 1"]),
    "fewer than no seeds": ([QUICK, "--seeds=-1"], ["seeds is -1"]),
    "a vocabulary that does not fit": ([*TASK, "model.vocab_size=10"], ["model.vocab_size is 10", "255"]),
    "a file too small for a test": (
        ["--data", "tiny.txt"],
        ["tiny.txt", "200 tokens", "too few for a test set", "longer file"],
    ),
    "an empty file": (["--data", "empty.txt"], ["empty.txt is empty"]),
    "a file that is not there": (["--data", "nowhere.txt"], ["nowhere.txt", "no such file"]),
    "a picture named as text": (["--data", "picture.txt"], ["picture.txt is no plain text: byte 8 is zero"]),
    "a folder": (["--data", "folder"], ["folder is a folder, not a file"]),
    "no encodings": ([QUICK, "--encodings", ""], ["encodings is empty"]),
    "a file of no known kind": (["--data", "own.csv"], ["own.csv", ".jsonl"]),
    "a data file for a config": (["tiny.txt"], ["tiny.txt is no config", "darope compare --data tiny.txt"]),
    "a far-off encoding": (
        [QUICK, "--encodings", "absolute"],
        ["unknown encoding 'absolute'. Known: nope, nope-window, rope"],
    ),
    "no config and no data": ([], ["CONFIG", "--data"]),
    "a shard beyond the last": ([*TASK, "--shard", "2/2"], ["--shard 2/2", "0 to N - 1"]),
    "a shard in words": ([*TASK, "--shard", "first"], ["--shard first", "i/N"]),
    "a bundle that is not there": ([*TASK, "--from", "nowhere.tar.zst"], ["nowhere.tar.zst", "no such file"]),
    "a bundle that is none": ([*TASK, "--from", "tiny.txt"], ["tiny.txt", "no bundle"]),
    "a setting of no likeness": ([*TASK, "optim.zz=3"], ["'optim.zz'", "Known: optim.lr"]),
    "a setting nobody knows": ([*TASK, "model.dmi=3"], ["model.dmi", "did you mean 'model.dim'?"]),
}


@pytest.mark.parametrize("arguments, words", BAD.values(), ids=BAD)
def test_bad_input(tmp_path, arguments, words):
    (tmp_path / "tiny.txt").write_text("x" * 200)
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "own.csv").write_text("1,2\n" * 1000)
    (tmp_path / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 1000)
    (tmp_path / "folder").mkdir()
    sentence = refused("compare", *arguments, *(["--out", "out"] if arguments else []), cwd=tmp_path)
    for word in words:
        assert word in sentence


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "mine").write_text("of somebody's")
    assert "mine is a file where a folder is needed" in refused(
        "compare", *TASK, "--out", "mine", cwd=tmp_path
    )


def test_a_report_that_cannot_be_whole_is_not_written(tmp_path):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    assert "cannot write nowhere/x.csv: there is no folder nowhere" in refused(
        "report", "mine", "--reference", "nope", "--csv", "nowhere/x.csv", "--out", "again", cwd=tmp_path
    )


def test_another_file_is_another_comparison(tmp_path):
    text_file(tmp_path, "a.txt"), text_file(tmp_path, "b.txt")
    rest = ["--out", "mine", "--encodings", "nope", "--seeds", "1", *SMALL]
    done("compare", "--data", "a.txt", *rest, cwd=tmp_path)
    done("compare", "--data", "./a.txt", *rest, cwd=tmp_path)  # the same file, spelled otherwise
    assert "mine belongs to another comparison: it holds runs on a, this one is on b" in refused(
        "compare", "--data", "b.txt", *rest, cwd=tmp_path
    )


def test_a_file_that_changed_is_another_comparison(tmp_path):
    text_file(tmp_path, "a.txt")
    rest = ["--data", "a.txt", "--seeds", "1", *SMALL]
    done("compare", *rest, "--out", "mine", "--encodings", "nope", "--bundle", "nope.tar.zst", cwd=tmp_path)
    (tmp_path / "a.txt").write_text((tmp_path / "a.txt").read_text()[::-1])
    for arguments in (["--out", "mine"], ["--out", "other", "--from", "nope.tar.zst"]):
        assert "the data are not what they were" in refused(
            "compare", *rest, *arguments, "--encodings", "nope,rope", cwd=tmp_path
        )
    assert "the data are not what they were" in refused(
        "compare", *rest, "--out", "mine", "--encodings", "rope", cwd=tmp_path
    )
    assert [run.name for run in (tmp_path / "mine" / "runs").iterdir()] == ["a-nope-s0"] and not (
        tmp_path / "other"
    ).exists()


def test_a_small_change_in_a_large_file_is_seen(tmp_path):
    """Not only where batches were looked at."""
    (tmp_path / "a.txt").write_text(
        "".join(f"{i} and {i * i % 97} make {i + i * i % 97}.\n" for i in range(20000))
    )
    rest = ["--data", "a.txt", "--seeds", "1", *SMALL]
    done("compare", *rest, "--encodings", "nope", cwd=tmp_path)
    text = (tmp_path / "a.txt").read_text()
    (tmp_path / "a.txt").write_text(text[:150_000] + "x" + text[150_001:])
    assert "the data are not what they were" in refused(
        "compare", *rest, "--encodings", "nope,rope", cwd=tmp_path
    )


def test_a_dry_run_survives_a_folder_it_cannot_read(tmp_path):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    (tmp_path / "mine" / "runs" / "parity-nope-s0" / "config.yaml").write_text("steps: [")
    plan = done("compare", *TASK, "--out", "mine", "--dry-run", cwd=tmp_path).splitlines()
    assert (
        plan[-2].startswith("2 runs, 1 of them finished.")
        and "would be refused" in plan[-1]
        and "config.yaml" in plan[-1]
    )


def test_more_seeds_encodings_and_tasks_join_a_folder(tmp_path):
    small = [QUICK, *SMALL, "data.free_running=0", "--out", "mine"]
    done("compare", *small, "tasks=parity", "--encodings", "nope", "--seeds", "1", cwd=tmp_path)
    first = (tmp_path / "mine" / "runs" / "parity-nope-s0" / "run.json").stat().st_mtime_ns
    done("compare", *small, "tasks=parity", "--encodings", "rope", "--seeds", "2", cwd=tmp_path)
    done("compare", *small, "tasks=parity,even_pairs", "--encodings", "nope", "--seeds", "1", cwd=tmp_path)
    done("compare", *small, "tasks=even_pairs", "--encodings", "nope", "--seeds", "2", cwd=tmp_path)
    results = json.loads((tmp_path / "mine" / "results.json").read_text())
    assert (
        results["encodings"] == ["nope", "rope"]
        and results["seeds"] == [0, 1]
        and len(results["datasets"]) == 2
    )
    assert (tmp_path / "mine" / "runs" / "parity-nope-s0" / "run.json").stat().st_mtime_ns == first


def test_a_dry_run_says_what_would_be_refused(tmp_path):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    before = sorted(tmp_path.rglob("*"))
    plan = done("compare", *task_but("steps=8"), "--out", "mine", "--dry-run", cwd=tmp_path).splitlines()
    assert (
        plan[-2].startswith("2 runs, 0 of them finished.")
        and "steps was 4 and is now 8" in plan[-1]
        and "would be refused" in plan[-1]
    )
    assert (
        done("compare", *TASK, "--out", "mine", "--dry-run", cwd=tmp_path)
        .splitlines()[-1]
        .startswith("2 runs, 2 of them finished.")
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_one_seed_says_so_in_the_terminal(tmp_path):
    text_file(tmp_path)
    rest = ["--data", "own.txt", "--encodings", "nope,rope", *SMALL]
    assert "With one seed, what is said is about these trained models alone" in done(
        "compare", *rest, "--seeds", "1", cwd=tmp_path
    )
    assert "With one seed" not in done("compare", *rest, "--seeds", "2", cwd=tmp_path)


def test_a_comparison_where_one_run_is_asked_for(tmp_path):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    for verb in (["eval"], ["generate", "--prompt", "x"], ["ckpt", "list"]):
        for folder in ("mine", "mine/runs"):
            assert (
                f"{folder} holds 2 runs: give one of them, such as mine/runs/parity-darope-s0 or "
                "mine/runs/parity-nope-s0" in refused(*verb, folder, cwd=tmp_path)
            )
    assert "there is no run nowhere" in refused("eval", "nowhere", cwd=tmp_path)
    (tmp_path / "empty").mkdir()
    assert "not a run's folder" in refused("eval", "empty", cwd=tmp_path)


def test_an_encoding_that_the_weights_do_not_fit(tmp_path):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    for other in ("yarn", "cope"):
        sentence = refused("eval", "mine/runs/parity-darope-s0", "--encoding", other, cwd=tmp_path)
        assert (
            f"--encoding {other} does not fit the weights of mine/runs/parity-darope-s0, trained with darope"
            in sentence
        )
        assert "(nope, nope-window, rope, hope, yarn, alibi)" in sentence
    assert "does not fit" in refused("eval", "mine/runs/parity-nope-s0", "--encoding", "darope", cwd=tmp_path)
    done("eval", "mine/runs/parity-darope-s0", "--encoding", "darope:base=50", cwd=tmp_path)
    done("eval", "mine/runs/parity-nope-s0", "--encoding", "yarn:factor=2", cwd=tmp_path)


def test_a_stranger_trains_a_run_again_from_the_page_alone(tmp_path):
    """The page's config and command, in a folder with nothing but the file that was compared on."""
    (tmp_path / "author").mkdir(), (tmp_path / "stranger").mkdir()
    text_file(tmp_path / "author")
    done(
        "compare",
        "--data",
        tmp_path / "author" / "own.txt",
        "--encodings",
        "nope,rope:base=50",
        "--seeds",
        "2",
        "--out",
        "mine",
        *SMALL,
        cwd=tmp_path / "author",
    )
    page = (tmp_path / "author" / "mine" / "report.html").read_text()
    (tmp_path / "stranger" / "own.yaml").write_text(
        html.unescape(re.search(r"<pre>(.*?)</pre>", page, re.S)[1])
    )
    text_file(tmp_path / "stranger")
    commands = [html.unescape(each) for each in re.findall(r"<code class='command'>(.*?)</code>", page)]
    (command,) = [each for each in commands if "model.encoding=rope:base=50" in each and "seed=1" in each]
    assert len(commands) == 4 and str(tmp_path) not in "".join(commands)
    program, *arguments = shlex.split(command)
    assert program == "darope"
    done(*arguments, cwd=tmp_path / "stranger")
    runs = tmp_path / "author" / "mine" / "runs" / "own-rope_base_50-s1", tmp_path / "stranger" / "again"
    facts = [json.loads((run / "run.json").read_text()) for run in runs]
    for key in ("encoding", "seed", "shared_init", "data_order", "tokens"):
        assert facts[0][key] == facts[1][key]
    assert (runs[0] / "results.jsonl").read_text() == (runs[1] / "results.jsonl").read_text()


def test_a_folder_of_another_comparison_is_left_alone(tmp_path):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    sentence = refused("compare", *TASK, "--out", "mine", "optim.lr=0.5", cwd=tmp_path)
    assert "mine belongs to another comparison" in sentence and "optim.lr" in sentence and "--out" in sentence
    for other in (
        ("tasks=even_pairs", "steps=5"),
        ("steps=5", "seed=5"),
    ):  # runs of names that are not there yet
        assert "mine belongs to another comparison" in refused(
            "compare", *task_but(*other), "--out", "mine", cwd=tmp_path
        )
    assert "did you mean 'darope'" in refused("report", "mine", "--reference", "drope", cwd=tmp_path)
    assert "holds no comparison" in refused("report", ".", cwd=tmp_path)
    assert "--out DIR" in refused("report", "mine/report.html", cwd=tmp_path)


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
    command = [sys.executable, "-c", ignoring, PROGRAM, "compare", *TASK]
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
        [PROGRAM, *long], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=tmp_path
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
