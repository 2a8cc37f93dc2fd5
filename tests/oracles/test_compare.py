"""darope compare from the outside: files of one's own, plans, scores, and a page that a stranger repeats."""

import html
import json
import re
import shlex

import numpy
import pytest
from commands import QUICK, SMALL, TASK, done, run, text_file


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
    called = name.removesuffix(".txt")
    assert printed.rstrip().endswith(f"runs/{called}/report.html") and "these trained models alone" in printed
    results = json.loads((tmp_path / "runs" / called / "results.json").read_text())
    assert results["encodings"] == ["rope", "darope"] and [d["name"] for d in results["datasets"]] == [called]
    assert results["datasets"][0]["metric"] == "nll" and results["lengths"][0] == 1
    assert "Test loss" in (tmp_path / "runs" / called / "report.html").read_text()


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
    assert darope.startswith("darope") and total.startswith("1 run, 0 of them finished.")


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


def test_scores_that_are_not_finite_are_a_diverged_run(tmp_path):
    text_file(tmp_path)
    model = ["model.dim=32", "model.n_layers=1", "model.n_heads=1", "data.test_examples=8"]
    wild = ["steps=1", "optim.lr=1e10", "optim.warmup=0", "optim.weight_decay=0"]
    words = ["--encodings", "nope,sinusoidal", "--seeds", "1", "threads=1", *model, *wild]
    printed = done("compare", "--data", "own.txt", "--out", "wild", *words, cwd=tmp_path)
    facts = [json.loads(file.read_text()) for file in (tmp_path / "wild").glob("runs/*/run.json")]
    assert "diverged" in [each["status"] for each in facts] and "diverged on own" in printed, printed
    for file in (tmp_path / "wild").glob("runs/*/run.json"):
        if json.loads(file.read_text())["status"] == "diverged":
            assert not (file.parent / "results.jsonl").exists()
            said = run("eval", file.parent, cwd=tmp_path)
            assert said.returncode == 4 and "are not finite" in said.stderr, said.stderr
    done("report", "wild", cwd=tmp_path)


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


def test_one_seed_says_so_in_the_terminal(tmp_path):
    text_file(tmp_path)
    rest = ["--data", "own.txt", "--encodings", "nope,rope", *SMALL]
    assert "With one seed, what is said is about these trained models alone" in done(
        "compare", *rest, "--seeds", "1", cwd=tmp_path
    )
    assert "With one seed" not in done("compare", *rest, "--seeds", "2", cwd=tmp_path)


def test_the_page_has_the_command_that_made_the_runs(tmp_path):
    done("compare", *TASK, "--out", "my runs", cwd=tmp_path)
    done("report", "my runs", cwd=tmp_path)
    head = (tmp_path / "my runs" / "report.html").read_text().partition("</header>")[0]
    command = html.unescape(re.search(r"<dt>command</dt><dd><code>(.*?)</code>", head)[1])
    assert shlex.split(command) == ["darope", "compare", *TASK, "--out", "my runs"]
    done(*shlex.split(command)[1:], cwd=tmp_path)


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
