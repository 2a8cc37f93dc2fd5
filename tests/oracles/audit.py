"""Every number of a report again, from the scores of its runs alone: means, intervals, verdicts, power and
the paper's own test, by numpy, scipy and statsmodels. The best constant answers are taken as the runs tell
them.

.venv/bin/python tests/oracles/audit.py [COMPARISON...]     # without any, all published bundles
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import numpy as np
import rule
import zstandard
from scipy import special, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("DAROPE_BINARY", ROOT / "build" / "darope"))


def files_of(comparison):
    """(name of a run, its run.json, its results.jsonl) of a folder or a bundle."""
    texts = {}
    if comparison.is_dir():
        for pattern in ("runs/*/*.json*", "runs/*/evals/*/*/*.json*"):
            for file in comparison.glob(pattern):
                texts[str(file.relative_to(comparison))] = file.read_text()
    else:
        with zstandard.open(comparison) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                texts[member.name] = tar.extractfile(member).read().decode()
    for name in sorted(name for name in texts if name.endswith("/run.json")):
        folder = name.removesuffix("run.json")
        yield folder, json.loads(texts[name]), texts[folder + "results.jsonl"]


def read_scores(text):
    """(values, clusters) by metric, axis and place."""
    lines = {}
    for line in map(json.loads, text.splitlines()):
        lines.setdefault((line["metric"], line.get("axis", "length"), line["x"]), []).append(line)
    found = {}
    for key, of_key in lines.items():
        of_key.sort(key=lambda line: line["example"])
        values = np.array([line["value"] for line in of_key])
        found[key] = values, np.array([line.get("cluster", i) for i, line in enumerate(of_key)])
    return found


def alpha_of(datasets):
    """What may go wrong: 5 %, or a round's part of it where seeds were added in rounds."""
    return min((d["settling"] or {}).get("alpha_of_a_round", 0.05) for d in datasets)


def decided_at(dataset, x):
    """Intervals by pair that stand from the round that decided them."""
    looks = (dataset["settling"] or {}).get("looks", [])
    return {
        (pair["first"], pair["second"]): (pair["low"], pair["high"])
        for look in looks
        if look["x"] == x
        for pair in look["decided"]
    }


def with_runs(place):
    """Encodings that were asked there: an evaluation may have been made of some alone."""
    return [cell["encoding"] for cell in place["cells"] if cell["seeds"]]


class Audit:
    def __init__(self, comparisons):
        self.compared, self.disagreements = 0, []
        self.scores = {}  # by dataset, encoding as typed, and seed
        self.tasks = {}  # judged ones, by dataset, place and encodings
        for comparison in comparisons:
            for _, run, text in files_of(pathlib.Path(comparison)):
                self.scores[run["dataset"], run["encoding"], run["seed"]] = read_scores(text)
        with tempfile.TemporaryDirectory() as out:
            subprocess.run(
                [BINARY, "report", *comparisons, "--out", out], check=True, stdout=subprocess.DEVNULL
            )
            self.results = json.loads(pathlib.Path(out, "results.json").read_text())
        self.typed = {(run["dataset"], run["encoding"]): run["typed"] for run in self.results["runs"]}
        # Of rounds of seeds, the report leaves out runs that no round has judged yet.
        judged = {(run["dataset"], run["typed"], run["seed"]) for run in self.results["runs"]}
        tested = {name for name, *_ in judged}  # what is asked after a training stands apart
        self.scores = {
            key: scores for key, scores in self.scores.items() if key in judged or key[0] not in tested
        }

    def same(self, what, told, expected, rel=1e-7, absolute=1e-11):
        self.compared += 1
        if told is None or expected is None:
            agree = told is None and expected is None
        else:
            agree = np.allclose(told, expected, rtol=rel, atol=absolute)
        if not agree:
            self.disagreements.append(f"{what}: the report has {told}, the audit {expected}")

    def within(self, what, told, ends):
        self.compared += 1
        if not ends[0] * (1 - 1e-6) <= told <= ends[1] * (1 + 1e-6):
            self.disagreements.append(f"{what}: the report has {told}, the audit {ends[0]} to {ends[1]}")

    def one_of(self, what, told, expected):
        self.compared += 1
        if told not in expected:
            self.disagreements.append(
                f"{what}: the report has {told}, the audit {' or '.join(map(str, expected))}"
            )

    def run(self):
        for dataset in self.results["datasets"] + self.results["evaluations"]:
            for place in dataset["lengths"]:
                where = f"{dataset['name']} at {place['x']}"
                self.check_cells(where, dataset, place)
                self.check_paper_test(where, dataset, place)
                if place.get("pairs"):
                    task = self.task(dataset, place, with_runs(place))
                    alpha = alpha_of([dataset])
                    pairs = rule.judge([task], dataset["higher_better"], alpha)
                    kept = decided_at(dataset, place["x"])
                    self.check_pairs(where, place, pairs, dataset["margin"], alpha, kept)
                    self.check_learned(where, dataset, place)
        for overall in self.results["overall"]:
            if overall.get("pairs"):
                self.check_overall(overall)
        return self

    def values(self, dataset, encoding, seed, metric, x):
        name = dataset["name"]
        run = self.scores.get((name, self.typed.get((name, encoding), encoding), seed))
        return run and run[metric, dataset["axis"], x]

    def table(self, dataset, place, encodings):
        """Values by cluster of every run, on the scale that datasets share."""
        floor = max(place.get("best_constant") or 0, dataset["true_chance"] or dataset["chance"] or 0)
        table = []
        for encoding in encodings:
            table.append([])
            for seed in self.results["seeds"]:
                run = self.values(dataset, encoding, seed, dataset["metric"], place["x"])
                by_cluster = run and rule.by_cluster(*run)
                if run and dataset["higher_better"]:
                    by_cluster = (by_cluster - floor) / (1 - floor)
                table[-1].append(by_cluster)
        return table

    def witnesses(self, dataset, place):
        runs = (
            self.values(dataset, cell["encoding"], seed, dataset["metric"], place["x"])
            for cell in place["cells"]
            for seed in self.results["seeds"]
        )
        return rule.witnesses(next(clusters for _, clusters in filter(None, runs)))

    def task(self, dataset, place, encodings):
        key = dataset["name"], place["x"], tuple(encodings)
        if key not in self.tasks:
            rng = np.random.default_rng([*dataset["name"].encode(), int(place["x"])])
            self.tasks[key] = rule.Task(
                self.table(dataset, place, encodings), rng, self.witnesses(dataset, place)
            )
        return self.tasks[key]

    def check_cells(self, where, dataset, place):
        metrics = [(dataset["metric"], place["cells"])]
        for beside in dataset["beside"]:
            metrics += [
                (beside["metric"], p["cells"])
                for p in beside["places"]
                if (beside["axis"], p["x"]) == (dataset["axis"], place["x"])
            ]
        for metric, cells in metrics:
            for cell in cells:
                runs = [
                    self.values(dataset, cell["encoding"], s, metric, place["x"])[0] for s in cell["seeds"]
                ]
                what, means = f"{where}, {metric} of {cell['encoding']}", [run.mean() for run in runs]
                self.same(f"{what}: by seed", cell["by_seed"], means)
                self.same(f"{what}: mean", cell["mean"], np.mean(means) if means else None)
                if len(means) > 1:
                    self.same(f"{what}: SD", cell["seed_sd"], np.std(means, ddof=1))
                for name, method in (("wilson", "wilson"), ("wald", "normal")):
                    if cell.get(name):
                        n = len(runs[0])
                        hits = np.floor(np.mean(means) * n + 0.5 + 1e-9)  # a report counts whole examples
                        ends = np.array(proportion_confint(hits, n, method=method))
                        self.same(f"{what}: {name}", cell[name], ends)
                for name, chance in (("normalised", "chance"), ("normalised_true", "true_chance")):
                    if cell.get(name) is not None:
                        c = dataset[chance]
                        self.same(f"{what}: {name}", cell[name], (np.mean(means) - c) / (1 - c))

    def check_pairs(self, where, told, pairs, margin, alpha, kept=None):
        for pair, expected in zip(told["pairs"], pairs, strict=True):
            what = f"{where}, {pair['first']} and {pair['second']}"
            if pair["seeds"] == 0:
                continue
            self.same(f"{what}: seeds", pair["seeds"], expected.seeds)
            self.same(f"{what}: difference", pair["difference"], expected.difference)
            self.same(f"{what}: standard error", pair["standard_error"], expected.standard_error, 1e-5, 1e-9)
            self.same(f"{what}: run part", pair["run_part"], expected.runs, 1e-5, 1e-12)
            self.same(f"{what}: example part", pair["example_part"], expected.examples, 1e-5, 1e-12)
            if expected.standard_error < 1e-9:
                continue  # equal scores: nothing to tell chance by
            self.same(f"{what}: df", pair["df"], expected.df, 1e-4)
            self.within(f"{what}: critical value", pair["critical"], expected.critical)
            half = pair["critical"] * expected.standard_error
            ends = expected.difference - half, expected.difference + half
            earlier = (kept or {}).get((pair["first"], pair["second"]))
            stands = earlier and rule.verdict(*ends, margin) == "undecided"  # now, and decided in a round
            self.same(f"{what}: interval", pair["interval"], earlier if stands else ends, 1e-5, 1e-9)
            self.one_of(f"{what}: verdict", pair["verdict"], {rule.verdict(*pair["interval"], margin)})
            power = (pair["critical"] + stats.t.ppf(0.8, expected.df)) * expected.standard_error
            self.same(f"{what}: detectable", pair["detectable"], power, 1e-5)
            if pair.get("decided_by_seeds"):
                self.check_seeds(what, pair, expected, margin, told, alpha)

    def check_seeds(self, what, pair, expected, margin, told, alpha):
        """The least number of seeds that would tell the two apart, or tie them, with 80 % power."""
        names = {name for each in told["pairs"] for name in (each["first"], each["second"])}
        encodings, seen = len(names), abs(expected.difference)
        confidence = stats.norm.cdf(stats.studentized_range.ppf(1 - alpha, encodings, np.inf) / np.sqrt(2))

        def detectable(seeds):
            runs = expected.runs * expected.seeds / seeds
            df, variance = (encodings - 1) * (seeds - 1), runs + expected.examples
            t, z = stats.t.ppf(1 - alpha / 2, seeds - 1), stats.norm.ppf(1 - alpha / 2)
            alone = runs * t**2 + expected.examples * z**2
            critical = max(stats.t.ppf(confidence, df), np.sqrt(alone / variance))
            return (critical + stats.t.ppf(0.8, df)) * np.sqrt(variance)

        most, seeds = max(seen, margin - seen), pair["decided_by_seeds"]
        enough = detectable(seeds) <= most * (1 + 1e-6)
        fewer = seeds > expected.seeds + 1 and detectable(seeds - 1) <= most * (1 - 1e-6)
        self.one_of(f"{what}: {seeds} seeds are enough, and one less is not", enough and not fewer, {True})

    def check_learned(self, where, dataset, place):
        if not dataset["higher_better"]:
            return
        table = self.table(dataset, place, with_runs(place))
        length = next(len(run) for runs in table for run in runs if run is not None)
        constant = [np.zeros(length) for _ in table[0]]
        task = rule.Task([*table, constant], np.random.default_rng(1), self.witnesses(dataset, place))
        pairs = rule.judge([task], True, alpha_of([dataset]))
        last = [pair for pair, of in zip(pairs, self.pairs_of(len(table) + 1)) if of[1] == len(table)]
        surely = any(pair.verdicts(dataset["margin"]) == {"better"} for pair in last)
        maybe = any("better" in pair.verdicts(dataset["margin"]) for pair in last)
        self.one_of(f"{where}: learned", place["learned"], {surely, maybe})

    @staticmethod
    def pairs_of(encodings):
        return [(a, b) for a in range(encodings) for b in range(a + 1, encodings)]

    def check_paper_test(self, where, dataset, place):
        """Paired t over examples averaged over the seeds that all have, Holm over the baselines."""
        told = place.get("paper_test") or []
        cells = {cell["encoding"]: cell for cell in place["cells"] if cell["seeds"]}
        seeds = set.intersection(*(set(cell["seeds"]) for cell in cells.values()))
        mean = {
            e: np.mean([self.values(dataset, e, s, dataset["metric"], place["x"])[0] for s in seeds], 0)
            for e in cells
        }
        tests = []
        for test in told:
            first, second = mean[test["first"]], mean[test["second"]]
            d = first - second if dataset["higher_better"] else second - first
            what, n = f"{where}, the paper's test of {test['second']}", len(d)
            self.same(f"{what}: difference", test["difference"], d.mean())
            if np.ptp(d) < 1e-12 or test["t"] is None:
                tests.append(None)
                continue
            expected = stats.ttest_rel(d, np.zeros(n))
            tests.append(expected.pvalue)
            self.same(f"{what}: t", test["t"], expected.statistic)
            ends = expected.confidence_interval(0.95)
            self.same(f"{what}: interval", test["interval"], [ends.low, ends.high])
            hedges = np.exp(special.gammaln((n - 1) / 2) - special.gammaln((n - 2) / 2)) / np.sqrt(
                (n - 1) / 2
            )
            self.same(f"{what}: effect", test["effect_size"], hedges * d.mean() / d.std(ddof=1))
            if expected.pvalue > 1e-250:
                self.same(f"{what}: p", test["p"], expected.pvalue, 1e-6, 0)
        if tests and None not in tests:
            for test, p in zip(told, multipletests(tests, method="holm")[1]):
                if p > 1e-250:
                    what = f"{where}, Holm's p of {test['second']}"
                    self.same(what, np.exp(test["holm_ln_p"]), p, 1e-6, 0)

    def check_overall(self, overall):
        by_name = {d["name"]: d for d in self.results["datasets"]}
        encodings = [s["encoding"] for s in overall["standings"]]
        encodings.sort(key=self.results["encodings"].index)
        tasks, means = [], []
        for name in overall["datasets"]:
            place = next(p for p in by_name[name]["lengths"] if p["x"] == overall["x"])
            tasks.append(self.task(by_name[name], place, encodings))
            means.append(self.table(by_name[name], place, encodings))
        higher = by_name[overall["datasets"][0]]["higher_better"]
        where = f"all at {overall['x']}"
        alpha, margin = alpha_of([by_name[name] for name in overall["datasets"]]), overall["margin"]
        self.check_pairs(where, overall, rule.judge(tasks, higher, alpha), margin, alpha)
        if len(tasks) < 2:
            return
        for left_out in overall["without"]:
            rest = [t for t, name in zip(tasks, overall["datasets"]) if name != left_out["dataset"]]
            for told, pair in zip(left_out["pairs"], rule.judge(rest, higher, alpha), strict=True):
                what = f"{where} without {left_out['dataset']}, {told['first']} and {told['second']}"
                self.one_of(what, told["verdict"], pair.verdicts(margin))
        complete = [[s for s in range(len(t[0])) if all(runs[s] is not None for runs in t)] for t in means]
        if all(complete):
            blocks = [
                [np.array([np.mean([t[e][s].mean() for s in seeds])]) for t, seeds in zip(means, complete)]
                for e in range(len(encodings))
            ]
            like_these = rule.judge([rule.Task(blocks, np.random.default_rng(2))], higher, alpha)
            told = {"pairs": overall["tasks_like_these"]}
            self.check_pairs(f"{where}, tasks like these", told, like_these, margin, alpha)


def published():
    folder = ROOT / "docs" / "results"
    bundles = sorted(file for file in folder.rglob("*.tar.zst") if (file.parent / "results.json").exists())
    together = [folder / name / "runs.tar.zst" for name in ("jsb", "maestro", "genome", "bonn")]
    return [*([bundle] for bundle in bundles), together]


def main(arguments):
    failed = False
    for comparisons in [[a] for a in arguments] or published():
        audit = Audit(comparisons).run()
        names = ", ".join(str(pathlib.Path(c).resolve().relative_to(ROOT)) for c in comparisons)
        print(f"{names}: {audit.compared} numbers, {len(audit.disagreements)} disagreements")
        print(*("  " + each for each in audit.disagreements[:20]), sep="\n", end="")
        failed |= bool(audit.disagreements)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
