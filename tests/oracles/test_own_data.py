"""Data of one's own: what is scored, what counts as a text, what is said before a ranking is read."""

import collections
import csv
import json
import math
import re

import numpy
import pytest
import yaml
from commands import QUICK, done, refused, run, text_file
from programs import ROOT

MODEL = ["steps=4", "model.dim=16", "model.n_layers=1", "model.n_heads=2", "data.seq_len=16"]


def scores(folder):
    """Of one run: its losses by length, then by example."""
    out = collections.defaultdict(dict)
    for line in (folder / "results.jsonl").read_text().splitlines():
        row = json.loads(line)
        out[row["x"]][row["example"]] = row
    return out


def test_the_same_tokens_are_scored_at_every_length(tmp_path):
    """With a window of one token there is no context to speak of: every length then gives the same losses if
    the tokens are the same, and only then."""
    text_file(tmp_path)
    done(
        "compare", "--data", "own.txt", "--encodings", "nope-window:window=1", "--seeds", "1", *MODEL,
        "data.test_examples=20", cwd=tmp_path,
    )  # fmt: skip
    by_length = scores(tmp_path / "runs" / "own" / "runs" / "own-nope-window_window_1-s0")
    assert sorted(by_length) == [1, 2, 8] and all(len(each) == 20 for each in by_length.values())
    for example, row in by_length[1].items():
        for x in (2, 8):
            other = by_length[x][example]
            assert other["tokens"] == row["tokens"] == 16 and other["cluster"] == row["cluster"]
            assert other["value"] == pytest.approx(row["value"], rel=1e-4)


def test_the_test_is_spread_over_all_that_is_held_out(tmp_path):
    """The held-out tenth is a's, then b's: a model that saw both is far apart on them."""
    (tmp_path / "own.txt").write_text("ab" * 9000 + "a" * 1000 + "b" * 1000)
    words = ["compare", "--data", "own.txt", "--encodings", "nope", "--seeds", "1", *MODEL]
    done(*words, "data.test_examples=16", cwd=tmp_path)
    values = [row["value"] for row in scores(tmp_path / "runs" / "own" / "runs" / "own-nope-s0")[1].values()]
    assert max(values) - min(values) > 0.01  # the first sixteen windows alone would all be the same a's


def test_a_file_of_its_own_for_the_test(tmp_path):
    text_file(tmp_path), text_file(tmp_path, "other.txt")
    words = ["compare", "--data", "own.txt", "--encodings", "nope", "--seeds", "1", *MODEL]
    done(*words, "--test", "other.txt", "--out", "apart", cwd=tmp_path)
    done(*words, "--out", "end", cwd=tmp_path)
    hashes = [
        json.loads((tmp_path / out / "runs" / "own-nope-s0" / "run.json").read_text())["data_order"]
        for out in ("apart", "end")
    ]
    assert hashes[0] != hashes[1]
    (tmp_path / "tiny.txt").write_text("x" * 60)
    assert "tiny.txt has 60 tokens: too few" in refused(*words, "--test", "tiny.txt", cwd=tmp_path)
    numpy.save(tmp_path / "ids.npy", numpy.arange(5000, dtype="uint16") % 50)
    assert "one holds ids, the other text" in refused(*words, "--test", "ids.npy", cwd=tmp_path)


def test_a_folder_of_texts_and_any_text(tmp_path):
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True), (folder / ".git").mkdir()
    for i in range(8):
        name = ["a.md", "b.py", "c.rst", "deep/d.tex", "e.txt", "f.csv", "g.jsonl", "h"][i]
        text = f"document {i} says {i * 7 % 13}.\n" * 60
        (folder / name).write_text(json.dumps({"text": text}) + "\n" if name.endswith("jsonl") else text)
    (folder / "picture.png").write_bytes(b"\x89PNG\0\0" * 400)
    (folder / ".git" / "config").write_text("not one of them" * 100)
    done("compare", "--data", "notes", "--encodings", "nope", "--seeds", "1", *MODEL, cwd=tmp_path)
    assert "path: notes\n" in (tmp_path / "runs/notes/runs/notes-nope-s0/config.yaml").read_text()
    for name in ("own.md", "own.py", "own.txt"):
        text_file(tmp_path, name)
        done("compare", "--data", name, "--encodings", "nope", "--seeds", "1", *MODEL, cwd=tmp_path)
    made = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert made == ["notes", "own", "own.md", "own.py"]  # the same stem is not the same data
    (tmp_path / "empty").mkdir()
    assert "empty is a folder without texts" in refused("compare", "--data", "empty", cwd=tmp_path)
    for given in ("own.md", "notes"):
        assert f"darope compare --data {given}" in refused("compare", given, cwd=tmp_path)


def test_a_change_in_a_folder_of_texts_is_seen(tmp_path):
    (tmp_path / "notes").mkdir()
    for i in range(40):
        (tmp_path / "notes" / f"{i:02}.md").write_text(f"document {i} says {i * 7 % 13}.\n" * 60)
    words = ["compare", "--data", "notes", "--seeds", "1", *MODEL]
    done(*words, "--encodings", "nope", cwd=tmp_path)
    for same in ("notes/", "./notes", "notes//."):  # under each name the same folder, and no run to make
        again = run("compare", "--data", same, *words[3:], "--encodings", "nope", "--dry-run", cwd=tmp_path)
        assert "1 of them finished" in again.stdout and "refused" not in again.stdout, again.stdout
    text = (tmp_path / "notes" / "17.md").read_text()
    (tmp_path / "notes" / "17.md").write_text(text[:100] + "X" + text[101:])
    assert "the data are not what they were" in refused(*words, "--encodings", "nope,rope", cwd=tmp_path)


def write_notes(folder, count, size):
    """Texts of one word each, so that it shows in the losses which of them are tested."""
    folder.mkdir()
    for i in range(count):
        (folder / f"{i:03}.txt").write_text((f"{'abcdefghij'[i % 10]}{i % 7} " * size)[:size])


@pytest.mark.parametrize(
    "count, size, words, sources",
    [
        (
            4,
            9000,
            "4 files, 36.0 kB. Tested on the last tenth of each file: 128 windows of 16 tokens, from 4",
            4,
        ),
        (
            150,
            400,
            "150 files, 60.0 kB. Tested on whole files spread over all, a tenth: 128 windows of 16 ",
            15,
        ),
    ],
)
def test_the_test_of_a_folder_is_from_all_over_it(tmp_path, count, size, words, sources):
    write_notes(tmp_path / "notes", count, size)
    numpy.save(tmp_path / "notes" / "ids.npy", numpy.arange(500, dtype="uint16"))
    (tmp_path / "notes" / "picture.png").write_bytes(b"\x89PNG\0\0" * 400)
    command = ["compare", "--data", "notes", "--encodings", "nope", "--seeds", "1", *MODEL]
    words = words.replace(" kB.", " kB; 2 skipped, which hold no text: ids.npy, picture.png.")
    told = run(*command, "data.test_examples=128", cwd=tmp_path)
    assert told.returncode == 0 and words in told.stderr, told.stderr
    assert words in done(*command, "data.test_examples=128", "--dry-run", cwd=tmp_path)
    rows = scores(tmp_path / "runs/notes/runs/notes-nope-s0")[1].values()
    assert len({row["cluster"] for row in rows}) >= sources - 1
    caution = "The test of notes comes from 4 sources alone"
    assert (caution in (tmp_path / "runs/notes/report.html").read_text()) == (count == 4)


def test_a_prepared_dataset_as_data(tmp_path):
    (tmp_path / "texts").mkdir()
    for i in range(60):
        (tmp_path / "texts" / f"{i}.txt").write_text(f"document {i} says {i * 7 % 13}.\n" * 60)
    done("data", "prepare", "text", "texts", "--out", "prepared", cwd=tmp_path)
    words = ["compare", "--data", "prepared", "--encodings", "nope", "--seeds", "1", *MODEL]
    plan = done(*words, "--dry-run", cwd=tmp_path)
    assert re.match(
        r"prepared: \d\d sources to learn from\. Tested on \d+ examples from \d+ sources?\.\n", plan
    )
    done(*words, cwd=tmp_path)
    config = (tmp_path / "runs/prepared/runs/prepared-nope-s0/config.yaml").read_text()
    assert "root_dir: prepared\n" in config
    assert "root_dir: prepared" in done(
        "compare", QUICK, "--data", "prepared", "--print-config", cwd=tmp_path
    )


def counted(text, train_end, places, length):
    """Unigram and Witten-Bell bigram losses of some places, by counting everything before train_end."""
    one, two, after = collections.Counter(), collections.Counter(), collections.defaultdict(set)
    for before, token in zip(text[:train_end], text[1:train_end]):
        one[token] += 1
        two[before, token] += 1
        after[before].add(token)
    total, left = sum(one.values()), collections.Counter()
    for (before, _), count in two.items():
        left[before] += count

    def unigram(token):
        return (one[token] + 0.5) / (total + 0.5 * 257)

    def bigram(before, token):
        kinds = len(after[before])
        return (two[before, token] + kinds * unigram(token)) / (left[before] + kinds)

    pairs = [(text[i], text[i + 1]) for place in places for i in range(place, place + length)]
    return [
        -sum(math.log(p) for p in each) / len(pairs)
        for each in ([unigram(t) for _, t in pairs], [bigram(b, t) for b, t in pairs])
    ]


def test_losses_of_counting_stand_beside_those_of_models(tmp_path):
    text_file(tmp_path)
    text = (tmp_path / "own.txt").read_bytes()
    words = ["compare", "--data", "own.txt", "--encodings", "nope,rope", "--seeds", "1", *MODEL]
    printed = done(*words, cwd=tmp_path)
    facts = json.loads((tmp_path / "runs/own/runs/own-nope-s0/run.json").read_text())
    held_out = math.ceil(len(text) / 10)
    first, room = len(text) - held_out + 7 * 16, (held_out - 1) // 16 - 7
    places = [first + i * room // min(room, 128) * 16 for i in range(min(room, 128))]
    unigram, bigram = counted(text, len(text) - held_out, places, 16)
    told = facts["metrics"][0]["baselines"]
    assert told["unigram"]["1"] == pytest.approx(unigram, abs=0.02)  # it counts windows from random places
    assert told["bigram"]["1"] == pytest.approx(bigram, abs=0.02)
    assert told["bigram"]["1"] == told["bigram"]["8"]  # the same tokens
    assert f"counting alone, on own: unigram {told['unigram']['1']:.4f}, bigram" in printed
    assert "Counting alone gets: unigram" in (tmp_path / "runs/own/report.html").read_text()


def test_a_loss_that_still_falls_is_said(tmp_path):
    text_file(tmp_path)
    words = [
        "compare",
        "--data",
        "own.txt",
        "--encodings",
        "rope",
        "--seeds",
        "1",
        *MODEL[1:],
        "logging.freq=1",
    ]
    early = done(*words, "steps=60", "optim.lr=3e-4", "--out", "early", cwd=tmp_path)
    assert "still falling over the last fifth of the steps (rope by " in early
    assert "still falling" in (tmp_path / "early" / "report.html").read_text()
    (tmp_path / "own.txt").write_text("ab" * 9000)  # learned at once, and then flat
    late = done(*words, "steps=400", "optim.lr=0.02", "--out", "late", cwd=tmp_path)
    assert "still falling" not in late


def test_a_task_that_is_still_being_learned_is_said(tmp_path):
    words = [QUICK, "--encodings", "rope", "--seeds", "1", "tasks=parity", "model.dim=16", "model.n_layers=1"]
    words += ["model.n_heads=2", "data.test_examples=8", "data.free_running=0", "logging.freq=1"]
    early = done("compare", *words, "steps=60", "optim.lr=5e-3", "optim.warmup=0", cwd=tmp_path)
    assert "On parity the training loss was still falling" in early and "too few" not in early


def test_own_files_log_enough_to_see_where_the_loss_goes(tmp_path):
    text_file(tmp_path)
    config = yaml.safe_load(done("compare", "--data", "own.txt", "--print-config", cwd=tmp_path))
    assert config["steps"] // config["logging"]["freq"] >= 20
    encodings = config["encodings"]
    assert encodings.index("yarn:factor=8") == encodings.index("rope") + 1
    fewer = done("compare", "--data", "own.txt", "steps=150", "--print-config", cwd=tmp_path)
    assert yaml.safe_load(fewer)["logging"]["freq"] == 3
    given = done(
        "compare", "--data", "own.txt", "steps=150", "logging.freq=7", "--print-config", cwd=tmp_path
    )
    assert yaml.safe_load(given)["logging"]["freq"] == 7


def test_a_share_has_what_it_scores(tmp_path):
    """Every run of a plan is in one share; one that scores another's weights is where that is trained."""
    text_file(tmp_path)
    words = ["compare", "--data", "own.txt", "--encodings", "nope,yarn:factor=8,rope", "--seeds", "1", *MODEL]
    for i in range(2):
        done(*words, "--shard", f"{i}/2", "--out", f"part{i}", cwd=tmp_path)
    shares = [{each.name for each in (tmp_path / f"part{i}" / "runs").glob("own*")} for i in range(2)]
    assert shares == [{"own-nope-s0"}, {"own-rope-s0", "own-yarn_factor_8-s0"}]
    assert all(list((tmp_path / f"part{i}").glob("runs/*/run.json")) for i in range(2))


def test_counting_stands_beside_losses(tmp_path):
    text_file(tmp_path)
    done("compare", "--data", "own.txt", "--encodings", "nope", "--seeds", "1", *MODEL, cwd=tmp_path)
    run_folder = tmp_path / "runs" / "own" / "runs" / "own-nope-s0"
    (told,) = json.loads((run_folder / "run.json").read_text())["metrics"]
    printed = done("eval", run_folder, cwd=tmp_path)
    done("report", "runs/own", "--csv", "scores.csv", cwd=tmp_path)
    rows = list(csv.DictReader((tmp_path / "scores.csv").open()))
    for name in ("unigram", "bigram"):
        for place, value in told["baselines"][name].items():
            assert re.search(rf"^ *{place}x  {name} +{value:.4f}$", printed, re.M)
            assert [float(row[name]) for row in rows if row["x"] == place] == [pytest.approx(value)]


TRAIN = ["train", ROOT / "configs/quick/train.yaml", "data.task=", "data.path=own.txt", "dump_dir=run"]


def test_validation_of_what_has_none_is_refused(tmp_path):
    text_file(tmp_path)
    assert "nothing to validate on" in refused(*TRAIN, "validation.every=10", cwd=tmp_path)
    comparison = ["compare", "--data", "own.txt", *MODEL, "validation.every=2"]
    assert "nothing to validate on" in refused(*comparison, cwd=tmp_path)  # before the first run
    text_file(tmp_path, "other.txt")
    words = "validation.every is 0: say how many steps lie between validations"
    assert words in refused(*TRAIN, "data.validation_path=other.txt", cwd=tmp_path)


def test_a_file_of_its_own_for_the_validation(tmp_path):
    """Eight windows, which a test on the same file has at 1x alone: then both are the same mean."""
    text_file(tmp_path)
    (tmp_path / "short.txt").write_text("".join(f"{i} makes {i * i}, " for i in range(40))[: 8 * 16 + 9])
    words = ["compare", "--data", "own.txt", "--encodings", "nope", "--seeds", "1", *MODEL[1:], "steps=40"]
    done(*words, "--validation", "short.txt", cwd=tmp_path)
    run_folder = tmp_path / "runs" / "own" / "runs" / "own-nope-s0"
    validations = [json.loads(line) for line in (run_folder / "metrics.eval.jsonl").read_text().splitlines()]
    assert [each["global_step"] for each in validations] == list(range(4, 41, 4))
    losses = [each["loss/validation"] for each in validations]
    other = ["data.test_path=short.txt", "data.validation_path=", "validation.every=0", "--json"]
    for extra, loss in ([], losses[-1]), (["--best"], min(losses)):
        (told,) = map(json.loads, done("eval", run_folder, *extra, *other, cwd=tmp_path).splitlines())
        assert told["examples"] == 8 and told["mean"] == pytest.approx(loss, rel=1e-6)
    assert scores(run_folder).keys() == {1, 2, 8} and (run_folder / "results-best.jsonl").exists()
    best = [
        row["value"] for row in map(json.loads, (run_folder / "results-best.jsonl").open()) if row["x"] == 8
    ]
    line = f"weights that did best in validation, on own: nope {sum(best) / len(best):.4f}"
    printed = done("report", "runs/own", cwd=tmp_path)
    assert line in printed.partition("\n8x")[2]
    words[words.index("nope")] = "nope,rope"
    text = (tmp_path / "short.txt").read_text()
    (tmp_path / "short.txt").write_text("X" + text[1:])  # every byte of it counts
    again = [*words, "--validation", "short.txt"]
    assert "the data are not what they were" in refused(*again, cwd=tmp_path)
    assert "belongs to another comparison" in refused(*words, cwd=tmp_path)


def test_yarn_beside_the_rope_it_stretches(tmp_path):
    text_file(tmp_path)
    words = ["compare", "--data", "own.txt", "--seeds", "2", *MODEL, "model.base=50"]
    encodings = ["--encodings", "yarn:factor=8,rope,nope"]
    plan = done(*words, *encodings, "--dry-run", cwd=tmp_path)
    assert "6 runs, 0 of them finished, 2 that score the weights of others. The others take" in plan
    told = run(*words, *encodings, "logging.freq=1", cwd=tmp_path)
    assert "own-yarn_factor_8-s0: scored with the weights of own-rope-s0\n" in told.stderr
    assert "16/16 steps" in told.stderr and "/24 steps" not in told.stderr
    runs = tmp_path / "runs" / "own" / "runs"
    page = (tmp_path / "runs" / "own" / "report.html").read_text()
    assert "not trained: it scores the weights of rope</td>" in page
    said = refused("generate", runs / "own-yarn_factor_8-s0", "--prompt", "x", cwd=tmp_path)
    assert "own-yarn_factor_8-s0 has no weights: it is" in said and "own-rope-s0 scored with yarn" in said
    results = json.loads((tmp_path / "runs" / "own" / "results.json").read_text())
    assert sorted(results["encodings"]) == ["nope", "rope", "yarn:factor=8"]
    for seed in (0, 1):
        assert not (runs / f"own-yarn_factor_8-s{seed}" / "checkpoints").exists()  # trained once
        done("eval", runs / f"own-rope-s{seed}", "--encoding", "yarn:factor=8", cwd=tmp_path)
        (again,) = (runs / f"own-rope-s{seed}" / "evals").glob("*/yarn*/results.jsonl")
        assert again.read_text() == (runs / f"own-yarn_factor_8-s{seed}" / "results.jsonl").read_text()
        assert again.read_text() != (runs / f"own-rope-s{seed}" / "results.jsonl").read_text()
    written = (runs / "own-yarn_factor_8-s0" / "run.json").stat().st_mtime_ns
    done(*words, "--encodings", "rope,yarn:factor=8,hope", cwd=tmp_path)  # goes on; nothing is done twice
    assert (runs / "own-yarn_factor_8-s0" / "run.json").stat().st_mtime_ns == written
    assert "compare rope beside it" in refused(*words, "--encodings", "yarn,nope", "--out", "x", cwd=tmp_path)
    assert "different bases" in refused(
        *words, "--encodings", "rope:base=99,yarn", "--out", "x", cwd=tmp_path
    )
