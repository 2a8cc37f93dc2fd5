"""darope compare --settle and --power from the outside, and margins that are fixed before the runs."""

import json
import re
import shutil
import subprocess
import time

import pytest
from commands import QUICK, SMALL, done, refused, run, text_file
from programs import DAROPE

SETTLE = ["--data", "own.txt", "--encodings", "rope,darope", *SMALL, "--settle", "--out", "mine"]


def looks(folder, dataset="own"):
    return json.loads((folder / "comparison.json").read_text())["datasets"][dataset]["settling"]["looks"]


def test_seeds_are_added_in_rounds(tmp_path):
    """Four steps decide nothing, so every round is made; the same command then has nothing to do."""
    text_file(tmp_path)
    result = run("compare", *SETTLE, "rounds=[2,3]", "--bundle", "b.tar.zst", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Round 1 of 2, up to 2 seeds: " in result.stderr and "Round 2 of 2, up to 3 seeds" in result.stderr
    assert sorted({look["round"] for look in looks(tmp_path / "mine")}) == [1, 2]
    results = json.loads((tmp_path / "mine" / "results.json").read_text())
    assert results["seeds"] == [0, 1, 2] and len(results["runs"]) == 6
    assert results["datasets"][0]["settling"]["alpha_of_a_round"] == 0.025
    assert "Rounds of seeds" in (tmp_path / "mine" / "report.html").read_text()
    before = (tmp_path / "mine" / "comparison.json").read_bytes()
    again = run("compare", *SETTLE, "rounds=[2,3]", cwd=tmp_path)
    assert again.returncode == 0 and "Round" not in again.stderr
    assert (tmp_path / "mine" / "comparison.json").read_bytes() == before
    # Finished runs from elsewhere are not trained again, and decide what they decided.
    other = [each if each != "mine" else "other" for each in SETTLE]
    taken = run("compare", *other, "rounds=[2,3]", "--from", "b.tar.zst", cwd=tmp_path)
    assert taken.returncode == 0 and not (tmp_path / "other" / "jobs").exists(), taken.stderr
    assert looks(tmp_path / "other") == looks(tmp_path / "mine")


def test_rounds_stop_at_their_limit_and_go_on_where_they_were_stopped(tmp_path):
    text_file(tmp_path)
    few = run("compare", *SETTLE, "rounds=[2,3]", "--until", "5", cwd=tmp_path)
    assert few.returncode == 0 and "6 trainings, more than 5: no more rounds" in few.stderr
    assert "The first round is made in any case: 4 trainings.\n" in few.stderr
    assert {look["round"] for look in looks(tmp_path / "mine")} == {1}
    shutil.rmtree(tmp_path / "mine")
    longer = [each.replace("steps=4", "steps=400") for each in SETTLE]
    long = ["compare", *longer, "rounds=[2,3]", "--jobs", "1"]
    short = run(*long, "--until", "1s", cwd=tmp_path)  # four programs, one after the other, take longer
    assert short.returncode == 0 and "of 1s are spent: no more rounds" in short.stderr
    first_round = r"The first round is made in any case: 4 trainings, about \d:\d\d, more than --until 1s\.\n"
    assert re.search(first_round, short.stderr.partition("own-rope-s0:")[0])  # before any of them
    shutil.rmtree(tmp_path / "mine")
    first = subprocess.Popen([DAROPE, *long], stderr=subprocess.DEVNULL, cwd=tmp_path)
    while not any(tmp_path.glob("mine/runs/*/run.json")):
        assert first.poll() is None
        time.sleep(0.05)
    first.terminate()
    assert first.wait(timeout=120) == 75 and looks(tmp_path / "mine") == []
    assert json.loads((tmp_path / "mine" / "comparison.json").read_text())["seconds"] > 0
    other = run(*[each.replace("[2,3]", "[2,4]") for each in long], cwd=tmp_path)
    assert other.returncode == 2 and "[2, 4] until '' cannot take their place" in other.stderr
    done(*long, cwd=tmp_path)
    assert {look["round"] for look in looks(tmp_path / "mine")} == {1, 2}


def test_what_scores_the_weights_of_another_has_its_seeds(tmp_path):
    """Rope gets the seeds that yarn needs, and yarn is scored with each of them; nothing is trained twice."""
    text_file(tmp_path)
    words = [each if each != "rope,darope" else "rope,yarn:factor=8,nope" for each in SETTLE]
    said = run("compare", *words, "rounds=[2,3]", cwd=tmp_path)
    assert said.returncode == 0 and "Round 2 of 2, up to 3 seeds" in said.stderr, said.stderr
    settling = json.loads((tmp_path / "mine" / "comparison.json").read_text())["datasets"]["own"]["settling"]
    assert settling["weights_of"] == {"yarn:factor=8": "rope"}
    runs = {each.name for each in (tmp_path / "mine" / "runs").iterdir()}
    for seed in range(3):
        assert (f"own-rope-s{seed}" in runs) == (f"own-yarn_factor_8-s{seed}" in runs)
    results = json.loads((tmp_path / "mine" / "results.json").read_text())
    assert {"rope", "yarn:factor=8"} <= set(results["encodings"])
    named = {
        name
        for look in settling["looks"]
        for each in look["decided"]
        for name in (each["first"], each["second"])
    }
    named |= {name for look in settling["looks"] for name in [*look["open"], look["leader"]]}
    assert "yarn:factor=8" in named
    # The limit counts trainings: two encodings with three seeds.
    words = [each if each != "mine" else "other" for each in words]
    few = run("compare", *words, "rounds=[2,3]", "--until", "6", cwd=tmp_path)
    assert few.returncode == 0 and "no more rounds" not in few.stderr, few.stderr


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--settle", "--until", "2x"], "--until 2x: it should be a time such as 2h"),
        (["--settle", "--until", "-1h"], "it should be a time"),
        (["--settle", "--until", "1h30"], "it should be a time"),
        (["--settle", "--seeds", "3"], "--seeds beside --settle"),
        (["--settle", "--shard", "0/2"], "--shard beside --settle"),
        (["--settle", "rounds=[3,2]"], "rounds is [3, 2]: numbers of seeds in all that rise from 2"),
        (["--until", "2h"], "--until is the limit of --settle"),
        (["--margin", "0.1"], "--margin goes with --power"),
        (["margins.loss=-1"], "margins.loss is -1: it must be above 0"),
        (["margins.accuracy=1"], "margins.accuracy is 1: it must be above 0 and below 1"),
        (["--power"], "there are no runs in mine yet"),
    ],
)
def test_rounds_and_margins_without_sense_are_refused(tmp_path, arguments, sentence):
    assert sentence in refused("compare", QUICK, *SMALL, "--out", "mine", *arguments, cwd=tmp_path)


def test_margins_are_fixed_before_the_runs(tmp_path):
    text_file(tmp_path)
    arguments = ["compare", "--data", "own.txt", "--encodings", "rope,darope", "--seeds", "2", *SMALL]
    done(*arguments, "margins.loss=0.5", cwd=tmp_path)
    results = json.loads((tmp_path / "runs" / "own" / "results.json").read_text())
    assert results["datasets"][0]["margin"] == 0.5 and results["overall"][0]["margin"] == 0.5
    assert "0.002 and 0.01 cannot take their place" in refused(*arguments, cwd=tmp_path)
    printed = done("compare", "--power", "runs/own", "--margin", "0.2", cwd=tmp_path)
    assert "own at the training length, 2 seeds: " in printed and re.search(r" 0\.2( to 0\.4)?: ", printed)
