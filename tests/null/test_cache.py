"""Distributions that are kept."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from by_name import ap_null_distribution, dcg_null_distribution

from sklearn_rankinf import average_precision_pvalue
from sklearn_rankinf._engine.cache import DistributionCache
from sklearn_rankinf._engine.conditioning import SETTINGS
from sklearn_rankinf._engine.listed import ListedDistribution
from sklearn_rankinf._null import distribution as nd
from sklearn_rankinf._statistics.caching import cached_property

pytestmark = pytest.mark.numeric


@pytest.fixture(autouse=True)
def _empty_cache():
    nd._DISTRIBUTIONS.clear()
    yield
    nd._DISTRIBUTIONS.clear()


def null_of(*arguments, **options):
    return ap_null_distribution(*arguments, **options)._distribution


def test_equal_arguments_find_the_same_distribution():
    sizes = [2] * 100
    assert null_of(400, 20) is null_of(400, 20)
    assert null_of(200, 20, tie_sizes=sizes) is null_of(200, 20, tie_sizes=np.array(sizes))
    permuted = {"method": "permutation", "n_resamples": 99}
    assert null_of(400, 20, **permuted) is null_of(400, 20, random_state=0, **permuted)


def test_different_arguments_do_not():
    distributions = [
        null_of(400, 20),
        null_of(400, 21),
        null_of(401, 20),
        null_of(400, 20, k=100),
        null_of(400, 20, k=10),
        null_of(400, 20, k=10, normalize="positives"),
        null_of(400, 20, tie_sizes=[2] * 200),
        null_of(400, 20, tie_sizes=[1] * 2 + [2] * 199),
        null_of(400, 20, tie_sizes=[2] * 199 + [1] * 2),
        null_of(400, 20, method="normal"),
        null_of(400, 20, method="permutation", n_resamples=99),
        null_of(400, 20, method="permutation", n_resamples=98),
        null_of(400, 20, method="permutation", n_resamples=99, random_state=1),
        nd.tolerating(ap_null_distribution(400, 20), 0.01)._distribution,
    ]
    assert len({id(null) for null in distributions}) == len(distributions)


def test_distributions_of_few_blocks_are_not_kept():
    sizes = [3, 9, 62, 326]
    assert null_of(400, 23, tie_sizes=sizes) is not null_of(400, 23, tie_sizes=sizes)
    assert len(nd._DISTRIBUTIONS) == 0


def test_no_more_distributions_are_kept_than_the_last_ones():
    cache = DistributionCache(max_distributions=3, max_numbers=50)
    made = []

    def make(name):
        made.append(name)
        return object()

    for name in "abcadae":
        cache.find(name, lambda name=name: make(name))
    # a was used again each time, b and c were pushed out by d and e.
    assert made == list("abcde")
    assert len(cache) == 3
    cache.find("a", lambda: make("a"))
    cache.find("b", lambda: make("b"))
    assert made == list("abcdeb")


def test_long_lists_are_not_kept():
    cache = DistributionCache(max_distributions=3, max_numbers=50)
    # Five numbers an atom: the third list pushes the first two out, the last is too long.
    for n_atoms, kept in ((3, 1), (4, 2), (10, 1), (11, 0)):
        cache.find(n_atoms, lambda n=n_atoms: ListedDistribution(np.arange(float(n)), np.zeros(n)))
        assert len(cache) == kept


def test_lists_that_are_made_later_count():
    # Tails are conditioned on the hits in the large block, and the rest is listed.
    sizes = [2] * 22 + [440] + [1] * 9
    null = dcg_null_distribution(493, 20, k=486, tie_sizes=sizes)
    assert null._distribution.n_kept == 0
    null.pvalue(null.mean() + null.std() * np.array([-1.0, 0.5, 2.0]))
    assert 1e5 < null._distribution.n_kept <= SETTINGS.max_kept


def test_a_failure_is_not_kept():
    cache = DistributionCache(max_distributions=3, max_numbers=50)
    with pytest.raises(ZeroDivisionError):
        cache.find("a", lambda: 1 / 0)
    assert cache.find("a", lambda: 5) == 5


@pytest.mark.parametrize("method", ["analytic", "permutation"])
def test_threads_find_the_same_results(method):
    x = np.linspace(0.02, 0.3, 10)
    options = {"method": method, "n_resamples": 999}
    alone = [ap_null_distribution(300, m, **options).pvalue(x) for m in (15, 16, 17)]
    nd._DISTRIBUTIONS.clear()
    found, start = [], threading.Barrier(4)

    def compute(order):
        start.wait()
        for i in order:
            null = ap_null_distribution(300, (15, 16, 17)[i], **options)
            found.append((i, np.array([null.pvalue(value) for value in x])))

    orders = [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)]
    threads = [threading.Thread(target=compute, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    for i, pvalues in found:
        np.testing.assert_allclose(pvalues, alone[i], rtol=1e-10)


@pytest.mark.parametrize("tie_sizes", [None, [1] * 40 + [3] * 20, [20] * 5])
def test_results_do_not_depend_on_earlier_calls(tie_sizes):
    x = np.random.default_rng(0).permutation(np.linspace(0.08, 0.9, 8))
    null = ap_null_distribution(100, 12, tie_sizes=tie_sizes)
    together = null.pvalue(x)
    nd._DISTRIBUTIONS.clear()
    null = ap_null_distribution(100, 12, tie_sizes=tie_sizes)
    one_by_one = [null.pvalue(value) for value in x[::-1]][::-1]
    assert np.all(np.abs(one_by_one - together) <= null.relative_error(x) * together)
    for value, p in zip(x[:3], together[:3], strict=True):
        nd._DISTRIBUTIONS.clear()
        alone = ap_null_distribution(100, 12, tie_sizes=tie_sizes).pvalue(value)
        assert abs(alone - p) <= null.relative_error(value) * p


def test_the_same_call_gives_the_same_number_again():
    rng = np.random.default_rng(0)
    y_true, y_score = rng.integers(2, size=30), rng.random(30)
    first = average_precision_pvalue(y_true, y_score)
    assert average_precision_pvalue(y_true, y_score) == first


FORKED = """
import os, signal, sys, threading, time
from sklearn_rankinf import ap_null_distribution

started = threading.Event()


def compute():
    started.set()
    # About two seconds, in attributes that are computed once and are shared by all threads.
    ap_null_distribution(20_000, 800, tie_sizes=[2] * 10_000).pvalue(0.3)


threading.Thread(target=compute, daemon=True).start()
started.wait()
for pause in (0.02, 0.1, 0.2):
    time.sleep(pause)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        found = ap_null_distribution(400, 20, tie_sizes=[2] * 200).pvalue(0.3)
        os._exit(0 if 0 < found < 1 else 1)
    _, status = os.waitpid(child, 0)
    if status:
        os._exit(2)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_during_a_computation_does_not_hang():
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0


def test_no_lock_is_held_while_an_attribute_is_computed():
    entered, leave = threading.Event(), threading.Event()

    class Slow:
        @cached_property
        def value(self):
            """The value."""
            entered.set()
            assert leave.wait(60)
            return 1

    first, other = Slow(), Slow()
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    assert entered.wait(60)
    again = threading.Thread(target=lambda: other.value, daemon=True)
    entered.clear()
    again.start()
    # The second object enters the computation while the first one is in it.
    assert entered.wait(60)
    leave.set()
    thread.join()
    again.join()
    assert vars(first) == vars(other) == {"value": 1}
    assert Slow.value.__doc__ == "The value."


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_the_lock_of_a_cache():
    cache = DistributionCache(2, 100)
    with_lock = threading.Event()

    def hold():
        with cache._lock:
            with_lock.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    assert with_lock.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if cache.find("key", lambda: 3) == 3 else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert cache.find("key", lambda: 4) == 4
