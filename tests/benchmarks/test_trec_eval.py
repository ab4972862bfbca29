"""The same values as trec_eval, by its Python interface of version 9, on rankings without ties."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    interpolated_average_precision_score,
    mean_average_precision_score,
    precision_at_k_score,
    r_precision_score,
    recall_at_k_score,
    reciprocal_rank_score,
)

MEASURES = {"map", "Rprec", "recip_rank", "11pt_avg", "iprec_at_recall", "P", "recall"}
SIZES = [(n, m) for n in (40, 150) for m in range(1, 40, 3)] + [(30, 30), (1000, 57), (1000, 567)]


def of_trec_eval(queries):
    """All measures of queries, each of labels and scores, by number of the query."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    names = [[f"d{i:05d}" for i in range(len(y_true))] for y_true, _ in queries]
    relevant = {
        f"q{q}": dict(zip(names[q], y_true.tolist(), strict=True))
        for q, (y_true, _) in enumerate(queries)
    }
    run = {
        f"q{q}": dict(zip(names[q], y_score.astype(float).tolist(), strict=True))
        for q, (_, y_score) in enumerate(queries)
    }
    found = pytrec_eval.RelevanceEvaluator(relevant, MEASURES).evaluate(run)
    return [found[f"q{q}"] for q in range(len(queries))]


@pytest.fixture(scope="module")
def queries():
    rng = np.random.default_rng(0)
    out = []
    for n, m in SIZES:
        y_true = rng.permutation(np.arange(n) < m).astype(int)
        # Whole numbers stay distinct as the single-precision numbers that trec_eval holds.
        out.append((y_true, np.argsort(np.argsort(rng.normal(size=n) + y_true))))
    return out


def test_values_of_single_queries(queries):
    for (y_true, y_score), found in zip(queries, of_trec_eval(queries), strict=True):
        interpolated = interpolated_average_precision_score(y_true, y_score, rounding="trec_eval_9")
        expected = {
            "map": average_precision_score(y_true, y_score),
            "11pt_avg": interpolated,
            "Rprec": r_precision_score(y_true, y_score),
            "recip_rank": reciprocal_rank_score(y_true, y_score),
            "P_10": precision_at_k_score(y_true, y_score, k=10),
            "recall_20": recall_at_k_score(y_true, y_score, k=20),
        }
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-15), name
        levels = [found[f"iprec_at_recall_{j / 10:.2f}"] for j in range(11)]
        assert interpolated == pytest.approx(np.mean(levels), rel=1e-12)


def test_mean_over_queries(queries):
    groups = np.repeat(np.arange(len(queries)), [len(y_true) for y_true, _ in queries])
    y_true, y_score = (np.concatenate(part) for part in zip(*queries, strict=True))
    expected = np.mean([found["map"] for found in of_trec_eval(queries)])
    found = mean_average_precision_score(y_true, y_score, groups=groups)
    assert found == pytest.approx(expected, rel=1e-12)


def test_every_number_of_positives_to_two_hundred():
    # Positives at the ranks 1, 3, 6, 10, ...: the precision falls from each to the next, so that
    # every cut-off that differs is seen.
    queries = []
    for m in range(1, 201, 4):
        ranks = np.cumsum(np.arange(1, m + 1))
        y_true = np.zeros(ranks[-1], dtype=int)
        y_true[ranks - 1] = 1
        queries.append((y_true, -np.arange(ranks[-1])))
    for (y_true, y_score), found in zip(queries, of_trec_eval(queries), strict=True):
        value = interpolated_average_precision_score(y_true, y_score, rounding="trec_eval_9")
        assert found["11pt_avg"] == pytest.approx(value, rel=1e-12)
