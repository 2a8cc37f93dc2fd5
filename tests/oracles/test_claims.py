"""docs/claims.md and the pages of results say what the published results do, and all they name is there."""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml
from paper import NUMBERS

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("DAROPE_BINARY", ROOT / "build" / "darope"))
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "docs" / "results")]
import claims  # noqa: E402
import quote  # noqa: E402

GROUPS = yaml.safe_load((ROOT / "docs" / "claims.yaml").read_text())
CLAIMS = [claim for group in GROUPS for claim in group.get("claims", [])]


def test_the_page_is_what_the_results_say():
    assert (ROOT / "docs" / "claims.md").read_text() == claims.page(GROUPS)


def test_what_the_pages_of_results_quote_is_what_their_results_say():
    pages = list((ROOT / "docs" / "results").glob("*/README.md"))
    assert len(pages) > 5
    for page in pages:
        assert "<!-- quoted: " in page.read_text()
        assert quote.quoted(page) == page.read_text(), f"{page}: docs/results/render writes it again"


def test_a_claim_may_be_about_an_evaluation_at_any_place(tmp_path, monkeypatch):
    def cell(encoding, by_seed, half):
        return {"encoding": encoding, "by_seed": by_seed, "half_width": half}

    pair = {"first": "rope:base=500000", "second": "darope", "difference": -0.05, "interval": [-0.07, -0.03]}
    told = {"overall": [{"x": 1, "pairs": [], "margin": 0.002, "not_learned": ["text"]}], "datasets": []}
    told["evaluations"] = [
        {
            "name": "books: positions",
            "margin": 0.01,
            "metrics": [{"unit": "nats per token"}],
            "lengths": [
                {"x": 1, "cells": [], "pairs": []},
                {"x": 2, "cells": [cell("darope", [3.0], 0.1)], "pairs": [pair]},
            ],
            "beside": [
                {"metric": "perplexity", "places": [{"x": 2, "cells": [cell("darope", [19, 21], 0)]}]}
            ],
        }
    ]
    (tmp_path / "results" / "language").mkdir(parents=True)
    (tmp_path / "results" / "language" / "results.json").write_text(json.dumps(told))
    monkeypatch.setattr(claims, "DOCS", tmp_path)
    claim = {"page": "language", "dataset": "books: positions", "at": 2}
    verdict, words = claims.judge(claim | {"better": [["darope", "rope"]]})
    assert (verdict, words) == ("holds", ["darope, rope: +0.0500 (+0.0300 to +0.0700)"])
    assert claims.judge(claim | {"better": [["rope", "darope"]]})[0] == "does not"
    assert claims.judge(claim | {"level": {"darope": 3.2}})[0] == "does not"  # 2.9 to 3.1 over examples
    assert claims.judge(claim | {"level": {"darope": 3.05}})[0] == "undecided"
    (levels,) = claims.judge(claim | {"metric": "perplexity", "level": {"darope": 20}})[1]
    assert levels == "darope: 20.0000 (7.2938 to 32.7062)"  # t of one degree of freedom is 12.7062


def test_every_file_a_claim_names_is_there():
    text = (ROOT / "docs" / "claims.yaml").read_text()
    named = set(re.findall(r"(?:configs|tests)/[\w./-]+\.(?:yaml|py|cpp)", text))
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).exists()] == []
    linked = re.findall(r"\]\(([^)#]+)", (ROOT / "docs" / "claims.md").read_text())
    assert [name for name in linked if not (ROOT / "docs" / name).exists()] == []


def test_every_command_has_a_verb_and_options_that_there_are():
    for command in {claim["run"] for claim in CLAIMS if "run" in claim}:
        program, *words = command.split()
        verb = itertools.takewhile(str.isalpha, words)  # "bench step"
        helped = subprocess.run([BINARY, *verb, "--help"], capture_output=True, text=True)
        assert (program, helped.returncode) == ("darope", 0), command
        for option in (word for word in words if word.startswith("--")):
            assert option in helped.stdout, command


def test_every_number_of_the_paper_is_in_a_claim():
    named = {label.strip() for claim in CLAIMS for label in claim["of"].split(",")}
    for group in GROUPS:
        named |= {*group.get("settings", {}).values(), *group.get("missing", [])}
    assert {row["source"] for row in NUMBERS} - named == set()


@pytest.mark.parametrize(
    "rule,interval,verdict",
    [
        (claims.better, (0.001, 0.03), "holds"),
        (claims.better, (-0.01, 0.03), "undecided"),
        (claims.better, (-0.01, 0.01), "does not"),  # tied
        (claims.better, (-0.03, -0.02), "does not"),
        (claims.not_worse, (-0.03, -0.001), "does not"),
        (claims.not_worse, (-0.03, 0.001), "undecided"),
        (claims.not_worse, (-0.009, 0.03), "holds"),
        (claims.together, (-0.009, 0.009), "holds"),
        (claims.together, (0.001, 0.02), "undecided"),
        (claims.together, (0.011, 0.02), "does not"),
    ],
)
def test_a_verdict_never_goes_beyond_its_interval(rule, interval, verdict):
    assert rule(*interval, 0.01) == verdict


def test_levels_hold_within_the_margin_only():
    assert claims.level(0.499, 0.501, 0.5, 0.002) == "holds"
    assert claims.level(0.499, 0.503, 0.5, 0.002) == "undecided"
    assert claims.level(0.503, 0.505, 0.5, 0.002) == "does not"
    assert claims.below(0.4, 0.6, 0.5, 0.002) == "undecided"


@pytest.mark.parametrize("base,slow", [(10000, 18), (500000, 32)])
def test_slow_bands_are_as_many_as_the_paper_counts(base, slow):
    command = [BINARY, "bands", "--head-dim", "128", "--base", str(base), "--context", "4096", "--json"]
    assert json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["slow"] == slow
