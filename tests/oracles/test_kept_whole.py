"""What a run, a dataset or a bundle holds is what was written, or it is refused with a sentence; and what a
command has to say reaches somebody, or it fails.
"""

import json
import os
import shutil
import signal
import subprocess
import time

import psutil
import pytest
from commands import TASK, done, task_but
from programs import DAROPE, ROOT
from trainings import TRAIN, darope, train, until_it_steps


def other_digit(text):
    at = max(i for i, c in enumerate(text) if c.isdigit())
    return text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]


@pytest.mark.parametrize(
    "file",
    ["results.jsonl", "metrics.jsonl", "config.yaml", "manifest.json", "base_config.yaml", "config.json"],
)
def test_one_digit_changed_in_any_file_of_a_run_is_noticed(comparison, tmp_path, file):
    shutil.copytree(comparison / "mine", tmp_path / "mine")
    changed = sorted((tmp_path / "mine" / "runs").iterdir())[0] / file
    changed.write_text(other_digit(changed.read_text()))
    report = darope("report", "mine", "--out", "out", cwd=tmp_path)
    assert report.returncode == 3 and report.stderr.count("\n") == 1, report.stderr
    assert f"{changed.parent.name}: {file} is not what the run wrote" in report.stderr
    if file != "config.yaml":  # there the setting itself is named
        again = darope("compare", *TASK, "--out", "mine", cwd=tmp_path)
        assert again.returncode == 3 and file in again.stderr, again.stderr


@pytest.mark.parametrize("key", ["dataset", "encoding", "seed", "tokens", "metrics", "commit", "files"])
def test_any_fact_of_a_run_is_bound(comparison, tmp_path, key):
    shutil.copytree(comparison / "mine", tmp_path / "mine")
    file = sorted((tmp_path / "mine" / "runs").iterdir())[0] / "run.json"
    facts = json.loads(file.read_text())
    if key == "metrics":
        facts[key][0]["chance"] = 0.25
    elif key == "files":
        facts[key].popitem()
    else:
        facts[key] = facts[key] + 1 if isinstance(facts[key], int) else facts[key] + "x"
    file.write_text(json.dumps(facts))
    report = darope("report", "mine", "--out", "out", cwd=tmp_path)
    assert report.returncode == 3 and "run.json is not what was written" in report.stderr, report.stderr
    del facts["sha256"]
    file.write_text(json.dumps(facts))
    assert darope("report", "mine", "--out", "out", cwd=tmp_path).returncode == 3


def test_runs_taken_from_a_bundle_and_packed_again_are_still_bound(comparison, tmp_path):
    shutil.copy(comparison / "b.tar.zst", tmp_path)
    done("compare", *TASK, "--out", "taken", "--from", "b.tar.zst", "--bundle", "c.tar.zst", cwd=tmp_path)
    done("report", "c.tar.zst", "--out", "again", cwd=tmp_path)
    results = next((tmp_path / "taken" / "runs").iterdir()) / "results.jsonl"
    results.write_text(other_digit(results.read_text()))
    assert darope("report", "taken", cwd=tmp_path).returncode == 3


def test_sound_checkpoints_without_complete_are_gone_on_from(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    for file in folder.glob("checkpoints/*/COMPLETE"):
        file.unlink()
    longer = train(folder, "--allow-config-change=steps", steps=12)
    assert longer.returncode == 0 and "resuming from" in longer.stderr and "0000000008" in longer.stderr


def test_a_lengthening_that_took_no_step_leaves_no_history(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / "history.txt").write_text("at step 8: steps was 8 and is now 12\n")  # as a killed one leaves it
    again = train(
        folder, "optim.lr=0.001", "--allow-config-change=optim.lr", "--allow-config-change=steps", steps=12
    )
    assert again.returncode == 0, again.stderr
    history = (folder / "history.txt").read_text()
    assert history.count("\n") == 1 and history.startswith("at step 8: ")
    assert "steps was 8 and is now 12" in history and "optim.lr was" in history, history


def test_files_of_others_in_a_run_are_not_its_own(tmp_path):
    """Logs of schedulers and shells lie there too, and go on after the end."""
    folder = tmp_path / "runs" / "run"
    folder.mkdir(parents=True)
    (folder / "out.txt").write_text("begun\n")
    done = darope(
        "train", ROOT / "configs/quick/train.yaml", f"dump_dir={folder}", "steps=8", *TRAIN, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    (folder / "out.txt").write_text("begun\nended\n")
    assert darope("report", tmp_path, cwd=tmp_path).returncode == 0


def begun_training(folder, steps):
    """A training that has told of its first steps."""
    settings = [f"dump_dir={folder}", f"steps={steps}", *TRAIN]
    words = [DAROPE, "train", ROOT / "configs/quick/train.yaml", *settings]
    hears = ["env", "--default-signal=HUP", *words]  # whoever runs the tests may have it ignored
    child = subprocess.Popen(hears, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until_it_steps(child)
    return child


@pytest.mark.parametrize("name", ["SIGHUP", "SIGXCPU"])
def test_a_closed_terminal_saves_and_stops(tmp_path, name):
    folder = tmp_path / "run"
    child = begun_training(folder, steps=4000)
    child.send_signal(getattr(signal, name))
    said = child.stderr.read()
    assert child.wait(timeout=60) == 75 and "and saved" in said, said


def test_under_nohup_a_closed_terminal_stops_no_comparison(tmp_path):
    words = ["nohup", DAROPE, "compare", *task_but("steps=1000000"), "--out", tmp_path / "mine"]
    child = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_for_a_longer_one_than(size):
        logs = []
        while not any(log.stat().st_size > size for log in logs):
            assert child.poll() is None
            time.sleep(0.01)
            logs = list(tmp_path.glob("mine/runs/*/metrics.jsonl"))
        return max(log.stat().st_size for log in logs)

    size = wait_for_a_longer_one_than(0)
    for process in [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)]:
        process.send_signal(signal.SIGHUP)
    wait_for_a_longer_one_than(4 * size)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=120)[1]
    assert child.returncode == 130, said


def test_a_broken_pipe_does_not_end_a_training(tmp_path):
    folder = tmp_path / "run"
    child = begun_training(folder, steps=40)
    child.stderr.close()
    assert child.wait(timeout=120) == 0 and (folder / "run.json").exists()


@pytest.mark.parametrize(
    "words", [["eval", "RUN"], ["eval", "RUN", "--json"], ["settings"], ["--help"]], ids=" ".join
)
def test_a_reader_that_goes_away_is_no_error(finished, tmp_path, words):
    """As head does, which has what it wanted; scores are kept all the same."""
    shutil.copytree(finished, tmp_path / "run")
    child = subprocess.Popen(
        [DAROPE, *(str(tmp_path / "run") if word == "RUN" else word for word in words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    child.stdout.close()
    said = child.stderr.read().decode()
    assert child.wait(timeout=120) in (0, -signal.SIGPIPE) and "darope:" not in said, said
    assert words[0] != "eval" or list((tmp_path / "run" / "evals").glob("*/*/results.jsonl"))


@pytest.mark.parametrize(
    "words",
    [
        ["encodings"], ["encodings", "--json"], ["tasks"], ["bands"], ["--help"], ["settings"], ["doctor"],
        ["completion", "bash"], ["train", str(ROOT / "configs/quick/train.yaml"), "--print-config"],
        ["compare", *TASK, "--dry-run"], ["report", "mine"], ["eval", "RUN"], ["eval", "RUN", "--list"],
        ["generate", "RUN", "--prompt", "1", "--tokens", "2"], ["ckpt", "verify", "RUN"],
    ],
    ids=lambda words: "-".join(word for word in words[:2] if "/" not in word),
)  # fmt: skip
def test_output_that_finds_no_room_is_an_error(comparison, tmp_path, words):
    shutil.copytree(comparison / "mine", tmp_path / "mine")
    run = str(sorted((tmp_path / "mine" / "runs").iterdir())[0])
    words = [run if word == "RUN" else word for word in words]
    with open("/dev/full", "w") as full:
        failed = subprocess.run(
            [DAROPE, *words], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
    assert failed.returncode == 1 and "No space left" in failed.stderr, failed.stderr


def test_closed_descriptors_are_not_written_to_as_files(tmp_path):
    folder = tmp_path / "run"
    command = [DAROPE, "train", ROOT / "configs/quick/train.yaml", f"dump_dir={folder}", "steps=8", *TRAIN]
    subprocess.run(["sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh", *map(str, command)], cwd=tmp_path)
    for file in folder.glob("*.jsonl"):
        for line in file.read_text().splitlines():
            json.loads(line)
    assert (folder / "run.json").exists()


def test_scores_that_cannot_be_kept_are_still_printed(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / "evals").write_text("in the way")
    scored = darope("eval", folder, cwd=tmp_path)
    assert scored.returncode != 0 and "token_accuracy" in scored.stdout, scored
    assert "evals" in scored.stderr


def test_concurrent_reports_leave_whole_results(comparison, tmp_path):
    shutil.copytree(comparison / "mine", tmp_path / "mine")
    children = [
        subprocess.Popen(
            [DAROPE, "report", "mine"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for _ in range(8)
    ]
    codes = []
    for child in children:
        said = child.communicate()[1].decode()
        codes.append(child.returncode)
        assert child.returncode in (0, 5), said
    assert 0 in codes and json.loads((tmp_path / "mine" / "results.json").read_text())["runs"]


def test_links_that_a_stranger_left_are_not_written_through(finished, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    (mine / "results.jsonl").write_text("years of results")
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / "evals" / "0000000008").mkdir(parents=True)
    (folder / "evals" / "0000000008" / "as-trained").symlink_to(mine)
    scored = darope("eval", folder, cwd=tmp_path)
    assert scored.returncode == 2 and "is a link" in scored.stderr, scored.stderr
    (folder / "train.log").unlink()
    (folder / "train.log").symlink_to(mine / "thesis.txt")
    longer = train(folder, "--allow-config-change=steps", steps=12)
    assert longer.returncode == 1 and "is a link" in longer.stderr, longer.stderr
    assert {file.name: file.read_text() for file in mine.iterdir()} == {
        "thesis.txt": "years of work", "results.jsonl": "years of results",
    }  # fmt: skip


def test_a_file_that_outgrows_its_limit_is_named(tmp_path):
    folder = tmp_path / "run"
    command = [DAROPE, "train", ROOT / "configs/quick/train.yaml", f"dump_dir={folder}", "steps=8", *TRAIN]
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -f 8; exec "$@"', "bash", *map(str, command)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert limited.returncode == 1 and "cannot write" in limited.stderr and str(folder) in limited.stderr


@pytest.mark.parametrize("field", ["kind", "vocabulary", "options", "facts", "sources", "splits"])
def test_every_field_of_a_manifest_is_bound(tmp_path, field):
    piece = [[60, 64, 67, 72]] * 40
    (tmp_path / "a.json").write_text(json.dumps({split: [piece] * 3 for split in ("train", "valid", "test")}))
    done("data", "prepare", "jsb", "a.json", "--out", "set", cwd=tmp_path)
    file = tmp_path / "set" / "manifest.json"
    manifest = json.loads(file.read_text())
    if field == "splits":
        manifest["splits"]["test"]["longest"] += 1
    elif isinstance(manifest[field], (dict, list)):
        manifest[field] = {} if isinstance(manifest[field], dict) and manifest[field] else manifest[field]
        if field == "sources":
            manifest[field][0]["bytes"] += 1
        else:
            manifest[field]["more"] = 1
    else:
        manifest[field] = manifest[field] + (1 if field == "vocabulary" else "x")
    file.write_text(json.dumps(manifest))
    audit = darope("data", "audit", "set", cwd=tmp_path)
    assert audit.returncode == 3 and "manifest.json is not what was written" in audit.stderr, audit.stderr


def test_a_name_that_begins_with_a_dot_is_compared_like_others(tmp_path):
    (tmp_path / ".notes.txt").write_bytes(bytes(97 + i * i % 23 for i in range(20000)))
    done("compare", "--data", ".notes.txt", "--out", "mine", "--encodings", "nope,rope", "--seeds", "1",
         "steps=3", "threads=1", cwd=tmp_path)  # fmt: skip
    assert len(json.loads((tmp_path / "mine" / "results.json").read_text())["runs"]) == 2


@pytest.mark.parametrize("count, code", [(40, 0), (65, 2), (5000, 2)])
def test_runs_of_a_stranger_with_nothing_in_common_are_reported_on_or_refused(tmp_path, count, code):
    runs = tmp_path / "c" / "runs"
    for i in range(count):
        folder = runs / f"r{i}"
        folder.mkdir(parents=True)
        facts = {"schema": 1, "dataset": f"d{i}", "encoding": f"e{i}", "seed": i, "status": "diverged",
                 "tokens": 1, "shared_init": "", "data_order": "", "config_without_encoding": ""}  # fmt: skip
        (folder / "run.json").write_text(json.dumps(facts))
        (folder / "config.yaml").write_text("")
    report = darope("report", "c", cwd=tmp_path)
    assert report.returncode == code, report.stderr
    if code:
        assert f"{count} datasets, {count} encodings and {count} seeds, tested" in report.stderr


def test_a_config_of_very_many_keys_is_refused_soon(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("".join(f"k{i}: 1\n" for i in range(90_000)))
    refused = darope("train", file, cwd=tmp_path)
    assert refused.returncode == 2 and "unknown setting" in refused.stderr, refused.stderr[:500]


@pytest.mark.parametrize("name", ["checkpoints", "best"])
def test_a_folder_of_checkpoints_behind_a_link_is_refused_and_kept(finished, tmp_path, name):
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    shutil.copytree(finished, folder)
    shutil.copytree(folder / "checkpoints", elsewhere)
    (elsewhere / ".tmp-60").mkdir()
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    longer = train(folder, "--allow-config-change=steps", steps=12)
    assert longer.returncode == 2 and f"{name} is a link" in longer.stderr, longer.stderr
    assert sorted(elsewhere.rglob("*")) == before


def test_a_data_file_that_is_cut_while_it_is_read_is_named(tmp_path):
    text, mine = tmp_path / "own.txt", tmp_path / "mine"
    text.write_bytes(bytes(97 + i * i % 23 for i in range(400_000)))
    words = [DAROPE, "compare", "--data", text, "--out", mine, "--encodings", "nope,rope", "--seeds", "1",
             "--jobs", "1", "steps=100000", "logging.freq=1", "threads=1"]  # fmt: skip
    child = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while not list(mine.glob("runs/*/metrics.jsonl")):
        assert child.poll() is None, child.stderr.read()
    os.truncate(text, 0)
    said = child.communicate(timeout=120)[1]
    assert child.returncode != 0 and "SIGBUS: a file that was being read has become shorter" in said, said
    assert "nope-s0: SIGBUS: a file" in said and "nope-s0 (ended by signal 7, Bus error, see" in said
