"""Data of one's own that cannot be compared on, each refused in one sentence."""

import gzip
import re

import numpy
import torch
from commands import QUICK, TASK, done, refused, run, text_file
from programs import ROOT

MODEL = ["steps=4", "model.dim=16", "model.n_layers=1", "model.n_heads=2", "data.seq_len=16"]
TRAIN = ["train", ROOT / "configs/quick/train.yaml", "data.task=", "data.path=own.txt", "dump_dir=run"]


def test_files_that_are_not_apart_are_refused(tmp_path):
    text_file(tmp_path), text_file(tmp_path, "other.txt")
    (tmp_path / "notes").mkdir(), text_file(tmp_path / "notes", "a.txt")
    (tmp_path / "link.txt").symlink_to("own.txt"), (tmp_path / "tiny.txt").write_text("x" * 60)
    numpy.save(tmp_path / "ids.npy", numpy.arange(5000, dtype="uint16") % 50)
    words = ["compare", "--data", "own.txt", "--encodings", "nope", *MODEL]
    for given, sentence in {
        "--test own.txt": "data.test_path 'own.txt' is, or lies in, data.path 'own.txt'",
        "--validation link.txt": "data.validation_path 'link.txt' is, or lies in, data.path 'own.txt'",
        "--test other.txt --validation other.txt": "is, or lies in, data.",
        "--validation tiny.txt": "tiny.txt has 60 tokens: too few for a validation of 8 windows of 16",
        "--validation ids.npy": "one holds ids, the other text",
        "--validation nowhere.txt": "nowhere.txt",
    }.items():
        assert sentence in refused(*words, *given.split(), cwd=tmp_path)
    words[2] = "notes"
    said = refused(*words, "--validation", "notes/a.txt", cwd=tmp_path)
    assert "data.validation_path 'notes/a.txt' is, or lies in, data.path 'notes'" in said
    said = refused("compare", *TASK, "--validation", "other.txt", "--out", "mine", cwd=tmp_path)
    assert "data.validation_path 'other.txt' goes with data.path alone" in said


def test_the_least_that_would_do_is_said(tmp_path):
    """And it would: one token fewer is refused with the same number."""
    for settings in (["data.seq_len=16"], ["data.seq_len=16", "data.test_share=0.3"], ["data.seq_len=40"]):
        typed = [*TRAIN, *settings, "--print-config"]
        (tmp_path / "own.txt").write_text("some words " * 10)
        (least,) = re.findall(r"give one of at least (\d+),", refused(*typed, cwd=tmp_path))
        (tmp_path / "own.txt").write_text("x" * (int(least) - 1))
        assert f"give one of at least {least}," in refused(*typed, cwd=tmp_path)
        (tmp_path / "own.txt").write_text("x" * int(least))
        done(*typed, cwd=tmp_path)


def test_packed_text_and_files_of_other_kinds_are_sent_where_they_belong(tmp_path):
    (tmp_path / "own.txt.gz").write_bytes(gzip.compress(b"some words\n" * 2000))
    assert "is packed: unpack it first" in refused("compare", "--data", "own.txt.gz", cwd=tmp_path)
    for name, kind in (("a.mid", "midi"), ("a.edf", "edf"), ("a.fa", "fasta")):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "README.md").write_text("what lies here\n" * 2000)
        for i in range(3):
            (folder / f"{i}{name}").write_text(">a record\n" + "ACGT" * 5000)
        for typed in (["compare", "--data", kind], ["compare", QUICK, "--data", f"{kind}/0{name}"]):
            said = refused(*typed, cwd=tmp_path)
            assert f"holds {kind} files, no text: 'darope data prepare {kind} FOLDER --out DIR'" in said
    (tmp_path / "notes").mkdir()
    text_file(tmp_path / "notes"), (tmp_path / "notes" / "a.mid").write_bytes(b"MThd\0")
    text_file(tmp_path / "notes", "more.txt")
    done("compare", "--data", "notes", "--print-config", cwd=tmp_path)


def test_bytes_outside_utf8_are_said_once(tmp_path):
    words = ["compare", "--encodings", "nope,rope", "--seeds", "2", *MODEL]
    for name, encoding, times in (("latin", "latin-1", 1), ("utf", "utf-8", 0)):
        (tmp_path / f"{name}.txt").write_text("schöne Wörter und Sätze\n" * 2000, encoding=encoding)
        told = run(*words, "--data", f"{name}.txt", cwd=tmp_path)
        assert told.returncode == 0 and told.stderr.count("is not all UTF-8") == times, told.stderr


def test_output_inside_the_data_is_refused(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("one two three " * 2000)
    for data in (".", tmp_path / "notes"):
        said = refused("compare", "--data", data, "--encodings", "rope", cwd=tmp_path / "notes")
        assert "lies inside" in said and "--out" in said
    assert [each.name for each in (tmp_path / "notes").iterdir()] == ["a.txt"]


def test_a_test_file_beside_data_with_a_test_of_its_own_is_refused(tmp_path):
    (tmp_path / "other.txt").write_text("one two three " * 2000)
    said = refused("compare", *TASK, "--test", "other.txt", "--out", "mine", cwd=tmp_path)
    assert "data.test_path 'other.txt' goes with data.path alone" in said


def test_what_no_run_can_have_is_found_before_the_first(tmp_path):
    without_gpu = {
        "cuda": "device is cuda, but torch finds no GPU here",
        "cuda:1": "device is cuda:1, but",
    }
    for device, words in {
        **({} if torch.cuda.is_available() else without_gpu),
        "cud": "unknown device 'cud'; did you mean 'cuda'",
        "cuda:x": "unknown device 'cuda:x'",
    }.items():
        assert words in refused("compare", *TASK, f"device={device}", "--out", "mine", cwd=tmp_path)
        assert words in refused(
            "train", QUICK.replace("quickstart", "train"), f"device={device}", cwd=tmp_path
        )
    failed = run("compare", *TASK, "--out", "/proc/nowhere", cwd=tmp_path)
    assert failed.returncode in (1, 2) and "/proc/nowhere" in failed.stderr and failed.stderr.count("\n") == 1
