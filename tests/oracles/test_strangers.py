"""Folders and files that a stranger made, or that another process is at work in: nothing is written
elsewhere, nobody waits for ever, and neither memory nor patience is needed beyond limits.
"""

import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile

import pytest
import zstandard
from commands import TASK, on_a_terminal
from programs import DAROPE, ROOT
from trainings import darope, rewrite, train


def refused(*words, cwd, code=2):
    """The one sentence."""
    said = darope(*words, cwd=cwd)
    assert said.returncode == code and said.stderr.count("\n") == 1, (said.returncode, said.stderr)
    return said.stderr


def test_a_comparison_writes_through_no_linked_run(comparison, tmp_path):
    mine = tmp_path / "elsewhere"
    for linked in ("runs", "runs/parity-nope-s0", "runs/parity-darope-s0"):
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(mine, ignore_errors=True)
        mine.mkdir()
        (out / linked).parent.mkdir(parents=True)
        (out / linked).symlink_to(mine)
        assert "is a link" in refused("compare", *TASK, "--out", "out", cwd=tmp_path)
        from_bundle = ["--from", comparison / "b.tar.zst"]
        assert "is a link" in refused("compare", *TASK, "--out", "out", *from_bundle, cwd=tmp_path)
        assert not any(mine.iterdir())


def test_pipes_do_not_keep_a_comparison_waiting(comparison, tmp_path):
    shutil.copytree(comparison / "mine", tmp_path / "mine")
    run = sorted((tmp_path / "mine" / "runs").iterdir())[0]
    (run / "run.json").unlink()
    (run / "metrics.jsonl").unlink()
    os.mkfifo(run / "metrics.jsonl")
    again = darope("compare", *TASK, "--out", "mine", cwd=tmp_path)
    assert again.returncode == 1 and "metrics.jsonl: it is a pipe" in again.stderr, again.stderr


@pytest.mark.parametrize("typed", ["0000000008", "0000000008/", "0000000008//.", "./0000000008", "."])
def test_a_checkpoint_is_looked_at_whole_however_it_is_typed(finished, tmp_path, typed):
    shutil.copytree(finished, tmp_path / "run")
    root = tmp_path / "run" / "checkpoints"
    rewrite(root / "0000000008", "train_state.json", b'{"step": 6, "tokens": 0, "seconds": 0}')
    cwd = root / "0000000008" if typed == "." else root
    found = darope("ckpt", "verify", typed, cwd=cwd)
    assert found.returncode == 3 and "says step 6, its folder 8" in found.stdout, found.stdout


def test_a_training_gives_the_newest_checkpoint_its_mark_back(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    mark = tmp_path / "run" / "checkpoints" / "0000000008" / "COMPLETE"
    mark.unlink()
    longer = train(tmp_path / "run", "--allow-config-change=steps", steps=12)
    assert longer.returncode == 0, longer.stderr
    assert mark.exists()


def held_by_us(what):
    """A lock of darope's that this process holds."""
    stat = open("/proc/self/stat").read().rpartition(")")[2].split()
    boot = open("/proc/sys/kernel/random/boot_id").read().strip()
    holder = {"host": platform.node(), "boot": boot, "process": os.getpid(), "started": int(stat[19])}
    return json.dumps({**holder, "since": 1_700_000_000, "what": what}) + "\n"


def test_shares_and_the_whole_exclude_each_other(tmp_path):
    out = tmp_path / "out"
    (out / "runs").mkdir(parents=True)
    words = ["compare", *TASK, "--out", "out"]
    theirs, ours = out / "runs" / ".part-parity-darope-s0-1", out / "runs" / ".part-parity-nope-s0-1"
    for each in (theirs, ours):
        each.mkdir()
    (out / ".lock").write_text(held_by_us("comparing in out"))
    assert "has been comparing in out" in refused(*words, "--shard", "0/2", cwd=tmp_path, code=5)
    (out / ".lock").unlink()
    (out / ".lock-1-2").write_text(held_by_us("comparing a share in out"))
    assert "has been comparing a share in out" in refused(*words, cwd=tmp_path, code=5)
    assert theirs.exists() and ours.exists()
    share = darope(*words, "--shard", "0/2", cwd=tmp_path)
    assert share.returncode == 0, share.stderr
    assert theirs.exists() and not ours.exists()  # what another share is at work on stays
    assert (out / ".lock-1-2").exists()


def test_a_dataset_is_not_prepared_into_a_link(tmp_path):
    (tmp_path / "text").mkdir()
    for i in range(6):
        (tmp_path / "text" / f"{i}.txt").write_text(f"some text {i}\n" * 20)
    (tmp_path / "empty").mkdir()
    (tmp_path / "out").symlink_to("empty")
    said = refused("data", "prepare", "text", "text", "--out", "out", cwd=tmp_path)
    assert "out is a link" in said
    assert (tmp_path / "out").is_symlink() and sorted(p.name for p in tmp_path.iterdir()) == [
        "empty",
        "out",
        "text",
    ]


def test_a_manifest_that_lacks_its_sources_is_refused(tmp_path):
    lines = "".join(json.dumps({"text": f"{i} cats sat on the mat"}) + "\n" for i in range(300))
    (tmp_path / "text.jsonl").write_text(lines)
    said = darope("data", "prepare", "text", "text.jsonl", "--out", "set", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    file = tmp_path / "set" / "manifest.json"
    manifest = json.loads(file.read_text())
    documents = manifest["facts"].pop("train_documents_of_sources")
    for changed in (manifest, {**manifest, "facts": {"train_documents_of_sources": [2**63 - 1, 2**63 - 1]}}):
        changed.pop("sha256", None)
        whole = json.dumps(changed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        file.write_text(json.dumps({**changed, "sha256": hashlib.sha256(whole.encode()).hexdigest()}))
        words = ["data.root_dir=set", "data.task=", "data.weights=[1]", "dump_dir=run", "steps=2"]
        said = refused("train", ROOT / "configs/quick/train.yaml", *words, cwd=tmp_path)
        assert "its sources do not have the" in said and documents, said


@pytest.mark.parametrize(
    "words",
    [
        ["report", "loop"],
        ["report", "n" * 300],
        ["ckpt", "list", "loop"],
        ["ckpt", "list", "n" * 300],
        ["eval", "loop"],
        ["eval", "n" * 300],
        ["train", "loop.yaml"],
        ["train", "config.yaml", "dump_dir=loop/run"],
        ["train", "config.yaml", "dump_dir=" + "n" * 300],
        ["compare", "--data", "loop"],
        ["compare", "--data", "n" * 300],
        ["compare", *TASK, "--out", "loop"],
        ["compare", *TASK, "--out", "n" * 300],
        ["data", "inspect", "loop"],
        ["data", "prepare", "text", "loop", "--out", "out"],
        ["data", "prepare", "text", "config.yaml", "--out", "n" * 300],
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_loops_and_long_names_are_refused_with_a_sentence(words, tmp_path):
    for name in ("loop", "loop.yaml"):
        (tmp_path / name).symlink_to(name)
    shutil.copy(ROOT / "configs/quick/train.yaml", tmp_path / "config.yaml")
    said = darope(*words, cwd=tmp_path)
    assert said.returncode in (1, 2) and said.stderr.count("\n") == 1, (said.returncode, said.stderr)
    assert "filesystem error" not in said.stderr and ("loop" in said.stderr or "nnn" in said.stderr)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.yaml", "loop", "loop.yaml"]


def limited(*words, cwd, memory=4_000_000, seconds=120):
    """With so many KiB of memory and seconds of a processor."""
    limits = f'ulimit -v {memory} -t {seconds}; exec "$@"'
    return subprocess.run(
        ["bash", "-c", limits, "bash", *map(str, [DAROPE, *words])], capture_output=True, text=True, cwd=cwd
    )


def test_a_config_is_held_against_the_weights_before_anything_is_allocated(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace("  dim: 64\n", "  dim: 512\n"))
    refusal = limited("eval", "run", cwd=tmp_path)
    assert refusal.returncode == 2 and "do not belong together" in refusal.stderr, refusal.stderr


def test_what_is_said_carries_no_control_characters_wherever_it_goes(tmp_path):
    name = b"a\x1b[2J\xc2\x9b31m\x9b31m\rb.txt"
    said = subprocess.run([DAROPE, "train", name], capture_output=True, cwd=tmp_path)
    assert said.returncode == 2 and b"a?[2J?31m?31m?b.txt" in said.stderr, said.stderr
    sent = on_a_terminal("train", os.fsdecode(name), cwd=tmp_path)
    assert b"a?[2J?31m?31m?b.txt" in sent, sent


def test_sentences_have_an_end(tmp_path):
    header = json.dumps({"__metadata__": {"k" * 1_000_000: 1}}).encode()
    run = tmp_path / "run"
    assert train(run, steps=2).returncode == 0
    rewrite(
        run / "checkpoints" / "0000000002",
        "model.safetensors",
        len(header).to_bytes(8, "little") + header + bytes(1 << 22),
    )
    said = refused("eval", "run", cwd=tmp_path)
    assert "which is no string" in said or said.endswith(" ...\n")
    assert len(said) < 5000


def test_a_bundle_is_packed_before_anything_is_printed(tmp_path):
    with open("/dev/full", "w") as full:
        words = [DAROPE, "compare", *TASK, "--out", "out", "--bundle", "b.tar.zst"]
        ended = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert ended.returncode == 1 and (tmp_path / "b.tar.zst").exists(), ended.stderr


def facts(dataset, encoding, seed, **more):
    return {
        "schema": 1, "dataset": dataset, "family": "regular", "encoding": encoding, "seed": seed,
        "status": "finished", "steps": 4, "tokens": 5, "parameters": 9, "seconds": 1.5, "chance": 0.1,
        "true_chance": 0.5, "shared_init": f"{dataset}{seed}", "data_order": "o",
        "config_without_encoding": "c", **more,
    }  # fmt: skip


def bundle_of(file, runs):
    """Each is (facts, places), with two examples at every place."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:

        def add(name, text):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))

        for number, (said, places) in enumerate(runs):
            score = {"metric": "token_accuracy"}
            lines = "".join(
                json.dumps({**score, "x": x, "example": i, "value": (number * 7 + i * 3 + x) % 10 / 10})
                + "\n"
                for x in range(1, places + 1)
                for i in range(3)
            )
            add(f"runs/r{number}/results.jsonl", lines.encode())
            add(f"runs/r{number}/run.json", json.dumps(said).encode())
    file.write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))


def grid(datasets, encodings, seeds, places, **more):
    return [
        (facts(f"d{d}", f"e{e}", s, **more), places)
        for d in range(datasets)
        for e in range(encodings)
        for s in range(seeds)
    ]


def test_a_small_bundle_of_long_names_is_refused(tmp_path):
    bundle_of(tmp_path / "a.tar.zst", grid(3, 20, 2, 4, machine="m" * 500_000))
    assert (tmp_path / "a.tar.zst").stat().st_size < 50_000
    ended = limited("report", "a.tar.zst", "--out", "out", cwd=tmp_path, memory=1_000_000)
    assert ended.returncode == 2 and "'machine' has 500000 bytes" in ended.stderr, ended.stderr


@pytest.mark.parametrize(
    "shape", [(40, 64, 1, 1), (4000, 5, 1, 1), (3000, 3, 1, 4), (2, 40, 1, 100)], ids=str
)
def test_more_than_a_report_can_hold_is_refused(shape, tmp_path):
    bundle_of(tmp_path / "a.tar.zst", grid(*shape))
    ended = limited("report", "a.tar.zst", "--out", "out", cwd=tmp_path)
    assert ended.returncode == 2 and "more than one report can hold" in ended.stderr, ended.stderr
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("shape", [(30, 64, 1, 2), (700, 6, 1, 2), (2, 8, 40, 60)], ids=str)
def test_what_a_report_can_hold_it_holds(shape, tmp_path):
    bundle_of(tmp_path / "a.tar.zst", grid(*shape))
    ended = limited("report", "a.tar.zst", "--out", "out", cwd=tmp_path)
    assert ended.returncode == 0 and (tmp_path / "out" / "report.html").exists(), ended.stderr


def test_nothing_is_imported_from_the_folder_one_is_in(finished, tmp_path):
    """As where a stranger's archive was unpacked and entered."""
    planted = "open('ran', 'w').close(); raise SystemExit('planted')\n"
    for name in ("torch", "yaml", "runpy", "json", "transformers", "wandb", "mlflow", "lm_eval", "numpy"):
        (tmp_path / f"{name}.py").write_text(planted)
    (tmp_path / "darope").mkdir()
    (tmp_path / "darope" / "__init__.py").write_text(planted)
    for words in (
        ["export", finished, "--to", "hf", "out"],
        ["import", "none", "--encoding", "darope", "--out", "out"],
        ["log", finished, "--wandb"],
        ["lm-eval", finished, "--tasks", "piqa", "--data", "none"],
    ):
        for more in ({}, {"env": {**os.environ, "PYTHONPATH": ""}}):
            said = darope(*words, cwd=tmp_path, **more)
            assert not (tmp_path / "ran").exists() and "planted" not in said.stderr, (words, said.stderr)
