"""BABILong made of small books: facts in order between sentences, and a measure that wants one label."""

import re

import pytest

pytest.importorskip("lm_eval", reason="needs lm-eval")
pytest.importorskip("wonderwords", reason="needs wonderwords")
from darope.benchmarks.long import babilong  # noqa: E402
from darope.benchmarks.long.suites import SUITES  # noqa: E402
from long_prompts import STORY, books_and_stories, made_question, source  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return books_and_stories(tmp_path_factory.mktemp("data"))


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
