"""python -m darope.benchmarks RUN... --tasks piqa,ruler --data DIR: docs/benchmarks.md."""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from ..terminal import BAD_INPUT, complain, exit_code_of


def parser() -> argparse.ArgumentParser:
    program = argparse.ArgumentParser(
        prog="python -m darope.benchmarks", description="scores of runs on benchmarks, through lm-eval"
    )
    program.add_argument("runs", metavar="RUN", nargs="+", help="folders of runs")
    program.add_argument("--tasks", required=True, help="names, comma-separated, or all: the paper's fifteen")
    program.add_argument("--data", metavar="DIR", type=Path, required=True, help="see docs/benchmarks.md")
    program.add_argument("--keep-with", metavar="PROGRAM", help="a darope that keeps the scores with the run")
    program.add_argument("--max-length", type=int, metavar="N", help="default: 8 times the training length")
    program.add_argument("--batch-size", type=int, default=8, metavar="N")
    program.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    program.add_argument("--device", default="cpu")
    program.add_argument("--limit", type=int, metavar="N", help="the first N questions of each part alone")
    program.add_argument("--shots", type=int, metavar="N", help="worked examples; default: lm-eval's")
    program.add_argument(
        "--lengths", type=lengths, metavar="N,N", help="of long prompts, in the run's tokens"
    )
    program.add_argument(
        "--books", metavar="DIR", type=Path, help="that hide what is asked for; default: DATA/books"
    )
    program.add_argument(
        "--prompts",
        metavar="DIR",
        type=Path,
        help="where long prompts are kept; default: beside the run, for its neighbours too",
    )
    program.add_argument(
        "--run-programs", action="store_true", help="let humaneval and mbpp run what the model writes"
    )
    return program


def lengths(words: str) -> tuple[int, ...]:
    found = tuple(dict.fromkeys(int(word) for word in words.split(",")))
    if min(found) < 0:
        raise ValueError
    return found


def keep(program: str, run: str, line: str) -> None:
    """The program alone knows how scores are kept in a run's folder."""
    why = ""
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(line)
            file.flush()
            done = subprocess.run([program, "eval", run, "--scores", file.name], stdout=subprocess.DEVNULL)
        if done.returncode == 0:
            return
    except OSError as error:
        why = f" ({error})"
    print(line, flush=True)  # what took hours is not lost
    raise ValueError(f"the scores of {run} could not be kept{why}: they stand on standard output")


def chosen_of(names: str, may_run: bool) -> list[str]:
    from .table import BENCHMARKS

    if names != "all":
        return names.split(",")
    chosen = [name for name, each in BENCHMARKS.items() if may_run or not each.runs_programs]
    left_out = ", ".join(name for name in BENCHMARKS if name not in chosen)
    if left_out:
        what = "they run programs that the model writes, which --run-programs allows"
        complain("darope.benchmarks", f"{left_out} are left out: {what}")
    return chosen


def score_all(runs: list[str], names: str, program: str | None, options) -> None:
    from .run import check, load, score

    chosen = chosen_of(names, options.run_programs)
    for name in chosen:
        check(name, options)
    for run in runs:
        model, step = load(run, options)
        beside = dataclasses.replace(options, prompts=options.prompts or Path(run).absolute().parent)
        for name in chosen:
            scored = score(model, name, beside)
            at = {} if step is None else {"step": step}
            line = json.dumps({"run": run, **at, **dataclasses.asdict(scored)})
            first = scored.metrics[0]["name"]
            values = [each["value"] for each in scored.scores if each["metric"] == first]
            mean = sum(values) / len(values)
            print(f"{run}: {name}: {first} {mean:.4f} of {len(values)}", file=sys.stderr)
            for band in scored.bands:
                print(
                    "{x:>8} {metric:16} median {median:.4f}, quartiles {low:.4f} to {high:.4f}".format(
                        **band
                    ),
                    file=sys.stderr,
                )
            if program:
                keep(program, run, line)
            else:
                print(line)


def main() -> int:
    given = vars(parser().parse_args())
    runs, names, program = given.pop("runs"), given.pop("tasks"), given.pop("keep_with")
    try:
        import darope.hf  # noqa: F401, models register themselves

        from .run import Options, is_out_of_memory
    except ImportError as error:
        complain("darope.benchmarks", f"{error}: run pip install 'darope[eval]'")
        return BAD_INPUT
    options = Options(**given)

    def work() -> None:
        try:
            score_all(runs, names, program, options)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            what = f"{options.batch_size} prompts at once take more memory than {options.device} has"
            raise ValueError(f"{what}: give a smaller --batch-size, or shorter ones") from None

    return exit_code_of("darope.benchmarks", work)


if __name__ == "__main__":
    sys.exit(main())
