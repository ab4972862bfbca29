"""Arrays of other libraries give the results of the same arrays of NumPy, or are refused."""

import array_api_strict
import numpy as np
import pytest
from scipy import sparse

from sklearn_rankinf import (
    PrecisionRecallPosterior,
    Ranking,
    metric_comparison_test,
    metric_group_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    metric_test,
    rank_significance_report,
    recall_at_k_score,
)

N = 60
RNG = np.random.default_rng(0)
LABELS = (RNG.random(N) < 0.2).astype(int)
# Ties across the classes and zeros at the bottom.
SCORES = np.maximum(np.round(RNG.normal(size=N) + LABELS, 1), 0.0)
WEIGHTS = RNG.random(N) + 0.1
UNITS = np.arange(N) % 6
PAIRS = np.repeat(np.arange(N // 2), 2)
TABLE = np.stack([SCORES, -SCORES, SCORES**2], axis=1)
INDICATORS = np.stack([LABELS, 1 - LABELS, LABELS], axis=1)
PREDICTED = (SCORES > 0.5).astype(int)
DRAWS = {"method": "permutation", "n_resamples": 99, "random_state": 0}


def libraries():
    """The strict implementation of the standard, and torch where it is installed."""
    yield pytest.param(array_api_strict.asarray, id="array_api_strict")
    try:
        import torch
    except ImportError:
        return
    yield pytest.param(torch.asarray, id="torch")


CALLS = {
    "test": lambda a: metric_test(a(LABELS), a(SCORES)),
    "booleans and floats of 32 bits": lambda a: metric_test(
        a(LABELS == 1), a(SCORES.astype(np.float32))
    ),
    "columns": lambda a: metric_test(a(LABELS[:, None]), a(SCORES[:, None])),
    "numbers in a list": lambda a: metric_test([a(v) for v in LABELS], [a(v) for v in SCORES]),
    "grades": lambda a: metric_test(a(UNITS), a(SCORES), metric="ndcg"),
    "strata": lambda a: metric_test(a(LABELS), a(SCORES), strata=a(UNITS), **DRAWS),
    "order": lambda a: metric_test(a(LABELS), a(SCORES), order=a(np.arange(N, 0, -1)), **DRAWS),
    "clusters": lambda a: metric_test(a(LABELS[PAIRS]), a(SCORES), clusters=a(PAIRS), **DRAWS),
    "queries": lambda a: metric_test(a(PREDICTED), a(TABLE[:, 2]), groups=a(UNITS)),
    "classes": lambda a: metric_test(a(UNITS % 3), a(TABLE)),
    "indicators": lambda a: metric_test(a(INDICATORS), a(TABLE)),
    "interval of clusters": lambda a: metric_interval(
        a(LABELS), a(SCORES), metric="roc_auc", clusters=a(UNITS)
    ),
    "interval of weights": lambda a: metric_interval(
        a(LABELS), a(SCORES), metric="roc_auc", sample_weight=a(WEIGHTS)
    ),
    "groups": lambda a: metric_group_comparison_test(
        a(LABELS), a(SCORES), group=a(UNITS % 2), metric="roc_auc", method="influence"
    ),
    "two rankers": lambda a: metric_comparison_test(
        a(LABELS), a(TABLE[:, :2]), metric="roc_auc", clusters=a(UNITS)
    ),
    "rankers by name": lambda a: metric_multiple_comparison_test(
        a(LABELS), {"one": a(SCORES), "other": a(-SCORES)}, metric="roc_auc"
    ),
    "report": lambda a: rank_significance_report(a(LABELS), a(SCORES)),
    "score": lambda a: recall_at_k_score(a(LABELS), a(SCORES), k=5),
    "ranking": lambda a: Ranking.from_scores(a(LABELS), a(SCORES)),
    "counts": lambda a: Ranking.from_counts(a(np.array([1, 3, 5])), a(np.array([1, 0, 2]))),
    "predicted classes": lambda a: PrecisionRecallPosterior.from_predictions(
        a(LABELS), a(PREDICTED)
    ),
}


def numbers(result):
    if isinstance(result, dict):
        return {name: numbers(own) for name, own in result.items()}
    return str(result.to_dict()) if hasattr(result, "to_dict") else repr(result)


@pytest.mark.filterwarnings("ignore:Circular shifts leave 60")
@pytest.mark.parametrize("library", list(libraries()))
@pytest.mark.parametrize("call", list(CALLS.values()), ids=list(CALLS))
def test_same_as_numpy(call, library):
    assert numbers(call(library)) == numbers(call(np.asarray))


@pytest.mark.parametrize(
    "store", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array]
)
def test_sparse_indicators(store):
    assert numbers(metric_test(store(INDICATORS), TABLE)) == numbers(metric_test(INDICATORS, TABLE))


def test_sparse_scores():
    with pytest.raises(TypeError, match=r"[Ss]parse.*toarray\(\)"):
        metric_test(INDICATORS, sparse.csr_array(TABLE))


class Tensor:
    """What is used of a tensor, on a device of a kind of DLPack."""

    def __init__(self, values, kind=1, requires_grad=False):
        self.values, self.kind, self.requires_grad = values, kind, requires_grad
        self.shape, self.ndim, self.device = values.shape, values.ndim, "cuda:0"

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def detach(self):
        return Tensor(self.values, self.kind)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return (Tensor(value) for value in self.values)

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.kind == 2:
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        return self.values


class OnlyDlpack:
    """An array that is read by its buffer alone."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)


@pytest.mark.parametrize("read", [Tensor, OnlyDlpack, lambda v: Tensor(v, requires_grad=True)])
def test_exchange_of_buffers(read):
    assert numbers(metric_test(LABELS, read(SCORES))) == numbers(metric_test(LABELS, SCORES))


def test_pinned_memory():
    assert numbers(metric_test(LABELS, Tensor(SCORES, kind=3))) == numbers(
        metric_test(LABELS, SCORES)
    )


@pytest.mark.parametrize("name", ["y_true", "y_score", "strata", "clusters", "groups", "order"])
def test_other_device(name):
    data = {"y_true": LABELS, "y_score": SCORES, name: Tensor(UNITS, kind=2)}
    message = rf"^{name} of type Tensor is on the device cuda:0, .* {name}\.cpu\(\)"
    with pytest.raises(TypeError, match=message):
        metric_test(**data)


def test_other_device_of_weights_and_counts():
    with pytest.raises(TypeError, match=r"sample_weight\.cpu\(\)"):
        metric_interval(LABELS, SCORES, sample_weight=Tensor(WEIGHTS, kind=2))
    with pytest.raises(TypeError, match=r"tie_sizes\.cpu\(\)"):
        Ranking.from_counts(Tensor(UNITS, kind=2), UNITS)


def test_array_that_numpy_does_not_read():
    elsewhere = array_api_strict.asarray(SCORES, device=array_api_strict.Device("device1"))
    with pytest.raises(TypeError, match=r"y_score of type Array cannot be read.*device1.*numpy"):
        metric_test(LABELS, elsewhere)


def test_list_of_tensors_as_names():
    # Two tensors are never one name, however equal their numbers are.
    with pytest.raises(TypeError, match=r"clusters holds objects of type Tensor.*\.item\(\)"):
        metric_interval(LABELS, SCORES, clusters=[Tensor(v) for v in UNITS])
