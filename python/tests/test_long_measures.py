"""What LongBench, CrossCodeEval and RepoBench measure, against the packages their scripts use and by hand."""

import json
import random
import re
import sys
import types
import warnings

import pytest

pytest.importorskip("lm_eval", reason="needs lm-eval")
from darope.benchmarks.long import crosscodeeval, longbench, measures, repobench  # noqa: E402
from darope.benchmarks.long.suites import SUITES  # noqa: E402
from long_prompts import made_question, source  # noqa: E402
from test_benchmarks import write  # noqa: E402


def random_texts(count, letters, size=12):
    rng = random.Random(1)
    return ["".join(rng.choices(letters, k=rng.randint(0, size))) for _ in range(count)]


def test_edit_similarity_is_that_of_fuzzywuzzy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is slow without python-Levenshtein, which counts otherwise
        fuzz = pytest.importorskip("fuzzywuzzy.fuzz", reason="needs fuzzywuzzy")
    texts = [*random_texts(60, "ab c("), "x" * 250 + "abc", "abc" + "x" * 250, "a" * 201]
    for told in texts:
        for right in texts:
            assert measures.edit_similarity(told, right) == fuzz.ratio(told, right) / 100, (told, right)


def test_rouge_is_that_of_rouge():
    rouge = pytest.importorskip("rouge", reason="needs rouge").Rouge()
    words = ["the", "cat", "sat", "on", "a", "mat", ".", ". ", "..", "\n"]
    rng = random.Random(2)
    compared = 0
    for _ in range(400):
        told, right = (" ".join(rng.choices(words, k=rng.randint(0, 14))) for _ in range(2))
        try:
            expected = rouge.get_scores([told], [right], avg=True)["rouge-l"]["f"]
        except ValueError:  # LongBench counts 0
            expected = 0.0
        assert measures.rouge_l(told, right) == pytest.approx(expected, abs=1e-12), (told, right)
        compared += expected > 0
    assert compared > 200


def test_f1_of_words_without_case_articles_and_marks():
    assert measures.token_f1("The Cat, sat!", "cat sat") == 1
    assert measures.token_f1("a big cat", "the cat sat down") == pytest.approx(
        2 * (1 / 2) * (1 / 3) / (5 / 6)
    )
    assert measures.token_f1("dog dog", "dog") == pytest.approx(2 / 3)
    assert measures.token_f1("", "cat") == measures.token_f1("the", "a") == 0


def test_a_class_counts_by_how_many_are_named():
    classes = ["City", "Other city", "Food", "Plant"]
    assert measures.class_named("Food", "Food", classes) == 1
    assert measures.class_named("Food or Plant", "Food", classes) == 1 / 2
    assert measures.class_named("Plant", "Food", classes) == 0
    # A part of the right name does not count.
    assert measures.class_named("Other City city", "Other city", ["City", "Other city", "Food"]) == 0
    assert measures.class_named("city: Other city", "Other city", ["city", "Other city", "Food"]) == 1
    # The one behind a dropped name is not looked at: "place" stays.
    assert measures.class_named("City place", "City place", ["City", "place", "City place"]) == 1 / 2


def test_numbers_are_the_share_of_those_that_are_right():
    assert measures.number_found("There are 7, not 8; yes, 7.", "7") == pytest.approx(2 / 3)
    assert measures.number_found("17", "7") == measures.number_found("none", "7") == 0
    assert measures.paragraph_found("Paragraph 12 or 3", "Paragraph 12") == 1 / 2


def test_measures_are_those_of_lm_evals_port(monkeypatch):
    """It has LongBench's own functions, but for code, where a blank line does not count."""
    for name in ("rouge", "fuzzywuzzy"):
        pytest.importorskip(name, reason=f"needs {name}")
    monkeypatch.setitem(sys.modules, "jieba", types.ModuleType("jieba"))  # for Chinese alone
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lm_eval.tasks.longbench import metrics
    rng = random.Random(3)
    words = ["the", "Cat", "sat,", "a-b", "7", "12", "Paragraph 7", "Other cat", "dog.", "(the", "An"]
    for _ in range(500):
        told, right = (" ".join(rng.choices(words, k=rng.randint(1, 8))) for _ in range(2))
        classes = rng.sample([*words, "Other", "cat", right], 8)
        assert measures.token_f1(told, right) == pytest.approx(metrics.qa_f1_score(told, right))
        assert measures.rouge_l(told, right) == pytest.approx(metrics.rouge_score(told, right))
        assert measures.number_found(told, "7") == metrics.count_score(told, "7")
        assert measures.paragraph_found(told, "Paragraph 12") == metrics.retrieval_score(told, "Paragraph 12")
        for name in (right, *classes):
            ours = measures.class_named(told + right, name, classes)
            assert ours == metrics.classification_score(told + right, name, all_classes=classes)


def test_code_is_the_first_line_that_is_no_comment():
    assert measures.code_similarity("\n# so\n```\nx = 1\ny", "x = 1") == 1
    assert measures.code_similarity("x // 2\nx = 12", "x = 1") == pytest.approx(0.91)
    assert measures.code_similarity("# so", "x = 1") == 0
    assert measures.code_similarity(" \nx = 1", "x = 1") == pytest.approx(0.33)  # a blank line is one


def test_longbench_takes_the_best_answer_and_of_some_tasks_the_first_line():
    asked = made_question("triviaqa", ["a dog", "cat"])
    assert longbench.judge(asked, "\ncat\nand a dog") == {"score": 1}
    asked = made_question("narrativeqa", ["a dog", "cat"])
    assert longbench.judge(asked, "cat\nand more") == {"score": pytest.approx(0.5)}
    asked = made_question("trec", ["Food"], facts=("Food", "Plant"))
    assert longbench.judge(asked, "Food\nPlant") == {"score": 1}
    assert set(longbench.MEASURES) >= {"gov_report", "qmsum", "multi_news", "passage_retrieval_en"}
    assert len(longbench.MEASURES) == 16


def by_bytes(text, first, last):
    return text if len(text) <= first + last else text[:first] + text[len(text) - last :]


@pytest.fixture
def read(tmp_path):
    """A source over made-up files, one token for each byte."""
    made = source(tmp_path, tmp_path / "prompts", limit=None)
    return type(made)(**{**made.__dict__, "ends": by_bytes})


def test_longbench_reads_its_own_files_and_cuts_the_middle(read, tmp_path):
    folder = tmp_path / "longbench"
    row = {
        "context": "begin " + "x" * 5000 + " end",
        "input": "Who?",
        "answers": ["Ann"],
        "all_classes": None,
    }
    write(folder / "data" / "qasper.jsonl", row, {**row, "context": "short"})
    write(
        folder / "config" / "dataset2prompt.json", {"qasper": "Read: {context}\nQuestion: {input}\nAnswer:"}
    )
    write(folder / "config" / "dataset2maxlen.json", {"qasper": 128})
    SUITES["longbench"].check(tmp_path, tmp_path)
    long, short = SUITES["longbench"].questions(read, 1024)
    assert short.prompt == "Read: short\nQuestion: Who?\nAnswer:" and short.right == " Ann"
    assert long.prompt.startswith("Read: begin x") and long.prompt.endswith(" end\nQuestion: Who?\nAnswer:")
    assert 1020 < 1 + len(long.prompt) + 128 <= 1024
    with pytest.raises(ValueError, match="qasper takes 128 tokens to answer: give larger --lengths"):
        SUITES["longbench"].questions(read, 100)
    write(folder / "config" / "dataset2maxlen.json", {"lcc": 128})
    with pytest.raises(ValueError, match="dataset2maxlen.json says nothing of qasper"):
        SUITES["longbench"].check(tmp_path, tmp_path)
    (folder / "config" / "dataset2prompt.json").unlink()
    with pytest.raises(ValueError, match="dataset2prompt.json is missing"):
        SUITES["longbench"].check(tmp_path, tmp_path)
    write(folder / "data" / "qasper.jsonl", {"context": "no answers"})
    with pytest.raises(ValueError, match="row of LongBench's qasper does not fit"):
        longbench.question("qasper", {"context": "", "input": ""}, "{context}", 1, 9, by_bytes)


@pytest.mark.parametrize(
    "language, prompt, told, first",
    [
        ("python", "x = ", "f(1,\n  2)\ny = 3\n", "f(1,\n  2)"),  # behind the first line it is not sound
        ("python", "def f():\n    ", "return 1 \n\nprint()", "return 1"),
        ("python", "x = ", "1", "1"),
        ("python", "x = ", "(\n", "(\n"),
        ("java", "", "int x = 1; int y;", "int x = 1;"),
        ("csharp", "", "if (x) { y(); }", "if (x) {"),
        ("typescript", "", "foo()", "foo()"),
        ("java", "", "} else", "} else"),  # as in the original, where a place of 0 reads as none
    ],
)
def test_a_completion_ends_with_its_first_statement(language, prompt, told, first):
    if language == "python":
        pytest.importorskip("tree_sitter_python", reason="needs tree-sitter-python")
    assert crosscodeeval.statement(prompt, told, language) == first


def test_identifiers_are_words_without_strings_and_keywords():
    assert crosscodeeval.identifiers('return self.name[\'a b\'] + f("x\\"y", True, 2)', "python") == [
        "self",
        "name",
        "f",
        "True",
    ]
    assert crosscodeeval.identifiers("final String s = this.x;", "java") == ["String", "s", "x"]
    assert crosscodeeval.identifiers("const s: string = await f()", "typescript") == [
        "s",
        "string",
        "await",
        "f",
    ]
    assert "string" not in crosscodeeval.identifiers("string s", "csharp")


def test_crosscodeeval_compares_statements_and_identifiers(read, tmp_path):
    row = {
        "prompt": "a" * 3000 + "\nString s = ",
        "groundtruth": "name(x); // the name",
        "crossfile_context": {"text": "// other.java\n" + "b" * 3000},
    }
    write(tmp_path / "crosscodeeval" / "java" / "line_completion_rg1_bm25.jsonl", row)
    SUITES["crosscodeeval"].check(tmp_path, tmp_path)
    (asked,) = SUITES["crosscodeeval"].questions(read, 1024)
    assert asked.prompt.startswith("// other.java\nbbb") and asked.prompt.endswith("aaa\nString s = ")
    assert asked.prompt.count("b") == 800 - len("// other.java\n") and 1 + len(asked.prompt) + 50 <= 1024
    judge = SUITES["crosscodeeval"].judge
    full = {"edit_similarity": 1, "exact_match": 1, "identifier_match": 1, "identifier_f1": 1}
    assert judge(asked, " name(x); // another\nmore();") == full
    partly = judge(asked, "name(y);")
    assert partly["exact_match"] == partly["identifier_match"] == 0
    assert partly["identifier_f1"] == 0.5 and partly["edit_similarity"] == pytest.approx(0.88)


def test_repobench_drops_lines_of_other_files_from_behind(read, tmp_path):
    context = [{"path": f"src/{name}.py", "snippet": f"{name} = 1\n" * 30} for name in ("first", "second")]
    row = {
        "repo_name": "some/thing",
        "context": context,
        "file_path": "main.py",
        "import_statement": "import first",
        "cropped_code": "y = 2",
        "next_line": "z = first",
    }
    write(tmp_path / "repobench" / "python" / "in_file.jsonl", row)
    SUITES["repobench"].check(tmp_path, tmp_path)
    (asked,) = SUITES["repobench"].questions(read, 2048)
    assert asked.prompt == (
        "# Repo Name: some/thing\n# Path: src/first.py\n" + "first = 1\n" * 30 + "\n\n"
        "# Path: src/second.py\n" + "second = 1\n" * 30 + "\n\n# Path: main.py\nimport first\ny = 2\n"
    )
    (asked,) = SUITES["repobench"].questions(read, 512)
    assert re.fullmatch(
        "# Repo Name: some/thing\n# Path: src/first.py\n(first = 1\n)+"
        "\n# Path: main.py\nimport first\ny = 2\n",
        asked.prompt,
    )
    assert 480 < 1 + len(asked.prompt) + 128 <= 512
    assert SUITES["repobench"].judge(asked, '"""\nwords\n"""\n# so\nz  = first\n') == {
        "exact_match": 1,
        "edit_similarity": pytest.approx(0.95),
    }


@pytest.mark.parametrize(
    "language, told, line",
    [
        ("python", "\n\n# a\n\nx = 1\ny", "x = 1"),
        ("python", '"""a"""\nx\ny"""\nz', "z"),  # as in the original: one line does not close itself
        ("python", "# a\n# b", "# a"),
        ("java", "/* a\n b */\n// c\nx;", "x;"),
    ],
)
def test_the_first_line_that_is_no_comment(language, told, line):
    assert repobench.first_line(told, language) == line


def test_missing_and_broken_files_are_named(tmp_path):
    for name, words in (
        ("longbench", "should hold LongBench's files, narrativeqa"),
        ("crosscodeeval", "should hold one of python/line_completion_rg1_bm25.jsonl"),
        ("repobench", "should hold one of python/cross_file_first.jsonl"),
    ):
        with pytest.raises(ValueError, match=words):
            SUITES[name].check(tmp_path, tmp_path)
    with pytest.raises(ValueError, match="row of CrossCodeEval's java does not fit"):
        crosscodeeval.question("java", json.loads("{}"), 99, by_bytes)
    with pytest.raises(ValueError, match="row of RepoBench's python-in_file does not fit"):
        repobench.question("python-in_file", {"context": [{}]}, 99, len)
