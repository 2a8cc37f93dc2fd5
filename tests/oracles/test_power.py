"""A sample of what power.py does in full."""

import pytest
from faults import sample
from power import NAMES, Loss

DISKS = {"train": 12, "bundle": 9, "prepare": 24}


@pytest.mark.parametrize("name", NAMES)
def test_a_power_loss_takes_nothing_that_was_safe(name, tmp_path):
    loss = Loss(name, tmp_path)
    found = list(loss.every_loss(sample(DISKS[name] / (3 * len(loss.calls)), seed=5)))
    assert len(found) >= 3 and not [each for each in found if each[2]]
