"""A comparison and a run that are finished, for tests that look at them or at copies."""

import pytest
from commands import TASK, done
from trainings import train


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    done("compare", *TASK, "--out", "mine", "--bundle", "b.tar.zst", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    assert train(folder).returncode == 0
    return folder
