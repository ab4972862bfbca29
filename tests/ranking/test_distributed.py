"""Rankings out of dask collections, and long computations on a cluster of dask."""

import itertools
import multiprocessing
import os
import signal
import tracemalloc
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    Ranking,
    average_precision_at_k_score,
    average_precision_test,
    recall_at_k_score,
)
from sklearn_rankinf._null.distribution import _DISTRIBUTIONS

MISSING = "dask is not installed"
dask = pytest.importorskip("dask", reason=MISSING)
da = pytest.importorskip("dask.array", reason=MISSING)
dask_distributed = pytest.importorskip("dask.distributed", reason=MISSING)


def made_data(seed=0, n=997, share=0.06, digits=1):
    rng = np.random.default_rng(seed)
    y_true = (rng.random(n) < share).astype(int)
    return y_true, np.round(rng.normal(size=n) + y_true, digits)


def cut(values, *sizes):
    """A dask array of chunks of these sizes, the last of which is repeated."""
    values = np.asarray(values)
    if len(sizes) == 1:
        return da.from_array(values, chunks=sizes[0])
    return da.from_array(values, chunks=(sizes,))


def assert_same(ranking, other):
    assert ranking.tie_sizes.tolist() == other.tie_sizes.tolist()
    assert ranking.hits.tolist() == other.hits.tolist()
    assert ranking.has_all_ties == other.has_all_ties


def with_runs_merged(positive, scores):
    """Blocks by their definition, those of negatives alone merged with their neighbours."""
    best_first = sorted(zip(scores, positive, strict=True), key=lambda item: -item[0])
    blocks = [[y for _, y in same] for _, same in itertools.groupby(best_first, lambda i: i[0])]
    merged = []
    for found, run in itertools.groupby(blocks, any):
        run = list(run)
        merged.extend(run if found else [list(itertools.chain(*run))])
    sizes, hits = [len(block) for block in merged], [sum(block) for block in merged]
    all_known = all(size == 1 for size, y in zip(sizes, hits, strict=True) if y == 0)
    return Ranking(sizes, hits, has_all_ties=all_known)


# Counts.


@pytest.mark.parametrize(
    ("label_chunks", "score_chunks"),
    [
        ((100,), (100,)),
        ((997,), (997,)),
        ((1,) * 997, (997,)),
        ((0, 500, 0, 0, 300, 197, 0), (250,)),
        ((13,), (17,)),
    ],
)
def test_counts_are_those_of_the_whole(label_chunks, score_chunks):
    y_true, y_score = made_data()
    labels, scores = cut(y_true, *label_chunks), cut(y_score, *score_chunks)
    whole = Ranking.from_scores(y_true, y_score)
    assert whole.n_blocks < 80  # most scores are tied, within chunks and across them
    assert_same(Ranking.from_dask(labels, scores), whole)
    partial = Ranking.from_dask(labels, scores, counts="positives")
    assert_same(partial, with_runs_merged(y_true.tolist(), y_score.tolist()))
    assert partial.n_blocks < whole.n_blocks
    assert not partial.has_all_ties
    expected = average_precision_score(y_true, y_score)
    for ranking in (whole, partial):
        ap = average_precision_at_k_score(ranking, k=ranking.n_samples)
        assert ap == pytest.approx(expected, rel=1e-12, abs=0.0)


@settings(max_examples=25)
@given(st.data())
def test_any_chunks(data):
    samples = data.draw(
        st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=30)
    )
    edges = [sorted(data.draw(st.lists(st.integers(0, len(samples)), max_size=5))) for _ in "ab"]
    chunks = [np.diff([0, *inner, len(samples)]).tolist() for inner in edges]
    y_true, y_score = (list(column) for column in zip(*samples, strict=True))
    with dask.config.set(scheduler="synchronous"):
        labels, scores = cut(y_true, *chunks[0]), cut(y_score, *chunks[1])
        found = Ranking.from_dask(labels, scores)
        partial = Ranking.from_dask(labels, scores, counts="positives")
    whole = Ranking.from_scores(y_true, y_score)
    assert_same(found, whole)
    assert_same(partial, with_runs_merged(y_true, y_score))
    for k in range(1, len(samples) + 1):
        for normalize in ("min", "positives"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # there may be no positives
                expected, ap = (
                    average_precision_at_k_score(ranking, k=k, normalize=normalize)
                    for ranking in (whole, partial)
                )
            assert ap == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_values_at_k_inside_a_run_of_negatives():
    # Ranks 3 to 6 are one block: with k = 4 nothing in it counts, whatever its ties are.
    y_true, y_score = [1, 0, 0, 0, 0, 0, 1, 0], [9, 8, 7, 6, 6, 5, 4, 3]
    partial = Ranking.from_dask(cut(y_true, 3), cut(y_score, 3), counts="positives")
    assert partial.tie_sizes.tolist() == [1, 5, 1, 1]
    assert average_precision_at_k_score(partial, k=4, normalize="positives") == 0.5
    assert average_precision_at_k_score(partial, k=7, normalize="positives") == 0.5 + 1 / 7
    assert recall_at_k_score(partial, k=6) == 0.5


def test_all_ties_are_known_where_no_negatives_are_next_to_each_other():
    partial = Ranking.from_dask(
        cut([0, 1, 0, 1, 1], 2), cut([5, 4, 3, 3, 1], 2), counts="positives"
    )
    assert_same(partial, Ranking.from_counts([1, 1, 2, 1], [0, 1, 1, 1]))


@pytest.mark.parametrize("counts", ["all", "positives"])
def test_zeros_of_both_signs_are_equal(counts):
    ranking = Ranking.from_dask(cut([1, 0, 1], 1), cut([0.0, -0.0, -0.0], 1), counts=counts)
    assert_same(ranking, Ranking.from_counts([3], [2]))


@pytest.mark.parametrize("counts", ["all", "positives"])
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "longdouble", "int8", "uint64", "int64", "bool"]
)
def test_kinds_of_scores(dtype, counts):
    y_true, y_score = made_data(n=60, share=0.3)
    y_score = np.abs(y_score * 10).round().astype(dtype)
    if dtype == "int64":
        y_score += 2**60  # neighbours that are equal as floats
    ranking = Ranking.from_dask(cut(y_true, 7), cut(y_score, 7), counts=counts)
    if counts == "all":
        assert_same(ranking, Ranking.from_scores(y_true, y_score))
    else:
        assert_same(ranking, with_runs_merged(y_true.tolist(), [int(s) for s in y_score]))


LARGE = 2**60
EXACT_SCORES = {
    "integers": [LARGE + step for step in (3, 0, 4, 2, 3, 0, 2, 3)],
    "integers and floats": [LARGE + 1, float(LARGE), LARGE, LARGE + 2, 0.5, LARGE + 1, 7, 0.5],
    "both sides of int64": [2**63 + 1, -1, 2**63, 2**63 + 1, -1, 2**64 + 1, 2**64, 0],
    "fractions": [Fraction(LARGE + step, 3) for step in (3, 0, 4, 2, 3, 0, 2, 3)],
    "decimals": [Decimal(LARGE + step) / 7 for step in (3, 0, 4, 2, 3, 0, 2, 3)],
    "all kinds": [Decimal("0.1"), 0.1, Fraction(1, 10), LARGE, 1 / 3, Fraction(1, 3), 0.1, 1],
}


@pytest.mark.parametrize("n_chunk", [1, 2, 3, 8])
@pytest.mark.parametrize("counts", ["all", "positives"])
@pytest.mark.parametrize("scores", EXACT_SCORES.values(), ids=EXACT_SCORES.keys())
def test_scores_of_chunks_are_ranked_by_exact_comparison(scores, counts, n_chunk):
    y_true = [1, 0, 1, 0, 0, 0, 1, 0]
    exact = [Fraction(score) for score in scores]
    expected = with_runs_merged(y_true, exact)
    if counts == "all":
        levels = sorted(set(exact), reverse=True)
        rows = [
            [y for y, score in zip(y_true, exact, strict=True) if score == one] for one in levels
        ]
        expected = Ranking([len(block) for block in rows], [sum(block) for block in rows])
    y_score = np.empty(8, dtype=object)
    y_score[:] = scores
    with dask.config.set(scheduler="synchronous"):
        found = Ranking.from_dask(cut(y_true, n_chunk), cut(y_score, n_chunk), counts=counts)
    assert_same(found, expected)


@pytest.mark.parametrize("score_type", ["Int64", "int64[pyarrow]", "int64"])
@pytest.mark.parametrize("counts", ["all", "positives"])
def test_large_integers_in_columns_of_frames(dd, score_type, counts):
    import pandas as pd

    scores = [LARGE + step for step in (3, 0, 4, 2, 3, 0, 2, 3)]
    frame = pd.DataFrame({"y": [1, 0, 1, 0, 0, 0, 1, 0], "score": pd.array(scores, score_type)})
    table = dd.from_pandas(frame, npartitions=3)
    small = np.array(scores) - LARGE
    expected = Ranking.from_dask(cut(frame["y"].to_numpy(), 3), cut(small, 3), counts=counts)
    assert_same(Ranking.from_dask(table["y"], table["score"], counts=counts), expected)


@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [((2**53, 2**53 + 1), 2**53 + 1), ((0, 2**70), 2**70), (("a", "a\0"), "a\0")],
)
def test_labels_of_chunks_compare_exactly(labels, pos_label):
    y_true, y_score = made_data(n=60, share=0.3)
    named = np.empty(60, dtype=object)
    named[:] = [labels[y] for y in y_true.tolist()]
    ranking = Ranking.from_dask(cut(named, 7), cut(y_score, 7), pos_label=pos_label)
    assert_same(ranking, Ranking.from_scores(y_true, y_score))


@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [
        (("no", "yes"), "yes"),
        (("yes", "no"), "no"),
        ((0, 1), 1),
        ((0.0, 1.0), True),
        ((False, True), 1),
        ((4, 7), 7),
    ],
)
@pytest.mark.parametrize("kind", [None, object])
def test_kinds_of_labels(labels, pos_label, kind):
    y_true, y_score = made_data(n=60, share=0.3)
    named = np.array([labels[y] for y in y_true], dtype=kind)
    ranking = Ranking.from_dask(cut(named, 7), cut(y_score, 7), pos_label=pos_label)
    assert_same(ranking, Ranking.from_scores(y_true, y_score))


@pytest.mark.parametrize("counts", ["all", "positives"])
def test_single_class(counts):
    scores = cut([0.3, 0.1, 0.2], 2)
    nothing = Ranking.from_dask(cut([0, 0, 0], 2), scores, counts=counts)
    assert (nothing.n_samples, nothing.n_positives) == (3, 0)
    # Labels of another type than pos_label are no positives, as in Ranking.from_scores.
    nothing = Ranking.from_dask(cut(["yes"] * 3, 2), scores, counts=counts)
    assert (nothing.n_samples, nothing.n_positives) == (3, 0)
    everything = Ranking.from_dask(cut([1, 1, 1], 2), scores, counts=counts)
    assert_same(everything, Ranking.from_counts([1, 1, 1], [1, 1, 1]))


def test_columns_and_unknown_chunk_sizes():
    y_true, y_score = made_data()
    whole = Ranking.from_scores(y_true, y_score)
    assert_same(Ranking.from_dask(cut(y_true, 99)[:, None], cut(y_score, 99)[:, None]), whole)
    labels, scores = cut(y_true, 99), cut(y_score, 99)
    some = scores > 1.0
    kept = y_score > 1.0
    expected = Ranking.from_scores(y_true[kept], y_score[kept])
    for counts in ("all", "positives"):
        ranking = Ranking.from_dask(labels[some], scores[some], counts=counts)
        assert (ranking.n_samples, ranking.n_positives) == (kept.sum(), expected.n_positives)
    assert_same(Ranking.from_dask(labels[some], scores[some]), expected)


@pytest.fixture
def dd():
    # A version of pyarrow that needs a newer numpy fails to be imported.
    return pytest.importorskip("dask.dataframe", exc_type=ImportError)


@pytest.mark.filterwarnings("ignore:Dask currently has limited support:UserWarning")
@pytest.mark.parametrize("counts", ["all", "positives"])
@pytest.mark.parametrize(
    ("label_type", "score_type"),
    [
        ("int64", "float64"),
        ("bool", "float32"),
        ("Int64", "Float64"),
        ("string", "float64"),
        ("category", "int64"),
    ],
)
def test_columns_of_frames(dd, label_type, score_type, counts):
    import pandas as pd

    y_true, y_score = made_data(n=300)
    y_score = (10 * y_score).round()
    named = np.where(y_true == 1, "yes", "no") if label_type in ("string", "category") else y_true
    frame = pd.DataFrame(
        {
            "label": pd.Series(named).astype(label_type),
            "score": pd.Series(y_score).astype(score_type),
        }
    )
    frame.index = np.arange(300) // 2  # not one index a row
    frame = dd.from_pandas(frame, npartitions=7)
    pos_label = "yes" if label_type in ("string", "category") else 1
    ranking = Ranking.from_dask(frame["label"], frame["score"], pos_label=pos_label, counts=counts)
    if counts == "all":
        assert_same(ranking, Ranking.from_scores(y_true, y_score))
    else:
        assert_same(ranking, with_runs_merged(y_true.tolist(), y_score.tolist()))
    # A filter that leaves partitions empty, and an array with a series.
    few = frame[frame["score"] >= 20]
    kept = y_score >= 20
    sizes = few["score"].to_dask_array().compute_chunk_sizes().chunks[0]
    assert 0 in sizes
    assert sum(sizes) == kept.sum()
    is_positive = (few["label"] == pos_label).astype("int64").to_dask_array()
    ranking = Ranking.from_dask(is_positive, few["score"])
    assert_same(ranking, Ranking.from_scores(y_true[kept], y_score[kept]))


@pytest.mark.parametrize(("counts", "n_passes"), [("all", 1), ("positives", 2)])
@pytest.mark.parametrize("container", ["array", "frame"])
def test_each_chunk_is_made_once_for_labels_and_scores(container, counts, n_passes, request):
    made = []

    def rows(number):
        made.append(number)
        return np.array([[0.0, 0.5], [1.0, number]])

    if container == "array":
        table = da.map_blocks(
            lambda block_id: rows(block_id[0]),
            chunks=((2,) * 5, (2,)),
            dtype=float,
            meta=np.empty((0, 2)),
        )
        y_true, y_score = table[:, 0], table[:, 1]
    else:
        import pandas as pd

        dd = request.getfixturevalue("dd")
        frame = dd.from_map(
            lambda number: pd.DataFrame(rows(number), columns=["label", "score"]),
            range(5),
            meta=pd.DataFrame({"label": [0.0], "score": [0.5]}),
        )
        y_true, y_score = frame["label"], frame["score"]
    made.clear()
    ranking = Ranking.from_dask(y_true, y_score, counts=counts)
    all_known = counts == "all"
    expected = Ranking([1, 1, 1, 1, 5, 1], [1, 1, 1, 1, 0, 1], has_all_ties=all_known)
    assert_same(ranking, expected)
    assert sorted(made) == sorted([*range(5)] * n_passes)


@pytest.mark.parametrize("counts", ["all", "positives"])
def test_memory_is_that_of_chunks(counts):
    n = 2_000_000
    rng = da.random.default_rng(0)
    y_true = rng.random(n, chunks=50_000) < 1e-3
    y_score = rng.random(n, chunks=50_000).round(4)
    with dask.config.set(scheduler="synchronous"):
        Ranking.from_dask(y_true[:100], y_score[:100])  # imports
        tracemalloc.start()
        ranking = Ranking.from_dask(y_true, y_score, counts=counts)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert ranking.n_samples == n
    assert 50_000 * 8 < peak < n * 8 / 3


# Errors.


@pytest.mark.parametrize("n_chunks", [1, 5])
def test_too_many_distinct_scores(n_chunks):
    y_true, y_score = np.arange(20) % 2, np.arange(20.0)
    labels, scores = cut(y_true, 20 // n_chunks), cut(y_score, 20 // n_chunks)
    assert Ranking.from_dask(labels, scores, max_distinct=20).n_blocks == 20
    with pytest.raises(
        ValueError,
        match=r"more distinct values than max_distinct=19; 20 were found so far: use "
        r"counts='positives', .*, round the scores to fewer digits, .* or increase max_distinct",
    ):
        Ranking.from_dask(labels, scores, max_distinct=19)
    few = Ranking.from_dask(labels, scores, counts="positives", max_distinct=10)
    assert few.n_positives == 10
    with pytest.raises(
        ValueError,
        match=r"distinct values of positives than max_distinct=9; 10 were found so far: round",
    ):
        Ranking.from_dask(labels, scores, counts="positives", max_distinct=9)


GOOD = cut([0.1, 0.2, 0.3, 0.4], 2)
LABELS = cut([0, 1, 1, 0], 2)

WRONG = {
    "numpy": (
        LABELS,
        np.array([0.1, 0.2]),
        TypeError,
        r"y_score must be a dask array or a dask series; got an object of type ndarray: .*, or "
        r"pass data in memory to Ranking.from_scores",
    ),
    "delayed": (
        dask.delayed([0, 1, 1, 0]),
        GOOD,
        TypeError,
        r"y_true must be a dask array or .*; got an object of type Delayed",
    ),
    "lengths": (
        LABELS[:3],
        GOOD,
        ValueError,
        r"y_true and y_score must have the same length; got 3 labels and 4 scores",
    ),
    "unknown lengths": (
        LABELS[LABELS > 0],
        GOOD,
        ValueError,
        r"In chunk \d: y_true and y_score must have the same length; got 1 labels and 2 scores",
    ),
    "unknown chunks": (
        LABELS[LABELS > 0],
        GOOD.rechunk(1),
        ValueError,
        r"unknown chunk sizes must have the same number of chunks; got 2 and 4: use columns of "
        r"one frame, or call compute_chunk_sizes\(\)",
    ),
    "two columns": (
        LABELS,
        da.ones((4, 2), chunks=2),
        ValueError,
        r"y_score must be one-dimensional; got shape \(4, 2\): .*predict_proba",
    ),
    "scalar": (LABELS.sum(), GOOD, ValueError, r"y_true must be a one-dimensional array-like"),
    "empty": (LABELS[:0], GOOD[:0], ValueError, r"y_true is empty: at least one item"),
    "nothing left": (
        LABELS[LABELS > 1],
        GOOD[GOOD > 1],
        ValueError,
        r"y_true is empty: at least one item",
    ),
    "nan": (
        LABELS,
        cut([0.1, 0.2, 0.3, np.nan], 2),
        ValueError,
        r"In chunk 1: y_score must be finite; got nan at position 1: drop such items",
    ),
    "infinite": (
        LABELS,
        cut([-np.inf, 0.2, 0.3, 0.1], 2),
        ValueError,
        r"In chunk 0: y_score must be finite; got -inf at position 0",
    ),
    "text scores": (
        LABELS,
        cut(["a", "b", "c", "d"], 2),
        TypeError,
        r"In chunk \d: y_score must hold real numbers; got values of type <U1",
    ),
    "nan label": (
        cut([0.0, 1.0, np.nan, 0.0], 2),
        GOOD,
        ValueError,
        r"In chunk 1: y_true holds a missing or infinite label, nan at position 0",
    ),
    "continuous label": (
        cut([0.0, 1.0, 0.5, 0.0], 2),
        GOOD,
        ValueError,
        r"In chunk 1: y_true must hold class labels; got the continuous value 0.5",
    ),
    "three labels in a chunk": (
        cut([0, 1, 2, 0], 4),
        GOOD.rechunk(4),
        ValueError,
        r"y_true holds 3 different labels \(0, 1, 2\)",
    ),
    "three labels in all": (
        cut([0, 1, 1, 2], 2),
        GOOD,
        ValueError,
        r"y_true holds 3 different labels \(0, 1, 2\)",
    ),
    "no such label in a chunk": (
        cut([0, 2, 0, 0], 2),
        GOOD,
        ValueError,
        r"pos_label=1 is not a label of y_true, whose labels are 0, 2",
    ),
    "no such label in all": (
        cut([0, 0, 2, 2], 2),
        GOOD,
        ValueError,
        r"pos_label=1 is not a label of y_true, whose labels are 0, 2",
    ),
    "two kinds of labels": (
        cut(np.array([0, 0, "no", "no"], dtype=object), 2),
        GOOD,
        ValueError,
        r"y_true must hold labels of one kind, .*; got 0 and 'no' in different chunks",
    ),
}


@pytest.mark.parametrize("counts", ["all", "positives"])
@pytest.mark.parametrize(
    ("y_true", "y_score", "error", "message"), WRONG.values(), ids=WRONG.keys()
)
def test_wrong_collections(y_true, y_score, error, message, counts):
    with pytest.raises(error, match=message):
        Ranking.from_dask(y_true, y_score, counts=counts)


def test_whole_frames_are_refused(dd):
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"y": [0, 1], "s": [0.1, 0.2]}), npartitions=1)
    with pytest.raises(TypeError, match=r"got an object of type DataFrame: use a column of a"):
        Ranking.from_dask(frame[["y"]], frame["s"])
    with pytest.raises(TypeError, match=r"y_true must be .* got an object of type Series"):
        Ranking.from_dask(pd.Series([0, 1]), frame["s"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"counts": "some"}, ValueError, r"counts must be 'all' or 'positives'; got 'some'"),
        ({"max_distinct": 0}, ValueError, r"max_distinct must be at least 1; got 0"),
        ({"max_distinct": 1e7}, TypeError, r"max_distinct must be an integer; got 10000000.0"),
        ({"pos_label": None}, TypeError, r"pos_label must be a number, .*; got None"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        Ranking.from_dask(LABELS, GOOD, **options)


@pytest.mark.parametrize("second", [[0.1, 0.2, 0.25, 0.4], [0.1, 0.2, 0.3, 0.4, 0.5]])
def test_scores_that_change_between_the_passes(second):
    values = iter([np.array([0.1, 0.2, 0.3, 0.4]), np.array(second)])
    changing = da.map_blocks(
        lambda: next(values), chunks=((4,),), dtype=float, meta=np.empty(0, dtype=float)
    )
    with pytest.raises(ValueError, match=r"different values when .* second time: .*persist\(\)"):
        Ranking.from_dask(cut([0, 1, 1, 0], 4), changing, counts="positives")


# On a cluster.


@pytest.fixture(scope="module")
def client():
    """A cluster of two processes on this machine."""
    # Where there is a fork, workers are copies of one process that has imported what they need.
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    with dask.config.set({"distributed.worker.multiprocessing-method": method}):
        dask_distributed.utils.get_mp_context()  # sets another list of imports, once
        multiprocessing.set_forkserver_preload(["distributed", "sklearn_rankinf._ranking"])
        with (
            dask_distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address=None
            ) as cluster,
            dask_distributed.Client(cluster) as client,
        ):
            yield client


def n_transitions(client):
    """How many changes of state of a task the scheduler has seen."""
    return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)


def permuted(**options):
    y_true, y_score = made_data(n=2000, share=0.1)
    result = average_precision_test(
        y_true, y_score, method="permutation", n_resamples=20_000, **options
    )
    # Eight random streams or so.
    assert len(result.null_distribution._sampler.chunks(20_000)) > 2
    return result


def weighted(**options):
    y_true, y_score = made_data(n=500, share=0.1)
    weights = np.random.default_rng(1).random(500)
    return average_precision_test(
        y_true, y_score, sample_weight=weights, n_resamples=2000, **options
    )


def over_queries(**options):
    y_true, y_score = made_data(n=42, share=0.25)
    groups = np.repeat(np.arange(4), [9, 10, 11, 12])
    return average_precision_test(y_true, y_score, groups=groups, **options)


def over_shared_queries(**options):
    y_true, y_score = made_data(n=200, share=0.1)
    noise = np.random.default_rng(1).normal(size=(3, 200))
    return average_precision_test(
        np.tile(y_true, 3),
        (y_score + noise).ravel(),
        groups=np.repeat(np.arange(3), 200),
        clusters=np.tile(np.arange(200), 3),
        n_resamples=2000,
        **options,
    )


def numbers(result):
    """All that is random or the outcome of a long computation in a result."""
    found = [result.statistic, result.log10_pvalue, result.zscore]
    found += list(np.atleast_1d(result.null_distribution.isf(np.linspace(0.01, 0.99, 50))))
    if hasattr(result, "query_log10_pvalue"):
        found += list(result.query_log10_pvalue)
    return np.array(found)


@pytest.mark.parametrize(
    "run",
    [
        permuted,
        over_queries,
        *(pytest.param(run, marks=pytest.mark.long) for run in (weighted, over_shared_queries)),
    ],
)
def test_every_backend_gives_the_same_numbers(client, run):
    _DISTRIBUTIONS.clear()
    expected = numbers(run())
    for backend, options in (
        ("pickled", {}),
        ("dask", {}),
        ("dask", {"n_jobs": 2}),
    ):
        _DISTRIBUTIONS.clear()
        before = n_transitions(client)
        with parallel_config(backend=backend, n_jobs=2):
            found = run(**options)
        # The other backends leave the cluster alone.
        assert (n_transitions(client) > before) == (backend == "dask")
        assert_array_equal(numbers(found), expected)


def die_once(block, flag, block_id=None):
    """Kill the worker that this runs on, if it is the first to come here."""
    dask_distributed.get_worker()  # nothing but a worker may go on
    if block_id == (11,):
        try:
            flag.touch(exist_ok=False)
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed")
@pytest.mark.parametrize("counts", ["all", pytest.param("positives", marks=pytest.mark.long)])
def test_a_killed_worker_changes_nothing(client, counts, tmp_path):
    y_true, y_score = made_data(n=2000)
    labels, scores = cut(y_true, 100), cut(y_score, 100)
    flag = tmp_path / "killed"
    dying = scores.map_blocks(die_once, flag, dtype=float, meta=np.empty(0))
    before = set(client.run(os.getpid).values())
    ranking = Ranking.from_dask(labels, dying, counts=counts)
    assert flag.exists()
    client.wait_for_workers(2, timeout=60)
    assert len(before & set(client.run(os.getpid).values())) == 1
    if counts == "all":
        assert_same(ranking, Ranking.from_scores(y_true, y_score))
    else:
        assert_same(ranking, with_runs_merged(y_true.tolist(), y_score.tolist()))
