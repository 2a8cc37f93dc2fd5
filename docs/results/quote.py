"""Writes into READMEs what their results.json say, between <!-- quoted: WHAT --> and <!-- end -->.

.venv/bin/python docs/results/quote.py [--check]
"""

import json
import pathlib
import re
import statistics
import sys
import textwrap

RESULTS = pathlib.Path(__file__).resolve().parent
PAPER = {  # the losses that its text gives
    "jsb": {"darope": 0.4547, "hope": 0.4567, "nope": 1.1634},
    "jsb24": {"darope": 0.4547, "hope": 0.4567},
    "maestro": {"darope": 1.4180, "hope": 1.4289, "nope": 1.5075},
}
NAMES = {"jsb": "JSB Chorales", "maestro": "MAESTRO", "genome": "genome", "bonn": "Bonn EEG"}


def plain(encoding):
    return encoding.split(":")[0]


def listed(names):
    names = list(names)
    return names[0] if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def overall_at(results, x):
    return next(o for o in results["overall"] if o["x"] == x)


class Scale:
    """Losses in nats with four digits, accuracies in points with one."""

    def __init__(self, overall):
        self.loss = overall["metric"] == "nll"

    def signed(self, value):
        return f"{value:+.4f}" if self.loss else f"{100 * value:+.1f}"

    def plain(self, value):
        return f"{value:.4f}" if self.loss else f"{100 * value:.1f}"

    def interval(self, pair):
        low, high = pair["interval"]
        return f"{self.signed(pair['difference'])} ({self.signed(low)} to {self.signed(high)})"


def losses(results, page):
    """Mean losses of one dataset, the best first."""
    dataset = results["datasets"][0]
    cells = sorted(dataset["lengths"][0]["cells"], key=lambda cell: cell["mean"])
    heads = ["encoding", "loss", "SD over seeds", "seeds"]
    beside = {b["metric"]: b["places"][0]["cells"] for b in dataset["beside"]}
    if "nll_n_free" in beside:
        heads.append("without unknown bases")
    if page in PAPER:
        heads.append("the paper, whole budget")
    rows = []
    for cell in cells:
        row = [cell["encoding"], f"{cell['mean']:.4f}", f"{cell['seed_sd']:.4f}", str(len(cell["seeds"]))]
        if "nll_n_free" in beside:
            same = next(c for c in beside["nll_n_free"] if c["encoding"] == cell["encoding"])
            row.append(f"{same['mean']:.4f}")
        if page in PAPER:
            number = PAPER[page].get(plain(cell["encoding"]))
            row.append(f"{number:.4f}" if number else "")
        rows.append(row)
    return table(heads, rows)


def all_losses(results, _):
    """Mean losses of several datasets, and mean ranks."""
    encodings = results["encodings"]
    rows = []
    for dataset in results["datasets"]:
        means = {cell["encoding"]: cell["mean"] for cell in dataset["lengths"][0]["cells"]}
        best = min(means.values())
        marked = (f"**{means[e]:.4f}**" if means[e] == best else f"{means[e]:.4f}" for e in encodings)
        rows.append([NAMES[dataset["name"]], *marked])
    ranks = {row["encoding"]: row for row in results["rankings"][0]["rows"]}
    rows.append(
        [
            "mean rank ± standard error",
            *(f"{ranks[e]['mean']:.2f} ± {ranks[e]['standard_error']:.2f}" for e in encodings),
        ]
    )
    return table(["", *map(plain, encodings)], rows)


def wins_of(pairs):
    """ "a and b are better than c", those with the same wins together."""
    wins = {}
    for pair in pairs:
        first, second = plain(pair["first"]), plain(pair["second"])
        if pair["verdict"].startswith("better"):
            wins.setdefault(first, []).append(second)
        elif pair["verdict"].startswith("worse"):
            wins.setdefault(second, []).append(first)
    winners = {}
    for winner, losers in wins.items():
        winners.setdefault(tuple(losers), []).append(winner)
    return [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} better than {listed(losers)}"
        for losers, names in winners.items()
    ]


def bullets(sentences):
    return "\n".join(textwrap.fill(f"- {each}.", 110, subsequent_indent="  ") for each in sentences)


def verdicts(results, _, x=1.0):
    """What the intervals decide, in words."""
    overall = overall_at(results, x)
    pairs, scale = overall["pairs"], Scale(overall)
    said = wins_of(pairs)
    said += [f"Tied: {listed(map(plain, group))}" for group in overall["tied"]]
    seen = [pair["detectable"] for pair in pairs if pair["verdict"] == "undecided"]
    if seen:
        ends = f"{scale.plain(min(seen))} to {scale.plain(max(seen))} {'nats' if scale.loss else 'points'}"
        margin = scale.plain(overall["margin"]).rstrip("0").rstrip(".")
        said.append(
            f"Undecided: {len(seen)} of {len(pairs)} pairs. Differences that these would have shown "
            f"with 80 % power: {ends}; the margin is {margin}"
        )
    hanging = {}
    for pair in pairs:
        for dataset in pair.get("hangs_on") or []:
            hanging.setdefault(dataset, []).append(f"{plain(pair['first'])} and {plain(pair['second'])}")
    said += [f"Without {dataset}, another verdict on {'; '.join(on)}" for dataset, on in hanging.items()]
    if overall["apart"]:
        apart = listed(map(plain, overall["apart"]))
        said.append(f"Unsteady, as their scores do not go along with the others' from seed to seed: {apart}")
    if overall.get("tasks_like_these"):
        like = "; ".join(wins_of(overall["tasks_like_these"])) or "every pair is undecided"
        said.append(f"For datasets like these, taken at random: {like}")
    return bullets(said)


def pairs_table(results, _, x=1.0):
    overall = overall_at(results, x)
    scale = Scale(overall)
    rows = []
    for pair in overall["pairs"]:
        needs = pair.get("decided_by")
        if pair.get("decided_by_seeds"):
            needs = f"{pair['decided_by_seeds']} seeds"
        names = f"{plain(pair['first'])}, {plain(pair['second'])}"
        rows.append([names, scale.interval(pair), pair["verdict"], "" if needs == "nothing" else needs])
    return table(["pair", "difference and interval", "verdict", "decided by"], rows)


def by_length(quote, x):
    return lambda results, page: quote(results, page, x)


def suite(results, _):
    """Accuracies over all tasks, learned or not, normalised by true chance; and what answers no model."""
    columns = [("all", 1), ("Chomsky", 1), ("retrieval", 1), ("positional", 1), ("all", 2), ("all", 8)]
    found = {(a["over"], a["x"]): a for a in results["aggregates"]}
    heads = [f"{over} ({len(found[over, x]['datasets'])}), {x}x" for over, x in columns]
    rows = []
    for encoding in results["encodings"]:
        row = [encoding]
        for column in columns:
            cell = next(r for r in found[column]["rows"] if r["encoding"] == encoding)
            row.append(f"{100 * cell['normalised_true']:.1f} ± {100 * cell['seed_sd_true']:.1f}")
        rows.append(row)
    rows.append(["best constant answer", *(constant(results, found[c]["datasets"], c[1]) for c in columns)])
    return table(["", *heads], rows)


def constant(results, names, x):
    scores = []
    for dataset in results["datasets"]:
        if dataset["name"] in names:
            place = next(p for p in dataset["lengths"] if p["x"] == x)
            chance = dataset["true_chance"]
            scores.append((max(place["best_constant"], chance) - chance) / (1 - chance))
    return f"{100 * statistics.mean(scores):.1f}"


def learned(results, _):
    return bullets(
        f"{overall['x']:g}x: {len(overall['datasets'])} learned; not {listed(overall['not_learned'])}"
        for overall in results["overall"]
    )


def two_groups(results, _):
    """Runs that fall into two groups, at the training length."""
    said = []
    for dataset in results["datasets"]:
        for group in dataset["lengths"][0]["two_groups"]:
            runs = group["low"] + group["high"]
            levels = f"{100 * group['high_mean']:.0f} against {100 * group['low_mean']:.0f}"
            said.append(
                f"{dataset['name']}: {group['ahead']} of {runs} runs of {group['encoding']} ahead ({levels})"
            )
    return bullets(said)


def left_out(results, _):
    rows = []
    for dataset in results["datasets"]:
        place = dataset["lengths"][0]
        exact = next(b for b in dataset["beside"] if b["metric"] == "exact_match")["places"][0]["cells"]
        cells = [f"{100 * cell['mean']:.1f} %" for cell in [*exact, *place["cells"]]]
        told = "yes" if place["learned"] else "no"
        rows.append([dataset["name"], *cells, f"{100 * place['best_constant']:.1f}", told])
    names = [cell["encoding"] for cell in results["datasets"][0]["lengths"][0]["cells"]]
    heads = [f"exact match, {n}" for n in names] + [f"tokens, {n}" for n in names]
    return table(["task", *heads, "best constant, tokens", "learned"], rows)


def levels(results, _, x=1.0):
    """Accuracies of every task at one length, learned or not, and the best constant answer's."""
    rows = []
    for dataset in results["datasets"]:
        place = next(p for p in dataset["lengths"] if p["x"] == x)
        scores = {cell["encoding"]: cell["mean"] for cell in place["cells"]}
        cells = [f"{100 * scores[e]:.1f}" for e in results["encodings"]]
        rows.append([dataset["name"], *cells, f"{100 * place['best_constant']:.1f}"])
    return table([f"{x:g}x", *results["encodings"], "best constant answer"], rows)


def rounds(results, _):
    """What each round of seeds decided, and which encodings it left open."""
    said = []
    for dataset in results["datasets"]:
        seeds = dataset["settling"]["rounds"]
        for look in dataset["settling"]["looks"]:
            at = f"{dataset['name']} at {look['x']:g}x, {seeds[look['round'] - 1]} seeds"
            if not look["learned"]:
                said.append(f"{at}: not learned")
                continue
            wins = wins_of(look["decided"]) or ["nothing decided"]
            named = [*map(plain, look["open"]), plain(look["leader"])]
            left = f"; open: {listed(named)}" if look["open"] else ""
            said.append(f"{at}: {'; '.join(wins)}{left}")
    return bullets(said)


def runs_apart(results, _):
    """Each run of a task at the training length, so that groups are seen."""
    rows = []
    for dataset in results["datasets"]:
        for cell in dataset["lengths"][0]["cells"]:
            scores = " ".join(f"{100 * score:.0f}" for score in sorted(cell["by_seed"]))
            rows.append([dataset["name"], cell["encoding"], scores])
    return table(["task", "encoding", "runs, accuracy in %, in order of size"], rows)


QUOTES = {
    "losses": losses,
    "all losses": all_losses,
    "verdicts": verdicts,
    "verdicts at 2x": by_length(verdicts, 2.0),
    "verdicts at 8x": by_length(verdicts, 8.0),
    "pairs": pairs_table,
    "pairs at 2x": by_length(pairs_table, 2.0),
    "suite": suite,
    "learned": learned,
    "two groups": two_groups,
    "left out": left_out,
    "levels": levels,
    "levels at 2x": by_length(levels, 2.0),
    "rounds": rounds,
    "runs": runs_apart,
}


def quoted(readme):
    def fill(match):
        what, _, page = match[1].partition(" of ")
        folder = readme.parent / page if page else readme.parent
        results = json.loads((folder / "results.json").read_text())
        return f"<!-- quoted: {match[1]} -->\n{QUOTES[what](results, folder.name)}\n<!-- end -->"

    return re.sub(r"<!-- quoted: (.+?) -->\n.*?<!-- end -->", fill, readme.read_text(), flags=re.DOTALL)


def main(check):
    for readme in sorted(RESULTS.glob("*/README.md")):
        text = quoted(readme)
        if not check:
            readme.write_text(text)
        elif text != readme.read_text():
            sys.exit(f"quote: {readme} is not what its results say: run docs/results/render")


if __name__ == "__main__":
    main(sys.argv[1:] == ["--check"])
