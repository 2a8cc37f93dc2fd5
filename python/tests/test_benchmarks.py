"""Benchmarks on this disk against lm-eval's own tasks over the same rows, and a tiny model on them."""

import json
import math
import os
import subprocess

import pytest
import torch

# A GPU machine may have no more than torch.
pytest.importorskip("lm_eval", reason="needs lm-eval")
from darope.benchmarks import rows  # noqa: E402
from darope.benchmarks.run import Options, Uncut, begins_with_a_document, check, score  # noqa: E402
from darope.benchmarks.sandbox import passes  # noqa: E402
from darope.benchmarks.table import BENCHMARKS, find  # noqa: E402
from darope.benchmarks.tasks import make_task, manager  # noqa: E402
from darope.hf import DaropeConfig, DaropeForCausalLM  # noqa: E402
from darope.hf.tokenizer import byte_tokenizer  # noqa: E402


def write(file, *objects):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(each) + "\n" for each in objects))


@pytest.fixture
def folder(tmp_path):
    """A few rows of each form, made up."""
    write(
        tmp_path / "piqa" / "valid.jsonl",
        {"goal": "warm a cup", "sol1": "fill it with hot water", "sol2": "leave it in the snow"},
        {"goal": "dry a towel", "sol1": "hang it in the rain", "sol2": "hang it in the sun"},
    )
    (tmp_path / "piqa" / "valid-labels.lst").write_text("0\n1\n")
    foundry = tmp_path / "llm-foundry"
    write(
        foundry / "arc_easy.jsonl",
        {"query": "Question: What is wet?", "choices": ["sand", "rain", "wind", "light"], "gold": 1},
    )
    write(
        foundry / "winogrande.jsonl",
        {
            "context_options": ["Ann thanked Eve, for Ann", "Ann thanked Eve, for Eve"],
            "continuation": "had helped.",
            "gold": 1,
        },
    )
    write(
        foundry / "copa.jsonl",
        {"query": "The cup fell, therefore", "choices": ["it broke.", "it sang."], "gold": 0},
    )
    write(
        foundry / "triviaqa_sm_sub.jsonl",
        {
            "context": "Question: Which river runs through Vienna?\nAnswer:",
            "answer": "Danube",
            "aliases": ["Danube", "Donau"],
        },
    )
    head = "question,choice0,choice1,choice2,choice3,answer\n"
    for split, question in [("dev", "Two and two?"), ("test", '"One,\nand three?"')]:
        file = tmp_path / "mmlu" / split / f"anatomy_{split}.csv"
        file.parent.mkdir(parents=True)
        file.write_text(head + f"{question},1,2,3,4,3\n" * (5 if split == "dev" else 2))
    return tmp_path


def only_part(name, folder):
    ((stock, read),) = find(name).parts(folder).items()
    task = make_task(stock, read(folder))
    return task, list(task.eval_docs)


def requests_of(task, doc, shots=0):
    context = task.fewshot_context(doc, num_fewshot=shots)
    made = task.construct_requests(doc, context, metadata=("t", 0, 1))
    return [each.args for each in (made if isinstance(made, list) else [made])]


def test_every_benchmark_is_a_task_of_lm_eval():
    index = manager().task_index
    for name in set(BENCHMARKS) - {"mmlu", "bbh"}:
        assert name in index
    assert "mmlu_anatomy" in index and "bbh_cot_fewshot_navigate" in index
    assert len(BENCHMARKS) == 15


def test_choices_are_asked_as_the_stock_task_asks(folder):
    task, docs = only_part("piqa", folder)
    assert requests_of(task, docs[1]) == [
        ("Question: dry a towel\nAnswer:", " hang it in the rain"),
        ("Question: dry a towel\nAnswer:", " hang it in the sun"),
    ]
    task, docs = only_part("arc_easy", folder)
    assert requests_of(task, docs[0])[1] == ("Question: What is wet?\nAnswer:", " rain")
    assert int(task.doc_to_target(docs[0])) == 1


def test_beginnings_and_connectors_come_out_of_rows_that_hold_them_whole(folder):
    task, docs = only_part("winogrande", folder)
    assert requests_of(task, docs[0]) == [
        ("Ann thanked Eve, for Ann", " had helped."),
        ("Ann thanked Eve, for Eve", " had helped."),
    ]
    task, docs = only_part("copa", folder)
    assert [args[0] for args in requests_of(task, docs[0])] == ["The cup fell therefore"] * 2
    assert "it broke." in requests_of(task, docs[0])[0][1]


def test_worked_examples_come_from_the_dev_split(folder):
    task, docs = only_part("mmlu", folder)
    context = requests_of(task, docs[0], shots=5)[0][0]
    assert context.count("Two and two?") == 5 and context.count("Answer: D") == 5
    assert context.endswith("One,\nand three?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:")


def test_programs_are_right_only_if_their_last_line_is_reached():
    assert passes("x = 1\nassert x == 1")
    assert not passes("assert 1 == 2")
    assert not passes("import os\nos._exit(0)")
    assert not passes("raise SystemExit(0)")
    assert not passes("while True: pass")
    assert not passes("x = bytearray(1 << 34)")
    assert not passes("def f(:")


def tiny_model(length=32):
    torch.manual_seed(3)
    config = DaropeConfig(
        position_encoding={"type": "darope"},
        vocab_size=257,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=length,
    )
    return DaropeForCausalLM(config).eval()


def uncut(model, max_length):
    tokenizer = byte_tokenizer()
    prefix = begins_with_a_document(tokenizer)
    return Uncut(
        pretrained=model,
        tokenizer=tokenizer,
        max_length=max_length,
        batch_size=2,
        add_bos_token=True,
        prefix_token_id=prefix,
        logits_cache=False,
    )


def log_likelihood(model, context, continuation):
    ids = torch.tensor([[256, *(context + continuation).encode()]])
    with torch.no_grad():
        logs = model(ids).logits.double().log_softmax(-1)
    begin = 1 + len(context.encode())
    return sum(logs[0, at - 1, ids[0, at]].item() for at in range(begin, ids.shape[1]))


def test_scores_are_those_of_the_whole_prompt_beyond_the_training_length(folder):
    model = tiny_model()
    scored = score(uncut(model, 512), "piqa", Options(data=folder))
    task, docs = only_part("piqa", folder)
    for example, doc in enumerate(docs):
        logs = [log_likelihood(model, *args) for args in requests_of(task, doc)]
        lengths = [len(doc["sol1"]), len(doc["sol2"])]
        by_byte = [each / length for each, length in zip(logs, lengths)]
        right = {
            "acc": logs.index(max(logs)) == doc["label"],
            "acc_norm": by_byte.index(max(by_byte)) == doc["label"],
        }
        ours = {each["metric"]: each["value"] for each in scored.scores if each["example"] == example}
        assert ours == right
    assert {each["name"] for each in scored.metrics} == {"acc", "acc_norm"}
    again = score(uncut(tiny_model(), 512), "piqa", Options(data=folder))
    assert again.hash == scored.hash and again.scores == scored.scores


def test_log_likelihoods_equal_those_of_the_model_itself(folder):
    model = tiny_model()
    task, docs = only_part("arc_easy", folder)
    args = requests_of(task, docs[0])[2]
    from lm_eval.api.instance import Instance

    request = Instance("loglikelihood", docs[0], args, 0, metadata=("t", 0, 1))
    ((value, _),) = uncut(model, 512).loglikelihood([request])
    assert math.isclose(value, log_likelihood(model, *args), rel_tol=1e-5)


def test_a_prompt_that_is_too_long_is_refused_not_cut(folder):
    with pytest.raises(ValueError, match="may be read: give a larger --max-length"):
        score(uncut(tiny_model(), 16), "piqa", Options(data=folder))
    with pytest.raises(ValueError, match="may be read: give a larger --max-length"):
        score(uncut(tiny_model(), 300), "triviaqa", Options(data=folder))


@pytest.mark.parametrize(
    "name, spoil, words",
    [
        ("hellaswag", lambda folder: None, "hellaswag_val.jsonl is missing"),
        (
            "piqa",
            lambda folder: (folder / "piqa" / "valid-labels.lst").write_text("0\n"),
            "2 questions and 1 labels",
        ),
        (
            "arc_easy",
            lambda folder: write(folder / "llm-foundry" / "arc_easy.jsonl", {"query": "Question: x"}),
            "row 1 does not fit",
        ),
        (
            "copa",
            lambda folder: (folder / "llm-foundry" / "copa.jsonl").write_text("{"),
            "copa.jsonl:1: no JSON",
        ),
        (
            "mmlu",
            lambda folder: (folder / "mmlu" / "test" / "anatomy_test.csv").write_text("a,b\n1,2\n"),
            "the head should be question",
        ),
    ],
)
def test_files_that_do_not_fit_are_named(folder, name, spoil, words):
    spoil(folder)
    with pytest.raises(ValueError, match=words):
        only_part(name, folder)


def test_an_unknown_benchmark_is_named_with_those_there_are():
    with pytest.raises(ValueError, match="no benchmark is called 'pica'; there are hellaswag, arc_easy"):
        find("pica")


def test_readers_know_no_other_split_than_lm_eval_asks_for(folder):
    assert set(rows.mmlu("anatomy")(folder)) == {"dev", "test"}
    assert set(rows.piqa(folder)) == {"validation"}


def test_the_verb_keeps_scores_with_the_run_and_a_report_shows_them(folder, tmp_path):
    binary = os.environ["DAROPE_BINARY"]
    text = tmp_path / "text.txt"
    text.write_text("A cup of water and a towel in the sun. " * 400)
    out = tmp_path / "mine"
    small = ["steps=3", "model.dim=16", "model.n_layers=1", "data.seq_len=16", "data.test_examples=4"]
    compare = [binary, "compare", "--data", text, "--encodings", "rope,nope", "--seeds", "1", "--out", out]
    subprocess.run([*compare, *small], check=True, capture_output=True)
    runs = sorted((out / "runs").iterdir())
    asked = [binary, "lm-eval", *runs, "--tasks", "piqa", "--data", folder]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("piqa: acc_norm") == 2
    subprocess.run([binary, "report", out], check=True, capture_output=True)
    page = (out / "report.html").read_text()
    assert "<h3>piqa</h3>" in page and "by likelihood for each byte" in page
    refused = subprocess.run([*asked[:-1], tmp_path / "none"], capture_output=True, text=True)
    assert refused.returncode == 2 and "valid.jsonl is missing" in refused.stderr


def test_worked_examples_of_the_test_leave_out_the_question_itself():
    asked = [
        {"question": f"How many are {i} and 1?", "answer": f"They are {i + 1}.\n#### {i + 1}"}
        for i in range(6)
    ]
    task = make_task("gsm8k", {"test": asked})
    task.set_config(key="num_fewshot", value=5)
    task.build_all_requests(rank=0, world_size=1)
    assert len(task.instances) == 6
    for instance in task.instances:
        assert instance.args[0].count(instance.doc["question"]) == 1


def test_files_that_are_missing_are_found_before_anything_is_scored(folder):
    for name in ("mbpp", "humaneval", "hellaswag"):
        with pytest.raises((ValueError, OSError), match=name):
            check(name, Options(data=folder))
    check("piqa", Options(data=folder))
