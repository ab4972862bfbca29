"""What the audit asks of the value that a ranker attains, and of the values around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from sklearn_rankinf import Ranking, make_significance_scorer, metric_test

from . import far_tails
from .cases import CLASSES, NAMES
from .checks import UNKNOWN, Audit
from .far_tails import FarTail
from .oracles import QUICK, THOROUGH, Effort, reciprocal_rank_atoms, sum_of
from .rankers import Given, RankedCase, Ranker

# Seconds of processor time that a first p-value and a first score may take, up to so many items
# and beyond.
SHORT = 50_000
SECONDS_OF_P, SECONDS_OF_P_OF_LONG = 2.0, 10.0
SECONDS_OF_SCORE, SECONDS_OF_SCORE_OF_LONG = 0.3, 10.0
# Shares of the way from the mean to the value that is attained, and beyond it.
AROUND = (0.5, 0.8, 0.95, 1.05)
# Rounding of a logarithm, and of the logarithms of the oracles.
ROUNDING = 2e-7


def resolution(log10_p: float) -> float:
    """What a score may be off, in powers of ten."""
    return 0.01 + 0.001 * abs(log10_p)


class RankerAudit(Audit):
    """The checks of a ranker, or of some as queries.

    What is asked first is a p-value or a score, by turns, so that neither finds the other's work
    done when its time is taken.
    """

    case: RankedCase

    def __init__(self, case: RankedCase, effort: Effort = QUICK) -> None:
        super().__init__(case, effort)
        self.call = case.shown()
        self.is_short = case.n_items <= SHORT
        self._known: dict[tuple[str, float], tuple[float, float]] = {}

    def _made(self) -> Any:
        return None

    def _all(self) -> None:
        case = self.case
        ways = self._oracles()
        if case.metric == "map":
            values = [_average_precision(ranker) for ranker in case.rankers]
            self._around(math.fsum(values) / len(values), ways)
            return
        score_first = case.seed % 2 == 1
        score = self._score(is_first=True) if score_first else 0.0
        result = self._test(ways, is_first=not score_first)
        if not score_first:
            score = self._score(is_first=False)
        self._compare_score(score, result, ways)
        self._better(score)
        if case.metric == "average_precision" and not case.options:
            self._roundings()
        self._around(float(result.statistic), ways)

    def _oracles(self) -> list[FarTail]:
        """What is affordable; the list of all values for reciprocal ranks."""
        case = self.case
        if case.metric == "reciprocal_rank":
            atoms = reciprocal_rank_atoms(case.one, self.effort.atoms)
            return [] if atoms is None else [far_tails.Listed(atoms)]
        totals = [sum_of(case, ranking) for ranking in case.rankings]
        known = [total for total in totals if total is not None]
        if len(known) < len(totals):
            return []
        effort = far_tails.THOROUGH if self.effort == THOROUGH else far_tails.QUICK
        return far_tails.far_tails(known, effort, case.seed)

    def _truth(self, way: FarTail, x: float) -> tuple[float, float]:
        """What an oracle says of a value, asked once."""
        key = way.name, x
        if key not in self._known:
            self._known[key] = way.log_pvalue(x)
        return self._known[key]

    # One value.

    def _metric(self) -> Any:
        return eval(self.case.statistic(), dict(NAMES))

    def _test(self, ways: Sequence[FarTail], is_first: bool) -> Any:
        case = self.case
        sizes, hits = case.rankers[0].blocks()
        limit = SECONDS_OF_P if self.is_short else SECONDS_OF_P_OF_LONG
        ranking = Ranking.from_counts(sizes, hits)

        def test() -> Any:
            return metric_test(ranking, metric=self._metric())

        result = self.ask("metric_test", test, most=limit if is_first else None)
        if result.method != "analytic":
            self.find("change of method", self.call, f"{result.method}, p = {result.pvalue:.3g}")
            return result
        error = float(result.pvalue_relative_error)
        log_p = float(result.log10_pvalue) * math.log(10.0)
        self._compare_log(float(result.statistic), log_p, error, ways)
        self._statistic(float(result.statistic))
        return result

    def _statistic(self, value: float) -> None:
        ways = {"average_precision": average_precision_score, "roc_auc": roc_auc_score}
        if self.case.metric in ways and not self.case.options:
            y, scores = self.case.rankers[0].scores()
            truth = float(ways[self.case.metric](y, scores))
            if abs(value - truth) > 1e-10 * truth:
                self.find("statistic", self.call, f"{value!r}, scikit-learn {truth!r}")

    def _score(self, is_first: bool, labels: np.ndarray | None = None) -> float:
        y, scores = self.case.rankers[0].scores()
        y = y if labels is None else labels
        features = np.asarray(scores, dtype=float)[:, None]
        given = Given().fit(features, y)
        scorer = make_significance_scorer(metric=self._metric())
        limit = SECONDS_OF_SCORE if self.is_short else SECONDS_OF_SCORE_OF_LONG
        score = self.ask("scorer", scorer, given, features, y, most=limit if is_first else None)
        return float(score)

    def _compare_score(self, score: float, result: Any, ways: Sequence[FarTail]) -> None:
        log10_p = float(result.log10_pvalue)
        error = float(result.pvalue_relative_error)
        allowed = 2.0 * resolution(log10_p) + (-math.log10(1.0 - error) if error < 1.0 else 0.0)
        if result.method == "analytic" and error <= UNKNOWN and abs(score + log10_p) > allowed:
            self.find("score and p", self.call, f"score {score:.6g}, log10 p {log10_p:.6g}")
        for way in ways:
            low, high = (end / math.log(10.0) for end in self._truth(way, float(result.statistic)))
            slack = resolution(score)
            if not -high - slack <= score <= -low + slack:
                text = f"{score:.6g}, {-high:.6g} to {-low:.6g} ({way.name})"
                self.find("wrong score", self.call, text)
                return

    def _better(self, score: float) -> None:
        """Labels of a better value never score lower.

        With ties average precision may fall as a positive moves up.
        """
        y, scores = self.case.rankers[0].scores()
        metric = self._metric()
        order = np.argsort(-np.asarray(scores, dtype=float), kind="stable")
        rng = np.random.default_rng(self.case.seed)
        positives, negatives = (np.flatnonzero(y[order] == label) for label in (1, 0))
        for _ in range(2):
            place = int(rng.choice(positives))
            ahead = negatives[negatives < place]
            if not ahead.size:
                continue
            better = y.copy()
            better[order[place]], better[order[int(rng.choice(ahead))]] = 0, 1
            if metric(better, scores) < metric(y, scores):
                continue
            other = self._score(is_first=False, labels=better)
            if other < score - 1e-9 * abs(score):
                self.find("score not monotone", self.call, f"{score!r}, {other!r} if better")

    def _roundings(self) -> None:
        """Rounding the scores to two decimals or to three changes no p-value by much.

        The rate function of the null distribution is 0 at the mean and convex, and that of average
        precision, whose right tail is longer than a normal one, grows no faster than the square of
        the distance. So where both values lie as many standard deviations above the mean, but for
        a quarter, the logarithms differ by a factor of at most 1.25 squared. Twice, and two powers
        of ten, are allowed.
        """
        y, scores = self.case.rankers[0].scores()
        spread = float(np.ptp(scores))
        if spread == 0.0:
            return
        shares = (np.asarray(scores, dtype=float) - np.min(scores)) / spread
        results = []
        for decimals in (2, 3):
            ranking = Ranking.from_scores(y, np.round(shares, decimals))
            results.append(self.ask(f"rounded to {decimals}", metric_test, ranking))
        z = [float(result.zscore) for result in results]
        if not min(z) > 0.0 or max(z) > 1.25 * min(z):
            return
        low, high = sorted(-float(result.log10_pvalue) for result in results)
        if high > 2.0 * low + 2.0:
            text = f"z {z[0]:.3g}, {z[1]:.3g}: {low:.4g} and {high:.4g} powers of ten"
            self.find("roundings disagree", self.call, text)

    # Values around.

    def _around(self, value: float, ways: Sequence[FarTail]) -> None:
        """The value, those between it and the mean, one beyond it and the largest."""
        is_mean = self.case.metric == "map"
        limit = SECONDS_OF_P if self.is_short else SECONDS_OF_P_OF_LONG
        null = self.ask("null", self.case.null_distribution)
        if is_mean:
            self.ask(f"pvalue({value!r})", null.pvalue, value, most=limit)
        _, high = self.ask("support()", null.support)
        mean = self.ask("mean()", null.mean)
        points = {min(mean + share * (value - mean), high) for share in AROUND} | {value, high}
        x = np.array(sorted(points))
        log_p = self.ask(f"log_pvalue({x.tolist()})", null.log_pvalue, x)
        errors = self.ask(f"relative_error({x.tolist()})", null.relative_error, x)
        for point, one, error in zip(x.tolist(), log_p.tolist(), errors.tolist(), strict=True):
            self._compare_log(point, one, error, ways)
        for i in np.flatnonzero(np.diff(log_p) > errors[:-1] + errors[1:] + ROUNDING).tolist():
            if max(errors[i], errors[i + 1]) <= UNKNOWN:
                text = f"log p {log_p[i]:.10g} at {x[i]!r}, {log_p[i + 1]:.10g} at {x[i + 1]!r}"
                self.find("not monotone", self.call, text)
        if self.case.seed % 3 == 0 and self.case.metric in CLASSES and self.is_short:
            self._bounded(value, null, ways)

    def _bounded(self, value: float, null: Any, ways: Sequence[FarTail]) -> None:
        """Guaranteed bounds hold what the oracles say."""
        ends = self.ask(f"pvalue_bounds({value!r})", null.pvalue_bounds, value, "greater")
        lower, upper = (math.log(end) if end > 0.0 else -math.inf for end in map(float, ends))
        for way in ways:
            low, high = self._truth(way, value)
            if high < lower - ROUNDING or (low > upper + ROUNDING and upper > math.log(1e-300)):
                text = f"log p {lower:.8g} to {upper:.8g}; {low:.8g} to {high:.8g} ({way.name})"
                self.find("bounds without the truth", self.call, text)

    def _compare_log(self, x: float, log_p: float, error: float, ways: Sequence[FarTail]) -> None:
        """A logarithm of a p-value against the oracles."""
        line, out = f"{self.call} at {x!r}", self.outcome
        out.n_values += 1
        if math.isnan(log_p) or log_p > 1e-12 or math.isnan(error) or error < 0.0:
            self.find("not a probability", line, f"log p = {log_p}, stated error {error}")
            return
        lower, upper, closest, width = -math.inf, 0.0, "none", math.inf
        for way in ways:
            low, high = self._truth(way, x)
            out.n_compared[way.name] += 1
            if max(low, lower) > min(high, upper) + ROUNDING:
                text = f"{low:.10g} to {high:.10g} ({way.name}), {lower:.10g} to {upper:.10g}"
                self.find("oracles disagree", line, f"{text} ({closest})")
                return
            lower, upper = max(low, lower), min(high, upper)
            if high - low < width:
                width, closest = high - low, way.name
        truth = f"log p {lower:.10g} to {upper:.10g} ({closest})"
        if error > UNKNOWN:
            out.n_unknown += 1
            self.find("unknown error", line, f"log p = {log_p:.8g}, error {error:.2g}; {truth}")
            if log_p < lower - ROUNDING:
                self.find("no bound", line, f"log p = {log_p:.10g}; {truth}")
            return
        if log_p == -math.inf:
            if lower > -math.inf:
                self.find("zero", line, truth)
            return
        slack = ROUNDING if ways else 0.0
        off = max(lower - log_p, log_p - upper, 0.0)
        allowed = -math.log1p(-error) + slack
        if off > 0.0 and off / allowed > out.largest_ratio:
            out.largest_ratio, out.largest_at = off / allowed, line
        if off > allowed:
            text = f"log p = {log_p:.10g}, stated error {error:.2g}; {truth}"
            self.find("wrong p" if error < 1e-2 else "wrong p, large stated error", line, text)


def _average_precision(ranker: Ranker) -> float:
    return float(average_precision_score(*ranker.scores()))
