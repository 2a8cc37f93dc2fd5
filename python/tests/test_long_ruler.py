"""RULER made of small books: prompts that keep their promise, in lm-eval's words, and its measure."""

import ast
import collections
import json
import random
import re
from pathlib import Path

import pytest
from conftest import ROOT

lm_eval = pytest.importorskip("lm_eval", reason="needs lm-eval")
pytest.importorskip("wonderwords", reason="needs wonderwords")
from darope.benchmarks.long import ruler, ruler_qa  # noqa: E402
from darope.benchmarks.long.suite import Source  # noqa: E402
from darope.benchmarks.long.suites import SUITES  # noqa: E402
from long_prompts import books_and_stories, made_question, source  # noqa: E402

LENGTH = 2048


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return books_and_stories(tmp_path_factory.mktemp("data"))


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


def test_rulers_measure_is_the_one_of_lm_eval_where_that_is_the_authors():
    from lm_eval.tasks.ruler.common_utils import postprocess_pred, string_match_all

    rng = random.Random(0)
    for _ in range(200):
        answers = rng.sample(["Ab", "cd", "e\tf", "12", "345"], 3)
        text = "".join(rng.choices([*answers, "AB", "\n", "\x07", " 3", "45"], k=4))
        ours = ruler.judge(made_question("vt", answers), text)["match"]
        assert ours == pytest.approx(string_match_all(postprocess_pred([text]), [answers]))
    assert ruler.judge(made_question("qa_1", ["no such", "ANOTHER"]), "another one")["match"] == 1


@pytest.mark.skipif(not (ROOT / "../shared/data/books").is_dir(), reason="needs ../shared/data/books")
def test_real_books_hide_needles(data, tmp_path):
    real = Source(**{**source(data, tmp_path, limit=1).__dict__, "books": ROOT / "../shared/data/books"})
    assert len(SUITES["ruler"].questions(real, 1024)) >= 8
