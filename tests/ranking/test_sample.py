"""The reader of labels, scores and designs."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sklearn_rankinf import Ranking
from sklearn_rankinf._ranking import Design, Sample

LABELS = [1, 0, 1, 0, 0]
SCORES = [5.0, 4.0, 4.0, 2.0, 1.0]


def test_labels_and_scores_of_one_ranker():
    sample = Sample.read(["a", "b", "a", "b", "b"], SCORES, pos_label="a")
    assert sample.positive.tolist() == [True, False, True, False, False]
    assert sample.places().tolist() == [0, 1, 1, 2, 3]
    assert sample.tie_sizes().tolist() == [1, 2, 1, 1]
    assert sample.rankings[0].hits.tolist() == [1, 1, 0, 0]
    assert (sample.n_items, sample.n_positives, sample.has_both) == (5, 2, True)
    assert not Sample.read([0, 0], [1, 2]).has_both


@pytest.mark.parametrize("form", ["dict", "columns"])
def test_several_rankers_of_the_same_items(form):
    other = [1, 2, 3, 4, 5]
    y_score = {"dict": {"a": SCORES, "b": other}, "columns": np.column_stack([SCORES, other])}
    sample = Sample.read(LABELS, y_score[form], columns="rankers")
    names = {"dict": ["a", "b"], "columns": [0, 1]}
    assert sample.names == names[form]
    assert sample.places(1).tolist() == [4, 3, 2, 1, 0]
    assert sample.tie_sizes(1) is None
    assert [ranking.hits.tolist() for ranking in sample.rankings] == [[1, 1, 0, 0], [0, 0, 1, 0, 1]]


def test_large_integers_are_not_rounded():
    large = 2**60
    for y_score in ([large, large + 1], {"a": [large, large + 1]}):
        sample = Sample.read([0, 1], y_score, columns="rankers" if len(y_score) == 1 else "")
        assert sample.places().tolist() == [1, 0]


def test_one_column_a_class():
    table = np.array([[3, 1, 2], [1, 3, 2], [2, 2, 1.0]])
    sample = Sample.read(["x", "y", "z"], table, columns="classes", clusters=[0, 0, 1])
    assert sample.names == ["x", "y", "z"]
    assert [ranking.n_positives for ranking in sample.rankings] == [1, 1, 1]
    second = sample.single(1)
    assert second.positive.tolist() == [False, True, False]
    assert second.places().tolist() == [2, 0, 1]
    assert second.design is sample.design
    # One column and two labels are not classes.
    assert Sample.read(LABELS, np.c_[SCORES], columns="classes").labels.shape == (5, 1)


def test_predicted_classes_are_scores_of_two_values():
    predictions = {"y_pred": ["b", "a", "a"]}
    sample = Sample.read(["a", "b", "a"], predictions, pos_label="a", columns="predictions")
    assert sample.names == ["y_pred"]
    assert sample.positive.tolist() == [True, False, True]
    assert sample.scores[0].tolist() == [False, True, True]


def test_grades():
    sample = Sample.read([3, 0, 1.5], [1, 2, 3], takes_grades=True)
    assert sample.labels[:, 0].tolist() == [3.0, 0.0, 1.5]
    assert sample.positive.tolist() == [True, False, True]
    assert Sample.read([1, 0, 1], [1, 2, 3], takes_grades=True).labels.dtype == bool


def test_a_ranking_without_its_items():
    ranking = Ranking.from_counts([1, 2], [1, 0])
    sample = Sample.read(ranking, None)
    assert sample.rankings == [ranking]
    assert (sample.n_items, sample.n_positives) == (3, 1)
    with pytest.raises(TypeError, match="clusters needs y_true and y_score, because a Ranking"):
        Sample.read(ranking, None, clusters=[1, 2, 3])
    with pytest.raises(TypeError, match="y_true is a Ranking, which does not identify the items"):
        Sample.read(ranking, {"a": SCORES}, columns="rankers")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([1, 0], [1.0]), {}, ValueError, "y_true and y_score must have the same length; got 2 la"),
        (([1, 0], [1.0, math.nan]), {}, ValueError, "y_score must be finite; got nan at positi"),
        (([1, 0], None), {}, TypeError, "y_score is missing: pass the scores with y_true"),
        (([1, 0, 2], [1, 2, 3]), {}, ValueError, "y_true holds 3 different labels"),
        (([1, 0], {}), {"columns": "rankers"}, ValueError, "y_score contains no ranker"),
        (
            ([1, 0], {"a": [1, 2], "b": [1, None]}),
            {"columns": "rankers"},
            ValueError,
            "Ranker 'b': y_score must hold numbers",
        ),
        (([1, 0], [1, 2]), {"clusters": [1]}, ValueError, "clusters must contain the cluster of"),
        (([1, 0], [1, 2]), {"groups": [1, None]}, ValueError, "groups lacks a query in row 1"),
        (([1, 0], [1, 2]), {"order": [1, 1]}, ValueError, "order must be different for all item"),
        (([1, 0], [1, 2]), {"sample_weight": [0, 0]}, ValueError, "sample_weight is 0 for all 2"),
    ],
)
def test_what_is_wrong_is_said(arguments, options, error, message):
    with pytest.raises(error, match=message):
        Sample.read(*arguments, **options)


def test_the_design_as_numbers():
    units = {"strata": [*"vuvuu"], "clusters": [*"babac"], "groups": [*"qqppp"]}
    design = Design.read(5, **units, sample_weight=[2] * 5)
    assert design.strata.tolist() == [0, 1, 0, 1, 1]
    assert design.names["clusters"] == ["b", "a", "c"]
    assert design.restrictions == ["strata", "clusters"]
    part = design.of_rows(np.array([4, 3, 1]))
    assert part.clusters.tolist() == [0, 1, 1]
    assert part.names["clusters"] == ["c", "a"]
    assert part.groups.tolist() == [0, 0, 1]
    assert design.weights is None


def test_what_may_be_exchanged():
    labels = np.array([[1], [1], [0], [0]])
    assert Design.read(4).exchangeable(labels) is None
    _, units, positions, name = Design.read(4, clusters=[*"aabb"]).exchangeable(labels)
    assert (units.tolist(), positions, name) == ([0, 0, 1, 1], None, "clusters")
    _, units, positions, name = Design.read(4, order=[9, 7, 8, 6], clusters=[*"baba"]).exchangeable(
        labels
    )
    assert (units.tolist(), positions.tolist(), name) == ([0, 1, 0, 1], [3, 1, 2, 0], "blocks")
    _, units, positions, _ = Design.read(4, order=[9, 7, 8, 6]).exchangeable(labels)
    assert (units, positions.tolist()) == (None, [3, 1, 2, 0])
    with pytest.raises(ValueError, match="The labels in cluster 'b' differ"):
        Design.read(4, clusters=[*"baba"]).exchangeable(labels)
    with pytest.raises(ValueError, match="Cluster 'b' lies in several strata"):
        Design.read(4, clusters=[*"aabb"], strata=[1, 1, 1, 2]).exchangeable(labels)
    with pytest.raises(ValueError, match="Cluster 'a' is not a block of consecutive items"):
        Design.read(4, order=range(4), clusters=[*"abba"]).exchangeable(labels)


@pytest.mark.parametrize("strata", [None, [0, 0, 0, 0, 1, 1, 1, 1, 1]])
@pytest.mark.parametrize("clusters", [None, [0, 1, 2, 3, 0, 4, 4, 5, 6]])
def test_errors_are_summed_over_clusters_within_strata(strata, clusters):
    values = [3, 1, 4, 1, 5, 9, 2, 6, 7]
    positive = [1, 1, 0, 0, 1, 1, 0, 0, 1]
    design = Design.read(9, strata=strata, clusters=clusters)
    found = design.errors(np.array(values, dtype=float), np.array(positive, dtype=bool))
    assert design.errors(np.c_[values, values], np.array(positive) > 0)[:, 1].tolist() == (
        found.tolist()
    )
    cell = [(strata[i] if strata else 0, positive[i]) for i in range(9)]
    unit = clusters if clusters else range(9)
    expected = [0.0] * len(set(unit))
    for i in range(9):
        members = [j for j in range(9) if cell[j] == cell[i]]
        mean = Fraction(sum(values[j] for j in members), len(members))
        n = len({unit[j] for j in members})
        expected[unit[i]] += float(values[i] - mean) * math.sqrt(n / (n - 1))
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_rows_and_reversal():
    sample = Sample.read(LABELS, SCORES, clusters=[*"abcde"], sample_weight=[1, 2, 3, 4, 5])
    part = sample.of_rows(np.array([2, 0]))
    assert part.positive.tolist() == [True, True]
    assert part.places().tolist() == [1, 0]
    assert part.design.weights.tolist() == [0.6, 0.2]
    mirrored = sample.reversed()
    assert mirrored.positive.tolist() == [False, True, False, True, True]
    assert mirrored.rankings[0].tie_sizes.tolist() == [1, 1, 2, 1]
    assert mirrored.places().tolist() == [3, 2, 2, 1, 0]
    assert sample.n_independent == (2, 3)
    assert Sample.read(LABELS, SCORES, clusters=[1, 2, 1, 2, 2]).n_independent == (1, 1)


def test_queries_of_a_sample():
    sample = Sample.read(LABELS, {"a": SCORES}, columns="rankers", groups=[*"qpqqp"])
    rankings = sample.lists_of_queries[0]
    assert list(rankings) == ["q", "p"]
    assert rankings["q"].hits.tolist() == [1, 1, 0]
    assert rankings["p"].tie_sizes.tolist() == [1, 1]
    assert sample.n_without_positives == 1
    rows = sample.design.rows_of_queries()
    assert {name: own.tolist() for name, own in rows.items()} == {"q": [0, 2, 3], "p": [1, 4]}


def test_labels_alone():
    sample = Sample.read(["x", "y", "x"], None, pos_label="x", columns="none", clusters=[1, 1, 2])
    assert (sample.positive.tolist(), sample.scores) == ([True, False, True], ())
    assert sample.design.names["clusters"] == [1, 2]
    with pytest.raises(ValueError, match="pos_label=3 is not a label of y_true"):
        Sample.read(["x", "y"], None, pos_label=3, columns="none")
