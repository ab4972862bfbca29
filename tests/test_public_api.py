"""The public names and signatures, as users rely on them."""

import inspect
import itertools
import pathlib
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

import sklearn_rankinf
from sklearn_rankinf._significance.queries import QueriesTestResult
from sklearn_rankinf._significance.results import MetricTestResult
from sklearn_rankinf._statistics.additive import Metric

SCORE_OPTIONS = (
    "k=None, normalize='min', pos_label=1, alternative='greater', method='auto', "
    "n_resamples=9999, random_state=0"
)

DISTRIBUTION_OPTIONS = "tie_sizes=None, method='auto', n_resamples=9999, random_state=0"

METHOD = "alternative='greater', method='auto'"

LABELS = f"pos_label=1, average=None, {METHOD}"

DRAWS = "n_resamples=9999, random_state=0, n_jobs=None, verbose=0"

PERMUTATIONS = f"strata=None, clusters=None, order=None, {DRAWS}"

DISPLAY_OPTIONS = (
    "pos_label=1, response_method=('decision_function', 'predict_proba'), name=None, ax=None, "
    "**options"
)

SIGNATURES = {
    "NullDistributionDisplay": "(results, *, name=None)",
    "NullDistributionDisplay.from_cv_results": f"(cv_results, X, y, *, {DISPLAY_OPTIONS})",
    "NullDistributionDisplay.from_estimator": f"(estimator, X, y, *, {DISPLAY_OPTIONS})",
    "NullDistributionDisplay.from_predictions": (
        "(y_true, y_score=None, *, pos_label=1, name=None, ax=None, **options)"
    ),
    "Ranking": "(tie_sizes, hits, *, has_all_ties=True)",
    "Ranking.from_counts": "(tie_sizes, hits)",
    "Ranking.from_dask": ("(y_true, y_score, *, pos_label=1, counts='all', max_distinct=10000000)"),
    "Ranking.from_scores": "(y_true, y_score, *, pos_label=1)",
    "align_runs": "(qrels, runs, *, relevance_level=1, judged_only=False, ties='expected')",
    "average_precision_at_k_score": ("(y_true, y_score=None, *, k, normalize='min', pos_label=1)"),
    "min_detectable_odds": (
        "(n_samples, n_positives, *, metric='average_precision', alpha=0.05, power=0.8, "
        "model='wallenius', method='auto', n_resamples=10000, random_state=0)"
    ),
    "min_positives": (
        "(*, prevalence, metric='average_precision', odds=None, auc=None, alpha=0.05, "
        "power=0.8, model='wallenius', method='auto', n_resamples=10000, random_state=0, "
        "verbose=0)"
    ),
    "metric_comparison_power": (
        "(n_samples, n_positives, *, auc_a, auc_b, correlation=0.0, metric='average_precision', "
        "alpha=0.05, alternative='two-sided', method='auto', "
        "n_resamples=1000, random_state=0, n_jobs=None, verbose=0)"
    ),
    "metric_interval_width": (
        "(n_samples, n_positives, *, auc, metric='average_precision', "
        "confidence_level=0.95, method='auto', n_resamples=1000, random_state=0, n_jobs=None, "
        "verbose=0)"
    ),
    "metric_power": (
        "(n_samples, n_positives, *, metric='average_precision', odds=None, auc=None, "
        "alpha=0.05, model='wallenius', method='auto', n_resamples=10000, random_state=0)"
    ),
    "min_hits_at_k": (
        "(n_samples, n_positives, *, k, alpha=0.05, method='analytic', interpolate=False)"
    ),
    "minimum_hypergeometric_test": (
        "(y_true, y_score=None, *, min_hits=1, max_rank=None, pos_label=1)"
    ),
    "top_k_significance_curve": (
        "(y_true, y_score=None, *, alpha=(0.1, 0.05, 0.01), max_rank=None, pos_label=1)"
    ),
    "values_multiple_comparison_test": (
        "(values, *, name='value', reference=None, correction='maxt', confidence_level=0.95, "
        "n_resamples=9999, random_state=0)"
    ),
    "items_to_examine": (
        "(y_true, y_score=None, *, recall=0.8, pos_label=1, confidence_level=0.95, method='auto')"
    ),
    "optimal_cutoff": (
        "(y_true, y_score=None, *, value, cost, pos_label=1, confidence_level=0.95, random_state=0)"
    ),
    "threshold_interval": (
        "(y_true, y_score, *, threshold, prevalence=None, pos_label=1, confidence_level=0.95)"
    ),
    "metric_curve": (
        "(y_true, y_score=None, *, curve='precision_recall', pos_label=1, confidence_level=0.95, "
        "method='auto', prevalence=None, difference=False, n_resamples=999, random_state=0, "
        "n_jobs=None, verbose=0)"
    ),
    "precision_at_k_score": "(y_true, y_score=None, *, k, pos_label=1)",
    "rank_significance_report": (
        "(y_true, y_score=None, *, k=(10, 50, 100), metric='average_precision', pos_label=1, "
        "clusters=None, prevalence=None, value=None, cost=None, alpha=0.05, n_resamples=9999, "
        "random_state=0)"
    ),
    "recall_at_k_score": "(y_true, y_score=None, *, k, pos_label=1)",
    "recall_at_k_test": f"(y_true, y_score=None, *, k, {LABELS}, {PERMUTATIONS})",
    "RankStatistic": "()",
    "RankStatistic.best": "(self, n_samples, n_positives)",
    "RankStatistic.evaluate": "(self, tie_sizes, hits)",
    "RankStatistic.offset": "(self, n_samples, n_positives)",
    "RankStatistic.weight_sums": "(self, starts, sizes, n_samples, n_positives)",
    "RankStatistic.weights": "(self, ranks, n_samples, n_positives)",
    "RankStatistic.at": "(self, n_samples)",
    "AveragePrecision": "(k=None, normalize='min')",
    "Bedroc": "(alpha=20.0)",
    "DiscountedCumulativeGain": "(k=None, normalize=False)",
    "EnrichmentAtK": "(k)",
    "FScoreAtK": "(k, beta=1.0)",
    "PrecisionAtK": "(k)",
    "PrecisionAtRecall": "(recall)",
    "RecallAtFpr": "(fpr)",
    "RecallAtK": "(k)",
    "RecallAtPrecision": "(precision)",
    "ReciprocalRank": "()",
    "RobustInitialEnhancement": "(alpha=20.0)",
    "RPrecision": "()",
    "RocAuc": "()",
    "metric_null_distribution": (
        f"(n_samples, n_positives, *, metric='average_precision', {DISTRIBUTION_OPTIONS})"
    ),
    "metric_test": (
        f"(y_true, y_score=None, *, metric='average_precision', pos_label=1, {METHOD}, "
        f"groups=None, {PERMUTATIONS})"
    ),
    "adjusted_average_precision_score": (
        "(y_true, y_score=None, *, k=None, normalize='min', pos_label=1)"
    ),
    "ap_null_distribution": (
        "(n_samples, n_positives, *, tie_sizes=None, method='auto', "
        "n_resamples=9999, random_state=0)"
    ),
    "average_precision_neg_log10_pvalue": f"(y_true, y_score=None, *, {SCORE_OPTIONS})",
    "average_precision_pvalue": f"(y_true, y_score=None, *, {SCORE_OPTIONS})",
    "average_precision_test": (
        f"(y_true, y_score=None, *, {LABELS}, sample_weight=None, groups=None, strata=None, "
        f"clusters=None, {DRAWS})"
    ),
    "PrecisionRecallPosterior": "(tp, fp, fn, prior=0.5)",
    "PrecisionRecallPosterior.f_score": "(self, beta=1.0)",
    "PrecisionRecallPosterior.from_predictions": "(y_true, y_pred, *, pos_label=1, prior=0.5)",
    "PrecisionRecallPosterior.probability_greater": "(self, other, metric='f1')",
    "ComparisonDisplay": "(results, *, curves=None, name=None)",
    "CurveDisplay": "(results, *, difference=None, name=None)",
    "IntervalDisplay": "(results, *, name=None)",
    "LeaderboardDisplay": "(results, *, name=None)",
    "TopKSignificanceDisplay": "(results, *, name=None)",
    "BinormalPrecisionRecallCurve": (
        "(prevalence, mean_positive, sd_positive, mean_negative, sd_negative)"
    ),
    "BinormalPrecisionRecallCurve.curve": "(self, n_points=201)",
    "BinormalPrecisionRecallCurve.from_predictions": "(y_true, y_score=None, *, pos_label=1)",
    "BinormalPrecisionRecallCurve.plot": "(self, ax=None, *, name='Binormal', **curve_kwargs)",
    "BinormalPrecisionRecallCurve.precision": "(self, recall)",
    "BinormalPrecisionRecallCurve.to_dict": "(self)",
    "binormal_average_precision_score": "(y_true, y_score=None, *, pos_label=1)",
    "interpolated_average_precision_score": (
        "(y_true, y_score=None, *, n_levels=11, rounding='exact', pos_label=1)"
    ),
    "PowerDisplay": "(results, *, name=None)",
    "PowerDisplay.from_design": (
        "(n_samples, n_positives, *, metric='average_precision', odds=None, auc=None, "
        "name=None, ax=None, **options)"
    ),
    "cross_val_comparison": (
        "(estimator_a, estimator_b, X, y, *, cv=None, clusters=None, "
        "metric='average_precision', method='auto', "
        "params=None, "
        "n_resamples=9999, random_state=0, n_jobs=None, verbose=0)"
    ),
    "metric_comparison_test": (
        "(y_true, y_score, *, metric='average_precision', pos_label=1, "
        "alternative='two-sided', method='auto', prevalence=None, groups=None, strata=None, "
        "clusters=None, n_resamples=9999, random_state=0, n_jobs=None, verbose=0)"
    ),
    "metric_interval": (
        "(y_true, y_score=None, *, metric='average_precision', pos_label=1, "
        "confidence_level=0.95, method='auto', prevalence=None, groups=None, clusters=None, "
        "sample_weight=None, n_resamples=9999, random_state=0, n_jobs=None)"
    ),
    "metric_group_comparison_test": (
        "(y_true, y_score, *, group, metric='average_precision', pos_label=1, "
        "alternative='two-sided', method='auto', confidence_level=0.95, prevalence=None, "
        f"clusters=None, {DRAWS})"
    ),
    "metric_multiple_comparison_test": (
        "(y_true, y_score, *, metric='average_precision', pos_label=1, reference=None, "
        "correction='maxt', confidence_level=0.95, groups=None, strata=None, clusters=None, "
        "sample_weight=None, n_resamples=9999, random_state=0)"
    ),
    "paired_outcome_posterior": "(n_only_a, n_only_b, *, prior=0.5)",
    "randomization_test": (
        "(y_true, y_pred_a, y_pred_b, *, metric='f1', pos_label=1, "
        "alternative='two-sided', method='auto', clusters=None, n_resamples=9999, random_state=0, "
        "n_jobs=None, verbose=0)"
    ),
    "best_candidate_test": (
        "(y_true, y_score, *, metric='average_precision', standardize=True, strata=None, "
        "clusters=None, order=None, pos_label=1, n_resamples=9999, "
        "random_state=0, n_jobs=None, verbose=0)"
    ),
    "cross_val_significance": (
        "(estimator, X, y, *, strata=None, clusters=None, order=None, "
        "cv=None, metric='average_precision', method='auto', "
        "params=None, n_resamples=None, random_state=0, n_jobs=None, verbose=0)"
    ),
    "search_permutation_test": (
        "(search, X, y, *, strata=None, clusters=None, order=None, "
        "params=None, n_resamples=99, random_state=0, n_jobs=None, verbose=0)"
    ),
    "mean_average_precision_score": "(y_true, y_score, *, groups, pos_label=1)",
    "make_significance_scorer": (
        "(metric='average_precision', *, method='auto', output='neg_log10_pvalue', "
        "pos_label=1, "
        "n_resamples=999, random_state=0, "
        "response_method=('decision_function', 'predict_proba'))"
    ),
    "standardized_average_precision_score": (
        "(y_true, y_score=None, *, k=None, normalize='min', pos_label=1)"
    ),
}

# Objects that are neither functions nor classes have no name and no docstring.
INSTANCES = {"average_precision_significance_scorer"}

RESULT_FIELDS = (
    "metric statistic chance pvalue log10_pvalue pvalue_relative_error pvalue_low pvalue_high "
    "pvalue_is_bound zscore adjusted_statistic null_distribution n_samples n_positives "
    "alternative method n_resamples n_exceedances hits ranking"
).split()
RESULT_NAMES = {
    *("k", "pvalue_standard_error", "pvalue_interval", "confidence_interval"),
    *("summary", "to_dict", "to_frame"),
}

DISTRIBUTION_SIGNATURES = {
    "mean": "()",
    "var": "()",
    "std": "()",
    "median": "()",
    "stats": "(moments='mv')",
    "moment": "(order)",
    "support": "()",
    "interval": "(confidence)",
    "cdf": "(x)",
    "sf": "(x)",
    "logcdf": "(x)",
    "logsf": "(x)",
    "ppf": "(q)",
    "isf": "(q)",
    "rvs": "(size=1, random_state=None)",
    "pvalue": "(x, alternative='greater')",
    "log_pvalue": "(x, alternative='greater')",
    "relative_error": "(x, alternative='greater')",
    "solver": "(x, alternative='greater')",
    "pvalue_bounds": "(x, alternative='greater')",
}


def plain_signature(function):
    """Signature without annotations (and without the result's)."""
    signature = inspect.signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def resolve(dotted):
    target = sklearn_rankinf
    for name in dotted.split("."):
        target = getattr(target, name)
    return target


def test_public_names():
    expected = {name.split(".")[0] for name in SIGNATURES} | INSTANCES
    assert set(sklearn_rankinf.__all__) == expected
    assert list(sklearn_rankinf.__all__) == sorted(sklearn_rankinf.__all__)


def test_the_api_reference_lists_the_public_names_once():
    page = pathlib.Path(__file__).parents[1] / "doc" / "api.rst"
    listed = re.findall(r"^   (\w+)$", page.read_text(), flags=re.MULTILINE)
    listed += re.findall(r"^\.\. py:data:: (\w+)$", page.read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(sklearn_rankinf.__all__)


def test_every_other_module_name_is_private():
    # In a fresh interpreter: earlier tests may have imported anything.
    code = (
        "import sklearn_rankinf as p; "
        "print([n for n in vars(p) if not n.startswith('_') and n not in p.__all__])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_signatures():
    assert {name: plain_signature(resolve(name)) for name in SIGNATURES} == SIGNATURES


def test_result_fields():
    result = MetricTestResult
    assert list(result.__dataclass_fields__) == RESULT_FIELDS
    assert result.__dataclass_params__.frozen
    assert not result.__dataclass_params__.eq
    found = sklearn_rankinf.metric_test([0, 1, 0], [1, 3, 2], metric="roc_auc")
    public = {name for name in dir(found) if not name.startswith("_")}
    assert public == {*RESULT_FIELDS, *RESULT_NAMES}
    assert plain_signature(found.pvalue_interval) == "(confidence_level=0.95)"


METRIC_CLASSES = [
    name
    for name in SIGNATURES
    if inspect.isclass(resolve(name)) and issubclass(resolve(name), Metric)
]


@pytest.mark.parametrize("name", [name for name in METRIC_CLASSES if name != "RankStatistic"])
def test_metrics_are_frozen(name):
    kind = getattr(sklearn_rankinf, name)
    assert kind.__dataclass_params__.frozen
    parameters = inspect.signature(kind).parameters
    needed = [name for name, given in parameters.items() if given.default is given.empty]
    metric = kind(**dict.fromkeys(needed, 0.5))
    for parameter in parameters:
        with pytest.raises(FrozenInstanceError):
            setattr(metric, parameter, 1)


@pytest.mark.parametrize("method", ["analytic", "permutation", "normal", "pearson3", "zhang_su"])
def test_interface_of_a_distribution(method):
    null = sklearn_rankinf.ap_null_distribution(20, 4, method=method)
    for name, signature in DISTRIBUTION_SIGNATURES.items():
        assert plain_signature(getattr(null, name)) == signature, name
    attributes = {"method", "n_samples", "n_positives", "tie_sizes", "statistic"}
    for name in attributes:
        assert hasattr(null, name)
    public = {name for name in dir(null) if not name.startswith("_")}
    extra = public - set(DISTRIBUTION_SIGNATURES) - attributes
    assert extra == set()


@pytest.mark.parametrize("name", sorted(set(sklearn_rankinf.__all__) - INSTANCES))
def test_every_public_name_is_documented(name):
    target = getattr(sklearn_rankinf, name)
    text = inspect.getdoc(target)
    assert text
    first = text.splitlines()[0]
    assert first.endswith(".")
    assert "Examples\n--------" in text
    assert ">>> " in text
    if inspect.isfunction(target):
        returns = inspect.signature(target).return_annotation != "None"
        for section in ("Parameters\n-", "Returns\n-" if returns else "", "See Also\n-"):
            assert section in text, section
        for parameter in inspect.signature(target).parameters:
            assert parameter in text


def entries_of(name):
    """Type and description of each parameter in the docstring of a function, in one line each."""
    text = inspect.getdoc(getattr(sklearn_rankinf, name)).replace("\\\n", " ")
    section = text.split("Parameters\n----------\n")[1].split("\n\nReturns\n")[0]
    entries = {}
    for entry in re.split(r"\n(?=\S)", section):
        head, description = entry.split("\n", 1)
        names, kind = head.split(" : ", 1)
        entries[names] = kind, " ".join(description.split())
    return entries


TESTS_BY_NAME = [
    "average_precision_test",
    "recall_at_k_test",
]
NULL_DISTRIBUTIONS = [
    "ap_null_distribution",
    "metric_null_distribution",
]
# Metrics differ in the approximations that they have, and average precision has a k that may be
# left out, while those at k take several.
# The null distribution of any metric also accepts sequences of sizes, and some tests queries.
DIFFER = {"k", "method", "n_samples", "n_positives", "tie_sizes", "y_true"}


@pytest.mark.parametrize("names", [TESTS_BY_NAME, NULL_DISTRIBUTIONS], ids=lambda names: names[0])
def test_paired_docstrings_agree(names):
    entries = {name: entries_of(name) for name in names}
    for one, other in itertools.combinations(names, 2):
        shared = set(entries[one]) & set(entries[other])
        assert len(shared) >= 5
        for parameter in shared - DIFFER:
            assert entries[one][parameter] == entries[other][parameter], (one, other, parameter)


@pytest.mark.parametrize("name", TESTS_BY_NAME)
def test_tests_by_name_have_the_parameters_of_the_test_of_any_metric(name):
    complete, own = entries_of("metric_test"), entries_of(name)
    separate = {names.strip() for joint in complete for names in joint.split(",")}
    for joint, (kind, _) in own.items():
        # The three ways to restrict permutations share an entry, and are described there in full.
        for parameter in (names.strip() for names in joint.split(",")):
            # Only average precision takes weights, and averages of any metric are metrics.
            assert parameter in separate | {"k", "sample_weight", "average"}
            if parameter not in DIFFER | {"sample_weight", "average"}:
                assert complete[parameter][0] == kind, parameter


@pytest.mark.parametrize("name", [n for n in SIGNATURES if inspect.isfunction(resolve(n))])
def test_every_public_function_is_typed(name):
    signature = inspect.signature(resolve(name))
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        typed = parameter.annotation is not inspect.Parameter.empty
        assert typed or parameter.name == "self", parameter.name


@pytest.mark.parametrize("method", ["analytic", "permutation", "binomial", "normal"])
def test_interface_of_a_distribution_at_k(method):
    null = sklearn_rankinf.metric_null_distribution(20, 4, metric="recall@5", method=method)
    for name, signature in DISTRIBUTION_SIGNATURES.items():
        assert plain_signature(getattr(null, name)) == signature, name
    attributes = {"method", "n_samples", "n_positives", "tie_sizes", "statistic"}
    public = {name for name in dir(null) if not name.startswith("_")}
    assert public == set(DISTRIBUTION_SIGNATURES) | attributes
    assert null.method == method


def test_result_fields_over_queries():
    result = QueriesTestResult
    columns = (
        "n_samples n_positives statistic pvalue log10_pvalue pvalue_relative_error pvalue_low "
        "pvalue_high pvalue_is_bound pvalue_bh pvalue_by pvalue_holm pvalue_maxt"
    ).split()
    assert list(result.__dataclass_fields__) == [
        *RESULT_FIELDS,
        *("queries", "n_queries_without_positives"),
        *(f"query_{name}" for name in columns),
    ]
    assert result.__dataclass_params__.frozen
    assert not result.__dataclass_params__.eq


@pytest.mark.parametrize("method", ["analytic", "permutation", "normal", "pearson3"])
def test_interface_of_a_distribution_over_queries(method):
    null = sklearn_rankinf.metric_null_distribution([20, 5], [4, 1], method=method)
    for name, signature in DISTRIBUTION_SIGNATURES.items():
        assert plain_signature(getattr(null, name)) == signature, name
    attributes = {"method", "n_samples", "n_positives", "tie_sizes", "statistic"}
    public = {name for name in dir(null) if not name.startswith("_")}
    assert public == set(DISTRIBUTION_SIGNATURES) | attributes
    assert null.method == method


def test_public_objects_have_the_public_module():
    for name in set(sklearn_rankinf.__all__) - INSTANCES:
        assert getattr(sklearn_rankinf, name).__name__ == name


def test_the_lowest_floor_imports_numpy_and_scipy_only():
    code = (
        "import sys, importlib, pkgutil, types; "
        "package = types.ModuleType('sklearn_rankinf'); "
        "path = sys.argv[1]; package.__path__ = [path]; sys.modules['sklearn_rankinf'] = package; "
        "names = [f'sklearn_rankinf.{name}' for name in "
        "('_statistics', '_engine')]; "
        "lower = [importlib.import_module(name) for name in names]; "
        "[importlib.import_module(m.name) for package in lower "
        "for m in pkgutil.walk_packages(package.__path__, package.__name__ + '.')]; "
        "print(sorted({'sklearn', 'joblib', 'pandas'} & set(sys.modules)), "
        "sorted(n for n in sys.modules if n.startswith('sklearn_rankinf.') "
        "and not n.startswith(tuple(names))), "
        "sum(n.startswith(tuple(names)) for n in sys.modules) > 40)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(sklearn_rankinf.__path__[0])],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[] [] True"


def test_import_is_light_and_names_are_imported_when_they_are_used():
    # scikit-learn may load pandas where it is installed; the package adds nothing to that.
    code = (
        "import sys, sklearn_rankinf as p; "
        "heavy = {'dask', 'matplotlib', 'pandas', 'polars'}; "
        "assert not {'numpy', *heavy} & set(sys.modules); assert 'Ranking' in dir(p); "
        "import scipy.stats, sklearn.metrics, sklearn.utils.parallel; before = set(sys.modules); "
        "assert 'sklearn_rankinf._ranking' not in before; "
        "p.Ranking; assert 'sklearn_rankinf._ranking' in sys.modules; "
        "assert vars(p)['Ranking'] is p.Ranking; assert not hasattr(p, 'nonsense'); "
        "print(heavy & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_version_of_citations():
    root = pathlib.Path(__file__).parents[1]
    version = sklearn_rankinf.__version__
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    page = (root / "doc" / "reporting.rst").read_text(encoding="utf-8")
    assert set(re.findall(r"version = \{(.+)\}|sklearn-rankinf (\d\S+\w)", page)) == {
        (version, ""),
        ("", version),
    }


def test_picture_of_the_readme_is_a_small_file_of_the_repository():
    root = pathlib.Path(__file__).parents[1]
    (name,) = re.findall(
        r"^\[picture\]: https://raw\S+/main/(\S+)$",
        (root / "README.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert f":: /{name.removeprefix('doc/')}\n" in (root / "doc/index.rst").read_text()
    assert (root / name).stat().st_size < 60_000


def test_links_of_the_readme_lead_to_pages():
    root = pathlib.Path(__file__).parents[1]
    pages = re.findall(
        r"readthedocs\.io/en/latest/(\w+)\.html", (root / "README.md").read_text(encoding="utf-8")
    )
    assert pages
    assert {name for name in pages if not (root / "doc" / f"{name}.rst").exists()} == set()
