"""A sample of what faults.py does in full."""

import pytest
from faults import VERBS, Verb, every_fault

FAULTS = {"train": 12, "compare": 4, "eval": 8, "report": 8, "bundle": 8, "prepare": 16}


@pytest.mark.parametrize("name", VERBS)
def test_a_fault_loses_nothing(name, tmp_path):
    verb = Verb(name, tmp_path)
    found = list(every_fault(verb, FAULTS[name] / (4 * verb.calls), seed=7))
    assert found and not [each for each in found if each[2]]
