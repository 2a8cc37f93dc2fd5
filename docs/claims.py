"""Writes docs/claims.md: every claim of the paper, and the verdict that published intervals support.

.venv/bin/python docs/claims.py [--check]
"""

import json
import math
import pathlib
import sys
import textwrap

import yaml
from scipy import stats

DOCS = pathlib.Path(__file__).resolve().parent
PAGE = DOCS / "claims.md"
HOLDS, DOES_NOT, UNDECIDED, NOT_RUN = "holds", "does not", "undecided", "not yet run"
QUALIFIED = {"-": "", "100 %": "", "our recipe": " under our recipe"}  # a verdict, by the share it rests on

INTRO = """# The paper's claims

What "RoPE is Dead, Long Live RoPE" says, claim by claim; the command that tests it; and what the runs
published here support. `docs/claims.py` makes this page from [claims.yaml](claims.yaml) and the published
`results.json` files, so that a verdict is always that of its interval.

{counts}

- **holds**: the interval lies where the claim says; **does not**: it lies elsewhere; **undecided**: it
  reaches both; **not yet run**: nothing published speaks of it.
- A verdict below 100 % of the paper's budget is one at that share. It says nothing of longer training.
- Differences are simultaneous 95 % intervals over seeds and examples ([statistics.md](statistics.md)),
  positive where the first is the better one: losses in nats, accuracies in points of the scale from the best
  constant answer (0) to perfect (100). *Better* holds where the interval lies above 0, and does not
  where it leaves no advantage beyond the margin (.002 nats, 1 point).
- Levels are Student's 95 % intervals over seeds, those of a single seed over examples. A level holds where
  the interval lies within the margin of the paper's number, and does not where it lies wholly beyond that;
  how far the paper's own mean may be off, its text does not say.
"""


class Published:
    """The numbers of a published page at one place, found by encodings' names without options."""

    def __init__(self, page, dataset=None, x=1):
        self.results = json.loads((DOCS / "results" / page / "results.json").read_text())
        self.x = x
        self.dataset = dataset and self.named(dataset)  # None: all of them together

    def named(self, name):
        """A dataset, or an evaluation of the finished models."""
        known = self.results["datasets"] + self.results.get("evaluations", [])
        return next(d for d in known if d["name"] == name)

    def at(self, places):
        return next(place for place in places if place["x"] == self.x)

    def judged(self):
        """What has pairs and a margin."""
        if self.dataset is None:
            return self.at(self.results["overall"])
        return {"margin": self.dataset["margin"], **self.at(self.dataset["lengths"])}

    def cells(self, metric):
        found = self.dataset or self.results["datasets"][0]
        places = found["lengths"]
        if metric:
            places = next(b["places"] for b in found["beside"] if b["metric"] == metric)
        return self.at(places)["cells"]

    def pair(self, first, second):
        """(difference, low, high, what the verdict hangs on), seen from the first."""
        for pair in self.judged()["pairs"]:
            names = plain(pair["first"]), plain(pair["second"])
            if {first, second} == set(names):
                low, high = pair["interval"]
                hangs = pair.get("hangs_on") or []
                if names[0] == first:
                    return pair["difference"], low, high, hangs
                return -pair["difference"], -high, -low, hangs
        raise SystemExit(f"claims: no pair {first}, {second} in the results")

    def level(self, metric, encoding):
        """Mean and Student's interval over seeds; of a single seed, the comparison's over examples."""
        cell = next(c for c in self.cells(metric) if plain(c["encoding"]) == encoding)
        runs, half = cell["by_seed"], cell["half_width"]
        mean = sum(runs) / len(runs)
        if len(runs) > 1:
            spread = math.sqrt(sum((run - mean) ** 2 for run in runs) / (len(runs) - 1))
            half = stats.t.ppf(0.975, len(runs) - 1) * spread / math.sqrt(len(runs))
        if half is None:
            raise SystemExit(f"claims: {encoding} has one seed, and nothing tells how its mean varies")
        return mean, mean - half, mean + half

    def not_learned(self):
        """Datasets that the intervals over all leave out."""
        return self.at(self.results["overall"])["not_learned"] if self.dataset is None else []

    def is_share(self):
        """Told in points of a scale from 0 to 100."""
        unit = (self.dataset or self.results["datasets"][0])["metrics"][0]["unit"]
        return unit in ("share", "yes or no")


def plain(encoding):
    return encoding.split(":")[0]


def all_of(verdicts):
    if DOES_NOT in verdicts:
        return DOES_NOT
    return UNDECIDED if UNDECIDED in verdicts else HOLDS


def better(low, high, margin):
    if low > 0:
        return HOLDS
    return DOES_NOT if high <= margin else UNDECIDED


def not_worse(low, high, margin):
    if high < 0:
        return DOES_NOT
    return HOLDS if low >= -margin else UNDECIDED


def together(low, high, margin):
    if low > margin or high < -margin:
        return DOES_NOT
    return HOLDS if -margin <= low and high <= margin else UNDECIDED


def level(low, high, number, margin):
    if low > number + margin or high < number - margin:
        return DOES_NOT
    return HOLDS if number - margin <= low and high <= number + margin else UNDECIDED


def below(low, high, number, margin):
    if high < number:
        return HOLDS
    return DOES_NOT if low > number else UNDECIDED


OF_PAIRS = {"better": better, "not_worse": not_worse, "together": together}
OF_LEVELS = {"level": level, "below": below}


def span(difference, low, high, share, sign="+"):
    digits, factor = (1, 100) if share else (4, 1)
    return "{:{s}.{d}f} ({:{s}.{d}f} to {:{s}.{d}f})".format(
        *(factor * value for value in (difference, low, high)), s=sign, d=digits
    )


def judge(claim):
    """The verdict and the intervals behind it, in words."""
    if "counted" in claim:
        return HOLDS, [f"counted by [a test](../{claim['counted']})"]
    if "page" not in claim:
        return NOT_RUN, [claim["beside"]] if "beside" in claim else []
    published = Published(claim["page"], claim.get("dataset"), claim.get("at", 1))
    share, metric, margin = published.is_share(), claim.get("metric"), published.judged()["margin"]
    verdicts, words = [], []
    for kind, rule in OF_PAIRS.items():
        for first, second in claim.get(kind, []):
            difference, low, high, hangs = published.pair(first, second)
            verdicts.append(rule(low, high, margin))
            hanging = f"; hangs on {', '.join(hangs)}" if hangs else ""
            words.append(f"{first}, {second}: {span(difference, low, high, share)}{hanging}")
    for kind, rule in OF_LEVELS.items():
        for encoding, number in claim.get(kind, {}).items():
            mean, low, high = published.level(metric, encoding)
            verdicts.append(rule(low, high, number, margin))
            words.append(f"{encoding}: {span(mean, low, high, share, sign='')}")
    if missing := published.not_learned():
        words.append(f"without {', '.join(missing)}, not learned by the rule")
    if "caveat" in claim:
        return UNDECIDED, [*words, claim["caveat"]]
    return all_of(verdicts), words


def row(claim):
    verdict, words = judge(claim)
    of = ", ".join(f"`{label.strip()}`" for label in claim["of"].split(","))
    run = f"`{claim['run']}`" if "run" in claim else "no command yet"
    shown = "<br>".join(words)
    if "page" in claim:
        readme = pathlib.Path(claim["page"]).parts[0]
        shown += f" ([{readme}](results/{readme}/README.md))"
    share = claim.get("share", "-")
    cells = [
        claim["says"],
        of,
        run,
        share,
        shown or "-",
        f"**{verdict}**{QUALIFIED.get(share, f' at {share}')}",
    ]
    return verdict, "| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |"


def page(groups):
    sections, found = [], []
    for group in groups:
        sections.append(f"\n## {group['title']}\n")
        if "claims" not in group:
            sections.append("Hyperparameters are no claims; they are in `configs/paper`:\n")
            sections += [f"- `{config}`: `{label}`" for config, label in group["settings"].items()]
            sections.append(f"- not here: {', '.join(f'`{label}`' for label in group['missing'])}")
            continue
        if "note" in group:
            sections.append(textwrap.fill(group["note"], 110) + "\n")
        sections += [
            "| the paper says | where | tested by | share of its budget | intervals here | verdict |",
            "|---|---|---|---|---|---|",
        ]
        for claim in group["claims"]:
            verdict, line = row(claim)
            found.append(verdict)
            sections.append(line)
    counts = (
        f"Of {len(found)} claims, {found.count(HOLDS)} hold, {found.count(DOES_NOT)} do not, "
        f"{found.count(UNDECIDED)} are undecided and {found.count(NOT_RUN)} not yet run."
    )
    return INTRO.format(counts=counts) + "\n".join(sections) + "\n"


def main(check):
    text = page(yaml.safe_load((DOCS / "claims.yaml").read_text()))
    if not check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit("claims: docs/claims.md is not what docs/claims.py makes: run docs/results/render")


if __name__ == "__main__":
    main(sys.argv[1:] == ["--check"])
