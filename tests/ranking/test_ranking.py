"""The ranking: containers, label types, ties, and every input that is refused."""

import copy
import itertools
import pickle
import sys
import warnings
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from by_name import rank_statistic_score, with_cut_off
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    Bedroc,
    BinormalPrecisionRecallCurve,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    NullDistributionDisplay,
    Ranking,
    ReciprocalRank,
    RobustInitialEnhancement,
    RPrecision,
    adjusted_average_precision_score,
    average_precision_at_k_score,
    average_precision_neg_log10_pvalue,
    average_precision_pvalue,
    average_precision_test,
    metric_comparison_test,
    metric_test,
    precision_at_k_score,
    recall_at_k_score,
    standardized_average_precision_score,
)
from sklearn_rankinf._metrics.names import METRICS
from sklearn_rankinf._ranking import Sample, rank_order

try:
    import pyarrow as pa
except ImportError:  # a version that needs a newer numpy
    pa = None

# Eight samples in four blocks of equal scores: .9 | .7 .7 .7 | .4 .4 | .1 .1
SCORES = [0.7, 0.1, 0.9, 0.4, 0.7, 0.1, 0.4, 0.7]
LABELS = [1, 0, 1, 0, 0, 0, 1, 0]
TIE_SIZES = [1, 3, 2, 2]
HITS = [1, 1, 1, 0]


def as_text(labels):
    return ["yes" if label else "no" for label in labels]


LABEL_CONTAINERS = {
    "list": LABELS,
    "tuple": tuple(LABELS),
    "int8": np.array(LABELS, dtype=np.int8),
    "uint64": np.array(LABELS, dtype=np.uint64),
    "float": np.array(LABELS, dtype=float),
    "float16": np.array(LABELS, dtype=np.float16),
    "bool list": [bool(label) for label in LABELS],
    "bool": np.array(LABELS, dtype=bool),
    "object of ints": np.array(LABELS, dtype=object),
    "object of bools": np.array([bool(label) for label in LABELS], dtype=object),
    "minus one and one": np.array(LABELS) * 2 - 1,
    "two and one": 2 - np.array(LABELS),
    "not contiguous": np.repeat(LABELS, 2)[::2],
    "read-only": np.frombuffer(bytes(LABELS), dtype=np.uint8),
    "column": np.array(LABELS)[:, np.newaxis],
    "unmasked": np.ma.array(LABELS),
    "pandas": pd.Series(LABELS, index=range(100, 108)),
    "pandas bool": pd.Series(LABELS, dtype=bool),
    "pandas object": pd.Series([bool(label) for label in LABELS], dtype=object),
    "pandas Int64": pd.Series(LABELS, dtype="Int64"),
    "pandas boolean": pd.Series(LABELS, dtype="boolean"),
    "pandas category": pd.Series(LABELS, dtype="category"),
    "pandas frame": pd.DataFrame({"y": LABELS}),
    "polars": pl.Series(LABELS),
    "polars bool": pl.Series([bool(label) for label in LABELS]),
    "polars frame": pl.DataFrame({"y": LABELS}),
}

TEXT_CONTAINERS = {
    "list": as_text(LABELS),
    "numpy": np.array(as_text(LABELS)),
    "object": np.array(as_text(LABELS), dtype=object),
    "column": np.array(as_text(LABELS))[:, np.newaxis],
    "list of lists": [[label] for label in as_text(LABELS)],
    "pandas": pd.Series(as_text(LABELS)),
    "pandas string": pd.Series(as_text(LABELS), dtype="string"),
    "pandas object": pd.Series(as_text(LABELS), dtype=object),
    "pandas category": pd.Series(as_text(LABELS), dtype="category"),
    "polars": pl.Series(as_text(LABELS)),
    "polars categorical": pl.Series(as_text(LABELS), dtype=pl.Categorical),
    "polars enum": pl.Series(as_text(LABELS), dtype=pl.Enum(["no", "yes"])),
}

SCORE_CONTAINERS = {
    "list": SCORES,
    "float32": np.array(SCORES, dtype=np.float32),
    "float16": np.array(SCORES, dtype=np.float16),
    "longdouble": np.array(SCORES, dtype=np.longdouble),
    "uint8": np.array([10 * score for score in SCORES], dtype=np.uint8),
    "int64 beyond floats": 2**60 + np.array([round(10 * score) for score in SCORES]),
    "object": np.array(SCORES, dtype=object),
    "fractions": [Fraction(score) for score in SCORES],
    "decimals": [Decimal(score) for score in SCORES],
    "column": np.array(SCORES)[:, np.newaxis],
    "pandas": pd.Series(SCORES, index=range(100, 108)),
    "pandas Float64": pd.Series(SCORES, dtype="Float64"),
    "pandas frame": pd.DataFrame({"score": SCORES}),
    "polars": pl.Series(SCORES),
}


def assert_is_example(ranking):
    assert ranking.tie_sizes.tolist() == TIE_SIZES
    assert ranking.hits.tolist() == HITS


@pytest.mark.filterwarnings("ignore:y_true has the labels 1 and 2")
@pytest.mark.parametrize("y_true", LABEL_CONTAINERS.values(), ids=LABEL_CONTAINERS.keys())
def test_label_containers(y_true):
    assert_is_example(Ranking.from_scores(y_true, SCORES))


@pytest.mark.parametrize("y_true", TEXT_CONTAINERS.values(), ids=TEXT_CONTAINERS.keys())
def test_text_label_containers(y_true):
    assert_is_example(Ranking.from_scores(y_true, SCORES, pos_label="yes"))


@pytest.mark.parametrize("y_score", SCORE_CONTAINERS.values(), ids=SCORE_CONTAINERS.keys())
def test_score_containers(y_score):
    assert_is_example(Ranking.from_scores(LABELS, y_score))


# Numbers that compare exactly.

LARGE = 2**60
# Neighbours that are one float: the negatives between the positives must not be tied with them.
NEIGHBOURS = [LARGE + step for step in (3, 0, 4, 2, 3, 0, 2, 3)]
NEAR = [Fraction(score, 3) for score in NEIGHBOURS]


def by_sorting(labels, scores):
    """Sizes and hits of the blocks of equal scores, by Python's own comparisons."""
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    blocks = [[*block] for _, block in itertools.groupby(order, key=scores.__getitem__)]
    hits = [sum(labels[row] for row in block) for block in blocks]
    return [len(block) for block in blocks], hits


EXACT_SCORES = {
    "list": NEIGHBOURS,
    "list with a float": [*NEIGHBOURS[:-1], float(LARGE)],
    "list with a float above int64": [2**63 + 1, 2**63, -1, 0, 2**63 + 1, 0.5, 0.5, 1],
    "list of both signs": [2**63 + step for step in (3, 0, 4, 2, 3, 0, 2)] + [-1],
    "int64": np.array(NEIGHBOURS),
    "uint64": np.array([2**63 + score for score in NEIGHBOURS], dtype=np.uint64),
    "longdouble": np.array(NEIGHBOURS, dtype=np.longdouble),
    "longdouble objects": np.array([*np.array(NEIGHBOURS, dtype=np.longdouble)], dtype=object),
    "object": np.array(NEIGHBOURS, dtype=object),
    "object of numpy": np.array([np.int64(score) for score in NEIGHBOURS], dtype=object),
    "object of numpy and python": np.array(
        [np.int64(score) for score in NEIGHBOURS[:4]] + [float(s) for s in NEIGHBOURS[4:]],
        dtype=object,
    ),
    "beyond 64 bits": [score << 70 for score in NEIGHBOURS],
    "beyond floats": [score << 2000 for score in NEIGHBOURS],
    "fractions": NEAR,
    "decimals": [Decimal(score) / 7 for score in NEIGHBOURS],
    "decimals beyond floats": [Decimal(score).scaleb(400) for score in NEIGHBOURS],
    "decimals and a float": [Decimal("0.1"), 0.1, Decimal("0.1"), 0, 1, Fraction(1, 10), True, 0.1],
    "decimals and integers": [Decimal(LARGE) + Decimal("0.5"), *NEIGHBOURS[1:]],
    "column": np.array(NEIGHBOURS)[:, np.newaxis],
    "pandas": pd.Series(NEIGHBOURS),
    "pandas Int64": pd.Series(NEIGHBOURS, dtype="Int64"),
    "pandas UInt64": pd.Series([2**63 + score for score in NEIGHBOURS], dtype="UInt64"),
    "pandas Int64 array": pd.array(NEIGHBOURS, dtype="Int64"),
    "pandas Int64 frame": pd.DataFrame({"score": pd.array(NEIGHBOURS, dtype="Int64")}),
    "pandas boolean": pd.Series([score > LARGE for score in NEIGHBOURS], dtype="boolean"),
    "pandas object": pd.Series(NEIGHBOURS, dtype=object),
    "polars": pl.Series(NEIGHBOURS),
    "polars frame": pl.DataFrame({"score": NEIGHBOURS}),
    "polars decimals": pl.Series([Decimal(score) for score in NEIGHBOURS]),
}
if pa is not None:
    EXACT_SCORES |= {
        "pandas of pyarrow": pd.Series(NEIGHBOURS, dtype="int64[pyarrow]"),
        "pandas decimals of pyarrow": pd.Series(
            [Decimal(score) for score in NEIGHBOURS], dtype=pd.ArrowDtype(pa.decimal128(30))
        ),
        "pyarrow": pa.array(NEIGHBOURS),
        "pyarrow chunks": pa.chunked_array([NEIGHBOURS[:3], NEIGHBOURS[3:]]),
        "pyarrow decimals": pa.array([Decimal(score) for score in NEIGHBOURS]),
    }


def as_exact(values):
    """Scores as Python's numbers, without arrays of a common type."""
    if isinstance(values, pl.DataFrame):
        return values["score"].to_list()
    if isinstance(values, pd.DataFrame):
        return values["score"].tolist()
    if pa is not None and isinstance(values, pa.Array | pa.ChunkedArray):
        return values.to_pylist()
    flat = list(values.ravel() if isinstance(values, np.ndarray) else values)
    whole = (int(v) if isinstance(v, np.integer | np.longdouble | np.bool_) else v for v in flat)
    exact = (float(v) if isinstance(v, np.float64) else v for v in whole)
    return [Fraction(v) for v in exact]


@pytest.mark.filterwarnings("ignore:So few items")
@pytest.mark.parametrize("y_score", EXACT_SCORES.values(), ids=EXACT_SCORES.keys())
def test_scores_are_ranked_by_exact_comparison(y_score):
    sizes, hits = by_sorting(LABELS, as_exact(y_score))
    ranking = Ranking.from_scores(LABELS, y_score)
    assert ranking.tie_sizes.tolist() == sizes
    assert ranking.hits.tolist() == hits
    sample = Sample.read(LABELS, {"a": y_score}, columns="rankers")
    assert sample.rankings[0].tie_sizes.tolist() == sizes
    with_strata = average_precision_test(LABELS, y_score, strata=[0] * 8, n_resamples=9)
    assert with_strata.statistic == pytest.approx(average_precision_at_k_score(ranking, k=8))


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.integers(-(2**70), 2**70),
            st.integers(2**53, 2**53 + 4),
            st.sampled_from([0.1, 1 / 3, 2.0**53, 2.0**53 + 2, -(2.0**70)]),
            st.fractions(0, 1, max_denominator=5),
            st.sampled_from(["0.1", "0.10000000000000001", "0.2", "9007199254740993"]).map(Decimal),
        ),
        min_size=1,
        max_size=12,
    ),
    st.randoms(),
)
def test_numbers_of_all_kinds_compare_as_in_python(scores, random):
    labels = [random.random() < 0.5 for _ in scores]
    sizes, hits = by_sorting(labels, [Fraction(score) for score in scores])
    ranking = Ranking.from_scores(np.array(labels, dtype=int), scores)
    assert ranking.tie_sizes.tolist() == sizes
    assert ranking.hits.tolist() == hits


CLASS_SCORES = [[LARGE + row * step % 5 for step in (1, 2, 3)] for row in range(9)]
CLASS_TABLES = {
    "list": CLASS_SCORES,
    "numpy": np.array(CLASS_SCORES),
    "object": np.array(CLASS_SCORES, dtype=object),
    "pandas": pd.DataFrame(CLASS_SCORES),
    "pandas Int64": pd.DataFrame(CLASS_SCORES, dtype="Int64"),
    "pandas of two types": pd.DataFrame(CLASS_SCORES).astype({0: "uint64", 1: "Int64"}),
    "polars": pl.DataFrame(CLASS_SCORES, schema=["a", "b", "c"], orient="row"),
    "fractions": [[Fraction(score, 7) for score in row] for row in CLASS_SCORES],
    "decimals": [[Decimal(score) / 7 for score in row] for row in CLASS_SCORES],
}


@pytest.mark.parametrize("table", CLASS_TABLES.values(), ids=CLASS_TABLES.keys())
def test_scores_of_classes_are_ranked_by_exact_comparison(table):
    y_true = np.arange(9) % 3
    sample = Sample.read(y_true, table, columns="classes")
    for column in range(3):
        sizes, hits = by_sorting((y_true == column).tolist(), [row[column] for row in CLASS_SCORES])
        ranking = sample.rankings[column]
        assert ranking.tie_sizes.tolist() == sizes
        assert ranking.hits.tolist() == hits
    sizes, _ = by_sorting([0] * 27, [score for row in CLASS_SCORES for score in row])
    assert rank_order(np.column_stack(sample.scores).ravel())[1].tolist() == sizes


def test_table_with_columns_of_integers_and_floats():
    frame = pd.DataFrame({"a": [LARGE, LARGE + 1, LARGE + 2], "b": [0.5, 0.25, float(LARGE)]})
    frame["c"] = [0, 1, 2]
    scores = Sample.read([0, 1, 2], frame, columns="classes").scores
    assert [Fraction(score) for score in scores[0].tolist()] == [LARGE, LARGE + 1, LARGE + 2]
    assert scores[1].tolist() == [0.5, 0.25, LARGE]


def test_scores_of_two_rankers_are_swapped_without_rounding():
    y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    a = [LARGE + step for step in (9, 5, 4, 3, 2, 1, 0, 6)]
    b = [LARGE + step for step in (3, 8, 2, 7, 0, 1, 5, 4)]
    small = [[score - LARGE for score in scores] for scores in (a, b)]
    expected = metric_comparison_test(y_true, np.column_stack(small), method="score_swap").pvalue
    halves = [[Fraction(score, 2) for score in scores] for scores in (a, b)]
    for one, other in ((a, b), halves, (np.array(a), pd.Series(b, dtype="Int64"))):
        assert (
            metric_comparison_test(y_true, {"one": one, "other": other}, method="score_swap").pvalue
            == expected
        )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda huge: BinormalPrecisionRecallCurve.from_predictions([1, 1, 0, 0], huge),
            "y_score has an integer that is too large for a floating-point number: divide all",
        ),
        (
            lambda huge: average_precision_test([1, 1, 0, 0], [4, 3, 2, 1], sample_weight=huge),
            "sample_weight has an integer that is too large for a floating-point number",
        ),
        (
            lambda huge: Ranking.from_scores([1, 0, 0, 1], [Decimal("NaN"), *huge[1:]]),
            r"y_score must be finite; got Decimal\('NaN'\) at position 0",
        ),
        (
            lambda huge: Ranking.from_scores([1, 0, 0, 1], [Decimal("-Infinity"), *huge[1:]]),
            r"y_score must be finite; got Decimal\('-Infinity'\) at position 0",
        ),
        (
            lambda huge: Ranking.from_scores([1, 0, 0, 1], [float("nan"), *huge[1:]]),
            "y_score must be finite; got nan at position 0",
        ),
    ],
)
def test_numbers_that_have_no_float(function, message):
    with pytest.raises(ValueError, match=message):
        function([5 << 2000, 3 << 2000, 4 << 2000, 1 << 2000])


EXACT_LABELS = {
    "beyond 64 bits": ([2**70, 0], 2**70),
    "beyond floats": ([1 << 2000, 0], 1 << 2000),
    "neighbours": ([2**53 + 1, 2**53], 2**53 + 1),
    "neighbours and a float": ([2**53 + 1, 2.0**53], 2**53 + 1),
    "of both signs": ([2**63, -1], 2**63),
    "fractions": ([Fraction(1), Fraction(0)], Fraction(1)),
    "decimals": ([Decimal(1), Decimal(0)], 1),
    "decimal of the positives": ([1, 0], Decimal(1)),
    "null at the end": (["a\0", "a"], "a\0"),
    "null and another": (["a\0", "b"], "a\0"),
    "numpy string": (["a", "b"], np.str_("a")),
    "numpy integer": ([2**53 + 1, 2**53], np.int64(2**53 + 1)),
}


@pytest.mark.parametrize("container", [list, tuple, "object", pd.Series])
@pytest.mark.parametrize(("labels", "pos_label"), EXACT_LABELS.values(), ids=EXACT_LABELS.keys())
def test_labels_compare_exactly(labels, pos_label, container):
    y_true = [labels[1 - label] for label in LABELS]
    if container == "object":
        y_true = np.array(y_true, dtype=object)
    elif container is pd.Series:
        y_true = pd.Series(y_true, dtype=object)
    else:
        y_true = container(y_true)
    assert_is_example(Ranking.from_scores(y_true, SCORES, pos_label=pos_label))


@pytest.mark.parametrize(
    ("y_true", "pos_label"),
    [
        (np.array([2**53 + 1] * 3), 2.0**53),
        (np.array([2**53 + 1] * 3), np.float64(2.0**53)),
        (["a\0"] * 3, "a"),
        (["a"] * 3, "a\0"),
        (np.array(["a"] * 3), "a\0"),
        ([2**70] * 3, 2**70 + 1),
        ([2**53 + 1] * 3, 2**53),
    ],
)
def test_a_single_label_that_is_nearly_the_positive_one(y_true, pos_label):
    assert Ranking.from_scores(y_true, [3, 2, 1], pos_label=pos_label).n_positives == 0


def test_fractional_labels_are_refused():
    for half in (Fraction(1, 2), Decimal("0.5"), Fraction((1 << 2000) + 1, 2)):
        with pytest.raises(ValueError, match="must hold class labels; got the continuous value"):
            Ranking.from_scores([half, 0, 1], [3, 2, 1])


def test_scores_may_be_boolean():
    ranking = Ranking.from_scores([1, 0, 1], [True, False, False])
    assert ranking.tie_sizes.tolist() == [1, 2]
    assert ranking.hits.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("y_true", "pos_label"),
    [
        (1 - np.array(LABELS), 0),
        (np.array(LABELS) == 0, False),
        (np.array(LABELS, dtype=bool), True),
        (np.array(LABELS), True),
        (np.array(LABELS), 1.0),
        (np.array(LABELS), np.int64(1)),
        (np.array(LABELS, dtype=bool), np.bool_(True)),
        (np.array(LABELS) + 4, 5),
        (as_text(LABELS), np.str_("yes")),
        (as_text(1 - np.array(LABELS)), "no"),
    ],
)
def test_pos_label(y_true, pos_label):
    assert_is_example(Ranking.from_scores(y_true, SCORES, pos_label=pos_label))


@pytest.mark.parametrize("other", [2, 3.0])
def test_one_as_the_smaller_of_two_labels_is_warned_of(other):
    y_true = np.where(np.array(LABELS) == 1, 1, other)
    message = (
        rf"y_true has the labels 1 and {other}, and pos_label=1 makes 1 the positive class: pass "
        rf"pos_label={other} if {other} is the class to be ranked first, or y_true == 1 if 1 is\."
    )
    with pytest.warns(UserWarning, match=message) as caught:
        assert_is_example(Ranking.from_scores(y_true, SCORES))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_is_example(Ranking.from_scores(y_true == 1, SCORES))
        mirrored = np.where(np.array(LABELS) == 1, other, 1)
        assert_is_example(Ranking.from_scores(mirrored, SCORES, pos_label=other))
        for labels in ([0, 1], [-1, 1], [1, 1], [False, True]):
            Ranking.from_scores(labels, [2, 1])


def test_labels_one_and_two_in_tests_and_scores():
    with pytest.warns(UserWarning, match="pos_label=1 makes 1 the positive class"):
        result = average_precision_test([1, 2, 2, 2], [1, 2, 3, 4])
    # scikit-learn's result for the same arguments, without its warnings.
    assert result.statistic == average_precision_score([1, 2, 2, 2], [1, 2, 3, 4]) == 0.25
    assert average_precision_test([1, 2, 2, 2], [1, 2, 3, 4], pos_label=2).statistic == 1.0
    with pytest.warns(UserWarning, match="pos_label=1 makes 1 the positive class"):
        recall_at_k_score([1, 2, 2, 2], [1, 2, 3, 4], k=1)


@pytest.mark.parametrize(
    ("y_true", "pos_label", "n_positives"),
    [
        ([0, 0, 0], 1, 0),
        ([1, 1, 1], 1, 3),
        ([-1, -1, -1], 1, 0),
        ([7, 7, 7], 1, 0),
        ([7, 7, 7], "seven", 0),
        (["no"] * 3, "yes", 0),
        (["yes"] * 3, "yes", 3),
        (["yes"] * 3, 1, 0),
        ([False] * 3, 1, 0),
        ([True] * 3, True, 3),
    ],
)
def test_single_class_has_no_positives_or_only_positives(y_true, pos_label, n_positives):
    ranking = Ranking.from_scores(y_true, [0.3, 0.1, 0.2], pos_label=pos_label)
    assert ranking.n_positives == n_positives
    assert ranking.n_samples == ranking.n_blocks == 3


def test_ties_are_exactly_equal_scores():
    close = [0.3, 0.1 + 0.2, 0.3, np.nextafter(0.3, 0)]
    assert Ranking.from_scores([1, 0, 0, 1], close).tie_sizes.tolist() == [1, 2, 1]
    assert Ranking.from_scores([1, 0], [0.0, -0.0]).tie_sizes.tolist() == [2]
    assert Ranking.from_scores([1, 0], [5e-324, 0.0]).hits.tolist() == [1, 0]
    assert Ranking.from_scores([0, 1], [-1.7e308, 1.7e308]).hits.tolist() == [1, 0]


def average_precision_of_counts(ranking):
    """AP from blocks, in exact fractions, by its definition."""
    n_items, n_hits, total = 0, 0, Fraction(0)
    for size, hits in zip(ranking.tie_sizes.tolist(), ranking.hits.tolist(), strict=True):
        n_items, n_hits = n_items + size, n_hits + hits
        total += Fraction(hits * n_hits, n_items)
    return total / n_hits


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=40))
def test_blocks_hold_all_that_average_precision_needs(samples):
    y_true, y_score = [label for label, _ in samples], [score for _, score in samples]
    ranking = Ranking.from_scores(y_true, y_score)
    assert ranking.n_samples == len(samples)
    assert ranking.n_positives == sum(y_true)
    assert ranking.n_blocks == len(set(y_score))
    if any(y_true):
        expected = average_precision_score(y_true, y_score)
        assert float(average_precision_of_counts(ranking)) == pytest.approx(expected, rel=1e-12)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
def test_order_of_samples_and_monotone_transforms_change_nothing(samples, random):
    shuffled = random.sample(samples, len(samples))
    ranking = Ranking.from_scores(*zip(*samples, strict=True))
    other = Ranking.from_scores([y for y, _ in shuffled], np.exp([s / 2 for _, s in shuffled]))
    assert other.tie_sizes.tolist() == ranking.tie_sizes.tolist()
    assert other.hits.tolist() == ranking.hits.tolist()


@pytest.mark.parametrize(
    ("tie_sizes", "hits"),
    [
        (TIE_SIZES, HITS),
        (tuple(TIE_SIZES), np.array(HITS)),
        (np.array(TIE_SIZES, dtype=np.uint8), np.array(HITS, dtype=bool)),
        (np.array(TIE_SIZES, dtype=object), np.array(HITS, dtype=object)),
        (np.array(TIE_SIZES)[:, np.newaxis], HITS),
        (pd.Series(TIE_SIZES), pd.Series(HITS, dtype="Int64")),
        (pl.Series(TIE_SIZES), pl.Series(HITS, dtype=pl.UInt32)),
    ],
)
def test_from_counts(tie_sizes, hits):
    ranking = Ranking.from_counts(tie_sizes, hits)
    assert_is_example(ranking)
    assert (ranking.n_samples, ranking.n_positives, ranking.n_blocks) == (8, 3, 4)
    assert type(ranking.n_samples) is type(ranking.n_positives) is type(ranking.n_blocks) is int


def test_counts_beyond_32_bits():
    ranking = Ranking.from_counts([3_000_000_000, 3_000_000_000], [2_500_000_000, 1])
    assert ranking.n_samples == 6_000_000_000
    assert ranking.n_positives == 2_500_000_001


def test_arrays_are_read_only_int64_copies():
    sizes = np.array(TIE_SIZES)
    for ranking in (Ranking.from_counts(sizes, HITS), Ranking.from_scores(LABELS, SCORES)):
        for array in (ranking.tie_sizes, ranking.hits):
            assert array.dtype == np.int64
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 2
    untouched = Ranking.from_counts(sizes, HITS)
    sizes[0] = 5
    assert_is_example(untouched)


def test_ranking_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Ranking.from_counts([1], [1]).hits = np.array([0])


def test_repr():
    assert repr(Ranking.from_counts(TIE_SIZES, HITS)) == (
        "Ranking(n_samples=8, n_positives=3, n_blocks=4)"
    )


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_copies_and_pickles_stay_read_only(duplicate):
    ranking = duplicate(Ranking.from_counts(TIE_SIZES, HITS))
    assert_is_example(ranking)
    assert not ranking.hits.flags.writeable
    assert not ranking.tie_sizes.flags.writeable


# Rankings whose ties among negatives are not known.

PARTIAL = Ranking([1, 5, 2, 1], [1, 0, 1, 0], has_all_ties=False)

SCORES_OF_RANKINGS = {
    "ap at k": average_precision_at_k_score,
    "ap at k, by positives": lambda ranking, k: average_precision_at_k_score(
        ranking, k=k, normalize="positives"
    ),
    "recall": recall_at_k_score,
    "precision": precision_at_k_score,
    "enrichment": lambda ranking, k: EnrichmentAtK(k)(ranking),
    "dcg": lambda ranking, k: rank_statistic_score(ranking, statistic=DiscountedCumulativeGain(k)),
    "ndcg": lambda ranking, k: rank_statistic_score(
        ranking, statistic=DiscountedCumulativeGain(k, normalize=True)
    ),
    "r precision": lambda ranking, k: RPrecision()(ranking),
    "bedroc": lambda ranking, k: Bedroc()(ranking),
    "rie": lambda ranking, k: RobustInitialEnhancement()(ranking),
    "reciprocal rank": lambda ranking, k: ReciprocalRank()(ranking),
}

NEED_TIES = {
    **{f"{name} test": partial(metric_test, metric=with_cut_off(name, 3)) for name in METRICS},
    "pvalue": average_precision_pvalue,
    "neg log10 pvalue": average_precision_neg_log10_pvalue,
    "adjusted": adjusted_average_precision_score,
    "standardized": standardized_average_precision_score,
    "queries": lambda ranking: average_precision_test([ranking, ranking]),
    "named queries": lambda ranking: average_precision_test({"a": ranking}),
    "display": NullDistributionDisplay.from_predictions,
}


def test_repr_and_copies_of_partial_rankings():
    assert repr(PARTIAL) == "Ranking(n_samples=9, n_positives=2, n_blocks=4, has_all_ties=False)"
    for duplicate in (copy.deepcopy(PARTIAL), pickle.loads(pickle.dumps(PARTIAL))):
        assert not duplicate.has_all_ties
        assert duplicate.tie_sizes.tolist() == [1, 5, 2, 1]
    assert Ranking.from_counts([1], [1]).has_all_ties
    assert Ranking.from_scores([1], [1]).has_all_ties
    with pytest.raises(TypeError, match=r"has_all_ties must be True or False; got 1 of type int"):
        Ranking([1], [1], has_all_ties=1)


@pytest.mark.parametrize("score", SCORES_OF_RANKINGS.values(), ids=SCORES_OF_RANKINGS.keys())
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4)), min_size=1, max_size=12),
    st.integers(0),
)
def test_runs_of_negatives_may_be_merged_in_scores(score, blocks, seed):
    sizes = [size for size, _ in blocks]
    hits = [min(size, found) for size, found in blocks]
    merged = []
    for size, y in zip(sizes, hits, strict=True):
        if merged and y == 0 and merged[-1][1] == 0:
            merged[-1][0] += size
        else:
            merged.append([size, y])
    partial = Ranking(*zip(*merged, strict=True), has_all_ties=False)
    whole = Ranking.from_counts(sizes, hits)
    k = 1 + seed % whole.n_samples
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there may be one class
        assert score(partial, k=k) == pytest.approx(score(whole, k=k), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("function", NEED_TIES.values(), ids=NEED_TIES.keys())
def test_distributions_refuse_a_ranking_without_all_ties(function):
    with pytest.raises(
        ValueError,
        match=r"depends on ties among the negatives, which are unknown in a Ranking with "
        r"has_all_ties=False; count all scores, as .*counts='all'.* ap_null_distribution\(n_sam",
    ):
        function(PARTIAL)


def test_missing_dask_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.delitem(sys.modules, "sklearn_rankinf._ranking.distributed", raising=False)
    message = r'Ranking.from_dask needs dask: pip install "sklearn-rankinf\[distributed\]"'
    with pytest.raises(ImportError, match=message):
        Ranking.from_dask([0, 1], [0.1, 0.2])


def test_a_sample_is_read_from_either_form():
    ranking = Ranking.from_counts(TIE_SIZES, HITS)
    assert Sample.read(ranking, None).rankings[0] is ranking
    assert Sample.read(ranking, None, pos_label="ignored").rankings[0] is ranking
    assert_is_example(Sample.read(as_text(LABELS), SCORES, pos_label="yes").rankings[0])


GOOD = [0.1, 0.2, 0.3]

WRONG_SCORES = {
    "lengths": (
        [0, 1],
        GOOD,
        ValueError,
        r"same length; got 2 labels and 3 scores",
    ),
    "nan": (
        [0, 1, 1],
        [0.1, np.nan, 0.2],
        ValueError,
        r"y_score must be finite; got nan at position 1: drop",
    ),
    "inf": (
        [0, 1, 1],
        [np.inf, 0, 0],
        ValueError,
        r"y_score must be finite; got inf at position 0",
    ),
    "nan in pandas": (
        [0, 1, 1],
        pd.Series([0.1, 0.2, None], dtype="Float64"),
        ValueError,
        r"y_score must be finite; got nan at position 2",
    ),
    "null in polars": (
        [0, 1, 1],
        pl.Series([0.1, None, 0.2]),
        ValueError,
        r"y_score must be finite; got nan at position 1",
    ),
    "none": (
        [0, 1, 1],
        [0.1, None, 0.2],
        ValueError,
        r"y_score must hold numbers without missing values; got None at position 1",
    ),
    "number among strings": (
        [0, 1, 1],
        np.array(["0.1", 2, 3], dtype=object),
        ValueError,
        r"y_score must hold numbers without missing values; got '0.1' at position 0",
    ),
    "strings": (
        [0, 1, 1],
        ["0.1", "0.2", "0.3"],
        TypeError,
        r"y_score must hold real numbers; got values of type <U3, such as '0.1'",
    ),
    "dates": (
        [0, 1],
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
        TypeError,
        r"y_score must hold real numbers; got values of type datetime64\[D\], such as .*2020",
    ),
    "complex": (
        [0, 1],
        [1j, 2],
        ValueError,
        r"y_score cannot be read as a one-dimensional array: Complex data not supported",
    ),
    "two columns": (
        [0, 1],
        [[0.1, 0.9], [0.2, 0.8]],
        ValueError,
        r"y_score must be one-dimensional; got shape \(2, 2\): .*predict_proba\(X\)\[:, list",
    ),
    "several outputs": (
        [[0, 1], [1, 0]],
        [np.full((2, 2), 0.5), np.full((2, 3), 0.3)],
        ValueError,
        r"y_score is a list of 2 tables, .* multi-output classifier returns: test one output, with "
        r"y_true\[:, 0\] and y_score\[0\]\[:, 1\], or test all outputs .*np\.column_stack",
    ),
    "three dimensions": (
        [0, 1],
        np.zeros((2, 1, 1)),
        ValueError,
        r"y_score must be one-dimensional; got shape \(2, 1, 1\)",
    ),
    "ragged": (
        [0, 1],
        [[0.1], [0.2, 0.3]],
        ValueError,
        r"y_score cannot be read as a one-dimensional array: .*inhomogeneous",
    ),
    "scalar": (
        [0, 1],
        0.5,
        ValueError,
        r"y_score must be a one-dimensional array-like; got 0.5 of type float",
    ),
    "sparse": ([0, 1], sparse.csr_matrix([[1.0], [2.0]]), TypeError, r"[Ss]parse.*toarray\(\)"),
    "masked": (
        [0, 1],
        np.ma.array([0.1, 0.2], mask=[False, True]),
        ValueError,
        r"y_score holds masked values: drop them",
    ),
    "empty": ([], [], ValueError, r"y_true is empty: at least one item is needed"),
    "empty scores": ([0, 1], [], ValueError, r"y_score is empty: at least one item is needed"),
}

WRONG_LABELS = {
    "continuous": (
        [0.0, 0.5, 1.0],
        1,
        ValueError,
        r"class labels; got the continuous value 0.5 at position 1: .*y_true > threshold",
    ),
    "nan": (
        [0, np.nan, 1],
        1,
        ValueError,
        r"y_true holds a missing or infinite label, nan at position 1: drop",
    ),
    "inf": ([0, 1, np.inf], 1, ValueError, r"missing or infinite label, inf at position 2"),
    "null in pandas": (
        pd.Series([0, 1, None], dtype="Int64"),
        1,
        ValueError,
        r"missing or infinite label, nan at position 2",
    ),
    "null in boolean pandas": (
        pd.Series([False, None, True], dtype="boolean"),
        1,
        ValueError,
        r"must hold labels of one kind, .*, without missing values; got <NA> at position 1",
    ),
    "null in polars": (
        pl.Series([True, None, False]),
        1,
        ValueError,
        r"labels of one kind, .* without missing values; got None at position 1",
    ),
    "missing first": (
        [None, 0, 1],
        1,
        ValueError,
        r"without missing values; got None at position 0",
    ),
    "missing string": (
        ["yes", None, "no"],
        "yes",
        ValueError,
        r"without missing values; got None at position 1",
    ),
    "nan among strings": (
        ["yes", "no", float("nan")],
        "yes",
        ValueError,
        r"without missing values; got nan at position 2",
    ),
    "missing pandas string": (
        pd.Series(["yes", "no", None], dtype="string"),
        "yes",
        ValueError,
        r"without missing values; got <NA> at position 2",
    ),
    "missing pandas str": (
        pd.Series(["yes", "no", None]),
        "yes",
        ValueError,
        r"without missing values; got (nan|None) at position 2",
    ),
    "missing category": (
        pd.Series(["yes", "no", None], dtype="category"),
        "yes",
        ValueError,
        r"without missing values; got nan at position 2",
    ),
    "mixed": (
        [0, "yes", 1],
        1,
        ValueError,
        r"y_true must hold labels of one kind, .*; got 'yes' at position 1",
    ),
    "mixed objects": (
        np.array(["yes", 1, "no"], dtype=object),
        "yes",
        ValueError,
        r"y_true must hold labels of one kind, .*; got 1 at position 1",
    ),
    "nested": (["yes", ["no"], "no"], "yes", ValueError, r"got \['no'\] at position 1"),
    "bytes": (
        [b"yes", b"no", b"no"],
        1,
        TypeError,
        r"y_true must hold numbers, booleans or strings; got values of type \|S3, such as b'yes'",
    ),
    "dates": (
        np.array(["2020", "2021", "2020"], dtype="datetime64[Y]"),
        1,
        TypeError,
        r"y_true must hold numbers, booleans or strings; got values of type datetime64\[Y\]",
    ),
    "multiclass": (
        [0, 1, 2],
        1,
        ValueError,
        r"y_true holds 3 different labels \(0, 1, 2\), but must hold two: call once per class",
    ),
    "multiclass strings": (
        ["b", "c", "a"],
        "a",
        ValueError,
        r"y_true holds 3 different labels \('a', 'b', 'c'\)",
    ),
    "multilabel": (
        [[0, 1], [1, 1], [0, 0]],
        1,
        ValueError,
        r"y_true must be one-dimensional; got shape \(3, 2\): if items have several labels, call",
    ),
    "pos_label missing": (
        ["no", "yes", "no"],
        1,
        ValueError,
        r"pos_label=1 is not a label of y_true, whose labels are 'no', 'yes': pass one of them",
    ),
    "pos_label of numbers": (
        [0, 2, 0],
        1,
        ValueError,
        r"pos_label=1 is not a label of y_true, whose labels are 0, 2",
    ),
    "pos_label of another type": (
        [0, 1, 0],
        "1",
        ValueError,
        r"pos_label='1' is not a label of y_true, whose labels are 0, 1",
    ),
    "pos_label none": (
        [0, 1, 0],
        None,
        TypeError,
        r"pos_label must be a number, a string or a boolean; got None of type NoneType",
    ),
    "pos_label list": ([0, 1, 0], [1], TypeError, r"pos_label must be .*; got \[1\] of type list"),
    "no array": (
        "yes",
        "yes",
        ValueError,
        r"y_true must be a one-dimensional array-like; got 'yes' of type str",
    ),
    "none": (
        None,
        1,
        ValueError,
        r"y_true must be a one-dimensional array-like; got None of type NoneType",
    ),
}


@pytest.mark.parametrize(
    ("y_true", "y_score", "error", "message"), WRONG_SCORES.values(), ids=WRONG_SCORES.keys()
)
def test_wrong_scores(y_true, y_score, error, message):
    with pytest.raises(error, match=message):
        Ranking.from_scores(y_true, y_score)


@pytest.mark.parametrize(
    ("y_true", "pos_label", "error", "message"), WRONG_LABELS.values(), ids=WRONG_LABELS.keys()
)
def test_wrong_labels(y_true, pos_label, error, message):
    with pytest.raises(error, match=message):
        Ranking.from_scores(y_true, GOOD, pos_label=pos_label)


def test_long_list_of_labels_is_cut():
    with pytest.raises(ValueError, match=r"9 different labels \(0, 1, 2, 3, 4, \.\.\.\)"):
        Ranking.from_scores(range(9), range(9))


@pytest.mark.parametrize(
    ("tie_sizes", "hits", "error", "message"),
    [
        ([1, 2], [1], ValueError, r"same length; got 2 tie sizes and 1 hits"),
        ([1, 0], [1, 0], ValueError, r"tie_sizes must be at least 1; got 0 at position 1"),
        ([-2, 1], [0, 0], ValueError, r"tie_sizes must be at least 1; got -2 at position 0"),
        ([2, 2], [1, -1], ValueError, r"hits must not be negative; got -1 at position 1"),
        ([2, 2], [1, 3], ValueError, r"hits must not exceed the tie size .*; got 3 at position 1"),
        (
            [1.0, 2.0],
            [1, 1],
            TypeError,
            r"tie_sizes must hold integers; got values of type float64, such as 1.0: .*astype",
        ),
        ([1, 2], ["1", "1"], TypeError, r"hits must hold integers; got values of type <U1"),
        ([1, 2], [1, None], TypeError, r"hits must hold integers; got None at position 1"),
        (np.array([1, 2.5], dtype=object), [1, 1], TypeError, r"integers; got 2.5 at position 1"),
        ([], [], ValueError, r"tie_sizes is empty: at least one item is needed"),
        ([1], [], ValueError, r"hits is empty: at least one item is needed"),
        (3, 1, ValueError, r"tie_sizes must be a one-dimensional array-like; got 3 of type int"),
        ([[1, 2], [1, 2]], [1, 2], ValueError, r"got shape \(2, 2\): pass one count per block"),
    ],
)
def test_wrong_counts(tie_sizes, hits, error, message):
    with pytest.raises(error, match=message):
        Ranking.from_counts(tie_sizes, hits)
    with pytest.raises(error, match=message):
        Ranking(tie_sizes, hits)


def test_scores_and_ranking_exclude_each_other():
    ranking = Ranking.from_counts(TIE_SIZES, HITS)
    with pytest.raises(TypeError, match=r"y_score must be left out .*; got y_score of type list"):
        Sample.read(ranking, SCORES)
    with pytest.raises(TypeError, match=r"y_score is missing: .*\(got list\), or pass a Ranking"):
        Sample.read(LABELS, None)


@pytest.mark.parametrize("y_true", [[0, 2, 0], ["no", "yes", "no"], [0, 0.5, 1], [0, np.nan, 1]])
def test_scikit_learn_refuses_the_same_labels(y_true):
    with pytest.raises(ValueError):
        average_precision_score(y_true, GOOD)
    with pytest.raises(ValueError):
        Ranking.from_scores(y_true, GOOD)


@pytest.mark.filterwarnings("ignore:y_true has the labels 1 and 2")
@pytest.mark.parametrize(
    ("y_true", "pos_label"),
    [
        ([0, 1, 1], 1),
        ([-1, 1, -1], 1),
        ([2, 1, 1], 1),
        ([2, 1, 1], 2),
        ([True, False, True], 1),
        ([True, False, True], True),
        (["a", "b", "a"], "b"),
        ([0.0, 1.0, 0.0], 1.0),
        ([3, 3, 3], 3),
    ],
)
def test_scikit_learn_takes_the_same_positives(y_true, pos_label):
    ranking = Ranking.from_scores(y_true, [0.2, 0.2, 0.1], pos_label=pos_label)
    expected = average_precision_score(y_true, [0.2, 0.2, 0.1], pos_label=pos_label)
    assert float(average_precision_of_counts(ranking)) == pytest.approx(expected, rel=1e-12)
