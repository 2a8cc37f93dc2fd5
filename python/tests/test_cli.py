"""The darope program: what it prints and how it refuses."""

import json
import os
import re
import subprocess

import darope
import pytest
from conftest import NAMES, ROOT

PROGRAM = os.environ.get("DAROPE_BINARY", str(ROOT / "build" / "darope"))
PAPER = {
    "nope": 62.4,
    "rope": 61.7,
    "hope": 62.3,
    "yarn": 62.2,
    "cope": 4.3,
    "pope": 43.4,
    "darope": 59.8,
}  # ktokens/s, first table


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


def output(*arguments):
    result = run(*arguments)
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return result.stdout


def test_encodings_as_json():
    rows = json.loads(output("encodings", "--json"))
    assert [row["name"] for row in rows] == NAMES
    assert {
        row["name"]: row["ktokens_per_second"] for row in rows if row["ktokens_per_second"] is not None
    } == PAPER
    assert sorted(rows, key=str) == sorted(
        ({key: row[key] for key in rows[0]} for row in darope.encodings()), key=str
    )
    data_aware = {row["name"] for row in rows if row["data_aware"] == "yes"}
    assert data_aware == {"cope", *(name for name in NAMES if name.startswith("darope"))}
    assert [row["name"] for row in rows if not row["trained"]] == ["yarn"]
    assert [row["name"] for row in rows if row["flash_attention"] == "no"] == ["cope"]


def test_every_option_is_listed_and_taken():
    """A default, given by hand, changes nothing; another name is refused."""
    shape = dict(d_model=64, heads=1, head_dim=64, train_length=1024)
    for row in darope.encodings():
        for option, values in row["options"].items():
            for value in filter(None, values.split("|")):
                darope.create(f"{row['name']}:{option}={value}", **shape)
        with pytest.raises(ValueError) as refusal:
            darope.create(f"{row['name']}:nothing=1", **shape)
        known = str(refusal.value).partition("Known: ")[2].split(", ")
        assert {"base", *row["options"]} == set(known)  # every encoding takes a base, if only to ignore it
    rows = {row["name"]: row["options"] for row in darope.encodings()}
    assert rows["yarn"]["ramp"] == "code|paper" and rows["pope"]["base"] == "10000"
    assert rows["hope"] == {"base": "500000", "slow_bands": ""} and rows["alibi"] == {}


def test_encodings_as_a_table():
    header, *lines = output("encodings").splitlines()
    for column in ("slow bands", "data-aware", "ktokens/s", "learns", "FlashAttention", "cached"):
        assert column in header
    rows = {line.split()[0]: line for line in lines[: len(NAMES)]}
    assert list(rows) == NAMES
    for name, speed in PAPER.items():
        assert re.search(rf"\s{speed}\s", rows[name])


def test_bands_of_the_papers_models(vectors):
    assert len(vectors["band_counts"]) > 10
    for row in vectors["band_counts"]:
        shown = json.loads(
            output(
                "bands",
                "--head-dim",
                str(row["d"]),
                "--base",
                str(row["base"]),
                "--context",
                str(row["L"]),
                "--json",
            )
        )
        assert (shown["fast"], shown["slow"]) == (row["fast"], row["slow"]), row
        assert [band["fast"] for band in shown["bands"]] == [True] * row["fast"] + [False] * row["slow"]


def test_every_band_as_json():
    d, base, context = 64, 10000.0, 1000
    shown = json.loads(
        output("bands", "--head-dim", str(d), "--base", str(base), "--context", str(context), "--json")
    )
    assert len(shown["bands"]) == d // 2
    for j, band in enumerate(shown["bands"]):
        wavelength = 2 * 3.141592653589793 * base ** (2 * j / d)
        assert band["band"] == j
        assert band["wavelength"] == pytest.approx(wavelength, rel=1e-12)
        assert band["turns"] == pytest.approx(context / wavelength, rel=1e-12)
        assert band["theta"] == pytest.approx(base ** (-2 * j / d), rel=1e-12)


def test_bands_as_a_table():
    lines = output("bands", "--head-dim", "4", "--base", "20", "--context", "16").splitlines()
    assert "1 fast and 1 slow" in lines[0]
    header, *bands = lines[-3:]
    assert header.split() == ["band", "theta", "wavelength", "turns", "in", "window", "kind"]
    assert [band.split() for band in bands] == [
        ["0", "1", "6.28319", "2.54648", "fast"],
        ["1", "0.223607", "28.0993", "0.56941", "slow"],
    ]


def test_version_and_help():
    assert output("--version") == f"darope {darope.__version__}\n"
    verbs = re.findall(r"^  ([\w-]+)", output("--help").partition("Subcommands:")[2], re.M)
    assert {"encodings", "bands", "doctor"} <= set(verbs)
    for verb in verbs:
        assert f"darope {verb} [OPTIONS]" in output(verb, "--help")


def test_doctor_says_what_there_is():
    rows = dict(
        re.split(r"\s{2,}|(?<=^CUDA kernels) ", line, maxsplit=1) for line in output("doctor").splitlines()
    )
    assert {"darope", "compiler", "torch", "cpu", "CUDA kernels", "GPU", "attention"} <= set(rows)
    assert rows["darope"] == darope.__version__
    assert re.search(r"2\.\d+\.\d+", rows["torch"])


BAD = {
    "an odd head width": (["bands", "--head-dim", "7"], ["--head-dim", "7", "even"]),
    "no head width": (["bands", "--head-dim", "0"], ["--head-dim", "0", "even"]),
    "a negative head width": (["bands", "--head-dim", "-8"], ["--head-dim", "-8", "even"]),
    "a head width in words": (["bands", "--head-dim", "wide"], ["--head-dim", "wide"]),
    "a broken head width": (["bands", "--head-dim", "64.5"], ["--head-dim", "64.5"]),
    "a missing head width": (["bands", "--head-dim"], ["--head-dim"]),
    "a base of 1": (["bands", "--base", "1"], ["--base", "above 1", "got 1"]),
    "a negative base": (["bands", "--base", "-3"], ["--base", "above 1", "got -3"]),
    "an infinite base": (["bands", "--base", "inf"], ["--base", "finite", "inf"]),
    "a base that is no number": (["bands", "--base", "nan"], ["--base", "finite", "nan"]),
    "a base beyond doubles": (["bands", "--base", "1e999"], ["--base"]),
    "a context no double can count": (["bands", "--context", "99999999999999999999"], ["--context", "2^53"]),
    "no context": (["bands", "--context", "0"], ["--context", "between 1 and 2^53", "got 0"]),
    "a negative context": (["bands", "--context", "-4096"], ["--context", "between 1 and 2^53", "got -4096"]),
    "an unknown verb": (["bnds"], ["bnds", "did you mean 'bands'", "doctor"]),
    "an unknown flag": (["bands", "--contxt", "5"], ["--contxt"]),
    "an unknown flag of encodings": (["encodings", "--jsn"], ["--jsn"]),
    "a word too many": (["doctor", "please"], ["please"]),
    "no verb": ([], ["darope"]),
}


@pytest.mark.parametrize("arguments, words", BAD.values(), ids=BAD)
def test_bad_input(arguments, words):
    result = run(*arguments)
    assert result.returncode == 2 and result.stdout == ""
    message, *hint = result.stderr.splitlines()
    assert message.startswith("darope: ")
    for word in words:
        assert word in message
    assert hint in ([], ["Run 'darope --help' for the verbs and 'darope VERB --help' for one of them."])
