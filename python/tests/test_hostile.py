"""What a stranger may put into a run's folder or a benchmark's, before Python reads it."""

import errno
import gzip
import json
import lzma
import os
import subprocess
import sys
import time
from pathlib import Path

import darope
import pytest
from conftest import ROOT
from darope.terminal import MOST, complain, exit_code_of

pytest.importorskip("transformers", reason="needs transformers")
import darope.hf  # noqa: E402
import torch  # noqa: E402
from darope.hf.retrofit import import_llama  # noqa: E402
from darope.hf.tokenizer import rank_tokenizer, tokenizer_for  # noqa: E402
from darope.settings import data_settings  # noqa: E402
from darope.terminal import Damaged  # noqa: E402
from safetensors.torch import load_file  # noqa: E402


def sentence(*words, code=2):
    """What is said on standard error, in one line, by a program that has 4 GiB and half a minute."""
    limits = ["prlimit", "--cpu=60", f"--as={8 << 30}"]
    done = subprocess.run(
        [*limits, sys.executable, "-m", *map(str, words)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefghij", "bcdefghijk")
)
NO_CONFIGS = {
    "a list": ("- a\n", "is no config"),
    "not YAML": ("data: [a\n", "no YAML"),
    "a bomb": (BOMB, "alias"),
    "data that are none": ("data: 5\n", "is no config"),
    "nested": ("[" * 5000, "nested too deep"),
    "large": ("#" * (1 << 20) + "\n", "more than the 1048576 bytes"),
    "control characters": ("data: \x07\n", "special characters"),
}


@pytest.mark.parametrize("what", NO_CONFIGS)
def test_settings_that_are_none(what, tmp_path):
    text, words = NO_CONFIGS[what]
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        data_settings(tmp_path)
    assert str(tmp_path / "config.yaml") in str(caught.value)


def test_settings_as_texts(tmp_path):
    (tmp_path / "config.yaml").write_text('data:\n  path: 1:1:1\n  task: null\n  root_dir: "x y"\n')
    assert data_settings(tmp_path) == {"path": "1:1:1", "root_dir": "x y"}


def test_the_programs_say_it_in_one_sentence(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "darope", "position_encoding": 5}')
    assert "position_encoding" in sentence("darope.hf", "export", tmp_path, "--to", "hf", tmp_path / "out")
    (tmp_path / "config.yaml").write_text("- a\n")
    assert "is no config" in sentence("darope.hf", "export", tmp_path, "--to", "hf", tmp_path / "out")
    pytest.importorskip("lm_eval", reason="needs lm-eval")
    (tmp_path / "piqa").mkdir()
    (tmp_path / "piqa" / "valid.jsonl").write_text('{"goal": "a", "sol1": "b", "sol2": "c"}\n')
    (tmp_path / "piqa" / "valid-labels.lst").write_text("0\n")
    words = ["darope.benchmarks", tmp_path, "--tasks", "piqa", "--data", tmp_path]
    assert "is no config" in sentence(*words)


def test_a_sentence_has_an_end_and_no_control_characters(capsys):
    complain("darope", "\x1b[2J" + "x" * 10_000)
    said = capsys.readouterr().err
    assert "\x1b" not in said and len(said) < MOST + 100


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), Exception("I/O error: full (os error 28)")],
)
def test_a_full_disk_is_no_bad_input(error, capsys):
    def fails():
        raise error

    assert exit_code_of("darope", fails) == 1
    assert capsys.readouterr().err == "darope: no space left on the disk; free some and start again\n"


def test_pickled_weights_are_not_read(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=8, hidden_size=8, intermediate_size=32, num_hidden_layers=1, num_attention_heads=1
    )
    config.save_pretrained(tmp_path)
    torch.save(transformers.LlamaForCausalLM(config).state_dict(), tmp_path / "pytorch_model.bin")
    said = sentence("darope.hf", "import", tmp_path, "--encoding", "rope", "--out", tmp_path / "out")
    assert "safetensors" in said


@pytest.fixture
def model(tmp_path):
    """The folder of a small one, as save_pretrained leaves it."""
    encoding = {"type": "learned"}
    sizes = dict(vocab_size=8, hidden_size=8, intermediate_size=24, num_hidden_layers=1)
    config = darope.hf.DaropeConfig(**sizes, num_attention_heads=1, position_encoding=encoding)
    darope.hf.DaropeForCausalLM(config).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def refused(folder, words):
    """By whoever loads a model, and by those who would make another of it."""
    with pytest.raises(ValueError, match=words):
        darope.hf.DaropeForCausalLM.from_pretrained(folder)
    with pytest.raises(ValueError, match=words):
        import_llama(folder, "rope", folder.parent / "out")
    assert not (folder.parent / "out").exists()


@pytest.mark.parametrize("name", ["weights.bin", "../model.safetensors", 5])
def test_an_index_names_safetensors_beside_it_alone(name, model):
    weights = load_file(model / "model.safetensors")
    torch.save(weights, model / "weights.bin")
    (model / "model.safetensors").rename(model.parent / "model.safetensors")
    (model / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": dict.fromkeys(weights, name)})
    )
    refused(model, "should name files of safetensors beside it")


def test_an_adapter_beside_weights_is_not_taken(model):
    (model / "adapter_config.json").write_text("{}")
    refused(model, "holds adapter_config.json")


SIZES = {
    "num_hidden_layers": 10**9,
    "hidden_size": 10**9,
    "vocab_size": 10**9,
    "intermediate_size": 10**9,
    "num_attention_heads": 10**9,
    "num_key_value_heads": 10**9,
    "head_dim": 10**9,
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", ["too large", 0, -1, 2.5, True, "8"])
def test_sizes_are_held_against_the_weights(name, value, model):
    config = json.loads((model / "config.json").read_text())
    config[name] = SIZES[name] if value == "too large" else value
    (model / "config.json").write_text(json.dumps(config))
    refused(
        model, "too few for the model" if value == "too large" else f"{name} is .* not a whole number above 0"
    )


@pytest.mark.parametrize("encoding", [{"type": 5}, {"types": 5}, {"types": {"a": 1}}, {"types": [5]}])
def test_an_encoding_that_is_no_name(encoding):
    with pytest.raises(ValueError, match="should name an encoding under type"):
        list(darope.hf.DaropeConfig(position_encoding=encoding, num_hidden_layers=1).layer_encodings)


def ranks(*lines):
    return b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize(
    "content, words",
    [
        (ranks(b"YQ== 1"), "own.tiktoken:1: each line"),
        (ranks(b"YQ== 0", b"no base64 at all 1"), "own.tiktoken:2: each line"),
        (ranks(b"YQ==" * 1000 + b" 0"), "own.tiktoken:1: each line"),
        (ranks(b"QUFB" * 342 + b" 0"), "token of 1 to 1024 bytes"),
        (ranks(b"YQ== " + b"9" * 10_000), "own.tiktoken:1: each line"),
    ],
)
def test_rank_files_that_are_none(content, words, tmp_path):
    (tmp_path / "own.tiktoken").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        rank_tokenizer("cl100k", tmp_path / "own.tiktoken")


def test_the_rank_file_is_that_of_the_dataset(tmp_path):
    (tmp_path / "tokenizer.tiktoken").write_bytes(ranks(b"YQ== 0"))
    manifest = {"tokenizer": "cl100k", "ranks": {"name": "tokenizer.tiktoken", "sha256": "0" * 64}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "config.yaml").write_text(f"data:\n  root_dir: {tmp_path}\n")
    with pytest.raises(Damaged, match="not the rank file with which the text was prepared"):
        tokenizer_for(tmp_path)


def test_pipes_are_refused_and_not_waited_for(tmp_path):
    (tmp_path / "config.yaml").write_text("")
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(ValueError, match="is a pipe"):
        darope.load(tmp_path)
    (tmp_path / "run.json").unlink()
    os.mkfifo(tmp_path / "results.jsonl")
    with pytest.raises(ValueError, match="is a pipe"):
        darope.load(tmp_path).scores()
    pytest.importorskip("lm_eval", reason="needs lm-eval")
    from darope.benchmarks.long.question import kept, sha256_of

    os.mkfifo(tmp_path / f"prompts-{sha256_of(1)[:16]}.json")
    with pytest.raises(ValueError, match="is not what was written there"):
        kept(tmp_path, "prompts", 1, list)


def test_archives_that_unpack_without_end_are_refused(tmp_path):
    pytest.importorskip("lm_eval", reason="needs lm-eval")
    from darope.benchmarks.long.books import texts_of
    from darope.benchmarks.rows import lines_of

    line = json.dumps({"text": "a" * 1000}) + "\n"
    (tmp_path / "some.jsonl.gz").write_bytes(gzip.compress((line * 100).encode()))
    assert len(lines_of(tmp_path / "some.jsonl.gz")) == 100  # small ones may be as dull as they like
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(b"\0" * (64 << 20)))
    with pytest.raises(ValueError, match="unpacks to more than 200 times"):
        lines_of(tmp_path / "bomb.jsonl.gz")
    for name in ("bomb.txt.xz", "bomb.jsonl.xz"):
        (tmp_path / name).write_bytes(lzma.compress(b" " * (64 << 20)))
        with pytest.raises(ValueError, match="unpacks to more than 200 times"):
            texts_of(tmp_path / name)


def test_programs_of_a_model_run_only_where_that_is_allowed(tmp_path):
    pytest.importorskip("lm_eval", reason="needs lm-eval")
    words = ["darope.benchmarks", tmp_path, "--data", tmp_path, "--tasks"]
    for name in ("humaneval", "mbpp"):
        assert f"{name} runs programs that the model writes" in sentence(*words, name)
        assert "is missing" in sentence(*words, name, "--run-programs")
    from darope.benchmarks.__main__ import chosen_of

    assert {*chosen_of("all", True)} - {*chosen_of("all", False)} == {"humaneval", "mbpp"}


def test_what_a_program_started_ends_with_it(tmp_path):
    pytest.importorskip("lm_eval", reason="needs lm-eval")
    from darope.benchmarks.sandbox import passes

    started = tmp_path / "started"
    program = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(started)!r}, "w").write(str(child.pid))
"""
    assert passes(program)

    def lives():
        try:
            stat = Path(f"/proc/{started.read_text()}/stat").read_text()
        except FileNotFoundError:
            return False
        return stat.rpartition(")")[2].split()[0] != "Z"

    for _ in range(600):  # a signal takes its time on a busy machine, a sleep of minutes would not end
        if not lives():
            return
        time.sleep(0.1)
    raise AssertionError("what the program started is still there")


def test_scores_that_no_program_keeps_are_printed(capsys):
    pytest.importorskip("lm_eval", reason="needs lm-eval")
    from darope.benchmarks.__main__ import keep

    for program in ("/bin/false", str(ROOT / "no such program")):
        with pytest.raises(ValueError, match="could not be kept.*: they stand on standard output"):
            keep(program, "run", "the line")
        assert capsys.readouterr().out == "the line\n"
