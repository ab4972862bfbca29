"""Runs and judgements aligned to labels, scores and queries, against trec_eval's definitions."""

import itertools
import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    AveragePrecision,
    DiscountedCumulativeGain,
    PrecisionAtK,
    Ranking,
    RankStatistic,
    RecallAtK,
    ReciprocalRank,
    RPrecision,
    align_runs,
    mean_average_precision_score,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    metric_test,
)

NOTHING = "nothing"
# Metrics by their names here and in trec_eval, and whether they take grades.
METRICS = {
    "average_precision": ("map", False),
    AveragePrecision(5, normalize="positives"): ("map_cut_5", False),
    "ndcg": ("ndcg", True),
    "ndcg@5": ("ndcg_cut_5", True),
    "ndcg@100": ("ndcg_cut_100", True),
    "precision@5": ("P_5", False),
    "precision@100": ("P_100", False),
    "recall@5": ("recall_5", False),
    "recall@100": ("recall_100", False),
    "reciprocal_rank": ("recip_rank", False),
}


def reference(name, grades, run, level, judged_only):
    """A measure of trec_eval for one query, written from its definition."""
    if judged_only:
        run = {document: score for document, score in run.items() if grades.get(document, -1) >= 0}
    order = sorted(run, key=lambda document: (np.float32(run[document]), document.encode()))[::-1]
    relevant = [document for document, grade in grades.items() if grade >= level]
    if not relevant:
        return 0.0
    measure, _, number = name.rpartition("_")
    k = int(number) if number.isdigit() else math.inf
    hits = [rank for rank, document in enumerate(order, 1) if document in relevant and rank <= k]
    if name.startswith("map"):
        return sum((i + 1) / rank for i, rank in enumerate(hits)) / len(relevant)
    if name.startswith("ndcg"):
        gains = [max(grades.get(document, 0), 0) for document in order]
        best = sorted(grades.values(), reverse=True)
        own, ideal = (
            sum(max(gain, 0) / math.log2(r + 1) for r, gain in enumerate(one, 1) if r <= k)
            for one in (gains, best)
        )
        return own / ideal
    if name == "recip_rank":
        return 1 / hits[0] if hits else 0.0
    if name == "Rprec":
        return sum(rank <= len(relevant) for rank in hits) / len(relevant)
    return len(hits) / {"P": k, "recall": len(relevant)}[measure]


def drawn(seed, *, with_ties=True):
    """Judgements and two runs with missing queries, unjudged and unretrieved documents, ties."""
    rng = np.random.default_rng(seed)
    documents = [f"{i:03d}" for i in range(15)] + ["é", "Z9", "a b"]
    qrels, runs = {}, {"one": {}, "two": {}}
    for query in range(12):
        judged = rng.permutation(documents)[: rng.integers(2, 15)]
        values = rng.choice([-1, 0, 0, 1, 2, 3], size=judged.size)
        qrels[f"{query:02d}"] = {d: int(grade) for d, grade in zip(judged, values, strict=True)}
        for run in runs.values():
            if rng.random() < 0.8:
                own = rng.permutation(documents)[: rng.integers(1, 16)]
                scores = rng.normal(size=own.size)
                if with_ties:
                    # Large blocks, and scores that are equal in single precision alone.
                    scores = np.round(scores) + 1e-12 * rng.integers(0, 3, size=own.size)
                run[f"{query:02d}"] = dict(zip(own.tolist(), scores.tolist(), strict=True))
    qrels["one grade"] = {"000": 1, "001": 1}
    qrels["none relevant"] = {"000": 0}
    runs["one"]["not judged"] = {"000": 1.0}
    runs["two"]["one grade"] = {"001": 1.0}
    return qrels, runs


def values(qrels, run, metric, takes_grades, **options):
    """Values of the queries: differences to a run that retrieves nothing relevant."""
    nothing = {"one grade": {"unknown": 1.0}}
    with pytest.warns(UserWarning, match="No document of run 'nothing' is judged"):
        aligned = align_runs(qrels, {"run": run, NOTHING: nothing}, **options)
    labels = aligned.relevance if takes_grades else aligned.y_true
    found = metric_comparison_test(
        labels, aligned.y_score, metric=metric, groups=aligned.groups, method="t"
    )
    assert found.statistic_b == 0.0
    return dict(zip(found.queries, found.query_differences.tolist(), strict=True))


@pytest.mark.filterwarnings("ignore:.*queries have no positives")
@pytest.mark.parametrize("judged_only", [False, True])
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_values_of_queries_are_those_of_trec_eval(metric, judged_only):
    name, takes_grades = METRICS[metric]
    different = set()
    for seed in range(3):
        qrels, runs = drawn(seed)
        for run in runs.values():
            found = values(qrels, run, metric, takes_grades, ties="name", judged_only=judged_only)
            wanted = {
                query: reference(name, grades, run.get(query, {}), 1, judged_only)
                for query, grades in qrels.items()
            }
            assert found == pytest.approx(wanted, rel=1e-12, abs=1e-15)
            different |= {round(value, 6) for value in wanted.values()}
    assert len(different) > 4


@pytest.mark.filterwarnings("ignore:.*queries have no positives")
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("judged_only", [False, True])
def test_values_of_queries_equal_those_of_pytrec_eval(level, judged_only):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    measures = {"map", "map_cut", "ndcg", "ndcg_cut", "P", "recall", "recip_rank"}
    for seed in range(3):
        qrels, runs = drawn(seed)
        evaluator = pytrec_eval.RelevanceEvaluator(
            qrels, measures, relevance_level=level, judged_docs_only_flag=judged_only
        )
        for run in runs.values():
            wanted = evaluator.evaluate(run)
            for metric, (name, takes_grades) in METRICS.items():
                found = values(
                    qrels,
                    run,
                    metric,
                    takes_grades,
                    ties="name",
                    judged_only=judged_only,
                    relevance_level=level,
                )
                for query, value in found.items():
                    other = wanted.get(query, {}).get(name, 0.0)
                    assert value == pytest.approx(other, rel=1e-9, abs=1e-12), (metric, query)


def test_means_equal_those_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("pytrec_eval")
    qrels, runs = drawn(5)
    of_ir_measures = {
        "average_precision": ir_measures.AP,
        "ndcg@10": ir_measures.nDCG @ 10,
        "precision@10": ir_measures.P @ 10,
        "recall@10": ir_measures.R @ 10,
        "reciprocal_rank": ir_measures.RR,
    }
    judged = [ir_measures.Qrel(q, d, g) for q, own in qrels.items() for d, g in own.items()]
    run = [ir_measures.ScoredDoc(q, d, s) for q, own in runs["one"].items() for d, s in own.items()]
    wanted = ir_measures.calc_aggregate([*of_ir_measures.values()], judged, run)
    aligned = align_runs(judged, run, ties="name")
    assert list(aligned.y_score) == ["run"]
    for name, measure in of_ir_measures.items():
        labels = aligned.relevance if name.startswith("ndcg") else aligned.y_true
        with pytest.warns(UserWarning, match="have no positives"):
            found = metric_interval(
                labels, aligned.y_score["run"], metric=name, groups=aligned.groups
            )
        assert found.statistic == pytest.approx(wanted[measure], rel=1e-9)


@dataclass(frozen=True)
class CustomRPrecision(RankStatistic):
    of_open_lists = True

    def weights(self, ranks, n_samples, n_positives):
        return (ranks <= n_positives) / n_positives


@pytest.mark.filterwarnings("ignore:.*queries have no positives")
@pytest.mark.parametrize("metric", [RPrecision(), CustomRPrecision()], ids=str)
@pytest.mark.parametrize("judged_only", [False, True])
def test_r_precision_without_the_number_of_documents(judged_only, metric):
    options = {"ties": "name", "judged_only": judged_only}
    for seed in range(5):
        qrels, runs = drawn(seed)
        for run in runs.values():
            found = values(qrels, run, metric, False, **options)
            for query, grades in qrels.items():
                wanted = reference("Rprec", grades, run.get(query, {}), 1, judged_only)
                assert found[query] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*queries have no positives")
def test_r_precision_in_a_large_collection_is_that_of_trec_eval():
    qrels, runs = drawn(1)
    aligned = align_runs(qrels, runs, ties="name")
    for name, run in runs.items():
        for query, ranking in aligned.rankings(name, collection_size=10**13).items():
            if ranking.n_positives:
                wanted = reference("Rprec", qrels[query], run.get(query, {}), 1, False)
                assert RPrecision()(ranking) == pytest.approx(wanted, abs=1e-9)


def test_ties_are_a_threshold_or_the_mean_over_all_orders():
    qrels = {"one grade": {"a": 2, "b": 0, "c": 1, "missed": 1}}
    run = {"one grade": {"a": 1.0, "b": 1.0, "c": 1.0, "x": 2.0, "d": 0.0}}
    for metric in ("ndcg@3", "precision@2", "recall@3", "reciprocal_rank"):
        name, takes_grades = {"ndcg@3": ("ndcg_cut_3", True), "precision@2": ("P_2", False)}.get(
            metric, ("recall_3" if "recall" in metric else "recip_rank", False)
        )
        orders = [
            {"x": 9.0, **dict(zip(order, (5.0, 4.0, 3.0), strict=True)), "d": 0.0}
            for order in itertools.permutations("abc")
        ]
        wanted = np.mean([reference(name, qrels["one grade"], order, 1, False) for order in orders])
        both = {**qrels, "other": {"a": 1}}
        found = values(both, run, metric, takes_grades)
        assert found == pytest.approx({"one grade": wanted, "other": 0.0})
    labels, scores = [0, 1, 0, 1, 0], [2.0, 1.0, 1.0, 1.0, 0.0]
    found = values({**qrels, "other": {"a": 1}}, run, "average_precision", False)
    assert found["one grade"] == pytest.approx(average_precision_score(labels, scores) * 2 / 3)


@pytest.mark.filterwarnings("ignore:.*no positives", "ignore:.*without positives")
def test_limit_of_a_large_collection():
    # The documents that were not retrieved share the last place: exact for any size, and in the
    # limit the value of trec_eval.
    qrels, runs = drawn(2)
    aligned = align_runs(qrels, runs)
    score, groups = aligned.y_score["one"], aligned.groups
    for metric in (
        AveragePrecision(),
        DiscountedCumulativeGain(7, normalize=True),
        RecallAtK(9),
        PrecisionAtK(9),
        ReciprocalRank(),
    ):
        size = 10**6 if metric == ReciprocalRank() else 10**12
        rankings = aligned.rankings("one", collection_size=size)
        mean = np.mean([metric(ranking) for ranking in rankings.values()])
        interval = metric_interval(aligned.y_true, score, metric=metric, groups=groups)
        assert mean == pytest.approx(interval.statistic, abs=100 / size)
        assert interval.statistic > 0.01
    mean = mean_average_precision_score(aligned.y_true, score, groups=groups)
    assert mean == metric_interval(aligned.y_true, score, groups=groups).statistic


def test_rankings_of_a_collection_have_all_its_documents():
    qrels = {"q": {"a": 1, "b": 1, "c": 0, "e": 0}, "r": {"a": 1}}
    run = {"q": {"a": 1.0, "x": 1.0, "c": 0.0}, "r": {"b": 2.0}}
    aligned = align_runs(qrels, {"bm25": run})
    found = aligned.rankings("bm25", collection_size=9)
    assert [(one.tie_sizes.tolist(), one.hits.tolist()) for one in found.values()] == [
        ([2, 1, 6], [1, 0, 1]),
        ([1, 8], [0, 1]),
    ]
    # As if all nine documents were given.
    y_true = np.array([1, 0, 0, 1, 0, 0, 0, 0, 0] + [1] + [0] * 8, dtype=bool)
    y_score = [1.0, 1.0, 0.0] + [-9.0] * 6 + [-9.0] + [2.0] + [-9.0] * 7
    groups = ["q"] * 9 + ["r"] * 9
    given, listed = metric_test(found), metric_test(y_true, y_score, groups=groups)
    assert given.statistic == listed.statistic
    assert given.pvalue == listed.pvalue
    own = aligned.rankings("bm25", collection_size="retrieved")
    assert [(one.tie_sizes.tolist(), one.hits.tolist()) for one in own.values()] == [
        ([2, 1], [1, 0]),
        ([1], [0]),
    ]
    judged = align_runs(qrels, {"bm25": run}, judged_only=True).rankings("bm25")
    assert [(one.tie_sizes.tolist(), one.hits.tolist()) for one in judged.values()] == [
        ([1, 1, 2], [1, 0, 1]),
        ([1], [1]),
    ]
    # A collection that consists of the retrieved documents has no block at the bottom.
    whole = align_runs({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 0.0}})
    (ranking,) = whole.rankings("run", collection_size=2).values()
    assert (ranking.tie_sizes.tolist(), ranking.hits.tolist()) == ([1, 1], [1, 0])
    # A query without any retrieved document has no order.
    missing = align_runs({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0, "b": 0.0}})
    assert list(missing.rankings("run", collection_size="retrieved")) == ["q"]
    assert missing.rankings("run", collection_size=50)["r"].tie_sizes.tolist() == [50]


def test_pvalue_of_two_queries_by_enumeration():
    qrels = {"q": {"a": 1, "b": 1}, "r": {"c": 1}}
    run = {"q": {"a": 2.0, "x": 1.0}, "r": {"x": 2.0, "c": 1.0}}
    rankings = align_runs(qrels, run).rankings("run", collection_size=6)
    scores = [2.0, 1.0, 0.0, 0.0, 0.0, 0.0]

    def of(*positives):
        return average_precision_score(np.isin(range(6), positives), scores)

    first = [of(*pair) for pair in itertools.combinations(range(6), 2)]
    second = [of(place) for place in range(6)]
    observed = of(0, 5) + of(1)
    n_extreme = sum(a + b >= observed - 1e-12 for a in first for b in second)
    assert metric_test(rankings).pvalue == pytest.approx(n_extreme / 90, rel=1e-9)


Judgement = namedtuple("Judgement", "query_id doc_id relevance iteration")
Scored = namedtuple("Scored", "query_id doc_id score")


def test_a_total_of_documents_beyond_64_bits():
    queries = [str(number) for number in range(10)]
    aligned = align_runs({q: {"a": 1} for q in queries}, {q: {"a": 1.0} for q in queries})
    result = metric_test(aligned.rankings("run", collection_size=10**18))
    assert (result.n_samples, result.n_positives) == (10**19, 10)
    assert result.log10_pvalue == pytest.approx(-180, rel=1e-12)


def test_forms_of_tables():
    qrels, runs = drawn(3, with_ties=False)
    wanted = align_runs(qrels, runs)
    judged = [(q, d, g) for q, own in qrels.items() for d, g in own.items()]
    scored = {
        name: [(q, d, s) for q, own in run.items() for d, s in own.items()]
        for name, run in runs.items()
    }
    polars = pytest.importorskip("polars")
    for query, document, relevance, score in (
        ("query_id", "doc_id", "relevance", "score"),
        ("qid", "docno", "label", "score"),
        ("q_id", "doc_id", "score", "score"),
    ):
        for make in (pd.DataFrame, lambda rows: polars.DataFrame(rows.to_dict("list"))):
            frames = [
                make(pd.DataFrame(rows, columns=[query, document, value]))
                for rows, value in ((judged, relevance), *((own, score) for own in scored.values()))
            ]
            same(align_runs(frames[0], dict(zip(runs, frames[1:], strict=True))), wanted)
    named = {name: [Scored(*row) for row in rows] for name, rows in scored.items()}
    same(align_runs([Judgement(*row, "0") for row in judged], named), wanted)
    # The order of the rows of a run does not matter.
    same(align_runs(qrels, {n: rows[::-1] for n, rows in named.items()}), wanted, in_order=False)


def same(found, wanted, in_order=True):
    assert found.counts == wanted.counts
    if in_order:
        assert found.documents.tolist() == wanted.documents.tolist()
        for name, score in wanted.y_score.items():
            np.testing.assert_array_equal(found.y_score[name], score)
    frames = [one.to_frame().drop(columns="document") for one in (found, wanted)]
    columns = list(frames[0].columns)
    first, second = (frame.sort_values(columns, ignore_index=True) for frame in frames)
    pd.testing.assert_frame_equal(first, second)


def test_what_was_counted():
    qrels = {"q": {"a": 1, "b": 2, "n": -1}, "r": {"a": 0}, "s": {"z": 1}}
    runs = {
        "x": {"q": {"a": 1.0, "u": 0.5, "n": 0.1}, "t": {"a": 1.0}, "v": {"a": 1.0}},
        "y": {"q": {"b": 1.0}, "r": {"a": 1.0}, "s": {"z": 1.0}},
    }
    aligned = align_runs(qrels, runs)
    assert aligned.summary().splitlines() == [
        "3 queries with 4 judged documents, 3 of them relevant (grade 1 or more).",
        "x: 1 query, 2 missing (0 each), 2 without judgements (left out); 3 documents, 2 not "
        "judged (not relevant); 2 relevant documents not retrieved.",
        "y: 3 queries; 3 documents; 1 relevant document not retrieved.",
    ]
    assert repr(aligned) == "AlignedRuns(runs=['x', 'y'], n_queries=3, n_judged=4)"
    frame = aligned.to_frame()
    assert list(frame.columns) == ["query", "document", "relevance", "score_x", "score_y"]
    assert frame["document"].isna().sum() == 3
    condensed = align_runs(qrels, runs, judged_only=True, relevance_level=2)
    assert "1 of them relevant (grade 2 or more)" in condensed.summary()
    assert "2 not judged (left out)" in condensed.summary()
    assert "u" not in condensed.documents.tolist()
    assert condensed.relevance.max() == 2.0


def test_names_stay_as_they_are():
    aligned = align_runs({"007": {"1": 1, "01": 0}}, {"007": {"01": 2.0, "1": 1.0}})
    assert set(aligned.groups) == {"007"}
    assert set(aligned.documents) == {"1", "01", None}
    numbers = align_runs(
        pd.DataFrame({"qid": [7], "docno": [1], "label": [1]}),
        pd.DataFrame({"qid": [7, 7], "docno": [1, 2], "score": [1, 2]}),
    )
    assert set(numbers.groups) == {7}


def test_large_whole_numbers_stay_apart():
    run = {"q": {"a": 2**60 + 1, "b": 2**60, "c": 2**60}}
    (score,) = align_runs({"q": {"a": 1}}, run).y_score.values()
    assert score[0] > score[1] == score[2] > score[3] == -math.inf
    small = {"q": {"a": 3, "b": 2, "c": 2}}
    (score,) = align_runs({"q": {"a": 1}}, small).y_score.values()
    assert score.tolist() == [3.0, 2.0, 2.0, -math.inf]


def test_comparisons_of_runs_with_grades():
    qrels, runs = drawn(4)
    aligned = align_runs(qrels, {**runs, "three": runs["one"]}, ties="name")
    options = {"metric": "ndcg@5", "groups": aligned.groups}
    with pytest.warns(UserWarning, match="have no positives"):
        found = metric_multiple_comparison_test(aligned.relevance, aligned.y_score, **options)
    means = [
        np.mean([reference("ndcg_cut_5", g, run.get(q, {}), 1, False) for q, g in qrels.items()])
        for run in runs.values()
    ]
    assert found.statistic.tolist() == pytest.approx([*means, means[0]])


@pytest.mark.parametrize("grade", [1, 2, 0.5])
def test_a_single_grade_is_a_gain(grade):
    qrels = {"1": {"a": grade, "b": 0}, "2": {"a": grade, "b": grade, "c": 0}}
    run = {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 3.0, "c": 2.0, "b": 1.0}}
    aligned = align_runs(qrels, run, relevance_level=grade)
    second, third = 1 / np.log2(3), 1 / 2
    dcg, ideal = np.array([second, 1 + third]), np.array([1, 1 + second])
    for metric, wanted in (("dcg", grade * dcg.mean()), ("ndcg@5", (dcg / ideal).mean())):
        found = metric_interval(
            aligned.relevance, aligned.y_score["run"], metric=metric, groups=aligned.groups
        )
        assert found.statistic == pytest.approx(wanted)


def test_labels_are_no_grades_if_one_is_that_of_the_positives():
    labels, scores, groups = [0, 2, 2, 0], [4.0, 3.0, 2.0, 1.0], [1, 1, 2, 2]
    found = metric_interval(labels, scores, metric="dcg", groups=groups, pos_label=2)
    assert found.statistic == pytest.approx((1 / np.log2(3) + 1) / 2)


def test_metrics_that_need_all_documents_are_refused():
    qrels, runs = drawn(4)
    aligned = align_runs(qrels, runs)
    own = aligned.y_true, aligned.y_score["one"]
    for metric in ("roc_auc", "enrichment@5", "bedroc", "rie"):
        with pytest.raises(ValueError, match="depends on all items, whose number is not known"):
            metric_interval(*own, metric=metric, groups=aligned.groups)
    with pytest.raises(ValueError, match=r"k=0\.1 is a fraction of all items, whose number"):
        metric_interval(*own, metric="recall@0.1", groups=aligned.groups)
    nowhere = np.full(aligned.y_true.size, -math.inf)
    with pytest.raises(ValueError, match="depends on all items, whose number is not known"):
        metric_interval(aligned.y_true, nowhere, metric="roc_auc", groups=aligned.groups)
    with pytest.raises(ValueError, match=r"score -inf.*AlignedRuns\.rankings"):
        metric_test(*own, groups=aligned.groups)
    with pytest.raises(ValueError, match="y_score must be finite; got -inf"):
        metric_interval(*own)


QRELS, RUN = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 0.5}}


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "qrels has no column 'doc_id', nor any of 'docno'.*its columns are 'qid', 'x'",
         lambda: align_runs(pd.DataFrame({"qid": ["q"], "x": [1]}), RUN)),
        (ValueError, "qrels has document 'a' more than once for query 'q': keep one",
         lambda: align_runs([Judgement("q", "a", 1, 0), Judgement("q", "a", 0, 0)], RUN)),
        (ValueError, "run 'x' has document 'a' more than once for query 'q'",
         lambda: align_runs(QRELS, {"x": [Scored("q", "a", 1.0), Scored("q", "a", 0.0)]})),
        (ValueError, "the score of run 'run' must be finite; got nan at position 0",
         lambda: align_runs(QRELS, {"q": {"a": math.nan}})),
        (ValueError, "the score of run 'run' must be finite; got -inf at position 0",
         lambda: align_runs(QRELS, {"q": {"a": -math.inf}})),
        (ValueError, "the relevance of qrels must be finite; got nan at position 1",
         lambda: align_runs({"q": {"a": 1.0, "b": math.nan}}, RUN)),
        (TypeError, "the relevance of qrels must hold real numbers.*such as '1'",
         lambda: align_runs({"q": {"a": "1"}}, RUN)),
        (ValueError, "qrels lacks a document in row 1, where it is None",
         lambda: align_runs({"q": {"a": 1, None: 1}}, RUN)),
        (ValueError, "No query of run 'run' is judged; its first one is 1, that of qrels '1': read",
         lambda: align_runs({"1": {"a": 1}}, {1: {"a": 1.0}})),
        (ValueError, "No query of run 'run' is judged; its first one is 'x'.*name queries alike",
         lambda: align_runs(QRELS, {"x": {"a": 1.0}})),
        (ValueError, "qrels is empty: at least one document is", lambda: align_runs({}, RUN)),
        (ValueError, "runs is empty: pass at least one run", lambda: align_runs(QRELS, {})),
        (ValueError, "run 'run' is empty", lambda: align_runs(QRELS, [])),
        (ValueError, "run 'first' is empty", lambda: align_runs(QRELS, {"first": {}, "x": RUN})),
        (TypeError, "qrels must map each query to a dict from documents to numbers; got 1",
         lambda: align_runs({"q": 1}, RUN)),
        (TypeError, "qrels must be a data frame, a dict of dicts.*got 'qrels.txt'",
         lambda: align_runs("qrels.txt", RUN)),
        (TypeError, "qrels must be a data frame.*got a row 3", lambda: align_runs([3], RUN)),
        (ValueError, "ties must be", lambda: align_runs(QRELS, RUN, ties="last")),
        (TypeError, "judged_only must be True or False; got 1",
         lambda: align_runs(QRELS, RUN, judged_only=1)),
        (ValueError, "relevance_level must be finite and larger than 0; got 0",
         lambda: align_runs(QRELS, RUN, relevance_level=0)),
        (ValueError, "run='x' is not a run: pass one of 'run'",
         lambda: align_runs(QRELS, RUN).rankings("x", collection_size=9)),
        (ValueError, "A test against chance needs collection_size",
         lambda: align_runs(QRELS, RUN).rankings("run")),
        (ValueError, "collection_size must be a number of documents or 'retrieved'; got 'all'",
         lambda: align_runs(QRELS, RUN).rankings("run", collection_size="all")),
        (ValueError, "collection_size=1 is smaller than the number of known documents of query 'q'",
         lambda: align_runs(QRELS, RUN).rankings("run", collection_size=1)),
        (ValueError, r"collection_size must be at most 2\*\*62",
         lambda: align_runs(QRELS, RUN).rankings("run", collection_size=10**30)),
        (TypeError, "collection_size must be an integer",
         lambda: align_runs(QRELS, RUN).rankings("run", collection_size=9.5)),
        (ValueError, "collection_size must be left out with judged_only=True",
         lambda: align_runs(QRELS, RUN, judged_only=True).rankings("run", collection_size=9)),
    ],
)  # fmt: skip
def test_wrong_input(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_documents_that_are_named_differently():
    with pytest.warns(
        UserWarning, match="No document of run 'run' is judged.*first one is 1, that"
    ):
        align_runs({"q": {"1": 1}}, {"q": {1: 1.0}})


def test_rankings_are_rankings():
    (ranking,) = align_runs(QRELS, RUN).rankings("run", collection_size=5).values()
    assert isinstance(ranking, Ranking)
