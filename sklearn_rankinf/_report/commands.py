"""The commands of the command line that read a file or plan a study."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_rankinf._estimation import (
    ComparisonVerdict,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
)
from sklearn_rankinf._metrics import Metric, as_metric
from sklearn_rankinf._planning import metric_power, min_detectable_odds, min_positives
from sklearn_rankinf._plot import TopKSignificanceDisplay, new_figure, null_figure
from sklearn_rankinf._ranking import Ranking, resolve_k
from sklearn_rankinf._report.files import (
    CommandError,
    Table,
    is_same_file,
    read_table,
    save_figure,
    write_figures,
    write_text,
)
from sklearn_rankinf._report.numbers import is_worse
from sklearn_rankinf._report.report import (
    DEFAULT_K,
    RankSignificanceReport,
    rank_significance_report,
)
from sklearn_rankinf._report.study import comparison_method, swaps_take_long
from sklearn_rankinf._report.text import comparison_tables, table_as_text, with_fraction, wrapped
from sklearn_rankinf._report.trec_files import (
    check_run_options,
    in_collection,
    ranking_of_query,
    rankings_to_test,
    read_runs,
)
from sklearn_rankinf._results import counted, format_value, plain_value, without_nan
from sklearn_rankinf._significance import (
    TopKSignificanceCurve,
    metric_test,
    minimum_hypergeometric_test,
    top_k_significance_curve,
)

# The default of the report and of the comparison.
_N_PERMUTATIONS = 9999
# Beyond this number of items NumPy's integers overflow.
_LARGEST_N = 2**63 - 1
_OF_CURVE = (
    *("alpha", "pointwise_level", "attained_level"),
    *("crossovers", "crossovers_simultaneous"),
)
# Exit statuses of verdicts; 1 and 2 are those of errors.
_STATUS = {"pass": 0, "fail": 3, "inconclusive": 4}
_MODELS = {
    "wallenius": "the odds of a positive against another item are the same at every rank",
    "binormal": "the scores of positives and of other items have normal distributions",
}


def report(arguments: argparse.Namespace) -> None:
    """Print the report on the rankings of a file."""
    _check_options(arguments)
    if arguments.html is not None and is_same_file(arguments.html, arguments.file):
        raise CommandError(
            f"--html {arguments.html} is the file with the scores: give another name."
        )
    table = _read(arguments)
    if table.groups is not None:
        return _report_on_queries(table, arguments)
    with _errors_in_one_line():
        # A requested k that is too large is an error; default values that are too large are
        # skipped.
        for k in arguments.k:
            resolve_k(k, table.is_positive.size)
        metrics = [as_metric(name) for name in arguments.metric]
        found = rank_significance_report(
            table.is_positive,
            table.scores,
            k=arguments.k or DEFAULT_K,
            clusters=table.clusters,
            prevalence=arguments.prevalence,
            value=arguments.value,
            cost=arguments.cost,
            alpha=arguments.alpha,
        )
        found = _completed(found, table, metrics, arguments)
    plots: dict[str, str] = {}
    if arguments.plots is not None:
        named = zip(table.scores, found.rankers, strict=True)
        tests = ((name, ranker.test) for name, ranker in named if ranker.is_tested)
        figures = ((name, null_figure(test, name, "--plots")) for name, test in tests)
        plots = write_figures(arguments.plots, figures)
    paths = list(plots.values())
    if arguments.html is not None:
        paths.append(write_text(arguments.html, found.to_html()))
    if arguments.json:
        return _print_json({**found.to_dict(), "plots": plots})
    print(found)
    _print_paths(paths)


def _completed(
    found: RankSignificanceReport,
    table: Table,
    metrics: list[Metric],
    arguments: argparse.Namespace,
) -> RankSignificanceReport:
    """Add the tests of other metrics, and which scores were negated, to a report."""
    lower = arguments.lower_score
    rankers = tuple(
        replace(
            ranker,
            metrics=tuple(metric_test(table.is_positive, score, metric=one) for one in metrics),
            lower_is_better=column in lower,
        )
        for ranker, (column, score) in zip(found.rankers, table.scores.items(), strict=True)
    )
    notes = found.notes
    if lower:
        names = ", ".join(one.name for one in rankers if one.lower_is_better)
        note = f"Smaller scores mean positives, so that the scores were negated, in: {names}."
        notes = (note, *notes)
    return replace(found, rankers=rankers, notes=notes)


def _check_options(arguments: argparse.Namespace) -> None:
    """Raise an error for options of the report that contradict each other."""
    check_run_options(arguments)
    in_use = ("prevalence", "value", "cost")
    apart = {"clusters": ("metric", *in_use), "groups": ("k", "plots", "html", *in_use)}
    reasons = {
        "metric": "its tests need independent items",
        **dict.fromkeys(in_use, "its limits need independent items in a single list"),
        "k": "write the cut-off after the name of the metric, such as --metric ndcg@10",
    }
    for unit, options in apart.items():
        for option in options:
            if getattr(arguments, unit) is not None and getattr(arguments, option):
                reason = reasons.get(option, "it is for a single list of items")
                raise CommandError(
                    f"--{option} cannot be combined with --{unit}: {reason}. Leave out one of the "
                    "two options."
                )


def _report_on_queries(table: Table, arguments: argparse.Namespace) -> None:
    """Print means over the queries of a file, with their intervals and tests."""
    rows = []
    summaries: dict[str, list[str]] = {name: [] for name in table.scores}
    units: dict[str, Any] = {"groups": table.groups, "clusters": table.clusters}
    with _errors_in_one_line():
        metrics = [as_metric(name) for name in arguments.metric or ["average_precision"]]
        for name, score in table.scores.items():
            _progress(f"testing {name}")
            for metric in metrics:
                interval = metric_interval(
                    table.labels(metric),
                    score,
                    metric=metric,
                    confidence_level=1.0 - arguments.alpha,
                    **units,
                )
                test = _test_of_queries(table, name, metric, arguments)
                texts = [result.summary() for result in (test, interval) if result is not None]
                if table.runs is not None and test is not None:
                    texts[0] = f"{in_collection(table.runs, arguments)} {texts[0]}"
                summaries[name] += [
                    with_fraction(text, metric, getattr(metric, "k", None)) for text in texts
                ]
                rows.append(
                    {"name": name, "metric": str(metric), "test": test, "interval": interval}
                )
    if arguments.json:
        return _print_json({**_counts(table), "rankings": rows})
    _print_counts(table)
    _print_by_name(summaries)


def _test_of_queries(table: Table, name: str, metric: Metric, arguments: argparse.Namespace) -> Any:
    """Test against chance; None, with a warning, for runs that the metric cannot be tested of."""
    if table.runs is None:
        units: dict[str, Any] = {"groups": table.groups, "clusters": table.clusters}
        return metric_test(table.is_positive, table.scores[name], metric=metric, **units)
    rankings = rankings_to_test(table.runs, name, arguments)
    if rankings is None:
        return None
    query, shortest = min(rankings.items(), key=lambda item: item[1].n_samples)
    k, reason = getattr(metric, "k", None), None
    if np.any(table.labels(metric) != table.is_positive):
        reason = "of grades is not tested against chance: the test counts relevant documents"
    elif isinstance(k, int) and k > shortest.n_samples:
        reason = (
            f"is not tested against chance: the list of query {query!r} has only "
            f"{counted(shortest.n_samples, 'document')}"
        )
    if reason is None:
        return metric_test(rankings, metric=metric)
    warnings.warn(f"{metric.title} {reason}.", UserWarning, stacklevel=1)
    return None


def _counts(table: Table) -> dict[str, Any]:
    """What was counted of judgements and runs, for JSON."""
    if table.runs is None:
        return {}
    runs = {name: vars(found) for name, found in table.runs.counts.items()}
    counted = {
        "n_queries": table.runs.n_queries,
        "n_judged": table.runs.n_judged,
        "n_relevant": int(table.runs.y_true.sum()),
    }
    return {"counts": {**counted, "runs": runs}}


def _print_counts(table: Table) -> None:
    """Print what was counted of judgements and runs."""
    if table.runs is not None:
        print(*map(wrapped, table.runs.summary().splitlines()), "", sep="\n")


def curve(arguments: argparse.Namespace) -> None:
    """Print where the rankings of a file are better than chance, and plot the curves."""
    check_run_options(arguments)
    table = _read(arguments)
    alpha = arguments.alpha or [0.1, 0.05, 0.01]
    curves, tests = {}, {}
    with _errors_in_one_line():
        for name, score in table.scores.items():
            if table.runs is None:
                ranking = Ranking.from_scores(table.is_positive, score)
            else:
                ranking = ranking_of_query(table.runs, name, arguments)
            curves[name] = top_k_significance_curve(
                ranking, alpha=alpha, max_rank=arguments.max_rank
            )
            tests[name] = minimum_hypergeometric_test(ranking, max_rank=arguments.max_rank)
    paths = []
    if arguments.plots is not None:
        figure = new_figure("--plots", (8.0, 5.5))
        TopKSignificanceDisplay(list(curves.values()), name=list(curves)).plot(figure.add_subplot())
        paths.append(save_figure(figure, Path(arguments.plots) / "top_k.png"))
    if arguments.json:
        found = [
            {
                "name": name,
                **{key: getattr(curves[name], key) for key in _OF_CURVE},
                "minimum_hypergeometric": test,
            }
            for name, test in tests.items()
        ]
        return _print_json({**_counts(table), "rankings": found, "plots": paths})
    _print_counts(table)
    _print_by_name(
        {name: [_without_best(curves[name]), test.summary()] for name, test in tests.items()}
    )
    _print_paths(paths)


def _without_best(curve: TopKSignificanceCurve) -> str:
    """Return the summary of a curve without its first sentence, on the most significant k.

    The minimum hypergeometric test states the most significant k with a p-value for all k.
    """
    best, *others = curve.summary().splitlines()
    return "\n".join(others or [best])  # the single line of a curve without a test


def compare(arguments: argparse.Namespace) -> int:
    """Print the comparison of the rankings of a file, and return the status of its verdict."""
    check_run_options(arguments)
    given, what, how = arguments.score, "columns of scores", "--score or --lower-score"
    if arguments.qrels is not None:
        given, what, how = arguments.run, "runs", "--run"
    if len(given) < 2:
        raise CommandError(
            f"a comparison needs two or more {what}, each with {how}; got only {given[0]!r}."
        )
    if len(set(given)) < len(given):
        one = what.replace("columns", "column").replace("runs", "run")
        raise CommandError(f"give every {one} once; got {', '.join(given)}.")
    has_gate = arguments.margin is not None or arguments.require is not None
    if has_gate and len(given) > 2:
        raise CommandError(
            f"--margin and --require judge one ranking by another, and need two {what}; got "
            f"{len(given)}."
        )
    if arguments.prevalence is not None and len(given) > 2:
        raise CommandError(
            f"--prevalence compares two rankings, and needs two {what}; got {len(given)}."
        )
    with _errors_in_one_line():
        metric = as_metric(arguments.metric)
    table = _read(arguments)
    positive, scores = table.labels(metric), list(table.scores.values())
    level = 1.0 - arguments.alpha
    options: dict[str, Any] = {
        "metric": metric,
        "groups": table.groups,
        "clusters": table.clusters,
    }
    _progress(f"comparing {len(scores)} rankings")
    result: Any
    verdict: ComparisonVerdict | None = None
    with _errors_in_one_line():
        if len(scores) == 2:
            method = "auto"
            if table.groups is None and arguments.prevalence is None:
                method = comparison_method(metric, positive.size, _N_PERMUTATIONS)
            options |= {"method": method, "prevalence": arguments.prevalence}
            result = metric_comparison_test(positive, table.scores, **options)
            result = replace(result, _level=level)
            found = result.to_dict()
            parts = ["A is {}, B is {}.".format(*table.scores)]
            if has_gate:
                verdict = result.verdict(
                    margin=arguments.margin,
                    require=(arguments.require or "not-worse").replace("-", "_"),
                    candidate=result.names[1],
                    confidence_level=level,
                )
                found["verdict"] = verdict
        else:
            options["confidence_level"] = level
            result = metric_multiple_comparison_test(positive, table.scores, **options)
            intervals = {
                name: metric_interval(positive, score, **options)
                for name, score in table.scores.items()
            }
            found = {**result.to_dict(), "best": result.best(), "intervals": intervals}
            parts = [f"{table_as_text(one)}\n" for one in comparison_tables(result, intervals)]
    if table.runs is None:
        _warn_of_reversed_scores(table, arguments.alpha)
    summaries = [result.summary()]
    if verdict is not None:
        summaries.append(verdict.summary())
    if arguments.json:
        _print_json({**_counts(table), **found})
    else:
        _print_counts(table)
        for text in [*parts, *summaries]:
            shown = with_fraction(text, result.metric, getattr(metric, "k", None))
            print(shown if text in parts else wrapped(shown))
    if verdict is None:
        return 0
    _write_step_summary(verdict, result.metric)
    return _STATUS[verdict.outcome]


def _write_step_summary(verdict: ComparisonVerdict, metric: Metric) -> None:
    """Append a verdict as a table to the summary of a job, if GitHub Actions runs the command."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    limits = f"{format_value(verdict.low)} to {format_value(verdict.high)}"
    cells = {
        "metric": metric.title,
        "candidate": str(verdict.candidate),
        "reference": str(verdict.reference),
        "difference": format_value(verdict.difference),
        f"{100 * verdict.confidence_level:g} % interval": limits,
        "requirement": f"{verdict.require.replace('_', ' ')}, margin {verdict.margin:g}",
        "verdict": verdict.outcome,
    }
    rows = [cells.keys(), ["---"] * len(cells), cells.values()]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write("\n".join([*lines, "", verdict.summary(), "", ""]))
    except OSError as error:
        reason = error.strerror or error
        print(f"rankinf compare: warning: cannot write {path}: {reason}", file=sys.stderr)


def _warn_of_reversed_scores(table: Table, alpha: float) -> None:
    """Warn of rankings whose average precision is significantly worse than chance."""
    units: dict[str, Any] = {"groups": table.groups, "clusters": table.clusters}
    is_plain = table.groups is None and table.clusters is None
    # The exact distribution takes long far below chance.
    is_long = is_plain and swaps_take_long(table.is_positive.size, _N_PERMUTATIONS)
    units["method"] = "pearson3" if is_long else "auto"
    for name, score in table.scores.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the comparison warns of the same
            try:
                test = metric_test(table.is_positive, score, **units)
            except ValueError:
                return  # clusters with different labels, which have no test against chance
        if is_worse(test, alpha):
            print(
                f"rankinf compare: warning: {name!r} is significantly worse than chance: "
                "if smaller scores mean positives, give it with --lower-score; check "
                "--pos-label too.",
                file=sys.stderr,
            )


def plan(arguments: argparse.Namespace) -> None:
    """Print the power of a test, its smallest detectable effect, and the positives it needs."""
    n, m = arguments.n, arguments.m
    _check_effect(arguments)
    effect: dict[str, Any] = {"odds": arguments.odds, "auc": arguments.auc}
    has_effect = any(value is not None for value in effect.values())
    prevalence = _prevalence(arguments)
    found: dict[str, Any] = {}
    with _errors_in_one_line():
        metric = as_metric(arguments.metric)
        growing = metric if n is None else _growing(metric, n)
        given: dict[str, Any] = {"alpha": arguments.alpha, "model": arguments.model}
        if m is not None:
            if has_effect:
                power = metric_power(n, m, metric=metric, **given, **effect)
                found["power"] = power.to_dict()
                _say(arguments, power.summary())
            given["power"] = arguments.power
            _progress("searching for the smallest detectable effect")
            odds = min_detectable_odds(n, m, metric=metric, **given)
            found["min_detectable_odds"] = odds
            _say(arguments, _smallest_effect(odds, metric, arguments))
        given["power"] = arguments.power
        if has_effect:
            # The search prints the numbers that it tries; the output is kept for the results.
            with redirect_stdout(sys.stderr):
                needed = min_positives(
                    prevalence=prevalence,
                    metric=growing,
                    verbose=int(sys.stderr.isatty()),
                    **given,
                    **effect,
                )
            found["min_positives"] = needed
            _say(arguments, _targets_needed(needed, prevalence, growing, arguments))
    _say(arguments, f"The model of the rankings is {arguments.model}: {_MODELS[arguments.model]}.")
    if arguments.json:
        _print_json(found)


def _prevalence(arguments: argparse.Namespace) -> float:
    """Return the prevalence, either as given or computed from the sizes."""
    if (arguments.m is None) == (arguments.prevalence is None):
        raise CommandError("give either --n and --m, or --prevalence.")
    if (arguments.m is None) != (arguments.n is None):
        raise CommandError("give both --n and --m, or only --prevalence.")
    if arguments.prevalence is None:
        if arguments.n > _LARGEST_N:
            raise CommandError(f"--n must be at most {_LARGEST_N}; got {arguments.n}.")
        if arguments.n < 1 or not 0 < arguments.m < arguments.n:
            raise CommandError(
                f"--m must be from 1 to n - 1; got --n {arguments.n} --m {arguments.m}."
            )
        return float(arguments.m / arguments.n)
    if arguments.odds is None and arguments.auc is None:
        raise CommandError("--prevalence needs the effect to detect: add --auc or --odds.")
    return float(arguments.prevalence)


def _check_effect(arguments: argparse.Namespace) -> None:
    """Raise an error if the effect is not better than chance, or is not one of the model."""
    odds, auc, power = arguments.odds, arguments.auc, arguments.power
    if arguments.model == "binormal" and odds is not None and odds > 0.0:
        raise CommandError(
            f"--model binormal needs --auc: give --auc {odds / (1.0 + odds):.6g} instead of --odds "
            f"{odds:g}."
        )
    is_chance = (odds is not None and 0.0 < odds <= 1.0) or (auc is not None and 0.0 < auc <= 0.5)
    if is_chance and arguments.alpha <= power < 1.0:
        raise CommandError(
            f"an effect that is not better than chance is not detected with a power of {power:g}: "
            "give --odds above 1, or --auc above 0.5."
        )


def _growing(metric: Metric, n: int) -> Metric:
    """Return the metric with a fraction of the items as its cut-off, which grows with a study."""
    k = getattr(metric, "k", None)
    if not isinstance(k, int):
        return metric
    if k == n:
        raise ValueError(f"{metric} has all items as its cut-off: give a smaller number.")
    return replace(metric, k=k / n)  # type: ignore[type-var]


def _smallest_effect(odds: float, metric: Metric, arguments: argparse.Namespace) -> str:
    sizes = f"{counted(arguments.m, 'positive')} among {arguments.n} items"
    goal = _goal(metric, arguments)
    if math.isinf(odds):
        return f"With {sizes}, no effect, however large, is detected by {goal}."
    return (
        f"With {sizes}, the smallest effect detected by {goal} has odds of {odds:.3g} "
        f"(AUC {odds / (1.0 + odds):.3g})."
    )


def _targets_needed(
    needed: int, prevalence: float, metric: Metric, arguments: argparse.Namespace
) -> str:
    odds, auc = arguments.odds, arguments.auc
    if odds is None:
        odds = auc / (1.0 - auc)
    else:
        auc = odds / (1.0 + odds)
    return (
        f"With a prevalence of {prevalence:.3g}, a study needs {counted(needed, 'positive')} among "
        f"{round(needed / prevalence)} items to detect odds of {odds:.3g} (AUC {auc:.3g}) by "
        f"{_goal(metric, arguments)}."
    )


def _goal(metric: Metric, arguments: argparse.Namespace) -> str:
    """Return a metric with its level and power, and a fraction of the items as a percentage."""
    title, k = metric.title_in_text, getattr(metric, "k", None)
    if isinstance(k, float):
        first = replace(metric, k=1).title_in_text  # type: ignore[type-var]
        title = f"{first.removesuffix('1')}{100 * k:.3g} %"
    return f"{title} at the level {arguments.alpha:g} with a power of {arguments.power:g}"


def _read(arguments: argparse.Namespace) -> Table:
    """Read the columns of a file, or judgements and runs."""
    if arguments.qrels is not None:
        _progress(f"reading {arguments.qrels}, {', '.join(arguments.run)}")
        return read_runs(arguments)
    _progress(f"reading {arguments.file}")
    options = {name: getattr(arguments, name, None) for name in ("groups", "clusters")}
    table = read_table(
        arguments.file,
        arguments.label,
        arguments.score,
        pos_label=arguments.pos_label,
        lower_columns=arguments.lower_score,
        sep=arguments.sep,
        decimal=arguments.decimal,
        **options,
    )
    n, m = table.is_positive.size, int(table.is_positive.sum())
    _progress(f"{n} items, {m} of them positive")
    return table


def _progress(text: str) -> None:
    """Report progress on the standard error stream if it is a terminal."""
    if sys.stderr.isatty():
        print(f"rankinf: {text}", file=sys.stderr, flush=True)


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Report an invalid argument of a function as an error of the command."""
    try:
        yield
    except CommandError:
        raise
    except (TypeError, ValueError) as error:
        raise CommandError(str(error)) from error


def _print_by_name(summaries: dict[str, list[str]]) -> None:
    """Print the summaries of each ranking below its name."""
    parts = [
        "\n".join([name, *(wrapped(text, "  ") for text in texts)])
        for name, texts in summaries.items()
    ]
    print("\n\n".join(parts))


def _say(arguments: argparse.Namespace, text: str) -> None:
    """Print a sentence immediately, unless the output is JSON."""
    if not arguments.json:
        print(wrapped(text), flush=True)


def _print_json(found: dict[str, Any]) -> None:
    print(json.dumps(without_nan(plain_value(found)), indent=2, allow_nan=False))


def _print_paths(paths: list[str]) -> None:
    if paths:
        print()
        print(*(f"wrote {path}" for path in paths), sep="\n")
