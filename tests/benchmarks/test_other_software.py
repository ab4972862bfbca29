"""Agreement with other packages, each if it is installed, on the example of the documentation."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from sklearn_rankinf import (
    Bedroc,
    EnrichmentAtK,
    RobustInitialEnhancement,
    ap_null_distribution,
    average_precision_test,
    metric_comparison_test,
    metric_interval,
    metric_test,
    recall_at_k_test,
)

QUERY = np.tile(np.arange(5), 200)
N_DRAWS = 100_000


@pytest.fixture(scope="module")
def example():
    """Ten positives among 1000 items, a weak ranker, and a second one that adds noise to it."""
    y_true = np.zeros(1000, dtype=int)
    y_true[:10] = 1
    first = np.random.default_rng(0).normal(size=1000) + y_true
    second = first + 0.5 * np.random.default_rng(1).normal(size=1000)
    return y_true, first, second


@pytest.fixture
def copairs(tmp_path, monkeypatch):
    """The package, which caches its items in the home directory."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    return pytest.importorskip("copairs")


def sampled_pvalues(values, sizes, seed=0):
    from copairs import compute

    options = {"null_size": N_DRAWS, "seed": seed, "progress_bar": False}
    return compute.p_values(np.array(values), np.array(sizes), **options)


# copairs.


def test_copairs_average_precision(example, copairs):
    from copairs import compute
    from copairs.map.normalization import expected_ap

    y_true, y_score, _ = example
    result = average_precision_test(y_true, y_score)
    ranked = y_true[np.argsort(-y_score)]
    values, _ = compute.ap_contiguous(ranked, np.array([1000]))
    assert values[0] == pytest.approx(result.statistic, rel=1e-12)
    assert expected_ap(10, 990) == pytest.approx(result.null_distribution.mean(), rel=1e-12)
    sampled = sampled_pvalues([result.statistic], [[10, 1000]])[0]
    error = np.sqrt(result.pvalue * (1 - result.pvalue) / N_DRAWS)
    assert abs(sampled - result.pvalue) < 4 * error


def test_copairs_takes_no_account_of_ties(copairs):
    rng = np.random.default_rng(0)
    y_true = np.zeros(1000, dtype=int)
    y_true[rng.choice(1000, 20, replace=False)] = 1
    y_score = np.where(rng.random(1000) < 0.1, rng.random(1000) + 0.3 * y_true, 0.0)
    result = average_precision_test(y_true, y_score)
    sampled = sampled_pvalues([result.statistic], [[20, 1000]])[0]
    error = np.sqrt(result.pvalue * (1 - result.pvalue) / N_DRAWS)
    assert sampled > result.pvalue + 8 * error
    assert sampled == pytest.approx(
        ap_null_distribution(1000, 20).pvalue(result.statistic), abs=4 * error
    )


def test_copairs_mean_average_precision(example, copairs):
    """Queries of one size share their draws, so that their mean varies as one of them does."""
    pd = pytest.importorskip("pandas")
    from copairs.map import mean_average_precision

    y_true, y_score, _ = example
    run = average_precision_test(y_true, y_score, groups=QUERY)
    table = pd.DataFrame(
        {
            "average_precision": run.query_statistic,
            "normalized_average_precision": run.query_statistic,
            "n_pos_pairs": run.query_n_positives,
            "n_total_pairs": run.query_n_samples,
            "run": "a",
        }
    )
    options = {"null_size": N_DRAWS, "threshold": 0.05, "seed": 0, "progress_bar": False}
    found = mean_average_precision(table, ["run"], **options)
    assert found["mean_average_precision"][0] == pytest.approx(run.statistic, rel=1e-12)
    of_one = ap_null_distribution(200, 2).pvalue(run.statistic)
    assert found["p_value"][0] == pytest.approx(of_one, abs=4 * np.sqrt(of_one / N_DRAWS))
    assert of_one > 2 * run.pvalue


# scipy and statsmodels.


def test_scipy(example):
    y_true, y_score, _ = example
    positives, negatives = y_score[y_true == 1], y_score[y_true == 0]
    options = {"alternative": "greater"}
    exact = stats.mannwhitneyu(positives, negatives, method="exact", **options).pvalue
    assert metric_test(y_true, y_score, metric="roc_auc").pvalue == pytest.approx(exact, rel=1e-10)
    at_50 = recall_at_k_test(y_true, y_score, k=50)
    hits = int(at_50.hits)
    table = [[hits, 50 - hits], [10 - hits, 940 + hits]]
    assert at_50.pvalue == pytest.approx(stats.fisher_exact(table, **options).pvalue, rel=1e-12)
    assert at_50.pvalue == pytest.approx(stats.hypergeom.sf(hits - 1, 1000, 10, 50), rel=1e-12)


def test_statsmodels_adjusted_pvalues(example):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    y_true, y_score, _ = example
    run = average_precision_test(y_true, y_score, groups=QUERY)
    for ours, theirs in {"bh": "fdr_bh", "by": "fdr_by", "holm": "holm"}.items():
        expected = multitest.multipletests(run.query_pvalue, method=theirs)[1]
        assert getattr(run, f"query_pvalue_{ours}") == pytest.approx(expected, rel=1e-12)


def test_mcnemar_of_hits(example):
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    y_true, first, _ = example
    rng = np.random.default_rng(3)
    better = first + 2.0 * y_true + 0.3 * rng.normal(size=1000)
    options = {"metric": "recall@50", "method": "mcnemar"}
    found = metric_comparison_test(y_true, {"better": better, "first": first}, **options)
    in_a, in_b = (np.argsort(np.argsort(-s))[y_true == 1] < 50 for s in (better, first))
    counts = [[np.sum(a & b) for b in (in_b, ~in_b)] for a in (in_a, ~in_a)]
    assert counts[0][1] - counts[1][0] == pytest.approx(10 * found.difference)
    exact = tables.mcnemar(counts, exact=True).pvalue
    mlxtend = pytest.importorskip("mlxtend.evaluate")
    assert mlxtend.mcnemar(np.array(counts), exact=True)[1] == pytest.approx(exact)
    assert found.pvalue == pytest.approx(exact, rel=1e-9)


# ROC AUC: intervals and comparisons by DeLong's variance.


def test_mlstatkit(example):
    delong = pytest.importorskip("MLstatkit.delong")
    y_true, first, second = example
    z, p, of_a, of_b, *_ = delong.Delong_test(y_true, first, second)
    found = metric_comparison_test(
        y_true, {"first": first, "second": second}, metric="roc_auc", method="delong"
    )
    assert abs(z) == pytest.approx(stats.norm.isf(p / 2), rel=1e-9)
    assert found.pvalue == pytest.approx(p, rel=1e-9)
    for score, limits in ((first, of_a), (second, of_b)):
        interval = metric_interval(y_true, score, metric="roc_auc", method="delong")
        assert (interval.low, interval.high) == pytest.approx(limits, rel=1e-9)


def test_confidenceinterval(example):
    package = pytest.importorskip("confidenceinterval")
    y_true, y_score, _ = example
    value, limits = package.roc_auc_score(y_true, y_score)
    interval = metric_interval(y_true, y_score, metric="roc_auc", method="delong")
    assert value == pytest.approx(interval.statistic, rel=1e-6)  # single precision there
    assert (interval.low, interval.high) == pytest.approx(limits, rel=1e-6)


# rdkit: early recognition.


def test_rdkit(example):
    scoring = pytest.importorskip("rdkit.ML.Scoring.Scoring")
    y_true, y_score, _ = example
    order = np.argsort(-y_score)
    ranked = np.column_stack([y_score[order], y_true[order]])
    assert scoring.CalcBEDROC(ranked, 1, 20.0) == pytest.approx(
        Bedroc(alpha=20.0)(y_true, y_score), rel=1e-12
    )
    assert scoring.CalcRIE(ranked, 1, 20.0) == pytest.approx(
        RobustInitialEnhancement(alpha=20.0)(y_true, y_score), rel=1e-12
    )
    assert scoring.CalcAUC(ranked, 1) == pytest.approx(roc_auc_score(y_true, y_score), rel=1e-12)
    for k, found in zip((0.01, 0.05), scoring.CalcEnrichment(ranked, 1, [0.01, 0.05]), strict=True):
        assert found == pytest.approx(EnrichmentAtK(k)(y_true, y_score), rel=1e-12)


def test_rdkit_takes_the_order_of_the_rows_for_the_ranking():
    scoring = pytest.importorskip("rdkit.ML.Scoring.Scoring")
    y_true, y_score = np.repeat([1, 0], [5, 95]), np.zeros(100)
    first = scoring.CalcBEDROC(np.column_stack([y_score, y_true]), 1, 20.0)
    last = scoring.CalcBEDROC(np.column_stack([y_score, y_true[::-1]]), 1, 20.0)
    assert (first, last) == pytest.approx((1.0, 0.0), abs=1e-12)
    assert metric_test(y_true, y_score, metric=Bedroc(alpha=20.0)).pvalue == 1.0
    expected = np.mean(
        [
            scoring.CalcBEDROC(np.column_stack([y_score, shuffled]), 1, 20.0)
            for shuffled in np.random.default_rng(0).permuted(np.tile(y_true, (2000, 1)), axis=1)
        ]
    )
    assert Bedroc()(y_true, y_score) == pytest.approx(expected, abs=0.01)
    assert average_precision_score(y_true, y_score) == 0.05
