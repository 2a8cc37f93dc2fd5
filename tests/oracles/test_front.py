"""The front of the program: what needs no torch works without it, and what is typed wrong is named right."""

import json
import math
import re
import shutil
import subprocess

import jsonschema
import pytest
import torch
import yaml
from commands import QUICK, run
from programs import DAROPE, ROOT

TRAIN = ROOT / "configs/quick/train.yaml"
COMPUTE = {"compare", "train", "eval", "generate", "inspect", "bench", "doctor"}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The program without the one that computes, and so without torch."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copy(DAROPE, folder / "darope")

    def call(*words):
        return subprocess.run(
            [folder / "darope", *map(str, words)], capture_output=True, text=True, timeout=60, cwd=folder
        )

    return call


def verbs():
    return re.findall(r"^  ([\w-]+)", run("--help", cwd=ROOT).stdout.partition("Subcommands:")[2], re.M)


def test_what_computes_nothing_needs_no_torch(alone, tmp_path):
    assert alone("--version").returncode == 0 and COMPUTE < set(verbs())
    for verb in verbs():
        helped = alone(verb, "--help")
        assert helped.returncode == 0 and f"darope {verb} [OPTIONS]" in helped.stdout
        assert max(map(len, helped.stdout.splitlines())) <= 80, helped.stdout
    (tmp_path / "texts").mkdir()
    for i in range(30):
        (tmp_path / "texts" / f"{i}.txt").write_text(f"document {i}\n" * 30)
    prepare = ["data", "prepare", "text", tmp_path / "texts", "--out", tmp_path / "prepared"]
    light = [["encodings"], ["encodings", "--json"], ["bands"], ["tasks"], ["settings"], ["man"], prepare]
    light += [["data", "audit", tmp_path / "prepared"], ["completion", "bash"]]
    for words in light:
        done = alone(*words)
        assert done.returncode == 0, (words, done.stderr)
    computing = alone("train", QUICK)
    assert computing.returncode == 1 and "needs darope-compute" in computing.stderr
    assert "libtorch" not in subprocess.run(["ldd", DAROPE], capture_output=True, text=True).stdout


MEANT = {
    "compare --data own.txt --seed 3": ["'--seed' of compare", "--seeds 3", "the setting seed=3"],
    "compare --data own.txt --steps 100": ["'--steps' of compare", "the setting steps=100"],
    "compare --data own.txt --device cuda": ["'--device'", "the setting device=cuda"],
    "compare --data own.txt --encoding rope": ["'--encoding'", "--encodings rope"],
    "compare --data own.txt --reference rope": ["'--reference'", "it is one of 'report'"],
    f"compare {QUICK} --steps": ["'--steps'", "the setting steps=VALUE"],
    f"train {QUICK} --dim=8": ["'--dim' of train", "the setting model.dim=8"],
    f"train {QUICK} --lr 1": ["'--lr' of train", "the setting optim.lr=1"],
    "report runs --refernce rope": ["'--refernce' of report", "--reference rope"],
    "data prepare midi x --sed 1": ["'--sed' of prepare", "--seed 1"],
    "data prepar midi x": ["unknown verb 'prepar'", "did you mean 'prepare'"],
    "--versoin": ["'--versoin'", "did you mean '--version'"],
    "compare -o runs --data own.txt": ["'-o' of compare", "did you mean --out runs?"],
    f"train {QUICK} --stesp 100": ["'--stesp' of train; did you mean the setting steps=100?"],
    "help trian": ["unknown verb 'trian'; did you mean 'train'?"],
}


@pytest.mark.parametrize("typed", MEANT)
def test_an_unknown_option_is_named_with_what_was_meant(typed, tmp_path):
    (tmp_path / "own.txt").write_text("some words\n" * 2000)
    refused = run(*typed.split(), cwd=tmp_path)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr
    assert refused.stderr.startswith("darope: unknown ")
    for word in MEANT[typed]:
        assert word in refused.stderr


SAID = {
    "compare --data own.txt --encodings rope, darope": "write rope,darope without the blank",
    "compare --data own.txt rounds=[3, 5]": "write rounds=[3,5] without the blank",
    "compare --data own.txt --seeds=two": "--seeds takes a whole number, not two",
    "generate run --prompt a --temperature=hot": "--temperature takes a number, not hot",
    "compare --data own.txt --data other.txt": "--data is given twice; it takes one value",
    "compare --data": "--data needs a value behind it",
    "encodings rope": "'encodings' takes no further word: rope",
    "train own.yaml": "own.yaml:1: unknown setting 'modle'; did you mean 'model'?",
}


@pytest.mark.parametrize("typed", SAID)
def test_what_is_typed_wrong_is_said_in_words(typed, tmp_path):
    (tmp_path / "own.txt").write_text("some words\n" * 2000)
    (tmp_path / "own.yaml").write_text("modle: {dim: 3}\n")
    refused = run(*typed.split(), cwd=tmp_path)
    assert refused.returncode == 2 and refused.stderr.startswith("darope: ")
    assert SAID[typed] in refused.stderr.splitlines()[0], refused.stderr


def test_blanks_behind_commas_do_not_matter_in_one_word(tmp_path):
    names = "rope, yarn:factor=4, ramp=paper, darope"
    printed = run("compare", QUICK, "--encodings", names, "--print-config", cwd=tmp_path).stdout
    assert yaml.safe_load(printed)["encodings"] == ["rope", "yarn:factor=4,ramp=paper", "darope"]


def test_help_of_a_verb_both_ways(tmp_path):
    for verb in (["train"], ["data", "prepare"], ["encodings"]):
        helped = run("help", *verb, cwd=tmp_path)
        assert helped.returncode == 0 and helped.stdout == run(*verb, "--help", cwd=tmp_path).stdout
    assert run("help", cwd=tmp_path).stdout == run("--help", cwd=tmp_path).stdout


def test_settings_by_prefix_and_as_a_schema(tmp_path):
    lines = run("settings", "optim.", cwd=tmp_path).stdout.splitlines()
    assert len(lines) == 8 and all(line.startswith("  optim.") for line in lines)
    assert "steps=1000" in run("settings", "steps", cwd=tmp_path).stdout.replace(" ", "")
    assert "from 2 to" in run("settings", "data.seq_len", cwd=tmp_path).stdout
    wrong = run("settings", "opitm", cwd=tmp_path)
    assert wrong.returncode == 2 and "did you mean 'optim" in wrong.stderr
    schema = json.loads(run("settings", "--schema", cwd=tmp_path).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    for config in sorted((ROOT / "configs").rglob("*.yaml")):
        jsonschema.validate(yaml.safe_load(config.read_text()), schema)
    for wrong in ({"stepz": 3}, {"steps": 0}, {"steps": "many"}, {"optim": {"lrr": 1}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def settings_of(schema, path=""):
    """Every setting with its schema, or that of an entry where it is a list."""
    for name, each in schema["properties"].items():
        if "properties" in each:
            yield from settings_of(each, f"{path}{name}.")
        else:
            yield path + name, each.get("items", each)


def next_to(number, end, integer):
    if integer:
        return number + (1 if end > 0 else -1)
    return math.nextafter(number, math.inf * end)


def ends_of(one):
    """The last numbers that are allowed, and the first that are not."""
    integer = "integer" in json.dumps([one.get("type"), one.get("anyOf")])
    for key, end in (("minimum", -1), ("maximum", 1), ("exclusiveMinimum", 1), ("exclusiveMaximum", -1)):
        if key in one:
            bound = int(one[key]) if integer else float(one[key])
            beside = next_to(bound, end, integer)
            yield (beside, bound) if key.startswith("exclusive") else (bound, beside)


@pytest.fixture(scope="module")
def every_setting(tmp_path_factory):
    schema = json.loads(run("settings", "--schema", cwd=tmp_path_factory.mktemp("schema")).stdout)
    return list(settings_of(schema))


def test_the_ends_of_every_range_are_allowed(every_setting, tmp_path):
    """All lower ends at once, then all upper ones; where there is one end, it alone."""
    ends = {name: [inside for inside, _ in ends_of(one)] for name, one in every_setting}
    ends["rounds"] = ["2,1000", "2,1000"]  # which must rise
    for which in (0, -1):
        typed = [f"{name}={values[which]}" for name, values in ends.items() if values]
        assert len(typed) > 20
        taken = run("compare", QUICK, *typed, "--print-config", cwd=tmp_path)
        assert taken.returncode == 0, taken.stderr


def test_what_lies_beyond_a_range_is_refused_by_name(every_setting, tmp_path):
    wrong = {f"{name}={beyond}": name for name, one in every_setting for _, beyond in ends_of(one)}
    assert len(wrong) > 40
    for typed, name in wrong.items():
        refused = run("compare", QUICK, typed, "--print-config", cwd=tmp_path)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, (typed, refused.stderr)
        assert refused.stderr.startswith(f"darope: {name} ") and " must be " in refused.stderr, typed


def test_an_unknown_name_is_refused_with_the_nearest(every_setting, tmp_path):
    chosen = 0
    for name, one in every_setting:
        names = [each for part in [one, *one.get("anyOf", [])] for each in part.get("enum", []) if each]
        if not names:
            continue
        chosen += 1
        meant = max(names, key=len)
        compares = "." not in name and name not in ("device", "dtype")
        words = ["compare", QUICK, "--dry-run"] if compares else ["train", TRAIN, "--print-config"]
        refused = run(*words, f"{name}={meant}x", cwd=tmp_path)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, (name, refused.stderr)
        assert f"did you mean '{meant}'?" in refused.stderr, name
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(meant + "x", one)
        for each in names:
            jsonschema.validate(each, one)
    assert chosen >= 8  # tasks, encodings, device, dtype, encoding, feed_forward, task, lengths, documents


def test_a_verb_lists_its_settings_without_torch(alone):
    for verb, own in (("train", "dump_dir="), ("compare", "encodings="), ("eval", "device=")):
        listed = alone(verb, "--help-settings")
        assert listed.returncode == 0 and own in listed.stdout and "seq_len=256" in listed.stdout
    assert "margins.loss" not in alone("train", "--help-settings").stdout


def test_a_dry_run_on_a_device_that_is_not_there_is_refused(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    asked = run("compare", QUICK, "--dry-run", "device=cuda", cwd=tmp_path)
    assert asked.returncode == 2 and "torch finds no GPU" in asked.stderr and asked.stdout == ""


def test_the_page_of_settings_is_what_the_program_prints(tmp_path):
    printed = run("settings", "--markdown", cwd=tmp_path).stdout
    assert printed in (ROOT / "docs" / "settings.md").read_text(), "run docs/settings.py"


def test_a_printed_config_explains_itself_and_reads_back(tmp_path):
    printed = run("compare", QUICK, "--print-config", cwd=tmp_path).stdout
    assert "# optimizer steps (an integer, from 1 to 16777216)\nsteps: 900\n" in printed
    (tmp_path / "again.yaml").write_text(printed)
    assert run("compare", "again.yaml", "--print-config", cwd=tmp_path).stdout == printed


def bash_completes(line, tmp_path):
    words = line.split(" ")
    script = tmp_path / "completion.bash"
    script.write_text(run("completion", "bash", cwd=tmp_path).stdout)
    quoted = " ".join(f"'{word}'" for word in words)
    code = f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
    code += f"compopt() {{ :; }}; _darope darope '{words[-1]}' '{words[-2]}'; "
    code += 'printf "%s\\n" "${COMPREPLY[@]}"'
    return subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=tmp_path).stdout.split()


def test_a_shell_completes_verbs_options_and_settings(tmp_path):
    assert bash_completes("darope comp", tmp_path) == ["compare", "completion"]
    assert bash_completes("darope compare --da", tmp_path) == ["--data"]
    assert bash_completes("darope train x.yaml optim.l", tmp_path) == ["optim.lr=", "optim.lr_min_ratio="]
    assert bash_completes("darope train x.yaml dtype = b", tmp_path) == ["bf16"]
    assert bash_completes("darope data pre", tmp_path) == ["prepare"]
    assert bash_completes("darope data prepare --held", tmp_path) == ["--held-out"]
    assert bash_completes("darope data prepare m", tmp_path) == ["maestro", "midi"]
    assert bash_completes("darope tasks rev", tmp_path) == ["reverse_string"]
    assert "optim.lr" in bash_completes("darope settings opt", tmp_path)
    assert bash_completes("darope compare --encodings rope,hop", tmp_path) == ["rope,hope"]
    assert bash_completes("darope report --reference alib", tmp_path) == ["alibi"]
    zsh, fish = (run("completion", shell, cwd=tmp_path).stdout for shell in ("zsh", "fish"))
    assert zsh.startswith("#compdef darope\n")
    assert "complete -c darope -n '__fish_seen_subcommand_from compare' -l data -r" in fish
    assert "did you mean 'bash'" in run("completion", "bsh", cwd=tmp_path).stderr


def test_the_manual_names_every_verb_and_option(tmp_path):
    page = run("man", cwd=tmp_path).stdout
    for verb in verbs():
        assert f".SS {verb}\n" in page
        for option in re.findall(
            r"--[\w-]+", run(verb, "--help", cwd=tmp_path).stdout.partition("Options:")[2]
        ):
            assert option.replace("-", "\\-") in page
