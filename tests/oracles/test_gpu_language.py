"""bench/gpu_language and bench/gpu_retrofit with tiny models: stopped and gone on, and what bundles hold."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml
from made_up_text import prepare_set, prose
from programs import BUILD, DAROPE, ROOT

LENGTH, POSITIONS, STEPS = 128, 512, 150


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Links to the scripts beside this build, a tiny one of its configs, data and books."""
    folder = tmp_path_factory.mktemp("gpu-language")
    (folder / "bench").mkdir()
    for name in ("gpu_language", "gpu_retrofit", "parts.sh"):
        (folder / "bench" / name).symlink_to(ROOT / "bench" / name)
    (folder / "build").symlink_to(BUILD)
    prepare_set(folder, train=30, valid=10, test=10)
    books = (json.dumps({"text": prose(60, f"book{i}")}) for i in range(3))
    (folder / "books.jsonl").write_text("\n".join(books))
    config = yaml.safe_load((ROOT / "configs/language/30m.yaml").read_text())
    config |= {"seeds": 1, "steps": STEPS, "threads": 1, "device": "cpu"}
    config["model"] |= {"dim": 16, "n_layers": 1, "n_heads": 1, "hidden_multiple": 8}
    config["data"] |= {"seq_len": LENGTH, "batch_size": 4, "test_examples": 8}
    (folder / "tiny.yaml").write_text(yaml.dump(config))
    return folder


def start(place, *encodings):
    return start_script(place, "gpu_language", "tiny.yaml", "set", "books.jsonl", "out", *encodings)


def start_script(place, name, *words):
    return subprocess.Popen(
        [f"bench/{name}", *words],
        cwd=place,
        env=os.environ | {"PYTHON": sys.executable, "POSITIONS": str(POSITIONS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_every_encoding_is_trained_and_evaluated_though_it_is_stopped(place):
    encodings = ["rope-500k", "cope", "darope"]
    first = start(place, *encodings)
    log = place / "out" / "rope-500k" / "runs" / "set-rope-500k-s0" / "metrics.jsonl"
    while first.poll() is None and not (log.exists() and log.stat().st_size):
        time.sleep(0.01)
    for _ in range(2):  # as timeout does
        first.send_signal(signal.SIGTERM)
        time.sleep(0.2)
    said = first.communicate(timeout=120)[0]
    assert first.returncode == 75, said
    assert "rope-500k, training: ended with 75" in said and not list(place.glob("out/*.tar.zst"))

    second = start(place, *encodings)
    said = second.communicate(timeout=300)[0]
    assert second.returncode == 0, said
    assert "resumed at step" in log.with_name("train.log").read_text()
    assert said.count("stretched by YaRN: ") == 1 and said.count("microscope: ") == 2
    bundles = sorted(place.glob("out/*.tar.zst"))
    assert [each.name.split(".")[0] for each in bundles] == sorted(encodings)
    subprocess.run([DAROPE, "report", *bundles, "--out", "all"], cwd=place, check=True, capture_output=True)
    page = (place / "all" / "report.html").read_text()
    for asked in (f"positions to {POSITIONS}", "digression", "recall", "shuffle"):
        assert f"<h3>books: {asked}</h3>" in page
    assert f"yarn:factor={POSITIONS // LENGTH}" in page

    third = start(place, *encodings)
    said = third.communicate(timeout=60)[0]
    assert third.returncode == 0 and said == ""

    run = "out/rope-500k/runs/set-rope-500k-s0"
    retrofit = start_script(place, "gpu_retrofit", run, "set", "books.jsonl", "fitted")
    said = retrofit.communicate(timeout=300)[0]
    assert retrofit.returncode == 0, said
    fitted = [json.loads(each.read_text()) for each in sorted(place.glob("fitted/runs/*/run.json"))]
    assert {(each["steps"], each["data_order"]) for each in fitted} == {
        (STEPS // 20, fitted[0]["data_order"])
    }
    page = (place / "fitted" / "report.html").read_text()
    assert f"<h3>books: positions to {POSITIONS}</h3>" in page and "yarn:base=500000" in page
    assert (place / "fitted.tar.zst").exists()
