"""configs/paper has the settings that the paper prints."""

import json
import os
import pathlib
import subprocess

import pytest
import yaml
from paper import NUMBERS

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("DAROPE_BINARY", ROOT / "build" / "darope"))
CONFIGS = {
    "jsb": ("app:nontext JSB", "all"),
    "maestro": ("app:nontext MAESTRO", "all"),
    "genome": ("app:nontext HRG", "all"),
    "sleep-edf": ("app:nontext Sleep-EDF", "all"),
    "lm-124m": ("tab:arch", "124M"),
    "lm-350m": ("tab:arch", "350M"),
    "lm-1b": ("tab:arch", "1B"),
}
# Facts of the data, which readers make and their own tests count; parameters, which tests/model/plan_test.cpp
# counts.
ELSEWHERE = {
    *("params", "vocab", "velocity_bins", "overlap_bars", "transpose_semitones", "token_presentations"),
    *("example_bases", "overlap_bases", "stride_bases", "jitter_max", "tokens", "recordings", "subjects"),
    *(f"{what}_{split}" for what in ("subjects", "nights", "tokens") for split in ("train", "val", "test")),
}


def answer(*command):
    return subprocess.run([BINARY, *command], cwd=ROOT, capture_output=True, check=True).stdout


def settings(name):
    """A config's settings by the paper's names."""
    config = yaml.safe_load(answer("compare", f"configs/paper/{name}.yaml", "--print-config"))
    model, data, optim = config["model"], config["data"], config["optim"]
    head_dim = model["dim"] // model["n_heads"]
    bands = json.loads(
        answer(
            "bands",
            "--head-dim",
            f"{head_dim}",
            "--base",
            "500000",
            "--context",
            f"{data['seq_len']}",
            "--json",
        )
    )
    slow = [e.split("slow_bands=")[1] for e in config["encodings"] if e.startswith("darope:slow_bands=")]
    # The first of a window's tokens is no target where the paper counts a thousand of them.
    targets = data["seq_len"] - (name == "genome")
    return {
        "layers": model["n_layers"],
        "heads": model["n_heads"],
        "d_model": model["dim"],
        "head_dim": head_dim,
        "K_fast": bands["fast"],
        "darope_slow_bands": int(slow[0]) if slow else bands["slow"],
        "weight_tying": model["tied"],
        "dropout": model["dropout"],
        "context": data["seq_len"],
        "batch": data["batch_size"],
        "tokens_per_step": config["grad_acc_steps"] * data["batch_size"] * targets,
        "steps": config["steps"],
        "iters": config["steps"],
        "lr": optim["lr"],
        "peak_lr": optim["lr"],
        "lr_min": optim["lr"] * optim["lr_min_ratio"],
        "min_lr": optim["lr_min_ratio"],  # of the language models' trainer, whose setting is a share
        "warmup": optim["warmup"],
        "weight_decay": optim["weight_decay"],
        "grad_clip": optim["clip"],
        "beta1": optim["beta1"],
        "beta2": optim["beta2"],
    }


def number(text):
    return {"yes": True, "no": False}.get(text) if text in ("yes", "no") else float(text)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_has_what_the_paper_prints(name):
    source, method = CONFIGS[name]
    printed = {
        row["metric"]: number(row["value"])
        for row in NUMBERS
        if (row["source"], row["method"], row["setting"]) == (source, method, "config")
    }
    ours = settings(name)
    asked = {key: value for key, value in printed.items() if key not in ELSEWHERE}
    assert len(asked) > 11
    # The paper rounds tokens of a step to thousands.
    assert {key: ours[key] for key in asked} == pytest.approx(asked, rel=1e-3)


def test_perplexities_that_reports_show_are_the_papers():
    told = json.loads((ROOT / "src/report/assets/paper.json").read_text())["perplexities"]["models"]
    printed = {
        (row["setting"].split()[0], row["method"].lower()): float(row["value"])
        for row in NUMBERS
        if row["source"] == "tab:noreg"
    }
    assert {(m["model"], name): number for m in told for name, number in m["numbers"].items()} == printed
