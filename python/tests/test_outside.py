"""A new encoding is one file and one line: tests/outside adds one to a copy of the registry, and the suite
tests it for being listed.
"""

import difflib
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import test_conformance
from conftest import NAMES, ROOT

BUILD = Path(os.environ.get("DAROPE_BUILD", ROOT / "build"))
NEW = "rope-gain"


def run(*arguments):
    """Python with the package that has the new encoding."""
    environment = os.environ | {"PYTHONPATH": str(BUILD / "outside")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )


def test_the_registry_grew_by_one_line():
    before, after = (
        (folder / "registry.cpp").read_text().splitlines()
        for folder in (ROOT / "src" / "encodings", BUILD / "outside")
    )
    changes = [line for line in difflib.ndiff(before, after) if not line.startswith("  ")]
    assert changes == ["+     spec_of<class RoPEGain>(),"]


def test_contributing_shows_the_same_encoding():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert (ROOT / "tests" / "outside" / "rope_gain.cpp").read_text() in guide
    assert "    spec_of<class RoPEGain>(),\n" in guide


def test_the_new_encoding_is_listed_with_its_parameter_and_option():
    code = f"""
import darope, json
module = darope.create("{NEW}:start=3", d_model=8, heads=4, kv_heads=2, head_dim=8, train_length=16)
print(json.dumps([[row["name"] for row in darope.encodings()], module.gain.tolist()]))"""
    result = run("-c", code)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == [[*NAMES, NEW], [3.0, 3.0]]


def test_the_conformance_suite_tests_it(tmp_path):
    """Every test that runs over the registry runs over the new one as well, and passes."""
    report = tmp_path / "report.xml"
    result = run(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "python/tests/test_conformance.py",
        "-k",
        NEW,
        f"--junitxml={report}",
    )
    assert result.returncode == 0, result.stdout
    passed = {
        case.get("name").partition("[")[0]
        for case in ElementTree.parse(report).iter("testcase")
        if case.find("skipped") is None
    }
    over_the_registry = {
        name
        for name, test in vars(test_conformance).items()
        if "name" in [mark.args[0] for mark in getattr(test, "pytestmark", [])]
    }
    assert passed == over_the_registry and "test_gradcheck" in passed
