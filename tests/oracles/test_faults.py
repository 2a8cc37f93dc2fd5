"""A sample of what faults.py does in full."""

import pytest
from faults import VERBS, Verb, every_fault, part, sample

FAULTS = {"train": 12, "compare": 4, "eval": 8, "report": 8, "bundle": 8, "prepare": 16}


@pytest.mark.parametrize("name", VERBS)
def test_a_fault_loses_nothing(name, tmp_path):
    verb = Verb(name, tmp_path)
    found = list(every_fault(verb, sample(FAULTS[name] / (4 * verb.calls), seed=7)))
    assert found and not [each for each in found if each[2]]


def test_parts_are_the_whole():
    parts = [{n for n in range(100) if part(f"{i}/7")(n)} for i in range(7)]
    assert set().union(*parts) == set(range(100)) and sum(map(len, parts)) == 100
