"""The same values as trec_eval 9 and ranx, without ties and with ties broken as trec_eval does."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    ReciprocalRank,
    RPrecision,
    interpolated_average_precision_score,
    mean_average_precision_score,
    precision_at_k_score,
    recall_at_k_score,
)

MEASURES = {"map", "Rprec", "recip_rank", "11pt_avg", "iprec_at_recall", "P", "recall"}
SIZES = [(n, m) for n in (40, 150) for m in range(1, 40, 3)] + [(30, 30), (1000, 57), (1000, 567)]


def as_trec(queries, names=None):
    """Judgements and run: the labels and the scores of each query by the names of documents."""
    names = names or [[f"d{i:05d}" for i in range(len(y_true))] for y_true, _ in queries]
    relevant = {
        f"q{q:03d}": dict(zip(names[q], y_true.tolist(), strict=True))
        for q, (y_true, _) in enumerate(queries)
    }
    run = {
        f"q{q:03d}": dict(zip(names[q], y_score.astype(float).tolist(), strict=True))
        for q, (_, y_score) in enumerate(queries)
    }
    return relevant, run


def of_trec_eval(queries, names=None):
    """All measures of queries, each of labels and scores, by number of the query."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    relevant, run = as_trec(queries, names)
    found = pytrec_eval.RelevanceEvaluator(relevant, MEASURES).evaluate(run)
    return [found[query] for query in run]


def of_this_package(y_true, y_score):
    """The same measures by the names of trec_eval."""
    interpolated = interpolated_average_precision_score(y_true, y_score, rounding="trec_eval_9")
    return {
        "map": average_precision_score(y_true, y_score),
        "11pt_avg": interpolated,
        "Rprec": RPrecision()(y_true, y_score),
        "recip_rank": ReciprocalRank()(y_true, y_score),
        "P_10": precision_at_k_score(y_true, y_score, k=10),
        "recall_20": recall_at_k_score(y_true, y_score, k=20),
    }


@pytest.fixture(scope="module")
def queries():
    rng = np.random.default_rng(0)
    out = []
    for n, m in SIZES:
        y_true = rng.permutation(np.arange(n) < m).astype(int)
        # Whole numbers stay distinct as the single-precision numbers that trec_eval holds.
        out.append((y_true, np.argsort(np.argsort(rng.normal(size=n) + y_true))))
    return out


@pytest.fixture(scope="module")
def tied_queries():
    """Scores of 2 to 30 levels, some with a large block of zeros, and names in random order."""
    rng = np.random.default_rng(1)
    out, names = [], []
    for n, m in SIZES:
        y_true = rng.permutation(np.arange(n) < m).astype(int)
        y_score = np.maximum(rng.integers(int(rng.integers(2, 31)), size=n) - n // 10 * (m % 2), 0)
        out.append((y_true, y_score))
        names.append([f"d{i:05d}" for i in rng.permutation(n)])
    return out, names


def test_values_of_single_queries(queries):
    for (y_true, y_score), found in zip(queries, of_trec_eval(queries), strict=True):
        for name, value in of_this_package(y_true, y_score).items():
            assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-15), name
        levels = [found[f"iprec_at_recall_{j / 10:.2f}"] for j in range(11)]
        assert found["11pt_avg"] == pytest.approx(np.mean(levels), rel=1e-12)


def ordered_as_trec_eval(y_score, names):
    """Scores without ties: among equal scores, trec_eval sorts names in descending order."""
    order = np.lexsort((np.array(names), y_score))
    broken = np.empty(len(y_score))
    broken[order] = np.arange(len(y_score))
    return broken


def test_ties_are_broken_by_the_names_of_documents(tied_queries):
    queries, names = tied_queries
    for (y_true, y_score), of_query, found in zip(
        queries, names, of_trec_eval(queries, names), strict=True
    ):
        broken = ordered_as_trec_eval(y_score, of_query)
        for name, value in of_this_package(y_true, broken).items():
            assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-15), name


def test_values_with_ties_depend_on_names_in_trec_eval_only(tied_queries):
    queries, names = tied_queries
    renamed = [of_query[::-1] for of_query in names]
    first, second = of_trec_eval(queries, names), of_trec_eval(queries, renamed)
    assert max(abs(a["map"] - b["map"]) for a, b in zip(first, second, strict=True)) > 0.1
    for y_true, y_score in queries:
        turned = of_this_package(y_true[::-1], y_score[::-1])
        for name, value in of_this_package(y_true, y_score).items():
            assert turned[name] == pytest.approx(value, rel=1e-12)


def test_ranx(queries):
    ranx = pytest.importorskip("ranx")
    relevant, run = as_trec(queries)
    relevant = {q: {d: label for d, label in of_q.items() if label} for q, of_q in relevant.items()}
    measures = {"map": "map", "r-precision": "Rprec", "mrr": "recip_rank"}
    measures |= {"precision@10": "P_10", "recall@20": "recall_20"}
    ranx_run = ranx.Run(run)
    _ = ranx.evaluate(ranx.Qrels(relevant), ranx_run, list(measures))
    for query, (y_true, y_score) in zip(run, queries, strict=True):
        expected = of_this_package(y_true, y_score)
        for theirs, ours in measures.items():
            found = ranx_run.scores[theirs][query]
            assert found == pytest.approx(expected[ours], rel=1e-12, abs=1e-15), theirs


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
