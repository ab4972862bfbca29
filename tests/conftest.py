"""Settings shared by every test module."""

import gc
import os

import pytest
from hypothesis import settings

# A timing is never a reason to fail: shared runners stall.
# Examples are the same in every run, so that a failure comes from a change and not by chance.
# Set HYPOTHESIS_PROFILE=thorough to draw new ones and search longer, quick to see that all runs.
SAME = {"deadline": None, "print_blob": True, "derandomize": True}
settings.register_profile("quick", max_examples=10, **SAME)
settings.register_profile("default", max_examples=20, **SAME)
settings.register_profile("thorough", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser):
    parser.addoption(
        "--long",
        action="store_true",
        help="simulate ten times as much, and check exact null distributions of more problems",
    )


def pytest_configure(config):
    # Each worker has one processor. Workers start after this, before NumPy is imported.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    config.addinivalue_line("markers", "long: runs only with --long")
    config.addinivalue_line(
        "markers", "numeric: digits or rates that do not depend on versions of dependencies"
    )
    # Modules and collected tests stay until the end: garbage is not sought among them.
    gc.disable()


def pytest_collection_finish():
    gc.freeze()
    # Next to nothing that tests make refers to itself.
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--long"):
        # Not skipped: every skipped test would be reported to the process that starts the others.
        config.hook.pytest_deselected(items=[item for item in items if "long" in item.keywords])
        items[:] = [item for item in items if "long" not in item.keywords]


@pytest.fixture(scope="session")
def long(request):
    """Whether the long versions were requested."""
    return request.config.getoption("--long")


@pytest.fixture(scope="session", autouse=True)
def _pickled_tasks():
    """Jobs are threads with copies of their tasks, unless a test asks for another backend."""
    # Not before the number of threads is set.
    import pickled  # noqa: F401
    from joblib import parallel_config

    with parallel_config(backend="pickled", n_jobs=1):
        yield
