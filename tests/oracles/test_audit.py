"""The audit's short form: two published bundles and random tables with clusters, gaps and unsteady
encodings."""

import json
import shutil
import subprocess
import sys

import audit
import comparison
import numpy as np
import pytest

RESULTS = audit.ROOT / "docs" / "results"


def agrees(comparisons, at_least):
    found = audit.Audit(comparisons).run()
    assert found.compared > at_least
    assert found.disagreements == []


@pytest.mark.parametrize("folder", ["jsb", "bonn", "tasks/left-out", "tasks/settled"])
def test_published_bundles(folder):
    agrees([RESULTS / folder / "runs.tar.zst"], 200)


def test_the_four_datasets_together():
    agrees([RESULTS / name / "runs.tar.zst" for name in ("jsb", "maestro", "genome", "bonn")], 1000)


def random_table(folder, rng, missing=0.0, unsteady=1.0):
    """Losses of two datasets: examples in clusters of unequal size, seeds and runs that vary."""
    for dataset in ("one", "two"):
        seeds, examples = rng.integers(2, 6), rng.integers(20, 60)
        cluster = np.sort(np.concatenate([np.arange(12), rng.integers(0, 12, examples - 12)]))
        hard, seed_part = rng.normal(0, 0.1, examples), rng.normal(0, 0.02, seeds)
        for e, encoding in enumerate(("nope", "rope-10k", "hope", "darope")):
            easy = rng.normal(0, 0.02, 12)[cluster]
            for seed in range(seeds):
                if e > 0 and seed > 0 and rng.random() < missing:
                    continue
                run = rng.normal(0, 0.01 * (unsteady if e == 0 else 1))
                values = 2 + hard + easy + seed_part[seed] + run + rng.normal(0, 0.02, examples)
                path = folder / "runs" / f"{dataset}-{encoding}-s{seed}"
                comparison.write_run(path, dataset, encoding, seed, (), best_constant=None)
                lines = (
                    {"metric": "nll", "x": 1, "example": i, "cluster": int(c), "value": v, "tokens": 9}
                    for i, (c, v) in enumerate(zip(cluster, values))
                )
                (path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("missing", [0, 0.3])
@pytest.mark.parametrize("unsteady", [1, 20])
@pytest.mark.parametrize("seed", range(3))
def test_random_tables(tmp_path, seed, unsteady, missing):
    random_table(tmp_path, np.random.default_rng([seed, unsteady]), missing, unsteady)
    agrees([tmp_path], 150)


def test_a_wrong_number_is_found(tmp_path):
    random_table(tmp_path, np.random.default_rng(9))
    found = audit.Audit([tmp_path])
    pair = found.results["overall"][0]["pairs"][0]
    pair["standard_error"] *= 1.001
    pair["critical"] *= 1.3
    wrong = " ".join(found.run().disagreements)
    assert "standard error" in wrong and "critical" in wrong and "interval" in wrong


def without_clusters(run):
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    for line in lines:
        del line["cluster"]
    (run / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_bundle_of_the_first_version_learns_its_clusters(tmp_path):
    random_table(tmp_path / "new", np.random.default_rng(4))
    for run in (tmp_path / "new" / "runs").glob("two-*"):
        shutil.rmtree(run)
    shutil.copytree(tmp_path / "new", tmp_path / "old")
    for run in (tmp_path / "old" / "runs").iterdir():
        without_clusters(run)
    bundle, told = tmp_path / "old.tar.zst", tmp_path / "told.tar.zst"
    pack = [audit.BINARY, "report", tmp_path / "old", "--bundle", bundle]
    subprocess.run(pack, check=True, capture_output=True)
    command = [sys.executable, RESULTS / "clusters.py", bundle, tmp_path / "new/runs/one-hope-s0", told]
    subprocess.run(command, check=True)
    assert audit.Audit([told]).results["overall"] == audit.Audit([tmp_path / "new"]).results["overall"]
    assert audit.Audit([bundle]).results["overall"] != audit.Audit([told]).results["overall"]

    random_table(tmp_path / "other", np.random.default_rng(5))
    command[-2] = tmp_path / "other/runs/one-hope-s0"
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode != 0 and "was not tested on the examples of the run" in refused.stderr
