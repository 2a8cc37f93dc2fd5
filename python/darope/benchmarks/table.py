"""The paper's fifteen benchmarks: one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import rows

__all__ = ["BENCHMARKS", "Benchmark", "find"]


@dataclass(frozen=True)
class Benchmark:
    column: str  # in the paper's table
    metrics: tuple[str, ...]  # as lm-eval calls them, the one that is compared first
    chance: float  # of guessing
    parts: Callable[[Path], dict[str, rows.Reader]]  # lm-eval's tasks that it is made of, and their rows

    @property
    def runs_programs(self) -> bool:
        return "pass_at_1" in self.metrics


def alone(stock: str, reader: rows.Reader) -> Callable[[Path], dict[str, rows.Reader]]:
    return lambda folder: {stock: reader}


def one_for_each(stock: str, reader: Callable[[str], rows.Reader], where: str, behind: str):
    """A task for each file of a folder, named by it."""

    def parts(folder: Path) -> dict[str, rows.Reader]:
        names = [file.name.removesuffix(behind) for file in sorted((folder / where).glob("*" + behind))]
        if not names:
            raise ValueError(f"{folder / where} should hold files *{behind}")
        return {stock + name: reader(name) for name in names}

    return parts


CHOICES = ("acc_norm", "acc")
BENCHMARKS = {
    "hellaswag": Benchmark("HSwag", CHOICES, 1 / 4, alone("hellaswag", rows.hellaswag)),
    "arc_easy": Benchmark("ARC-e", CHOICES, 1 / 4, alone("arc_easy", rows.arc("arc_easy"))),
    "arc_challenge": Benchmark("ARC-c", CHOICES, 1 / 4, alone("arc_challenge", rows.arc("arc_challenge"))),
    "piqa": Benchmark("PIQA", CHOICES, 1 / 2, alone("piqa", rows.piqa)),
    "openbookqa": Benchmark("OBQA", CHOICES, 1 / 4, alone("openbookqa", rows.openbookqa)),
    "winogrande": Benchmark("Wino", ("acc",), 1 / 2, alone("winogrande", rows.winogrande)),
    "commonsense_qa": Benchmark("CSQA", ("acc",), 1 / 5, alone("commonsense_qa", rows.commonsense_qa)),
    "copa": Benchmark("COPA", ("acc",), 1 / 2, alone("copa", rows.copa)),
    "mmlu": Benchmark("MMLU", ("acc",), 1 / 4, one_for_each("mmlu_", rows.mmlu, "mmlu/test", "_test.csv")),
    "race": Benchmark("RACE", ("acc",), 1 / 4, alone("race", rows.race)),
    "triviaqa": Benchmark("TQA", ("exact_match",), 0, alone("triviaqa", rows.triviaqa)),
    "bbh": Benchmark(
        "BBH", ("exact_match",), 0, one_for_each("bbh_cot_fewshot_", rows.bbh, "bbh/bbh", ".json")
    ),
    "gsm8k": Benchmark("GSM8K", ("exact_match",), 0, alone("gsm8k", rows.gsm8k)),
    "humaneval": Benchmark("HEval", ("pass_at_1",), 0, alone("humaneval", rows.humaneval)),
    "mbpp": Benchmark("MBPP", ("pass_at_1",), 0, alone("mbpp", rows.mbpp)),
}


def find(name: str, beside: tuple[str, ...] = ()) -> Benchmark:
    """`beside`: names of others, for the one who asks for none of these."""
    if name not in BENCHMARKS:
        raise ValueError(f"no benchmark is called '{name}'; there are {', '.join([*BENCHMARKS, *beside])}")
    return BENCHMARKS[name]
