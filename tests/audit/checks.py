"""What the audit asks of a null distribution, and what it finds."""

from __future__ import annotations

import itertools
import math
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from threading import main_thread
from typing import Any

import numpy as np
from scipy.stats import binom

from .cases import AT_K, Case
from .oracles import (
    QUICK,
    THOROUGH,
    Effort,
    Oracle,
    oracles_of,
    values_drawn,
)

# A stated error above this is none: the p-value is an upper bound then.
UNKNOWN = 0.1
# Rounding that is never an error.
ROUNDING = 1e-11
# Seconds that a call may take for one value and for many, and bytes, up to so many items. Longer
# lists may take the seconds of many values and the memory that a case has.
MOST_SECONDS, MOST_SECONDS_OF_MANY, MOST_BYTES, LONG = 20.0, 60.0, 2**30, 1_000_000
# Standard deviations from the mean at which values are asked for.
DEVIATIONS = (-3.0, -1.0, -0.3, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 15.0, 30.0)
ALTERNATIVES = ("greater", "less", "two-sided")


@dataclass
class Finding:
    """Something wrong: its kind, a line that shows it, and what was expected."""

    kind: str
    line: str
    detail: str
    structure: str = ""

    def __str__(self) -> str:
        return f"{self.kind} [{self.structure}]: {self.line}\n    {self.detail}"


@dataclass
class Outcome:
    """What the audit of a case gave."""

    findings: list[Finding] = field(default_factory=list)
    n_values: int = 0
    n_compared: Counter[str] = field(default_factory=Counter)
    n_unknown: int = 0
    n_cut_short: int = 0
    n_refused: int = 0
    largest_ratio: float = 0.0
    largest_at: str = ""
    slowest: tuple[float, str] = (0.0, "")
    largest_memory: tuple[int, str] = (0, "")


# What cannot be done is refused with a remedy.
REFUSALS = (
    "take too long to compute: use the quantiles",
    "takes too long to compute: pass method=",
    "do not fit into memory: use a cut-off k",
    "whose null distribution lists every rank",
)


class StopError(Exception):
    """A public call raised: nothing further is asked of the distribution."""


class Audit:
    """The checks of one case.

    Parameters
    ----------
    case : Case
        The case.
    effort : Effort
        What its oracles may cost.
    """

    def __init__(self, case: Case, effort: Effort = QUICK) -> None:
        self.case, self.effort = case, effort
        self.outcome, self._seconds = Outcome(), 0.0
        self.call = case.call()

    def run(self) -> Outcome:
        try:
            self.null = self.ask("mean()", self._made)
            self._all()
        except StopError:
            pass
        return self.outcome

    def _made(self) -> Any:
        null = self.case.null_distribution()
        null.mean()
        return null

    def _all(self) -> None:
        rng = np.random.default_rng(self.case.seed)
        random = Random(self.case.seed)
        drawn = values_drawn(self.case, rng, self.effort)
        low, high = self.ask("support()", self.null.support)
        points = self._points(random, drawn, low, high)
        x = np.array(points)
        oracles = list(oracles_of(self.case, points, drawn, self.effort))
        answers = {}
        for alternative in ALTERNATIVES:
            answers[alternative] = self._pvalues(x, alternative, oracles)
        self._tails(x, answers)
        self._monotone(x, answers)
        self._other_order(x, answers, random)
        if drawn is not None:
            self._draws(drawn, low, high, random)
        self._bounds(x, answers, oracles, random)
        self._quantiles(random, low, high)

    # Asking.

    def ask(
        self, what: str, function: Callable[..., Any], *args: Any, most: float | None = None
    ) -> Any:
        """The answer to a public call; what goes wrong with it is a finding.

        It may take `most` seconds of processor time, and otherwise what any call may take.
        """
        line = f"{self.call}.{what}"
        is_long = max(ranking.n for ranking in self.case.rankings) > LONG
        has_many = bool(args) and np.size(args[0]) > 1
        most_seconds = MOST_SECONDS_OF_MANY if is_long or has_many else MOST_SECONDS
        patience = 1.5 * most_seconds
        if most is not None:
            most_seconds, patience = most, max(patience, most)
        before = reset_peak_memory()
        start = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with _patience(patience):
                    answer = function(*args)
            except _TookTooLongError as error:
                self.find("time", line, f"more than {patience:.0f} s of processor time")
                raise StopError from error
            except ValueError as error:
                if any(words in str(error) for words in REFUSALS):
                    self.outcome.n_refused += 1
                else:
                    self.find("exception", line, f"{type(error).__name__}: {error}")
                raise StopError from error
            except Exception as error:
                self.find("exception", line, f"{type(error).__name__}: {error}")
                raise StopError from error
        seconds = time.process_time() - start
        memory = peak_memory() - before
        for warning in caught:
            text = f"{warning.category.__name__}: {warning.message}"
            self.find("warning", line, text)
        if seconds > most_seconds:
            self.find("time", line, f"{seconds:.2f} s of processor time")
        if memory > MOST_BYTES and not is_long:
            self.find("memory", line, f"{memory / 2**30:.2f} GB")
        self.outcome.slowest = max(self.outcome.slowest, (seconds, line))
        self.outcome.largest_memory = max(self.outcome.largest_memory, (memory, line))
        self._seconds += seconds
        if self._seconds > self.effort.seconds:
            self.outcome.n_cut_short = 1
            raise StopError
        return answer

    def find(self, kind: str, line: str, detail: str) -> None:
        self.outcome.findings.append(Finding(kind, line, detail, self.case.structure))

    # Values.

    def _points(
        self, random: Random, drawn: np.ndarray | None, low: float, high: float
    ) -> list[float]:
        """Attained values and values halfway between, in the body, the far tails, at the ends."""
        mean = self.ask("mean()", self.null.mean)
        std = self.ask("std()", self.null.std)
        points = [low, high]
        for z in random.sample(
            [-3.0, -1.0, -0.3, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 15.0, 30.0], 3
        ):
            points.append(min(max(mean + z * std, low), high))
        if drawn is not None:
            ordered = np.sort(drawn)
            points += [float(ordered[random.randrange(ordered.size)]) for _ in range(3)]
            for level in random.sample([0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999], 3):
                points.append(float(np.quantile(ordered, level, method="higher")))
            distinct = np.unique(ordered)
            if distinct.size > 1:
                at = random.randrange(distinct.size - 1)
                points.append(float(0.5 * (distinct[at] + distinct[at + 1])))
        return sorted({point for point in points if low <= point <= high} | {low, high})

    # Checks.

    def _pvalues(
        self, x: np.ndarray, alternative: str, oracles: Sequence[Oracle]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        shown = f"({_numbers(x)}, {alternative!r})"
        p = self.ask(f"pvalue{shown}", self.null.pvalue, x, alternative)
        error = self.ask(f"relative_error{shown}", self.null.relative_error, x, alternative)
        log_p = self.ask(f"log_pvalue{shown}", self.null.log_pvalue, x, alternative)
        for i, point in enumerate(x.tolist()):
            self._compare(point, alternative, float(p[i]), float(error[i]), oracles)
            line = self._line("log_pvalue", point, alternative)
            if not -math.inf <= log_p[i] <= 1e-15:
                self.find("log of p", line, f"{log_p[i]}")
            elif p[i] > 1e-290 and abs(math.log(p[i]) - log_p[i]) > ROUNDING:
                self.find("log of p", line, f"{log_p[i]} for log({p[i]})")
        return p, error, log_p

    def _line(self, method: str, point: float, *more: str) -> str:
        args = ", ".join([repr(point), *map(repr, more)])
        return f"{self.call}.{method}({args})"

    def _compare(
        self, point: float, alternative: str, p: float, error: float, oracles: Sequence[Oracle]
    ) -> None:
        line = self._line("pvalue", point, alternative)
        out = self.outcome
        out.n_values += 1
        if not 0.0 <= p <= 1.0 + 1e-15 or math.isnan(error) or error < 0.0:
            self.find("not a probability", line, f"p = {p}, stated error {error}")
            return
        unknown = error > UNKNOWN
        out.n_unknown += unknown
        lower, upper, closest = 0.0, 1.0, "none"
        width = math.inf
        for oracle in oracles:
            # Sums of all probabilities round to a little more than 1.
            low, high = np.minimum(oracle.pvalue(point, alternative), 1.0).tolist()
            out.n_compared[oracle.name] += 1
            if max(low, lower) > min(high, upper) * (1.0 + ROUNDING):
                text = f"{low:.10g} to {high:.10g} ({oracle.name}), {lower:.10g} to {upper:.10g}"
                self.find("oracles disagree", line, f"{text} ({closest})")
                return
            lower, upper = max(low, lower), min(high, upper)
            if high - low < width:
                width, closest = high - low, oracle.name
        truth = f"{lower:.10g} to {upper:.10g} ({closest})"
        if unknown:
            if p < lower * (1.0 - ROUNDING):
                self.find("no bound", line, f"{p:.10g}, stated error {error:.2g}; {truth}")
            return
        if p == 0.0 and lower > 0.0:
            self.find("zero", line, f"0; {truth}")
            return
        nearest = min(max(p, lower), upper)
        allowed = error * max(nearest, p) + ROUNDING * nearest + 1e-300
        ratio = abs(p - nearest) / allowed
        if ratio > out.largest_ratio:
            out.largest_ratio, out.largest_at = ratio, line
        if ratio > 1.0:
            kind = "wrong p" if error < 1e-2 else "wrong p, large stated error"
            self.find(kind, line, f"{p:.10g} stated error {error:.2g}; {truth}")

    def _tails(self, x: np.ndarray, answers: dict[str, Any]) -> None:
        cdf = self.ask(f"cdf({_numbers(x)})", self.null.cdf, x)
        sf = self.ask(f"sf({_numbers(x)})", self.null.sf, x)
        p = answers["less"][0]
        errors = {side: np.minimum(answers[side][1], 1e3) for side in ("less", "greater")}
        # P(S > x) may come from another side of the mean, and another algorithm, than P(S >= x).
        above = x + 4e-12 * np.abs(x) + 1e-307
        beyond = self.ask(f"relative_error({_numbers(above)})", self.null.relative_error, above)
        errors["greater"] = np.maximum(errors["greater"], np.minimum(beyond, 1e3))
        for i, point in enumerate(x.tolist()):
            of_cdf, of_sf = 2.0 * errors["less"][i] * p[i], errors["greater"][i] * sf[i]
            allowed = min(1.0, ROUNDING + of_cdf + of_sf)
            if abs(cdf[i] + sf[i] - 1.0) > allowed:
                self.find(
                    "cdf + sf", self._line("sf", point), f"cdf {cdf[i]:.12g}, sf {sf[i]:.12g}"
                )
            if abs(cdf[i] - p[i]) > ROUNDING:
                self.find("cdf", self._line("cdf", point), f"{cdf[i]:.12g}, pvalue {p[i]:.12g}")

    def _monotone(self, x: np.ndarray, answers: dict[str, Any]) -> None:
        for alternative, sign in (("greater", -1.0), ("less", 1.0)):
            _, error, log_p = answers[alternative]
            known = np.flatnonzero(error <= UNKNOWN)
            for i, j in itertools.pairwise(known):
                first, last = sign * log_p[i], sign * log_p[j]
                allowed = error[i] + error[j] + ROUNDING
                if not first <= last + allowed and not math.isnan(first - last):
                    line = f"{self.call}.log_pvalue([{x[i]!r}, {x[j]!r}], {alternative!r})"
                    self.find("not monotone", line, f"{log_p[i]:.10g}, {log_p[j]:.10g}")

    def _other_order(self, x: np.ndarray, answers: dict[str, Any], random: Random) -> None:
        """A fresh one, asked for other values first, one by one, gives the same answers."""
        null, order = self.case.null_distribution(), list(range(x.size))
        random.shuffle(order)
        for i in order[:4]:
            alternative = random.choice(["greater", "less"])
            point = float(x[i])
            line = f"pvalue({point!r}, {alternative!r})"
            p = self.ask(line, null.pvalue, point, alternative)
            error = self.ask(line, null.relative_error, point, alternative)
            before, stated, _ = (part[i] for part in answers[alternative])
            if max(error, stated) > UNKNOWN:
                continue
            if abs(p - before) > (error + stated) * max(p, before) + ROUNDING * max(p, before):
                text = f"{p:.12g} asked alone, {before:.12g} with others, stated {error:.2g}"
                self.find("order of questions", f"{self.call}.{line}", text)

    def _draws(self, drawn: np.ndarray, low: float, high: float, random: Random) -> None:
        """Values drawn lie in the support, and their p-values are not too often small."""
        slack = 1e-11 * max(abs(low), abs(high))
        if drawn.min() < low - slack or drawn.max() > high + slack:
            text = f"{low!r}, {high!r}; drawn from {drawn.min()!r} to {drawn.max()!r}"
            self.find("support", f"{self.call}.support()", text)
        if random.randint(0, 2):
            return
        # Drawn values at an end of the support, which may be 0, differ from it by rounding.
        some = np.clip(drawn[: 1000 if self.effort == THOROUGH else 200], low, high)
        values, counts = np.unique(some, return_counts=True)
        for alternative in ("greater", "less"):
            line = f"pvalue of {some.size} draws, {alternative!r}"
            p = np.repeat(self.ask(line, self.null.pvalue, values, alternative), counts)
            for level in (0.5, 0.1, 0.05, 0.01, 0.001):
                n_small = int(np.count_nonzero(p <= level))
                if binom.sf(n_small - 1, some.size, level) < 1e-9:
                    text = f"p <= {level} in {n_small} of {some.size} draws"
                    self.find("size", f"{self.call}.{line}", text)
                    break

    def _bounds(
        self,
        x: np.ndarray,
        answers: dict[str, Any],
        oracles: Sequence[Oracle],
        random: Random,
    ) -> None:
        """Guaranteed bounds hold the p-value and what oracles say."""
        if random.randint(0, 1) or self.case.metric in AT_K:
            return
        for alternative in ("greater", "less"):
            shown = f"pvalue_bounds({_numbers(x)}, {alternative!r})"
            lower, upper = self.ask(shown, self.null.pvalue_bounds, x, alternative)
            p, error, _ = answers[alternative]
            for i, point in enumerate(x.tolist()):
                line = self._line("pvalue_bounds", point, alternative)
                text = f"{lower[i]:.10g} to {upper[i]:.10g}"
                near = min(max(error[i], ROUNDING), 1e9) * p[i] + 1e-300
                if not lower[i] - near <= p[i] <= upper[i] + near:
                    stated = f"p = {p[i]:.10g}, stated error {error[i]:.2g}"
                    self.find("p outside its bounds", line, f"{text}; {stated}")
                for oracle in oracles:
                    low, high = oracle.pvalue(point, alternative)
                    if high < lower[i] * (1.0 - ROUNDING) or low > upper[i] * (1.0 + ROUNDING):
                        truth = f"{low:.10g} to {high:.10g} ({oracle.name})"
                        self.find("bounds without the truth", line, f"{text}; {truth}")

    def _quantiles(self, random: Random, low: float, high: float) -> None:
        """Quantiles are where the distribution function passes the level."""
        q = random.choice([0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
        for name, tail in (("ppf", self.null.cdf), ("isf", self.null.sf)):
            line = f"{name}({q!r})"
            value = float(self.ask(line, getattr(self.null, name), q))
            if not low <= value <= high:
                self.find("quantile", f"{self.call}.{line}", f"{value!r} outside the support")
                continue
            at = float(self.ask(line, tail, value))
            step = 1e-9 * max(abs(value), abs(high - low))
            error = max(
                float(self.ask(line, self.null.relative_error, v, side))
                for v in (value, value - step)
                for side in ("greater", "less")
            )
            if error > UNKNOWN:
                continue
            before = float(self.ask(line, tail, value - step)) if value - step > low else None
            slack = 3.0 * error + 1e-9
            passed = at >= q * (1.0 - slack) if name == "ppf" else at <= q * (1.0 + slack)
            too_far = before is not None and (
                before >= q * (1.0 + slack) + slack
                if name == "ppf"
                else before <= q * (1.0 - slack) - slack
            )
            if not passed or too_far:
                text = f"{value!r}: {at:.12g} there, {before} just below"
                self.find("quantile", f"{self.call}.{line}", text)


class _TookTooLongError(BaseException):
    """Nothing that is asked catches it."""


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """Interrupt what takes more seconds of processor time, where the system can."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise _TookTooLongError

    previous = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous)


def _numbers(x: np.ndarray) -> str:
    return f"[{', '.join(repr(value) for value in x.tolist())}]"


def reset_peak_memory() -> int:
    """Forget the largest memory used so far, where the system can, and the memory in use."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return peak_memory()
    return _status("VmRSS")


def peak_memory() -> int:
    """The largest memory used, in bytes; 0 where it is not known."""
    return _status("VmHWM")


def _status(name: str) -> int:
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
