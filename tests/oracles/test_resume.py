"""`darope train --resume` and `--allow-config-change`: where a run begins, and what may be different when it
goes on; and the keys that a run's logs have.
"""

import json
import math
import shutil
import subprocess

import pytest
import yaml
from programs import DAROPE, ROOT

SETTINGS = [
    "checkpoint.dump.every=4",
    "checkpoint.dump.keep=8",
    "logging.freq=2",
    "threads=1",
    "data.test_examples=4",
    "data.batch_size=8",
]


def train(folder, *more, steps=8):
    """`darope train` with SETTINGS, of which `more` may replace some; options begin with --."""
    settings = dict(each.split("=", 1) for each in [*SETTINGS, *more] if not each.startswith("--"))
    words = [f"{key}={value}" for key, value in settings.items()] + [
        each for each in more if each.startswith("--")
    ]
    return subprocess.run(
        [DAROPE, "train", ROOT / "configs/quick/train.yaml", f"dump_dir={folder}", f"steps={steps}", *words],
        capture_output=True,
        text=True,
    )


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    done = train(folder)
    assert done.returncode == 0, done.stderr
    return folder


def weights(folder):
    return (max((folder / "checkpoints").iterdir()) / "model.safetensors").read_bytes()


@pytest.mark.parametrize("slash", ["", "/"])
def test_begin_from_a_checkpoint_of_another_run(tmp_path, finished, slash):
    checkpoint = sorted((finished / "checkpoints").iterdir())[0]
    done = train(tmp_path / "other", f"--resume={checkpoint}{slash}")
    assert done.returncode == 0 and str(checkpoint) in done.stderr, done.stderr
    assert weights(tmp_path / "other") == weights(finished)
    assert [line["global_step"] for line in lines(tmp_path / "other" / "metrics.jsonl")] == [6, 8]


@pytest.mark.parametrize("path", ["nowhere", "."])
def test_begin_from_what_is_no_checkpoint(tmp_path, path):
    done = train(tmp_path / "run", f"--resume={tmp_path / path}")
    assert done.returncode == 2 and str(tmp_path / path) in done.stderr and done.stderr.count("\n") == 1, (
        done.stderr
    )
    assert not (tmp_path / "run").exists()


def test_the_same_command_goes_on_where_its_beginning_is_gone(tmp_path, finished):
    source = tmp_path / "source"
    shutil.copytree(finished, source)
    checkpoint = sorted((source / "checkpoints").iterdir())[0]
    assert train(tmp_path / "run", f"--resume={checkpoint}").returncode == 0
    shutil.rmtree(source)
    again = train(tmp_path / "run", f"--resume={checkpoint}")
    assert again.returncode == 0 and "finished" in again.stderr, again.stderr
    other = train(tmp_path / "run", f"--resume={sorted((finished / 'checkpoints').iterdir())[0]}")
    assert other.returncode == 2 and "was not begun from" in other.stderr, other.stderr


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


@pytest.mark.parametrize(
    "settings, steps, words",
    [
        (["model.dim=32", "--allow-config-change=model"], 8, "shape"),
        (["--allow-config-change=steps"], 4, "of step 8"),
        (["model.encoding=rope", "--allow-config-change=model"], 8, "encoding"),
    ],
)
def test_a_change_that_does_not_fit_leaves_the_run_as_it_was(tmp_path, finished, settings, steps, words):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    before = contents(folder)
    done = train(folder, *settings, steps=steps)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert contents(folder) == before


def test_settings_may_follow_the_name_of_what_may_change(tmp_path, finished):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    words = ["--allow-config-change", "steps", "steps=10", "--allow-config-change=logging", *SETTINGS]
    config = ROOT / "configs/quick/train.yaml"
    done = subprocess.run([DAROPE, "train", config, *words, f"dump_dir={folder}"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0 and lines(folder / "metrics.jsonl")[-1]["global_step"] == 10, done.stderr


def test_a_run_without_weights_cannot_go_on_otherwise(tmp_path, finished):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    shutil.rmtree(folder / "checkpoints")
    before = contents(folder)
    done = train(folder, "--allow-config-change=steps", steps=12)
    assert done.returncode == 2 and "no checkpoint" in done.stderr, done.stderr
    assert contents(folder) == before


def test_changed_data_is_not_mixed_in(tmp_path):
    text = tmp_path / "text.txt"
    text.write_bytes(bytes(1 + i * i % 251 for i in range(20000)))
    settings = ["data.task=", f"data.path={text}", "data.seq_len=32", "checkpoint.dump.every=1"]
    folder = tmp_path / "run"
    assert train(folder, *settings).returncode == 0
    (folder / "run.json").unlink()
    text.write_bytes(bytes(1 + i * i % 241 for i in range(20000)))
    before = contents(folder)
    done = train(folder, *settings)
    assert done.returncode == 2 and "data are not what they were" in done.stderr, done.stderr
    assert contents(folder) == before


def test_a_run_remembers_what_changed_and_is_not_compared_with_one_that_did_not(tmp_path):
    runs = {name: tmp_path / "runs" / name for name in ("rope", "darope")}
    for name, folder in runs.items():
        assert train(folder, f"model.encoding={name}", "optim.lr=0.002").returncode == 0
    report = [DAROPE, "report", tmp_path, "--out", tmp_path / "report"]
    assert subprocess.run(report, capture_output=True).returncode == 0
    for name, folder in runs.items():
        more = ["optim.lr=0.001", "--allow-config-change=optim.lr"] if name == "darope" else []
        assert (
            train(
                folder,
                f"model.encoding={name}",
                "optim.lr=0.002",
                *more,
                "--allow-config-change=steps",
                steps=12,
            ).returncode
            == 0
        )
    assert (
        "optim.lr was 0.002 and is now 0.001"
        in json.loads((runs["darope"] / "run.json").read_text())["history"]
    )
    assert (
        train(
            runs["rope"],
            "model.encoding=rope",
            "optim.lr=0.001",
            "--allow-config-change=optim.lr",
            "--allow-config-change=steps",
            steps=12,
        ).returncode
        == 0
    )
    refused = subprocess.run(report, capture_output=True, text=True)
    assert refused.returncode == 2 and "configs beyond the encoding differ" in refused.stderr, refused.stderr


def test_settings_that_may_always_change_do_not_hinder_a_comparison(tmp_path):
    for name, settings in (
        ("rope", ["logging.freq=4"]),
        ("darope", ["checkpoint.dump.every=2", "threads=2"]),
    ):
        assert train(tmp_path / "runs" / name, f"model.encoding={name}", *settings).returncode == 0
    done = subprocess.run(
        [DAROPE, "report", tmp_path, "--out", tmp_path / "report"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_dry_run_takes_the_same_options(tmp_path, finished):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    before = contents(folder)
    done = train(folder, "--allow-config-change=steps", "--dry-run", steps=12)
    assert done.returncode == 0 and "12 steps" in done.stdout, done.stderr
    assert contents(folder) == before


def test_a_checkpoint_of_other_settings_is_refused(tmp_path, finished):
    checkpoint = sorted((finished / "checkpoints").iterdir())[0]
    done = train(tmp_path / "run", f"--resume={checkpoint}", "optim.lr=1e-5")
    assert done.returncode == 2 and "optim.lr" in done.stderr, done.stderr
    done = train(
        tmp_path / "run", f"--resume={checkpoint}", "optim.lr=1e-5", "--allow-config-change=optim.lr"
    )
    assert done.returncode == 0, done.stderr
    assert weights(tmp_path / "run") != weights(finished)


@pytest.mark.parametrize("allowed", ["steps", "data"])
def test_a_change_needs_leave(tmp_path, finished, allowed):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    refused = train(folder, steps=12)
    assert (
        refused.returncode == 2
        and "steps was 8 and is now 12" in refused.stderr
        and "--allow-config-change" in refused.stderr
    )
    again = train(folder, f"--allow-config-change={allowed}", steps=12)
    if allowed == "data":
        assert again.returncode == 2 and "steps was 8" in again.stderr
        return
    assert again.returncode == 0, again.stderr
    assert lines(folder / "metrics.jsonl")[-1]["global_step"] == 12
    assert json.loads((folder / "run.json").read_text())["steps"] == 12
    assert yaml.safe_load((folder / "config.yaml").read_text())["steps"] == 12


def test_leave_for_an_unknown_setting(tmp_path):
    done = train(tmp_path / "run", "--allow-config-change=optim.lrr")
    assert (
        done.returncode == 2
        and "optim.lrr" in done.stderr
        and "optim.lr" in done.stderr.replace("optim.lrr", "")
    ), done.stderr


def test_print_config_is_the_stored_one(tmp_path, finished):
    printed = train(tmp_path / "elsewhere", "--print-config")
    stored = yaml.safe_load((finished / "config.yaml").read_text())
    assert {**yaml.safe_load(printed.stdout), "dump_dir": ""} == {**stored, "dump_dir": ""}
    assert not (tmp_path / "elsewhere").exists()


def test_keys_of_the_metrics(finished):
    config = yaml.safe_load((finished / "config.yaml").read_text())["model"]
    facts = json.loads((finished / "run.json").read_text())
    for line in lines(finished / "metrics.jsonl"):
        # Lingua's count: products with weights outside the embedding, and attention over a causal half
        length = line["optim/total_tokens"] // line["global_step"] // 8
        per_token = (
            6 * (facts["parameters"] - config["vocab_size"] * config["dim"])
            + 3.5 * 4 * config["n_layers"] * length * config["dim"] / 2
        )
        assert math.isclose(line["speed/FLOPS"], line["speed/wps"] * per_token, rel_tol=1e-6)
        assert 0 <= line["speed/data_load_time"] < line["speed/curr_iter_time"]
        assert 0 < line["memory/max_reserved_gib"] < 24
        for layer in range(config["n_layers"]):
            alpha, coordinate = f"pe/alpha.layer{layer}", f"pe/coordinate.layer{layer}"
            assert line[alpha + ".min"] <= line[alpha + ".mean"] <= line[alpha + ".max"]
            assert 0 < line[coordinate + ".entropy"] <= 1 and 0 <= line[coordinate + ".saturated"] <= 1


def test_the_whole_test_part_of_the_data_counts(tmp_path):
    text = tmp_path / "text.txt"
    text.write_bytes(bytes(1 + i * i % 251 for i in range(20000)))
    settings = ["data.task=", f"data.path={text}", "data.seq_len=32", "data.test_examples=40"]
    folder = tmp_path / "run"
    assert train(folder, *settings).returncode == 0
    text.write_bytes(text.read_bytes()[:-200] + b"x" * 200)
    for more in ([], ["optim.lr=0.001", "--allow-config-change=optim.lr"]):
        again = train(folder, *settings, *more)
        assert again.returncode == 2 and "data are not what they were" in again.stderr, again.stderr
    scored = subprocess.run([DAROPE, "eval", folder], capture_output=True, text=True)
    assert scored.returncode == 0 and "WARNING: the data are not what they were" in scored.stderr, (
        scored.stderr
    )


def test_a_comparison_notices_changed_data(tmp_path):
    text = tmp_path / "text.txt"
    text.write_bytes(bytes(1 + i * i % 251 for i in range(20000)))
    compare = [
        DAROPE,
        "compare",
        "--data",
        text,
        "--out",
        tmp_path / "out",
        "--encodings",
        "nope,rope",
        "--seeds",
        "1",
        "steps=3",
        "threads=1",
    ]
    assert subprocess.run(compare, capture_output=True).returncode == 0
    text.write_bytes(bytes(1 + i * i % 241 for i in range(20000)))
    again = subprocess.run(compare, capture_output=True, text=True)
    assert (
        again.returncode == 2 and "data are not what they were" in again.stderr and "--out" in again.stderr
    ), again.stderr


def test_scores_stand_at_the_end(finished):
    shown = train(finished).stdout
    values = [
        line["value"]
        for line in lines(finished / "results.jsonl")
        if line["metric"] == "token_accuracy" and line["x"] == 1
    ]
    row = next(line.split() for line in shown.splitlines() if line.split()[:2] == ["1x", "token_accuracy"])
    assert math.isclose(float(row[2]), sum(values) / len(values), abs_tol=5e-5) and int(row[4]) == len(values)
