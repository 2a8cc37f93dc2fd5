"""RULER and BABILong made of small books: prompts that keep their promise, and scores of a tiny model."""

import ast
import collections
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import ROOT

lm_eval = pytest.importorskip("lm_eval", reason="needs lm-eval")
pytest.importorskip("wonderwords", reason="needs wonderwords")
from darope.benchmarks.__main__ import main  # noqa: E402
from darope.benchmarks.long import babilong, ruler, ruler_qa  # noqa: E402
from darope.benchmarks.long.ask import answer_losses, bands, source_of, written  # noqa: E402
from darope.benchmarks.long.question import Question, hash_of  # noqa: E402
from darope.benchmarks.long.suite import Source  # noqa: E402
from darope.benchmarks.long.suites import SUITES  # noqa: E402
from darope.benchmarks.run import Options, check, score  # noqa: E402
from test_benchmarks import tiny_model, uncut, write  # noqa: E402

LENGTH = 2048
STORY = """1 Mary went to the garden.
2 John moved to the office.
3 Where is Mary?\tgarden\t1
4 Mary journeyed to the kitchen.
5 Where is Mary?\tkitchen\t4
1 Sandra moved to the hallway.
2 Where is Sandra?\thallway\t1
"""


@pytest.fixture(autouse=True)
def one_thread():
    """Such small models gain nothing by a second one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = random.Random(0)
    nouns = ["ships", "letters", "winter", "the old mill", "a lantern", "her brother", "the harbour"]
    verbs = ["passed", "was remembered by", "stood beside", "knew nothing of", "waited for"]
    sentences = [
        f"{rng.choice(nouns)} {rng.choice(verbs)} {rng.choice(nouns)}".capitalize() for _ in range(900)
    ]
    (folder / "books").mkdir()
    (folder / "books" / "one.txt").write_text(". ".join(sentences[:500]) + ".\n")
    write(folder / "books" / "more.jsonl", {"text": ". ".join(sentences[500:]) + "."})
    babi = folder / "babi" / "tasks_1-20_v1-2" / "en"
    babi.mkdir(parents=True)
    for task in babilong.TASKS:
        (babi / f"{task}_made-up_test.txt").write_text(STORY)
    write(folder / "babilong" / "test_100_idxs.json", {task: [2, 1] for task in babilong.TASKS})
    return folder


def source(data, prompts, limit=3):
    return Source(
        data=data,
        books=data / "books",
        prompts=prompts,
        tokens=lambda text: 1 + len(text.encode()),
        ends=lambda text, first, last: text,
        tokenizer="bytes",
        limit=limit,
    )


@pytest.fixture(scope="module")
def questions(data, tmp_path_factory):
    """Of RULER, by task."""
    asked = SUITES["ruler"].questions(source(data, tmp_path_factory.mktemp("prompts")), LENGTH)
    by_part = collections.defaultdict(list)
    for each in asked:
        by_part[each.part].append(each)
    return by_part


def test_all_tasks_that_fit_are_asked_with_room_for_the_answer(questions):
    assert set(questions) == set(ruler.TASKS)
    for part, asked in questions.items():
        assert len(asked) == 3 and len({each.prompt for each in asked}) == 3
        for each in asked:
            taken = 1 + len(each.prompt.encode()) + each.room
            assert taken <= LENGTH and taken > 0.85 * LENGTH, part
            assert each.bare in each.prompt or len(each.bare) < len(each.prompt)


def test_needles_are_in_the_haystack_once_and_answer_the_question(questions):
    of_keys = {"niah_multikey_1": 4, "niah_multiquery": 4}
    of_values = {"niah_multivalue": 4}
    for part in (each for each in questions if each.startswith("niah")):
        for each in questions[part]:
            hidden = re.findall(
                r"One of the special magic (?:numbers|uuids) for (.+?) is: ([\w-]+)\.", each.prompt
            )
            asked = re.search(r" for ([^?]+) mentioned in the provided text\? ", each.bare)[1]
            keys = re.split(r", and |, ", asked)
            assert len(keys) == (4 if part == "niah_multiquery" else 1)
            assert sorted(each.answers) == sorted(value for key, value in hidden if key in keys)
            if part not in ("niah_multikey_2", "niah_multikey_3"):  # where needles are the haystack
                assert len(hidden) == of_keys.get(part, 1) * of_values.get(part, 1)
            assert not re.search("One of the special magic", each.bare)


def test_the_chain_of_variables_leads_to_its_value(questions):
    for each in questions["vt"]:
        first = re.search(r"VAR (\w+) = (\d+)", each.prompt)
        steps = dict(re.findall(r"VAR (\w+) = VAR (\w+)", each.prompt))
        reached = [first[1]]
        while len(reached) <= len(steps):
            reached += [to for to, of in steps.items() if of == reached[-1]]
        assert reached == each.answers and len(reached) == 5
        assert f"assigned the value {first[2]} in" in each.prompt


def test_words_occur_as_often_as_the_task_says(questions, data):
    for each in questions["fwe"]:
        text = each.prompt.split("coded words. ")[1].split("\nQuestion")[0].split()
        (dots, _), *ranked = collections.Counter(text).most_common(5)
        assert dots == "..." and [word for word, _ in ranked[:3]] == each.answers
        assert ranked[2][1] > ranked[3][1]
    for length, often, seldom in ((4095, 6, 1), (4096, 30, 3)):
        plan = ruler.TASKS["cwe"](None, length, None)
        draft = plan.draw(random.Random(1), 25)
        counted = collections.Counter(re.findall(r"\d+\. (\S+)", draft.context))
        assert sorted(counted.values()) == [seldom] * 15 + [often] * 10
        assert {word for word, count in counted.items() if count == often} == set(draft.answers)
        assert draft.prompt("").count("The top 10 words") == 2  # the worked example's, and its own


def templates_of_lm_eval():
    """Its prompts, read from its sources: to import them fetches word lists."""
    folder = Path(lm_eval.__file__).parent / "tasks" / "ruler"
    for name in ("niah", "vt", "cwe", "fwe", "qa"):
        text = (folder / f"{name}_utils.py").read_text()
        tree = ast.parse(text)
        strings = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)]
        yield name, [each for each in strings if isinstance(each, str)]


def test_prompts_are_worded_as_lm_evals(questions):
    found = dict(templates_of_lm_eval())
    marks = {"kind": "{type_needle_v}", "value": "{query}", "count": "{num_v}"}

    def worded(template, **more):
        names = dict.fromkeys(re.findall(r"{(\w+)}", template))
        return template.format(**{name: {**marks, **more}.get(name, "{" + name + "}") for name in names})

    assert worded(ruler.HIDDEN).partition(" The special")[0] in found["niah"]
    for template, name in ((ruler.CHAIN, "vt"), (ruler.COMMON, "cwe"), (ruler.FREQUENT, "fwe")):
        asked, told = worded(template).split(" Answer:")
        assert asked in found[name] and " Answer:" + told in found[name]
    assert worded(ruler_qa.DOCUMENTS).removesuffix(" Answer:") in found["qa"]


SQUAD = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": f"Subject {subject}, paragraph {number}: " + "it goes on and on. " * 4,
                    "qas": [
                        {
                            "question": f"What of {subject} and {number}?",
                            "is_impossible": number == 2,
                            "answers": [{"text": f"answer {subject}{number}"}, {"text": "Another"}],
                        }
                    ],
                }
                for number in range(3)
            ]
        }
        for subject in "ABCDEFGH"
    ]
}
HOTPOT = [
    {
        "question": f"Who is {i}?",
        "answer": str(i),
        "context": [[f"Title {i}{j}", [f"First {i}. ", "Second."]] for j in range(10)],
    }
    for i in range(4)
]


def test_questions_on_documents_hold_what_answers_them(data, tmp_path):
    (tmp_path / "squad.json").write_text(json.dumps(SQUAD))
    (tmp_path / "hotpotqa.json").write_text(json.dumps(HOTPOT))
    squad = ruler_qa.read_squad(tmp_path / "squad.json")
    assert len(squad.questions) == 16 and len(squad.texts) == 24
    for size in (1, 3, 10, 24):
        draft = squad.plan(1).draw(random.Random(0), size)
        numbers = [int(each) for each in re.findall(r"Document (\d+):\n", draft.context)]
        assert numbers == list(range(1, size + 1)) and "Subject A, paragraph 1" in draft.context
        if size == 3:  # those of the same subject come first
            assert draft.context.count("Subject A") == 3
    hotpot = ruler_qa.read_hotpotqa(tmp_path / "hotpotqa.json")
    draft = hotpot.plan(2).draw(random.Random(0), 15)
    assert draft.context.count("Document") == 15 and draft.context.count("Title 2") == 10
    assert draft.prompt("x").endswith("Question: Who is 2? Answer:") and draft.answers == ["2"]
    (tmp_path / "ruler").mkdir()
    (tmp_path / "hotpotqa.json").rename(tmp_path / "ruler" / "hotpotqa.json")
    whole = Source(**{**source(tmp_path, tmp_path, limit=5).__dict__, "books": data / "books"})
    asked = SUITES["ruler"].questions(whole, 1024)
    assert [each.answers for each in asked if each.part == "qa_2"] == [[str(i)] for i in range(4)]
    (tmp_path / "squad.json").write_text('{"data": [{}]}')
    with pytest.raises(ValueError, match="is not as SQuAD 2.0"):
        ruler_qa.read_squad(tmp_path / "squad.json")


def made_question(part, answers, **more):
    empty = dict(length=0, prompt="", bare=None, lead="", right="", room=1)
    return Question(part=part, answers=answers, **{**empty, **more})


def test_rulers_measure_is_the_one_of_lm_eval_where_that_is_the_authors():
    from lm_eval.tasks.ruler.common_utils import postprocess_pred, string_match_all

    rng = random.Random(0)
    for _ in range(200):
        answers = rng.sample(["Ab", "cd", "e\tf", "12", "345"], 3)
        text = "".join(rng.choices([*answers, "AB", "\n", "\x07", " 3", "45"], k=4))
        ours = ruler.judge(made_question("vt", answers), text)["match"]
        assert ours == pytest.approx(string_match_all(postprocess_pred([text]), [answers]))
    assert ruler.judge(made_question("qa_1", ["no such", "ANOTHER"]), "another one")["match"] == 1


@pytest.mark.parametrize(
    "text, right",
    [
        ("The most recent location of Mary is kitchen.", 1),
        ("KITCHEN", 1),
        ("kitchen or garden", 0),
        ("Not the garden. The kitchen.", 0),  # the first sentence counts
        ("kitchen. Not the garden", 1),
        ("kitchen\n<example>\ngarden", 1),
        ("the hall", 0),
        ("", 0),
    ],
)
def test_babilongs_measure_wants_the_one_label(text, right):
    asked = made_question("qa1", ["kitchen"], facts=("Where is Mary?",))
    assert babilong.judge(asked, text) == {"match": right}


def test_labels_of_the_question_do_not_count():
    asked = made_question("qa4", ["garden"], facts=("What is north of the kitchen?",))
    assert babilong.judge(asked, "north of the kitchen is the garden") == {"match": 1}


@pytest.mark.parametrize("mark", ["\t", "|"])
def test_a_question_of_babi_comes_with_the_facts_before_it(tmp_path, mark):
    file = tmp_path / "qa1_test.txt"
    file.write_text(STORY.replace("\t", mark))
    first, second, third = babilong.read_babi(file)
    assert first.facts == ["Mary went to the garden.", "John moved to the office."]
    assert second.facts == [*first.facts, "Mary journeyed to the kitchen."]
    assert (second.question, second.answer) == ("Where is Mary?", "kitchen")
    assert third.facts == ["Sandra moved to the hallway."]
    file.write_text("1 Mary\nWhere?\n")
    with pytest.raises(ValueError, match="qa1_test.txt:2: should be a numbered fact"):
        babilong.read_babi(file)


def test_facts_lie_in_their_order_between_sentences_of_books(data, tmp_path):
    asked = SUITES["babilong"].questions(source(data, tmp_path), 4096)
    assert [each.part for each in asked] == [task for task in babilong.TASKS for _ in range(2)]
    books = (data / "books" / "one.txt").read_text() + (data / "books" / "more.jsonl").read_text()
    for each in asked:
        assert 0.85 * 4096 < 1 + len((each.prompt + each.lead).encode()) + each.room <= 4096
        context = each.prompt.split("<context>\n")[-1].split("\n</context>")[0]
        facts = [line[2:] for line in STORY.splitlines() if line[2:] in context]
        places = [context.index(fact) for fact in facts]
        assert places == sorted(places) and len(facts) in (1, 3)
        around = context
        for fact in facts:
            around = around.replace(fact, "|")
        for sentence in re.findall(r"[^.|]+\.", around):
            assert sentence.strip() in books
    first = next(each for each in asked if each.part == "qa1")
    assert first.lead == "\nAnswer: The most recent location of Sandra is" and first.right == " hallway"
    (bare, *_) = SUITES["babilong"].questions(source(data, tmp_path), 0)
    assert bare.prompt.count("<example>") == 2 and "<context>\nSandra moved to the hallway.\n<" in bare.prompt


def test_prompts_are_the_same_again_and_damage_is_seen(data, tmp_path):
    once = SUITES["babilong"].questions(source(data, tmp_path / "a"), 4096)
    (file,) = (tmp_path / "a").iterdir()
    assert SUITES["babilong"].questions(source(data, tmp_path / "a"), 4096) == once
    assert SUITES["babilong"].questions(source(data, tmp_path / "b"), 4096) == once
    fewer = SUITES["babilong"].questions(source(data, tmp_path / "b", limit=1), 4096)
    assert [each for each in once if each.part == "qa2"][:1] == [each for each in fewer if each.part == "qa2"]
    file.write_text(file.read_text().replace("Sandra", "Andrea", 1))
    with pytest.raises(ValueError, match="is not what was written there: remove it"):
        SUITES["babilong"].questions(source(data, tmp_path / "a"), 4096)


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


@pytest.mark.skipif(not (ROOT / "../shared/data/books").is_dir(), reason="needs ../shared/data/books")
def test_real_books_hide_needles(data, tmp_path):
    real = Source(**{**source(data, tmp_path, limit=1).__dict__, "books": ROOT / "../shared/data/books"})
    assert len(SUITES["ruler"].questions(real, 1024)) >= 8
