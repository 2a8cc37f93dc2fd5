"""Shards and bundles of comparisons."""

import io
import json
import tarfile

import pytest
import zstandard
from commands import TASK, done, refused, task_but


def test_shards_and_bundles_make_one_comparison(tmp_path):
    for i in range(2):
        printed = done(
            "compare",
            *TASK,
            "--out",
            f"shard{i}",
            "--shard",
            f"{i}/2",
            "--bundle",
            f"{i}.tar.zst",
            cwd=tmp_path,
        )
        assert (
            "1 of 2 runs are still missing" in printed
            and not (tmp_path / f"shard{i}" / "report.html").exists()
        )
    done("report", "0.tar.zst", "1.tar.zst", "--out", "whole", cwd=tmp_path)
    whole = json.loads((tmp_path / "whole" / "results.json").read_text())
    assert sorted(run["encoding"] for run in whole["runs"]) == ["darope", "nope"]
    plan = done("compare", *TASK, "--out", "again", "--from", "0.tar.zst", "--dry-run", cwd=tmp_path)
    assert "2 runs, 1 of them finished." in plan and not (tmp_path / "again").exists()
    done("compare", *TASK, "--out", "again", "--from", "0.tar.zst", "--from", "1.tar.zst", cwd=tmp_path)
    again = json.loads((tmp_path / "again" / "results.json").read_text())
    assert again["datasets"] == whole["datasets"]
    assert [run["seconds"] for run in again["runs"]] == [
        run["seconds"] for run in sorted(whole["runs"], key=lambda r: r["encoding"])
    ]


def test_a_bundle_to_write_is_looked_at_first(tmp_path):
    done("compare", *TASK, "--out", "mine", "--bundle", "b.tar.zst", cwd=tmp_path)
    again = ["--out", "other", "--bundle", "b.tar.zst"]
    assert (
        "b.tar.zst belongs to another comparison (of parity-darope-s0, steps was 4 and is now 5)"
        in refused("compare", *task_but("steps=5"), *again, cwd=tmp_path)
    )
    assert "take its runs with --from b.tar.zst" in refused("compare", *TASK, *again, cwd=tmp_path)
    assert "cannot write nowhere/b.tar.zst: there is no folder nowhere" in refused(
        "compare", *TASK, "--out", "other", "--bundle", "nowhere/b.tar.zst", cwd=tmp_path
    )
    done("compare", *TASK, *again, "--from", "b.tar.zst", cwd=tmp_path)


@pytest.mark.parametrize("facts", ["[]", '"x"', '{"a": 1}', '{"schema": 99}'])
def test_a_bundle_no_report_can_read_is_not_taken(tmp_path, facts):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    next(tmp_path.glob("mine/runs/*nope*/run.json")).write_text(facts)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in sorted(tmp_path.glob("mine/runs/*/*")):
            if file.name in ("config.yaml", "metrics.jsonl", "results.jsonl", "run.json"):
                archive.add(file, file.relative_to(tmp_path / "mine"))
    (tmp_path / "b.tar.zst").write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
    assert "run.json" in refused("compare", *TASK, "--out", "other", "--from", "b.tar.zst", cwd=tmp_path)


def test_a_setting_that_an_older_program_did_not_have_stands_at_its_default(tmp_path):
    done("compare", *TASK, "--out", "mine", cwd=tmp_path)
    config = next(tmp_path.glob("mine/runs/*nope*/config.yaml"))
    facts = config.with_name("run.json")
    older = json.loads(facts.read_text())
    del older["sha256"], older["files"]
    older["schema"] = 2
    older["config_without_encoding"] = "of another program"  # which hashed fewer settings
    facts.write_text(json.dumps(older))
    text = config.read_text()
    assert "\n  weights: []\n" in text
    config.write_text(text.replace("\n  weights: []\n", "\n"))
    done("report", "mine", cwd=tmp_path)
    config.write_text(text.replace("steps: 4\n", "steps: 5\n"))
    assert "configs beyond the encoding differ" in refused("report", "mine", cwd=tmp_path)
