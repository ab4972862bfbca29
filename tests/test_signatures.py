"""One name for one concept: all signatures of the package, read and compared."""

import inspect
from collections import defaultdict

import pytest

import sklearn_rankinf as rankinf

# Parameters that occur in several functions, in the order that they have in each of them.
DESIGN = "groups strata clusters order n_resamples random_state n_jobs verbose"
ORDERS = (
    DESIGN,
    f"y_true y_score y_pred_a y_pred_b metric alternative method {DESIGN}",
    "n_samples n_positives metric alpha power model alternative method n_resamples random_state",
)

# Words for which the package has another one.
SYNONYMS = {
    "n_permutations": "n_resamples",
    "n_simulations": "n_resamples",
    "n_draws": "n_resamples",
    "n_bootstraps": "n_resamples",
    "y_scores": "y_score",
    "y_score_a": "y_score",
    "y_score_b": "y_score",
    "max_k": "max_rank",
    "level": "confidence_level",
    "ci": "confidence_level",
    "seed": "random_state",
    "scoring": "metric",
    "weights": "sample_weight",
}

# Those with one default wherever they have any.
ONE_DEFAULT = (
    "average clusters confidence_level cv groups method n_jobs order pos_label "
    "random_state response_method sample_weight strata verbose max_rank min_hits"
).split()


def signatures():
    """Parameters of every public function, class and class method."""
    for name in rankinf.__all__:
        one = getattr(rankinf, name)
        yield name, inspect.signature(one).parameters
        if inspect.isclass(one):
            for method in dir(one):
                if not method.startswith("_") and callable(getattr(one, method)):
                    yield f"{name}.{method}", inspect.signature(getattr(one, method)).parameters


ALL = dict(signatures())
# A formula for ranks or increments is no question that a user asks, and the signature of a scorer
# is scikit-learn's.
FUNCTIONS = {
    name: found
    for name, found in ALL.items()
    if ("." not in name and not name.endswith("_scorer")) or name.startswith("make_")
}


def test_one_name_for_one_concept():
    for name, found in ALL.items():
        for parameter in found:
            remedy = SYNONYMS.get(parameter)
            assert remedy is None, f"{name}: {parameter} is {remedy}"


def test_number_of_parameters():
    for name, found in ALL.items():
        n_parameters = len([one for one in found if not one.endswith("_kwargs")])
        assert n_parameters <= 14, name


def test_parameters_have_one_order():
    for name, found in FUNCTIONS.items():
        is_of_models = "X" in found  # X, y and the design come first, as in scikit-learn
        for order in ORDERS[:1] if is_of_models else ORDERS:
            words = order.split()
            if words[0] == "n_samples" and "n_samples" not in found:
                continue
            own = [one for one in found if one in words]
            assert own == sorted(own, key=words.index), name


@pytest.mark.parametrize("parameter", ONE_DEFAULT)
def test_one_default(parameter):
    defaults = defaultdict(list)
    for name, found in ALL.items():
        if parameter in found and found[parameter].default is not inspect.Parameter.empty:
            defaults[repr(found[parameter].default)].append(name)
    if parameter == "method":
        del defaults["'analytic'"]  # min_hits_at_k, which has no permutations
    assert len(defaults) == 1, dict(defaults)


def test_metrics_and_levels():
    for name, found in FUNCTIONS.items():
        if "metric" in found and name != "randomization_test":  # a metric of predicted classes
            assert found["metric"].default == "average_precision", name
        if "alpha" in found and name not in ("Bedroc", "RobustInitialEnhancement"):
            assert found["alpha"].default in (0.05, (0.1, 0.05, 0.01)), name


def test_what_is_not_data_is_passed_by_keyword():
    data = {"hits", "tie_sizes", "k", "alpha", "tp", "fp", "fn", "n_only_a", "n_only_b", "beta"} | {
        "y_score"
    }
    for name, signature in FUNCTIONS.items():
        own = data | {"metric"} if name == "make_significance_scorer" else data
        for parameter, found in signature.items():
            if found.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
                has_default = found.default is not inspect.Parameter.empty
                is_right = not has_default or parameter in own or name[0].isupper()
                assert is_right, (name, parameter)
