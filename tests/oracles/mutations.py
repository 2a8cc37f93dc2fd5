"""Random damage to every file of a run, a dataset or a bundle: the right result, or a documented refusal.

.venv/bin/python tests/oracles/mutations.py [COUNT]     # 1000 without it
"""

import json
import pathlib
import random
import shutil
import sys
import tempfile

from faults import COMPARE, TRAIN, chorales, of_comparison, of_run, run


def mutate(draw, data):
    """(in a word, the damaged bytes)."""
    at = draw.randrange(len(data))
    length = min(draw.choice([1, 2, 8, 64, 512]), len(data) - at)
    how = draw.choice(["flip", "zero", "cut", "end", "insert", "repeat", "digit"])
    digits = [i for i in range(at, min(len(data), at + 4096)) if 48 <= data[i] < 58]
    if how == "digit" and digits:
        return how, data[: digits[0]] + bytes([48 + (data[digits[0]] - 47) % 10]) + data[digits[0] + 1 :]
    if how == "zero":
        return how, data[:at] + bytes(length) + data[at + length :]
    if how == "cut":
        return how, data[:at] + data[at + length :]
    if how == "end":
        return how, data[:at]
    if how == "insert":
        return how, data[:at] + draw.randbytes(length) + data[at:]
    if how == "repeat":
        return how, data[: at + length] + data[at:]
    return "flip", data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


class Subject:
    """A folder, a command that reads it, and what must come of that."""

    def __init__(self, folder, files, command, outcome):
        self.folder, self.files, self.command, self.outcome = folder, files, command, outcome
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copytree(folder, scratch, dirs_exist_ok=True)
            done = run(command, scratch)
            assert done.returncode == 0, done.stderr
            self.expected = outcome(pathlib.Path(scratch), done)

    def try_one(self, draw, scratch):
        """(file, kind of damage, what went wrong or None, exit code)."""
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(self.folder, scratch)
        file = scratch / draw.choice(self.files)
        before = file.read_bytes()
        how, after = mutate(draw, before) if before else ("insert", b"x")
        file.write_bytes(after)
        done = run(self.command, scratch)
        problem = None
        if done.returncode not in (0, 2, 3):
            problem = f"exit code {done.returncode}: {done.stderr[-300:]}"
        elif done.returncode == 0 and self.outcome(scratch, done) != self.expected:
            problem = "another result under exit code 0"
        elif done.returncode and ("darope: " not in done.stderr or "\x1b" in done.stderr):
            problem = f"no sentence: {done.stderr[:300]!r}"
        return str(file.relative_to(scratch)), how, problem, done.returncode


def subjects(folder):
    made = folder / "comparison"
    made.mkdir()
    assert run([*COMPARE, "--bundle", "b.tar.zst"], made).returncode == 0
    (made / "out").mkdir()
    chorales(made)
    assert run(["data", "prepare", "jsb", "a.json", "--out", "set"], made).returncode == 0

    def files(pattern):
        return [str(each.relative_to(made)) for each in sorted(made.glob(pattern)) if each.is_file()]

    def results(where, done):
        report = json.loads((where / "out" / "results.json").read_text())
        return [report[key] for key in ("datasets", "reference")] + [
            run["encoding"] for run in report["runs"]
        ]

    def printed(where, done):
        return done.stdout

    alone = folder / "training"  # as one that was killed after three of four steps
    alone.mkdir()
    often = ["checkpoint.dump.every=1" if word == "checkpoint.dump.every=2" else word for word in TRAIN]
    often.append("checkpoint.dump.keep=3")
    assert run(often, alone).returncode == 0
    shutil.rmtree(alone / "run" / "checkpoints" / "0000000004")
    for name in ("run.json", "results.jsonl"):
        (alone / "run" / name).unlink()
    shutil.copytree(alone, folder / "one")  # checkpoint, which nothing can stand in for
    shutil.rmtree(folder / "one" / "run" / "checkpoints" / "0000000002")
    of_training = [str(each.relative_to(alone)) for each in sorted(alone.rglob("*")) if each.is_file()]

    of_runs = [
        each for each in files("mine/runs/*/*") + files("mine/runs/*/tb/*") if not each.endswith(".lock")
    ]
    report = ["report", "--out", "out"]
    return {
        "run": Subject(made, of_runs + ["mine/comparison.json"], [*report, "mine"], results),
        "bundle": Subject(made, ["b.tar.zst"], [*report, "b.tar.zst"], results),
        "dataset": Subject(made, files("set/*"), ["data", "audit", "set"], printed),
        "checkpoint": Subject(
            made,
            [each for each in files("mine/runs/*nope*/checkpoints/*/*") if not each.endswith("COMPLETE")],
            ["ckpt", "verify", next(made.glob("mine/runs/*nope*")).relative_to(made)],
            printed,
        ),
        "resumed": Subject(
            alone,
            of_training,
            often,
            lambda where, done: of_run(where / "run"),
        ),
        "scored": Subject(
            folder / "one",
            [each for each in of_training if "/checkpoints/0000000003/" in each],
            ["eval", "run", "--json"],
            printed,
        ),
        "taken": Subject(
            made,
            ["b.tar.zst"],
            [*("again" if word == "mine" else word for word in COMPARE), "--from", "b.tar.zst"],
            lambda where, done: of_comparison(where / "again"),
        ),
    }


def every_mutation(folder, count, seed):
    """(subject, file, damage, what went wrong or None, exit code), in turn over the subjects."""
    draw, made = random.Random(seed), subjects(folder)
    for i in range(count):
        name = list(made)[i % len(made)]
        yield name, *made[name].try_one(draw, folder / "damaged")


def main(count):
    codes, wrong = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, file, how, problem, code in every_mutation(pathlib.Path(folder), count, seed=1):
            codes[name, code] = codes.get((name, code), 0) + 1
            if problem:
                wrong += 1
                print(f"{name}: {file}, {how}: {problem}", flush=True)
    for (name, code), times in sorted(codes.items()):
        print(f"{name}: exit code {code} {times} times")
    print(f"{count} mutations, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
