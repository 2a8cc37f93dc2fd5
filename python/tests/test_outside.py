"""A new encoding is one file and one line: tests/outside adds two, and the suite tests what is listed."""

import difflib
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import test_conformance
from conftest import NAMES, ROOT, ROTARY

BUILD = Path(os.environ.get("DAROPE_BUILD", ROOT / "build"))
NEW = ["rope-gain", "linear-bias"]
LINES = ["    spec_of<class RoPEGain>(),", "    spec_of<class LinearBias>(),"]


def run(*arguments):
    """Python with the package that has the new encoding."""
    environment = os.environ | {"PYTHONPATH": str(BUILD / "outside")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )


def test_the_registry_grew_by_one_line_each():
    before, after = (
        (folder / "registry.cpp").read_text().splitlines()
        for folder in (ROOT / "src" / "encodings", BUILD / "outside")
    )
    changes = [line for line in difflib.ndiff(before, after) if not line.startswith("  ")]
    assert changes == [f"+ {line}" for line in LINES]


def test_contributing_shows_the_same_encodings():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    for name in ("rope_gain.cpp", "linear_bias.cpp"):
        assert (ROOT / "tests" / "outside" / name).read_text() in guide
    assert "\n".join(LINES) in guide


def test_the_new_encodings_are_listed_with_their_parameters_and_options():
    code = """
import darope, json
sizes = dict(d_model=8, heads=4, kv_heads=2, head_dim=8, train_length=16)
gain, bias = darope.create("rope-gain:start=3", **sizes), darope.create("linear-bias", **sizes)
print(json.dumps([[row["name"] for row in darope.encodings()], gain.gain.tolist(), len(bias.slope)]))"""
    result = run("-c", code)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == [[*NAMES, *NEW], [3.0, 3.0], 4]


@pytest.mark.parametrize("new", NEW)
def test_the_conformance_suite_tests_it(new, tmp_path):
    """Every test that runs over the registry runs over the new ones as well, and passes."""
    report = tmp_path / "report.xml"
    result = run(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "python/tests/test_conformance.py",
        "-k",
        new,
        f"--junitxml={report}",
    )
    assert result.returncode == 0, result.stdout
    passed = {
        case.get("name").partition("[")[0]
        for case in ElementTree.parse(report).iter("testcase")
        if case.find("skipped") is None
    }
    listed = [NAMES, ROTARY] if new == "rope-gain" else [NAMES]
    over_the_registry = {
        name
        for name, test in vars(test_conformance).items()
        for mark in getattr(test, "pytestmark", [])
        if mark.args[0] == "name" and mark.args[1] in listed
    }
    assert passed == over_the_registry and "test_gradcheck" in passed
