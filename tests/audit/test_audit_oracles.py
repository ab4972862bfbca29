"""The oracles of the audit against enumeration from the definitions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from combinations import checkered
from scipy.stats import hypergeom
from sklearn.metrics import average_precision_score, f1_score, ndcg_score, roc_auc_score

from sklearn_rankinf import (
    Bedroc,
    Ranking,
    ReciprocalRank,
    RobustInitialEnhancement,
    metric_test,
    precision_at_k_score,
)

from .cases import NUMBERS, Case, GeometricWeights, Ranked, StepWeights, written
from .far_tails import QUICK as NEAR
from .far_tails import THOROUGH as FAR
from .far_tails import (
    BandLimited,
    CountsSampling,
    ImportanceSampling,
    Listed,
    TiltedMean,
    WholeNumbers,
)
from .oracles import (
    THOROUGH,
    Draws,
    LatticeBounds,
    TiltedDraws,
    TwoHalves,
    draw_sums,
    exact_atoms,
    few_apart,
    oracle_of,
    reciprocal_rank_atoms,
    sum_of,
)
from .rankers import FAMILIES, FITTED, FRAUDS, Ranker

RANKINGS = [
    Ranked(9, 4, None),
    Ranked(9, 1, ((3, 1), (1, 6))),
    Ranked(10, 9, ((1, 2), (4, 1), (1, 4))),
    Ranked(10, 8, ((1, 2), (4, 1), (2, 2))),
    Ranked(10, 2, ((2, 2), (1, 2), (4, 1))),
    Ranked(9, 5, ((4, 1), (1, 3), (2, 1))),
    Ranked(9, 6, ((5, 1), (4, 1))),
]
METRICS = [
    ("average_precision", ()),
    ("average_precision", (("k", 4),)),
    ("average_precision", (("k", 6), ("normalize", "positives"))),
    ("roc_auc", ()),
    ("dcg", (("k", 5),)),
    ("ndcg", (("normalize", True),)),
    ("bedroc", (("alpha", 20.0),)),
    ("bedroc", (("alpha", 2.0),)),
    ("rie", (("alpha", 20.0),)),
    ("precision_at_k", (("k", 5),)),
    ("f_score_at_k", (("k", 5),)),
    ("user", (("statistic", GeometricWeights(0.1, 0.9)),)),
    ("user", (("statistic", StepWeights(2)),)),
]


def mean_over_orders(sizes, labels, value):
    """Mean over all orders of the items of every block of a value of the labels in rank order."""
    ends = np.cumsum(sizes)
    blocks = [labels[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    orders = [sorted(set(itertools.permutations(block))) for block in blocks]
    values = [value(np.array(list(itertools.chain(*each)))) for each in itertools.product(*orders)]
    return math.fsum(values) / len(values)


def value_of(case, labels):
    """The statistic of labels in rank order, by scikit-learn's functions or the definition."""
    sizes = case.one.sizes()
    n, m = case.one.n, case.one.m
    score = -np.repeat(np.arange(sizes.size), sizes)
    k = case.option("k")
    if case.metric == "average_precision":
        if k is None:
            return average_precision_score(labels, score)
        divisor = m if case.option("normalize") == "positives" else min(m, k)
        ends = np.cumsum(sizes)
        # Blocks that end by k are thresholds; the one that k cuts is put in random order.
        whole = int(ends[ends <= k].max(initial=0))
        n_whole = int(np.searchsorted(ends, whole, side="right")) if whole else 0
        hits = [labels[end - size : end].sum() for end, size in zip(ends, sizes, strict=True)]
        total = sum(hits[b] * sum(hits[: b + 1]) / ends[b] for b in range(n_whole))

        def behind(ordered):
            ranks = np.flatnonzero(ordered) + 1
            inside = (ranks > whole) & (ranks <= k)
            return float((np.arange(1, m + 1) / ranks)[inside].sum())

        return (total + mean_over_orders(sizes, labels, behind)) / divisor
    if case.metric == "roc_auc":
        return roc_auc_score(labels, score)
    if case.metric == "dcg":
        discount = 1.0 / np.log2(np.arange(2.0, n + 2.0)) * (np.arange(n) < k)
        return mean_over_orders(sizes, labels, lambda ordered: float(ordered @ discount))
    if case.metric == "ndcg":
        return ndcg_score([labels], [score])
    if case.metric == "bedroc":
        return Bedroc(alpha=case.option("alpha"))(labels, score)
    if case.metric == "rie":
        return RobustInitialEnhancement(alpha=case.option("alpha"))(labels, score)
    if case.metric == "precision_at_k":
        return precision_at_k_score(labels, score, k=k)
    if case.metric == "f_score_at_k":
        chosen = np.arange(n) < k
        return mean_over_orders(sizes, labels, lambda ordered: f1_score(ordered, chosen))
    weights = case.option("statistic").weights(np.arange(1, n + 1), n, m)
    return mean_over_orders(sizes, labels, lambda ordered: float(ordered @ weights))


def enumerated(case):
    """Sorted values of all placements."""
    values = []
    for ranks in itertools.combinations(range(case.one.n), case.one.m):
        labels = np.zeros(case.one.n, dtype=int)
        labels[list(ranks)] = 1
        values.append(value_of(case, labels))
    return np.sort(values)


# Each metric with two rankings, each ranking with three metrics or more, and all with --long.
PAIRS = [
    pytest.param(
        ranking, metric, marks=[pytest.mark.long] * ((2 * i + j) % 7 > 1), id=f"{ranking}-{metric}"
    )
    for i, metric in enumerate(METRICS)
    for j, ranking in enumerate(RANKINGS)
]


@pytest.mark.parametrize(("ranking", "metric"), PAIRS)
def test_oracles_agree_with_enumeration(ranking, metric):
    case = Case(*metric, (ranking,), "", 0)
    values = enumerated(case)
    total = sum_of(case, ranking)
    drawn = draw_sums(total, np.random.default_rng(0), 2000)
    lattice = LatticeBounds(total, float(drawn.max()) + 1e-9, 1e7)
    assert lattice.is_affordable
    tried = (TwoHalves(total, most) for most in (10, 30, 100, 300, 1000))
    halves = next(half for half in tried if half.is_affordable)
    tilted = TiltedDraws(total, float(drawn.std()) + 1e-9, np.random.default_rng(1), THOROUGH)
    assert tilted.is_affordable
    tilted.n_draws = 1000
    tails = {
        "exact": exact_atoms(total, 10**5),
        "halves": halves,
        "apart": few_apart(total, 10**5),
        "lattice": lattice,
        "draws": Draws(drawn),
        "tilted": tilted,
    }
    assert (tails["apart"] is not None) == (min(total.n_counted, total.n - total.n_counted) <= 2)
    x = np.unique(values)
    thresholds = np.concatenate([x, (x[1:] + x[:-1]) / 2])
    for t in thresholds[:: 1 + thresholds.size // 12].tolist():
        above = np.mean(values >= t * (1 - 1e-12) - 1e-15)
        below = np.mean(values <= t * (1 + 1e-12) + 1e-15)
        truth = {"greater": above, "less": below, "two-sided": min(1, 2 * min(above, below))}
        for name, distribution in tails.items():
            if distribution is None:
                continue
            for alternative, p in truth.items():
                lower, upper = oracle_of(name, total, distribution).pvalue(t, alternative)
                assert lower - 1e-12 <= p <= upper + 1e-12
                if name in ("exact", "halves", "apart") and t > 1e-9:
                    assert upper - lower <= 1e-12


@pytest.mark.parametrize("ranking", RANKINGS, ids=str)
def test_reciprocal_ranks_agree_with_enumeration(ranking):
    score = -np.repeat(np.arange(ranking.n_blocks), ranking.sizes())
    values = []
    for ranks in itertools.combinations(range(ranking.n), ranking.m):
        labels = np.zeros(ranking.n, dtype=int)
        labels[list(ranks)] = 1
        values.append(ReciprocalRank()(labels, score))
    atoms = reciprocal_rank_atoms(ranking, 10**5)
    assert math.isclose(atoms.probabilities.sum(), 1.0)
    for t in np.unique(values).tolist():
        p = np.mean(np.array(values) >= t * (1 - 1e-12))
        assert atoms.at_least(t * (1 - 1e-12), t * (1 - 1e-12)) == pytest.approx((p, p))


def test_probabilities_out_of_the_range_of_floats_are_no_zeros():
    # All of 400 hits in a first block of 400 among 20,000 items have a probability of 1e-852.
    ranking = Ranked(20_000, 400, ((400, 1), (19_600, 1)))
    low, high = Listed(reciprocal_rank_atoms(ranking, 10**6)).log_pvalue(1.0)
    assert low <= -math.log(math.comb(20_000, 400)) <= high < -600.0


def exact_ways(sizes, m, gain):
    """Numbers of placements by their value, as fractions, one block after the other."""
    ways = {(0, Fraction(0)): 1}
    end = 0
    for size in sizes:
        end += size
        after = {}
        for (h, value), count in ways.items():
            for y in range(min(size, m - h) + 1):
                key = h + y, value + gain(h, y, end, size)
                after[key] = after.get(key, 0) + count * math.comb(size, y)
        ways = after
    return {value: count for (h, value), count in ways.items() if h == m}


FAR_SIZES = {
    "growing": ((1, 2, 3, 4, 5, 6), 4),
    "few levels": ((6, 10, 20, 60, 150), 9),
    "equal": ((6,) * 7, 5),
    "plateau at the top": ((12, 1, 1, 1, 2, 1, 30), 5),
}


@pytest.mark.parametrize(("name", "metric"), checkered(FAR_SIZES, ["average_precision", "roc_auc"]))
def test_far_tails_agree_with_exact_fractions(name, metric):
    sizes, m = FAR_SIZES[name]
    n = sum(sizes)

    def gain(h, y, end, size):
        if metric == "average_precision":
            return Fraction(y * (h + y), m * end)
        # Negatives behind the block, and half of those in it.
        behind = (n - m) - (end - h - y)
        return Fraction(2 * y * behind + y * (size - y), 2 * m * (n - m))

    ways = exact_ways(sizes, m, gain)
    case = Case(metric, (), (Ranked(n, m, tuple((size, 1) for size in sizes)),), "", 0)
    total = sum_of(case, case.one)
    mean = TiltedMean([total], NEAR, 0)
    assert mean.is_affordable
    tails = [ImportanceSampling(mean), BandLimited(mean), BandLimited(mean, 100.0)]
    tails.append(CountsSampling(mean, total))
    if metric == "roc_auc":
        tails.append(WholeNumbers(total, FAR))
        assert tails[-1].is_affordable
    values = sorted(ways)
    for value in values[:: 1 + len(values) // 6] + values[-1:]:
        above = sum(count for other, count in ways.items() if other >= value)
        truth = math.log(above) - math.log(math.comb(n, m))
        for tail in tails:
            low, high = tail.log_pvalue(float(value))
            assert low - 1e-9 <= truth <= high + 1e-9
            if isinstance(tail, WholeNumbers):
                assert high - low < 1e-12


def test_band_limited_bounds_are_as_close_as_their_type():
    # Where the sum is smooth at the scale of the type the ends differ by a factor exp(1 / types).
    rng = np.random.default_rng(1)
    y = np.arange(5000) < 50
    scores = np.round(np.clip(rng.normal(size=5000) * 0.1 + 0.1 + 0.2 * y, 0, 1), 2)
    _, sizes = np.unique(-scores, return_counts=True)
    runs = tuple((int(size), 1) for size in sizes)
    case = Case("average_precision", (), (Ranked(5000, 50, runs),), "", 0)
    near, far = (TiltedMean([sum_of(case, case.one)], effort, 0) for effort in (NEAR, FAR))
    value = average_precision_score(y, scores)
    low, high = BandLimited(far, 8.0).log_pvalue(value)
    assert 0.1 < high - low < 0.14
    least, most = ImportanceSampling(near).log_pvalue(value)
    assert least < 0.5 * (low + high) < most


def test_far_tails_of_means_agree_with_exact_fractions():
    queries = [((2, 3, 6), 3), ((1, 4, 5, 1), 2)]
    values = {Fraction(0): Fraction(1)}
    totals = []
    for sizes, m in queries:
        n = sum(sizes)
        ways = exact_ways(sizes, m, lambda h, y, end, size, m=m: Fraction(y * (h + y), m * end))
        grown = {}
        for one, share in values.items():
            for other, count in ways.items():
                key = one + other / 2
                grown[key] = grown.get(key, 0) + share * Fraction(count, math.comb(n, m))
        values = grown
        case = Case("map", (), (Ranked(n, m, tuple((size, 1) for size in sizes)),), "", 0)
        totals.append(sum_of(case, case.one))
    mean = TiltedMean(totals, FAR, 0)
    for value in sorted(values)[::7]:
        truth = math.log(sum(share for other, share in values.items() if other >= value))
        for tail in (ImportanceSampling(mean), BandLimited(mean, 50.0)):
            low, high = tail.log_pvalue(float(value))
            assert low - 1e-9 <= truth <= high + 1e-9


def test_counts_by_bucket_have_a_tiny_pvalue():
    ranker = Ranker("frauds", 10, 95_010, 165, 0.0, 0)
    sizes, hits = ranker.blocks()
    assert (sizes.tolist(), hits.tolist()) == tuple(map(list, FRAUDS))
    case = Case("average_precision", (), (ranker.ranked(),), "", 0)
    total = sum_of(case, case.one)
    mean = TiltedMean([total], NEAR, 0)
    value = average_precision_score(*ranker.scores())
    low, _ = CountsSampling(mean, total).log_pvalue(value)
    # The limit is some standard errors below the p-value, of which one digit is known.
    assert math.log10(2e-78) - 0.5 < low / math.log(10.0) < math.log10(2.5e-78)
    # No tilt of the sum reaches the value: what is known from it is far above.
    least, most = ImportanceSampling(mean).log_pvalue(value)
    assert least < low < most


@pytest.mark.parametrize("family", [*FAMILIES, *FITTED])
def test_rankers_are_as_good_as_their_signal(family):
    setting = (FITTED if family in FITTED else FAMILIES)[family][1][-2:][0]
    aucs = []
    for signal in (0.0, 1.5, 20.0):
        ranker = Ranker(family, setting, 1500, 100, signal, 0)
        y, scores = ranker.scores()
        sizes, hits = ranker.blocks()
        assert (sizes.sum(), hits.sum(), y.sum()) == (1500, 100, 100)
        aucs.append(roc_auc_score(y, scores))
    # Without a signal, boosted trees and shallow ones follow the noise of the labels they rank.
    assert abs(aucs[0] - 0.5) < 0.25
    assert 0.6 < aucs[1] < aucs[2]
    assert aucs[2] > 0.9


@pytest.mark.parametrize("number", NUMBERS)
def test_parameters_are_written_in_every_numeric_type(number):
    text = written(20.0 if NUMBERS[number] else 20, number)
    assert text.startswith(number)
    assert eval(text, {"np": np, "Fraction": Fraction}) == 20
    # What the type does not hold is left alone.
    assert written(math.pi, "np.float32") == repr(math.pi)
    assert written(300, "np.uint8") == "300"


def test_sampling_leaves_open_what_rounding_errors_decide():
    # Hits behind the first 166 of 2070 items change the value by less than one in 1e12.
    ranker = Ranker("risk score", 3, 2070, 164, 4.0, 23)
    case = Case("bedroc", (("alpha", 321.9),), (ranker.ranked(),), "", 0)
    total = sum_of(case, case.one)
    value = metric_test(Ranking.from_counts(*ranker.blocks()), metric=Bedroc(321.9)).statistic
    low, high = ImportanceSampling(TiltedMean([total], NEAR, 0)).log_pvalue(value)
    assert low < hypergeom.logsf(144, 2070, 164, 166) < hypergeom.logsf(143, 2070, 164, 166) < high
