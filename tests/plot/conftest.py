"""Settings of the tests of displays."""

import matplotlib as mpl
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")
