"""The benchmarks on their real questions, against what else is known of those: how many there are, which
answers are right as another collection has them, and the solutions that their authors give.
"""

import json
import tarfile

import pytest
from conftest import ROOT

pytest.importorskip("lm_eval", reason="needs lm-eval")
from darope.benchmarks.table import find  # noqa: E402
from darope.benchmarks.tasks import make_task  # noqa: E402

PACKED = ROOT / "../shared/data/evals/evals.tar.xz"
pytestmark = pytest.mark.skipif(not PACKED.exists(), reason="needs ../shared/data/evals")
# As their papers count them; of TriviaQA the 3,000 that LLM Foundry draws.
COUNTS = {
    "arc_easy": 2376,
    "arc_challenge": 1172,
    "piqa": 1838,
    "openbookqa": 500,
    "winogrande": 1267,
    "commonsense_qa": 1221,
    "copa": 100,
    "mmlu": 14_042,
    "triviaqa": 3000,
    "bbh": 6511,
    "gsm8k": 1319,
    "humaneval": 164,
    "mbpp": 500,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evals")
    with tarfile.open(PACKED) as archive:
        archive.extractall(folder)
    return folder / "evals"


def parts_of(name, data):
    return {stock: read(data) for stock, read in find(name).parts(data).items()}


def only_task(name, data):
    ((stock, splits),) = parts_of(name, data).items()
    return make_task(stock, splits)


def foundry(data, name):
    return [json.loads(line) for line in (data / "llm-foundry" / f"{name}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", COUNTS)
def test_every_question_is_there(name, data):
    parts = parts_of(name, data)
    asked = [splits.get("test") or splits["validation"] for splits in parts.values()]
    assert sum(map(len, asked)) == COUNTS[name]
    assert len(parts) == {"mmlu": 57, "bbh": 27}.get(name, 1)


def asked_and_right(task, doc):
    """What is put before each answer, the answers, and which is the right one."""
    requests = task.construct_requests(doc, task.fewshot_context(doc, num_fewshot=0), metadata=("t", 0, 1))
    before, answers = zip(*(each.args for each in requests))
    gold = task.doc_to_target(doc)
    if task.multiple_input:  # of beginnings the text tells which is right
        gold = task.doc_to_text(doc)
    if isinstance(gold, str):
        gold = task.doc_to_choice(doc).index(gold)
    return before, answers, int(gold)


def letters(text):
    return "".join(filter(str.isalnum, text)).lower()


@pytest.mark.parametrize(
    "name, theirs",
    [("piqa", "piqa"), ("arc_easy", "arc_easy"), ("openbookqa", "openbook_qa"), ("copa", "copa")],
)
def test_right_answers_are_those_of_another_collection(name, theirs, data):
    task = only_task(name, data)
    rows = foundry(data, theirs)
    docs = list(task.eval_docs)
    assert len(docs) == len(rows)
    for doc, row in zip(docs, rows):
        before, answers, right = asked_and_right(task, doc)
        assert right == row["gold"] and len(answers) == len(row["choices"])
        for answer, choice in zip(answers, row["choices"]):
            assert letters(answer) == letters(choice)
        assert letters(row["query"]) in letters(before[0])


def test_beginnings_are_those_of_another_collection(data):
    task = only_task("winogrande", data)
    for doc, row in zip(task.eval_docs, foundry(data, "winogrande"), strict=True):
        before, answers, right = asked_and_right(task, doc)
        assert right == row["gold"] and list(before) == row["context_options"]
        assert {answer.strip() for answer in answers} == {row["continuation"].strip()}


def scored(task, doc, answer):
    """The metrics of an answer that a model would have written, through the task's own filters."""
    task.set_config(key="num_fewshot", value=0)
    (instance,) = [task.construct_requests(doc, "", metadata=("t", 0, 1))]
    instance.resps = [answer]
    instance.doc = doc
    task._instances = [instance]
    task.apply_filters()
    return [task.process_results(doc, [filtered]) for filtered in instance.filtered_resps.values()]


def right_in(results, metric):
    return any(result[metric] == 1 for result in results)


def test_authors_answers_are_right_and_others_wrong(data):
    task = only_task("gsm8k", data)
    for doc in list(task.eval_docs)[::20]:
        assert right_in(scored(task, doc, doc["answer"]), "exact_match")
        wrong = doc["answer"].rsplit("####", 1)[0] + "#### 123456789"
        assert not right_in(scored(task, doc, wrong), "exact_match")
    task = only_task("triviaqa", data)
    for doc in list(task.eval_docs)[::100]:
        for alias in doc["answer"]["aliases"]:
            assert right_in(scored(task, doc, f" {alias}\n"), "exact_match")
        assert not right_in(scored(task, doc, "nobody knows"), "exact_match")
    for stock, splits in list(parts_of("bbh", data).items())[::4]:
        task = make_task(stock, splits)
        for doc in list(task.eval_docs)[::50]:
            assert right_in(scored(task, doc, f"So the answer is {doc['target']}."), "exact_match")
            assert not right_in(scored(task, doc, "So the answer is none of these."), "exact_match")


def test_authors_programs_pass_and_others_do_not(data):
    task = only_task("humaneval", data)
    for doc in list(task.eval_docs)[::8]:
        assert right_in(scored(task, doc, doc["canonical_solution"]), "pass_at_1")
        assert not right_in(scored(task, doc, "    return None\n"), "pass_at_1")
    task = only_task("mbpp", data)
    for doc in list(task.eval_docs)[::25]:
        assert right_in(scored(task, doc, doc["code"] + "\n"), "pass_at_1")
        assert not right_in(scored(task, doc, "pass\n"), "pass_at_1")
