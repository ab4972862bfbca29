"""Measured sizes and coverages stand on the pages of their simulations, and nowhere else."""

import inspect
import re
from pathlib import Path

import pytest

import sklearn_rankinf

DOC = Path(__file__).parents[1] / "doc"
# Pages that report simulations, each of its own design; theory.rst tabulates exact sizes.
REPORTS = {"coverage", "changelog", "theory"}
NUMBER = r"(?:0?\.\d{2,}\b|\d+(?:\.\d+)?\s*(?:%|per cent))"
RATE = re.compile(
    r"\b(?:[Ss]izes?|[Cc]overage|[Cc]overs|[Cc]overed|[Rr]ejects|[Rr]ejected)\s"
    r"(?:\w+\s){0,8}?"
    + NUMBER
    + r"|\d+ (?:%|percent) (?:of true|of the time|of simulations|at a level)"
)


def _texts():
    for page in sorted(DOC.glob("*.rst")):
        if page.stem not in REPORTS:
            yield page.name, page.read_text()
    for name in sklearn_rankinf.__all__:
        public = getattr(sklearn_rankinf, name)
        yield name, inspect.getdoc(public) or ""
        if inspect.isclass(public):
            for of, member in inspect.getmembers(public):
                if not of.startswith("_"):
                    yield f"{name}.{of}", inspect.getdoc(member) or ""


@pytest.mark.parametrize(
    "text",
    [
        "Size 0.016 to 0.070",
        "it covers 93 % of",
        "had a coverage as low as 79 %",
        "rejected a true null hypothesis in up to 8.8 % of",
        "13 percent of true null hypotheses",
        "significant too often (11 % of the time at a level of 5 %)",
    ],
)
def test_a_rate_is_recognized(text):
    assert RATE.search(text)


def test_rates_stand_on_the_pages_of_their_simulations():
    found = [
        f"{where}: {match.group()!r}"
        for where, text in _texts()
        for match in RATE.finditer(text)
        if not re.search(r"(?:level|coverage) of 95 %|95 per cent$", match.group())
    ]
    assert not found, "\n".join(found)


def test_every_table_of_data_stands_on_one_page():
    pages = [page.read_text() for page in DOC.glob("*.rst")]
    for table in (DOC / "tables").glob("*.csv"):
        assert sum(f" tables/{table.name}\n" in page for page in pages) == 1, table.name
