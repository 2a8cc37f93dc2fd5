"""Long prompts asked of a tiny model: its losses and texts, scores by length, and what is refused."""

import itertools
import os
import shutil
import subprocess
import sys

import pytest
import torch

pytest.importorskip("lm_eval", reason="needs lm-eval")
pytest.importorskip("wonderwords", reason="needs wonderwords")
from darope.benchmarks.__main__ import main  # noqa: E402
from darope.benchmarks.long import babilong  # noqa: E402
from darope.benchmarks.long.ask import answer_losses, bands, source_of, written  # noqa: E402
from darope.benchmarks.long.question import hash_of  # noqa: E402
from darope.benchmarks.long.suites import SUITES  # noqa: E402
from darope.benchmarks.run import Options, check, score  # noqa: E402
from long_prompts import books_and_stories, made_question, source  # noqa: E402
from test_benchmarks import tiny_model, uncut, write  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return books_and_stories(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def one_thread():
    """Such small models gain nothing by a second one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_bands_are_quartiles_over_tasks():
    scores = [
        {"metric": "m", "x": 8, "cluster": task, "value": value}
        for task, values in enumerate([(0, 0), (0, 1), (1, 1), (0, 0.5), (1, 0.5)])
        for value in values
    ]
    (band,) = bands(scores)  # means 0, 0.5, 1, 0.25, 0.75
    assert band == {"metric": "m", "x": 8, "low": 0.25, "median": 0.5, "high": 0.75}


@torch.no_grad()
def test_losses_and_texts_are_the_models_own():
    torch.manual_seed(0)
    model = tiny_model()
    reader = uncut(model, 512)
    pairs = [("a short one is", " this"), ("and one that is rather longer than that", " 12345"), ("x", "y")]
    for (prompt, right), read in zip(pairs, answer_losses(reader, pairs, [9] * 3)):
        ids = torch.tensor([[256, *(prompt + right).encode()]])
        logs = model(ids).logits.double().log_softmax(-1)[0, :-1]
        told = logs.gather(1, ids[0, 1:, None])[-len(right.encode()) :]
        assert read.nll == pytest.approx(-told.mean().item(), rel=1e-5)
        likeliest = (logs.argmax(1) == ids[0, 1:])[-len(right.encode()) :]
        assert read.accuracy == pytest.approx(likeliest.double().mean().item())
        assert read.tokens == len(right.encode())
    asked = [made_question("p", [], prompt=prompt, room=9) for prompt, _ in pairs]
    for (prompt, _), text in zip(pairs, written(reader, asked)):
        ids = [256, *prompt.encode()]
        for _ in range(9):  # without a cache
            ids.append(model(torch.tensor([ids])).logits[0, -1].argmax().item())
        own = bytes(itertools.takewhile(lambda token: token < 256, ids[1 + len(prompt.encode()) :]))
        assert text == own.decode(errors="replace")


def test_a_model_gets_scores_by_length(data, tmp_path):
    options = Options(data=data, prompts=tmp_path, lengths=(0, 2048), limit=1)
    reader = uncut(tiny_model(), 2048)
    found = score(reader, "babilong", options)
    names = [each["name"] for each in found.metrics]
    assert names == ["match", "answer_nll", "answer_accuracy", "gain"]
    assert {each["x"] for each in found.scores} == {0, 2048}
    assert len(found.scores) == 4 * 10 and {each["cluster"] for each in found.scores} == set(range(5))
    assert {band["metric"] for band in found.bands} == set(names) and found.parts == list(babilong.TASKS)
    with pytest.raises(ValueError, match="4096 tokens is asked for, and 2048 may be read: give a larger"):
        score(reader, "babilong", Options(data=data, lengths=(64, 4096)))
    source = source_of(reader, options)
    asked = [each for length in (0, 2048) for each in SUITES["babilong"].questions(source, length)]
    assert found.hash == hash_of(asked) != hash_of(asked[:5])
    given = [(each.prompt + each.lead, each.right) for each in asked]
    bare = [(each.bare + each.lead, each.right) for each in asked]
    reads = zip(answer_losses(reader, given, [20] * 10), answer_losses(reader, bare, [20] * 10))
    for example, (read, alone) in enumerate(reads):
        ours = {each["metric"]: each["value"] for each in found.scores if each["example"] == example}
        assert ours["answer_nll"] == pytest.approx(read.nll)
        assert ours["gain"] == pytest.approx(alone.nll - read.nll)


def test_missing_files_are_named_before_a_model_is_asked(data, tmp_path, capsys):
    with pytest.raises(ValueError, match="should hold books"):
        check("ruler", Options(data=tmp_path))
    with pytest.raises(ValueError, match="test_100_idxs.json is missing"):
        check("babilong", Options(data=tmp_path, books=data / "books"))
    shutil.copytree(data / "babi", tmp_path / "babi")
    write(tmp_path / "babilong" / "test_100_idxs.json", dict.fromkeys(babilong.TASKS, [7]))
    with pytest.raises(ValueError, match="test_100_idxs.json does not fit bAbI's files"):
        check("babilong", Options(data=tmp_path, books=data / "books"))
    check("ruler", Options(data=data))
    assert "left out: ruler's qa_1: " in capsys.readouterr().err
    with pytest.raises(ValueError, match="no length 0"):
        SUITES["ruler"].questions(source(data, tmp_path), 0)
    with pytest.raises(ValueError, match="no benchmark is called 'rule'; there are .*ruler, babilong"):
        check("rule", Options(data=data))


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError()])
def test_a_prompt_beyond_memory_is_said_in_one_sentence(data, monkeypatch, capsys, error):
    def load(*_):
        raise error

    monkeypatch.setattr("darope.benchmarks.run.load", load)
    monkeypatch.setattr("sys.argv", ["x", "run", "--tasks", "babilong", "--data", str(data)])
    assert main() == 2
    told = capsys.readouterr().err
    assert "8 prompts at once take more memory than cpu has" in told and told.count("\n") == 1


def test_the_verb_keeps_long_scores_and_a_report_shows_them(data, tmp_path):
    binary = os.environ["DAROPE_BINARY"]
    text = tmp_path / "text.txt"
    text.write_text("A cup of water and a towel in the sun. " * 800)
    out = tmp_path / "mine"
    small = ["steps=3", "model.dim=16", "model.n_layers=1", "data.seq_len=256", "data.test_examples=4"]
    compare = [binary, "compare", "--data", text, "--encodings", "rope", "--seeds", "1", "--out", out]
    subprocess.run([*compare, *small], check=True, capture_output=True)
    runs = sorted((out / "runs").iterdir())
    asked = [binary, "lm-eval", *runs, "--tasks", "babilong", "--data", data, "--limit", "1"]
    done = subprocess.run([*asked, "--lengths", "2048"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (
        done.stderr.count("median") == 4
        and len(list((out / "runs").glob("prompts-babilong-2048-*.json"))) == 1
    )
    told = subprocess.run([binary, "report", out], check=True, capture_output=True, text=True)
    assert "left out" not in told.stdout + told.stderr
    page = (out / "report.html").read_text()
    assert "<h3>babilong</h3>" in page and "loss of the right answer" in page


def test_no_network_is_asked():
    code = "import darope.benchmarks.run, huggingface_hub.constants as c; print(c.HF_HUB_OFFLINE)"
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout == "True\n", done.stderr
