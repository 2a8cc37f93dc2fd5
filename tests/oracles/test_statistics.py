"""Every number of a verdict against numpy, scipy and statsmodels, on random tables."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from programs import probe
from scipy import stats


def ask(**question):
    return json.loads(probe("stats_probe", input=json.dumps(question)))


def table(rng, encodings, seeds, clusters, run_sd=0.01, example_sd=0.02, unsteady=1.0):
    """Scores [encodings, seeds, clusters] as the rule sees them: seeds, runs, examples and what is left."""
    sd = np.full(encodings, run_sd)
    sd[-1] *= unsteady
    return (
        0.5
        + 0.02 * rng.normal(size=(1, seeds, 1))
        + sd[:, None, None] * rng.normal(size=(encodings, seeds, 1))
        + example_sd * rng.normal(size=(encodings, 1, clusters))
        + 0.02 * rng.normal(size=(encodings, seeds, clusters))
    )


def pairs_of(encodings):
    return list(itertools.combinations(range(encodings), 2))


def mean_squares(d):
    """Of seeds, clusters and what is left, by statsmodels' analysis of variance."""
    seed, cluster = np.indices(d.shape)
    frame = pd.DataFrame({"d": d.ravel(), "seed": seed.ravel(), "cluster": cluster.ravel()})
    anova = sm.stats.anova_lm(smf.ols("d ~ C(seed) + C(cluster)", frame).fit())
    return (anova["sum_sq"] / anova["df"]).to_numpy()


@pytest.mark.parametrize("encodings,seeds,clusters", [(2, 2, 5), (3, 4, 17), (5, 3, 30)])
def test_components_are_the_mean_squares_of_the_analysis_of_variance(encodings, seeds, clusters):
    y = table(np.random.default_rng(encodings), encodings, seeds, clusters)
    found = ask(tasks=[y.tolist()], margin=0.01)["tasks"][0]["pairs"]
    for pair, (a, b) in zip(found, pairs_of(encodings), strict=True):
        of_seeds, of_clusters, left = mean_squares(y[a] - y[b])
        n = seeds * clusters
        assert pair["difference"] == pytest.approx((y[a] - y[b]).mean(), abs=1e-14)
        assert pair["runs"] == pytest.approx(of_seeds / clusters, rel=1e-9)
        assert pair["clusters"] == pytest.approx(of_clusters / n, rel=1e-9)
        assert pair["residual"] == pytest.approx(left / n, rel=1e-6)


def run_variances(y):
    """Each encoding's from statsmodels' residuals of encodings + seeds, corrected for the seeds' means."""
    means = y.mean(2)
    seeds = means.shape[1]
    members, apart = list(range(len(y))), {}

    def own_and_pooled(members):
        e, s = np.indices((len(members), seeds))
        frame = pd.DataFrame({"m": means[members].ravel(), "e": e.ravel(), "s": s.ravel()})
        residual = smf.ols("m ~ C(e) + C(s)", frame).fit().resid.to_numpy().reshape(len(members), seeds)
        q, n = (residual**2).sum(1) / (seeds - 1), len(members)
        total = q.sum() * n / (n - 1)
        own = (q - total / n**2) / (1 - 2 / n) if n > 2 else np.full(2, total / 2)
        return own, total / n

    own, pooled = own_and_pooled(members)
    while len(members) > 2:
        widest = int(own.argmax())
        rest = members[:widest] + members[widest + 1 :]
        limit = stats.f.isf(0.05 / len(members), seeds - 1, (seeds - 1) * (len(members) - 2))
        if own[widest] <= limit * own_and_pooled(rest)[1]:
            break
        apart[members[widest]] = own[widest]
        members = rest
        own, pooled = own_and_pooled(members)
    result = np.empty(len(y))
    for e, v in apart.items():
        result[e] = v
    for e, v in zip(members, own, strict=True):
        result[e] = max(v, (2 * pooled + (seeds - 1) * v) / (seeds + 1), 0)
    return result, [int(e in apart) for e in range(len(y))]


@pytest.mark.parametrize("unsteady", [1, 5, 50])
@pytest.mark.parametrize("encodings,seeds", [(2, 3), (3, 3), (6, 2), (6, 3), (5, 8)])
def test_run_variances_are_pooled_drawn_together_and_set_apart_as_said(encodings, seeds, unsteady):
    rng = np.random.default_rng(100 * encodings + seeds)
    for _ in range(5):
        y = table(rng, encodings, seeds, 12, unsteady=unsteady)
        found = ask(tasks=[y.tolist()], margin=0.01)["tasks"][0]
        expected, apart = run_variances(y)
        assert found["run_variance"] == pytest.approx(expected, rel=1e-5, abs=1e-12)
        assert found["apart"] == apart


def parts(y, a, b):
    """The two parts of the variance of a difference."""
    seeds, clusters = y.shape[1:]
    variance, _ = run_variances(y)
    _, of_clusters, left = mean_squares(y[a] - y[b])
    return (variance[a] + variance[b]) / seeds, max(0, of_clusters - left) / (seeds * clusters)


@pytest.mark.parametrize("higher_better", [True, False])
def test_intervals_follow_from_the_parts(higher_better):
    rng = np.random.default_rng(7)
    tasks = [table(rng, 3, 4, 20), table(rng, 3, 4, 25)]
    found = ask(tasks=[y.tolist() for y in tasks], margin=0.01, higher_better=higher_better)["pairs"]
    for pair, (a, b) in zip(found, pairs_of(3), strict=True):
        runs, examples = np.array([parts(y, a, b) for y in tasks]).T / 4
        variance = runs.sum() + examples.sum()
        satterthwaite = variance**2 / ((runs**2 / 3).sum() + (examples**2 / np.array([19, 24])).sum())
        sign = 1 if higher_better else -1
        assert pair["difference"] == pytest.approx(sign * np.mean([(y[a] - y[b]).mean() for y in tasks]))
        assert pair["standard_error"] == pytest.approx(np.sqrt(variance), rel=1e-6)
        assert pair["df"] == pytest.approx(satterthwaite, rel=1e-5)
        half = pair["critical"] * pair["standard_error"]
        assert [pair["low"], pair["high"]] == pytest.approx(
            [pair["difference"] - half, pair["difference"] + half]
        )
        power = stats.t.ppf(0.8, satterthwaite)
        assert pair["detectable"] == pytest.approx((pair["critical"] + power) * np.sqrt(variance), rel=1e-6)
        least = [
            part.sum() * stats.t.ppf(0.975, part.sum() ** 2 / (part**2 / df).sum()) ** 2 if part.sum() else 0
            for part, df in ((runs, 3), (examples, np.array([19, 24])))
        ]
        assert pair["critical"] >= np.sqrt(sum(least) / variance) * (1 - 1e-9)


def test_two_encodings_with_equal_scores_of_examples_give_student_s_interval():
    """Blocks of two: the paired t-test over seeds, whose interval scipy knows."""
    rng = np.random.default_rng(3)
    y = np.repeat(0.5 + 0.01 * rng.normal(size=(2, 6, 1)), 10, axis=2)
    pair = ask(tasks=[y.tolist()], margin=0.01)["pairs"][0]
    interval = stats.ttest_rel(y[0, :, 0], y[1, :, 0]).confidence_interval(0.95)
    half = (interval.high - interval.low) / 2
    assert pair["difference"] == pytest.approx((interval.low + interval.high) / 2)
    assert half * (1 - 1e-9) <= (pair["high"] - pair["low"]) / 2 <= 1.25 * half


def test_the_critical_value_is_the_range_of_normal_numbers_where_everything_is_known():
    """Hundreds of seeds and equal spreads: Tukey's studentized range, up to the draws behind our value."""
    y = table(np.random.default_rng(12), 6, 200, 40, example_sd=0)
    answer = ask(tasks=[y.tolist()], margin=0.01)
    assert not any(answer["tasks"][0]["apart"])  # an encoding that chance sets apart would have its own
    for pair in answer["pairs"]:
        tukey = stats.studentized_range.ppf(0.95, 6, 5 * 199) / np.sqrt(2)
        assert 0.98 * tukey < pair["critical"] < 1.05 * tukey


def test_ranges_of_normal_numbers():
    found = ask(ranges=[2, 3, 6, 12, 30])
    expected = [stats.studentized_range.ppf(0.95, k, np.inf) for k in (2, 3, 6, 12, 30)]
    assert found == pytest.approx(expected, rel=1e-6)


def test_clusters_of_unequal_size_give_the_cluster_robust_standard_error():
    rng = np.random.default_rng(5)
    cluster = np.sort(np.concatenate([np.arange(9), rng.integers(0, 9, 40)]))
    y = rng.normal(size=cluster.size) + rng.normal(size=9)[cluster]
    values = np.array(ask(examples=y.tolist(), cluster=cluster.tolist()))
    fit = sm.OLS(y, np.ones_like(y)).fit(cov_type="cluster", cov_kwds={"groups": cluster})
    assert values.mean() == pytest.approx(y.mean())
    assert values.std(ddof=1) / 3 == pytest.approx(fit.bse[0])
