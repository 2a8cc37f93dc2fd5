"""What darope compare, report and eval refuse, and that nothing is changed by it."""

import json

import pytest
from commands import QUICK, SMALL, TASK, done, refused, task_but, text_file

BAD = {
    "an unknown encoding": ([QUICK, "--encodings", "nope,ropee"], ["ropee", "did you mean 'rope'?"]),
    "an unknown task": ([*TASK[:-2], "tasks=parrity"], ["parrity", "did you mean 'parity'?"]),
    "an encoding twice": ([QUICK, "--encodings", "rope,rope"], ["'rope' twice"]),
    "no seeds": ([QUICK, "--seeds", "0"], ["seeds is 0", "from 1 to 1000"]),
    "fewer than no seeds": ([QUICK, "--seeds=-1"], ["seeds is -1"]),
    "a vocabulary that does not fit": ([*TASK, "model.vocab_size=10"], ["model.vocab_size is 10", "255"]),
    "a file too small for a test": (
        ["--data", "tiny.txt"],
        ["tiny.txt", "200 tokens", "too few for a test set", "give one of at least 1281"],
    ),
    "an empty file": (["--data", "empty.txt"], ["empty.txt is empty"]),
    "a file that is not there": (["--data", "nowhere.txt"], ["nowhere.txt", "no such file"]),
    "a picture named as text": (["--data", "picture.txt"], ["picture.txt is no plain text: byte 8 is zero"]),
    "a folder": (["--data", "folder"], ["folder is a folder without texts"]),
    "no encodings": ([QUICK, "--encodings", ""], ["encodings is empty"]),
    "a data file for a config": (
        ["tiny.txt"],
        ["if tiny.txt is data and no config", "darope compare --data tiny.txt"],
    ),
    "a far-off encoding": (
        [QUICK, "--encodings", "absolute"],
        ["unknown encoding 'absolute'. Known: nope, nope-window, sinusoidal"],
    ),
    "no config and no data": ([], ["CONFIG", "--data"]),
    "a shard beyond the last": ([*TASK, "--shard", "2/2"], ["--shard 2/2", "0 to N - 1"]),
    "a shard in words": ([*TASK, "--shard", "first"], ["--shard first", "i/N"]),
    "a bundle that is not there": ([*TASK, "--from", "nowhere.tar.zst"], ["nowhere.tar.zst", "no such file"]),
    "a bundle that is none": ([*TASK, "--from", "tiny.txt"], ["tiny.txt", "no bundle"]),
    "a setting of no likeness": ([*TASK, "optim.zz=3"], ["'optim.zz'", "Known: optim.lr"]),
    "the encoding of one run": ([*TASK, "model.encoding=rope"], ["model.encoding", "say with --encodings"]),
    "the same with dashes": ([*TASK, "--model.encoding=rope"], ["model.encoding", "say with --encodings"]),
    "an option in the singular": (
        [QUICK, "--encoding", "rope"],
        ["unknown option '--encoding' of compare; did you mean --encodings rope"],
    ),
    "a setting nobody knows": ([*TASK, "model.dmi=3"], ["model.dmi", "did you mean 'model.dim'?"]),
}


@pytest.mark.parametrize("arguments, words", BAD.values(), ids=BAD)
def test_bad_input(tmp_path, arguments, words):
    (tmp_path / "tiny.txt").write_text("x" * 200)
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 1000)
    (tmp_path / "folder").mkdir()
    sentence = refused("compare", *arguments, *(["--out", "out"] if arguments else []), cwd=tmp_path)
    for word in words:
        assert word in sentence


def test_a_report_on_several_asks_where_to(tmp_path):
    for folder, task in {"one": "parity", "two": "even_pairs"}.items():
        done("compare", *task_but(f"tasks={task}"), "--out", folder, cwd=tmp_path)
    before = (tmp_path / "one" / "report.html").read_bytes()
    assert "give it a folder with --out DIR" in refused("report", "one", "two", cwd=tmp_path)
    done("report", "one", "two", "--out", "both", cwd=tmp_path)
    assert (tmp_path / "one" / "report.html").read_bytes() == before


def test_a_comparison_config_where_one_run_is_trained(tmp_path):
    said = refused("train", QUICK, cwd=tmp_path)
    assert f"{QUICK} is the config of a comparison: 'darope compare {QUICK}' takes it" in said


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
    rows = json.loads(done("encodings", "--json", cwd=tmp_path))
    weightless = [row["name"] for row in rows if row["learns"] == "nothing"]
    assert weightless[:2] == ["nope", "nope-window"] and "yarn" in weightless and "t5" not in weightless
    for other in ("yarn", "cope"):
        sentence = refused("eval", "mine/runs/parity-darope-s0", "--encoding", other, cwd=tmp_path)
        assert (
            f"--encoding {other} does not fit the weights of mine/runs/parity-darope-s0, trained with darope"
            in sentence
        )
        assert f"({', '.join(weightless)})" in sentence
    assert "does not fit" in refused("eval", "mine/runs/parity-nope-s0", "--encoding", "darope", cwd=tmp_path)
    done("eval", "mine/runs/parity-darope-s0", "--encoding", "darope:base=50", cwd=tmp_path)
    done("eval", "mine/runs/parity-nope-s0", "--encoding", "yarn:factor=2", cwd=tmp_path)


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


def test_names_of_one_encoding_are_refused(tmp_path):
    text_file(tmp_path)
    words = ["compare", "--data", "own.txt", *SMALL, "data.seq_len=16"]
    for encodings, same in {
        "rope,rope-10k": "rope and rope-10k, which are the same here, rope:base=10000",  # of model.base
        "nope,rope-500k,rope:base=5e5": "rope-500k and rope:base=5e5, which are the same here",
        "yarn:factor=8,rope,yarn:factor=8.0": "yarn:factor=8 and yarn:factor=8.0, which are the same",
        "rope,yarn,yarn:factor=4": "yarn and yarn:factor=4, which are the same here",
        "cope:scaling=listing,cope": "cope:scaling=listing and cope, which are the same here",
        "nope,nope:base=3": "nope and nope:base=3, which are the same here, nope:",
    }.items():
        assert same in refused(*words, "--encodings", encodings, cwd=tmp_path)
    done(*words, "--encodings", "rope,rope-500k", "--seeds", "1", cwd=tmp_path)
