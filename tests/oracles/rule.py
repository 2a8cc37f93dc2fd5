"""The rule of docs/statistics.md once more, in numpy and scipy. It shares no code with the program, but its
constants and the share of error for encodings that stand apart are the program's. Its random numbers are its
own, so critical values agree up to what draws allow, and everything else to the last digits.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy import stats

DRAWS = 20000
THEIR_DRAWS = 2000  # behind the critical value of a report
PRIOR_DF = 2
TOGETHER = 0.25  # the share of what may go wrong that goes to pairs without an encoding that stands apart


def by_cluster(values, clusters):
    """One value for each cluster; their mean is the mean over examples."""
    _, number = np.unique(clusters, return_inverse=True)
    count = number.max() + 1
    sums = np.bincount(number, values - values.mean())
    return values.mean() + sums * count / values.size


def split_sums(sums, weights, pairs, members):
    """x with x_a + x_b nearest to the sums of pairs of members, from even shares; sums [draws, pairs]."""
    inside = [p for p, (a, b) in enumerate(pairs) if a in members and b in members and weights[p] > 0]
    design = np.zeros((len(inside), len(members)))
    for row, p in enumerate(inside):
        design[row, [members.index(e) for e in pairs[p]]] = 1
    root, w = np.sqrt(weights[inside]), weights[inside]
    if not inside:
        return np.zeros((len(sums), len(members)))
    even = (sums[:, inside] @ w / w.sum() / 2)[:, None]
    left = (sums[:, inside] - 2 * even) * root
    return even + left @ np.linalg.pinv(design * root[:, None]).T


class RunVariances:
    """How much one run of each encoding varies, from the variances of pairs' differences [draws, pairs]."""

    def __init__(self, encodings, pair_df):
        self.pairs = list(itertools.combinations(range(encodings), 2))
        self.df = pair_df
        self.own_df = np.array(
            [max(df for df, pair in zip(pair_df, self.pairs) if e in pair) for e in range(encodings)]
        )

    def pooled(self, variances, members):
        weights = np.array([df * (a in members and b in members) for df, (a, b) in zip(self.df, self.pairs)])
        return variances @ weights / (2 * weights.sum()) if weights.sum() else np.zeros(len(variances))

    def __call__(self, variances):
        """Variances [draws, encodings], and which encodings stand apart."""
        result = np.zeros((len(variances), len(self.own_df)))
        apart = np.zeros(result.shape, bool)
        self.settle(variances, np.arange(len(variances)), list(range(len(self.own_df))), result, apart)
        return result, apart

    def settle(self, variances, rows, members, result, apart):
        own = split_sums(variances[rows], self.df, self.pairs, members)
        stays = np.ones(len(rows), bool)
        if len(members) > 2:
            df, widest = self.own_df.mean(), own.argmax(1)
            limit = stats.f.isf(0.05 / len(members), df, df * (len(members) - 2))
            for place in range(len(members)):
                rest = members[:place] + members[place + 1 :]
                beyond = own[:, place] > limit * self.pooled(variances[rows], rest)
                goes = (widest == place) & beyond
                stays &= ~goes
                if goes.any():
                    result[rows[goes], members[place]] = own[goes, place]
                    apart[rows[goes], members[place]] = True
                    self.settle(variances, rows[goes], rest, result, apart)
        together = self.pooled(variances[rows], members)[:, None]
        df = self.own_df[members]
        drawn = (PRIOR_DF * together + df * own) / (PRIOR_DF + df)
        kept = np.maximum(np.maximum(own, drawn), 0)
        result[np.ix_(rows[stays], members)] = kept[stays]


def witnesses(clusters):
    """Clusters of unequal size count as so many of one size."""
    squares = np.unique(clusters, return_counts=True)[1].astype(float) ** 2
    count = int(squares.sum() ** 2 / (squares**2).sum() + 1e-9)
    return max(count, min(2, len(squares)))


class Task:
    """scores: [encodings][seeds], each None or its values by cluster; of so many as the witnesses count."""

    def __init__(self, scores, rng, witnesses=None):
        encodings, seeds = len(scores), len(scores[0])
        self.pairs = list(itertools.combinations(range(encodings), 2))
        self.clusters = next(len(run) for runs in scores for run in runs if run is not None)
        self.witnesses = witnesses or self.clusters
        self.shared = [
            [s for s in range(seeds) if scores[a][s] is not None and scores[b][s] is not None]
            for a, b in self.pairs
        ]
        self.seeds = np.array([len(shared) for shared in self.shared])
        parts = [self.parts(scores, *pair, shared) for pair, shared in zip(self.pairs, self.shared)]
        self.difference, runs, self.of_clusters, self.residual = np.array(parts).T
        self.examples = np.maximum(self.of_clusters - self.residual, 0)
        self.rule = RunVariances(encodings, np.maximum(self.seeds - 1, 0).astype(float))
        variance, apart = self.rule(runs[None])
        self.run_variance, self.apart = variance[0], apart[0]
        self.runs = self.of_runs(variance)[0]
        self.draw(encodings, seeds, rng)

    @staticmethod
    def parts(scores, a, b, shared):
        d = np.array([scores[a][s] - scores[b][s] for s in shared])
        seeds, clusters = d.shape
        runs = d.mean(1).var(ddof=1) if seeds > 1 else 0.0
        of_clusters = d.mean(0).var(ddof=1) / clusters if clusters > 1 else 0.0
        left = d - d.mean(1, keepdims=True) - d.mean(0) + d.mean()
        free = (seeds - 1) * (clusters - 1)
        return d.mean(), runs, of_clusters, (left**2).sum() / free / d.size if free else 0.0

    def of_runs(self, variance):
        sums = variance[:, [a for a, _ in self.pairs]] + variance[:, [b for _, b in self.pairs]]
        return np.where(self.seeds > 1, sums / self.seeds, 0)

    def draw(self, encodings, seeds, rng):
        """Tables like this one without any difference, judged alike."""

        def scaled_chi_square(df, size):
            return rng.chisquare(df, size) / df

        unsure = 1 / np.sqrt(scaled_chi_square(seeds - 1 + PRIOR_DF, (DRAWS, encodings)))
        runs = rng.normal(size=(DRAWS, encodings, seeds)) * (np.sqrt(self.run_variance) * unsure)[..., None]
        ones = np.ones(len(self.pairs))
        share = split_sums(self.examples[None], ones, self.pairs, list(range(encodings)))[0]
        share = np.sqrt(np.maximum(share, 0))
        examples = rng.normal(size=(DRAWS, encodings)) * share
        self.drawn_difference = np.empty((DRAWS, len(self.pairs)))
        variance = np.zeros((DRAWS, len(self.pairs)))
        for p, ((a, b), shared) in enumerate(zip(self.pairs, self.shared)):
            d = runs[:, a, shared] - runs[:, b, shared]
            total = share[a] ** 2 + share[b] ** 2
            scale = np.sqrt(self.examples[p] / total) if total else 0
            self.drawn_difference[:, p] = scale * (examples[:, a] - examples[:, b])
            if len(shared) > 1:
                self.drawn_difference[:, p] += d.mean(1)
                variance[:, p] = d.var(1, ddof=1)
        self.drawn_variance = self.of_runs(self.rule(variance)[0])
        if self.clusters > 1:
            drawn = self.of_clusters * scaled_chi_square(self.witnesses - 1, variance.shape)
            self.drawn_variance += np.maximum(drawn - self.residual, 0)


@dataclass
class Pair:
    difference: float
    runs: float
    examples: float
    df: float
    least: float  # what one pair alone needs of a critical value
    seeds: int
    critical: tuple = (0.0, 0.0)  # the range in which a report's value must lie

    @property
    def standard_error(self):
        return np.sqrt(self.runs + self.examples)

    def verdicts(self, margin):
        """All that critical values in the range give."""
        found = set()
        for critical in self.critical:
            half = critical * self.standard_error
            found.add(verdict(self.difference - half, self.difference + half, margin))
        return found


def verdict(low, high, margin):
    inside = -margin <= low and high <= margin
    if low > 0 or high < 0:
        name = "better" if low > 0 else "worse"
        return name + " by less than matters" if inside else name
    return "tied" if inside else "undecided"


def satterthwaite(parts, dfs):
    below = sum(part**2 / df for part, df in zip(parts, dfs) if part > 0)
    return sum(parts) ** 2 / below if below else 0.0


def judge(tasks, higher_better, alpha=0.05):
    """Every pair over the tasks, each with the same weight; all together may go wrong with alpha."""
    sign, weight = (1 if higher_better else -1), 1 / len(tasks)
    pairs = []
    for p in range(len(tasks[0].pairs)):
        runs = [task.runs[p] * weight**2 for task in tasks]
        examples = [task.examples[p] * weight**2 for task in tasks]
        run_df = [task.seeds[p] - 1 for task in tasks]
        example_df = [task.witnesses - 1 for task in tasks]
        needs = [
            sum(part) * stats.t.ppf(1 - alpha / 2, satterthwaite(part, df)) ** 2 if sum(part) else 0
            for part, df in ((runs, run_df), (examples, example_df))
        ]
        total = sum(runs) + sum(examples)
        pairs.append(
            Pair(
                difference=sign * weight * sum(task.difference[p] for task in tasks),
                runs=sum(runs),
                examples=sum(examples),
                df=satterthwaite(runs + examples, run_df + example_df),
                least=np.sqrt(sum(needs) / total) if total else 0,
                seeds=min(int(task.seeds[p]) for task in tasks),
            )
        )
    set_critical(tasks, pairs, alpha)
    return pairs


def set_critical(tasks, pairs, alpha):
    difference = sum(task.drawn_difference for task in tasks)
    variance = sum(task.drawn_variance for task in tasks)
    squares = np.divide(difference**2, variance, out=np.zeros_like(difference), where=variance > 0)
    stands = np.any([task.apart for task in tasks], axis=0)
    groups = {False: [], True: []}
    for p, (a, b) in enumerate(tasks[0].pairs):
        if pairs[p].df > 0:
            groups[bool(stands[a] or stands[b])].append(p)
    for apart, among in groups.items():
        if not among:
            continue
        share = (1 - TOGETHER if apart else TOGETHER) if groups[not apart] else 1
        confidence = 1 - alpha * share
        largest = np.sqrt(squares[:, among].max(1))
        # A report takes the upper end of what its draws leave open; four standard errors around that.
        error = np.sqrt(confidence * (1 - confidence) / THEIR_DRAWS)
        ends = np.clip(confidence + np.array([1.645 - 4, 1.645 + 4]) * error, 0, 1 - 5 / DRAWS)
        for p in among:
            pairs[p].critical = tuple(np.maximum(np.quantile(largest, ends), pairs[p].least))
