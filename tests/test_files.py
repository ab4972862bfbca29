"""Tables that the command line reads: the same ranking from every kind of file."""

import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from sklearn_rankinf._files import CommandError, read_table


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(40) < 6).astype(int)
    query = [f"q {i % 4}" for i in range(40)]
    return pd.DataFrame({"query": query, "hit": y, "score": rng.standard_normal(40).round(6)})


def check(table, frame):
    assert_array_equal(table.is_positive, frame["hit"])
    assert_array_equal(table.scores["score"], frame["score"])


@pytest.mark.parametrize("sep", [",", "\t", ";", "|"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv.bz2", ".txt.xz", ".zip"])
def test_separators_are_found_out(frame, tmp_path, sep, suffix):
    path = tmp_path / f"scores{suffix}"
    frame.to_csv(path, sep=sep, index=False)
    check(read_table(str(path), "hit", ["score"]), frame)


def test_a_separator_in_a_name_does_not_mislead(frame, tmp_path):
    path = tmp_path / "scores.csv"
    named = frame.rename(columns={"query": "query, of four; or more"})
    named.to_csv(path, sep="\t", index=False)
    check(read_table(str(path), "hit", ["score"]), frame)


@pytest.mark.parametrize("sep", [" ", ":", "\\t"])
def test_separators_may_be_named(frame, tmp_path, sep):
    path = tmp_path / "scores.txt"
    frame.drop(columns="query").to_csv(path, sep=sep.replace("\\t", "\t"), index=False)
    check(read_table(str(path), "hit", ["score"], sep=sep), frame)


@pytest.fixture
def _pyarrow():
    # Its newest version cannot be imported with the oldest NumPy that is supported.
    pytest.importorskip("pyarrow", exc_type=ImportError)


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("suffix", [".parquet", ".pq"])
def test_parquet(frame, tmp_path, suffix):
    path = tmp_path / f"scores{suffix}"
    frame.to_parquet(path)
    table = read_table(str(path), "hit", ["score"], group="query")
    check(table, frame)
    assert_array_equal(table.groups, frame["query"])
    with pytest.raises(CommandError, match="no column 'z'; its columns are 'query', 'hit'"):
        read_table(str(path), "hit", ["z"])


@pytest.mark.usefixtures("_pyarrow")
def test_parquet_needs_pyarrow(frame, tmp_path, monkeypatch):
    path = tmp_path / "scores.parquet"
    frame.to_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "sklearn-rankinf\[parquet\]"'):
        read_table(str(path), "hit", ["score"])


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_standard_input(frame, monkeypatch, pack):
    text = frame.to_csv(sep=";", index=False).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(text))))
    check(read_table("-", "hit", ["score"]), frame)


def test_decimal_commas(frame, tmp_path):
    path = tmp_path / "scores.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False)
    with pytest.raises(CommandError, match="decimal separator, add --decimal ','"):
        read_table(str(path), "hit", ["score"])
    check(read_table(str(path), "hit", ["score"], decimal=","), frame)


def test_lower_is_better_and_units(frame, tmp_path):
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    table = read_table(str(path), "hit", ["score"], lower_is_better=True, cluster="query")
    assert_array_equal(table.scores["score"], -frame["score"])
    assert_array_equal(table.clusters, frame["query"])
    assert table.groups is None
    frame.assign(query=[None, *frame["query"][1:]]).to_csv(path, index=False)
    with pytest.raises(CommandError, match="column 'query' has missing values in 1 of 40 rows"):
        read_table(str(path), "hit", ["score"], group="query")


@pytest.mark.parametrize("ending", ["xlsx", "XLSM", "xls", "ods"])
@pytest.mark.parametrize("start", [b"PK\x03\x04\x14", b"\xd0\xcf\x11\xe0\xa1"])
def test_spreadsheets_are_to_be_exported(tmp_path, ending, start):
    path = tmp_path / f"scores.{ending}"
    path.write_bytes(start + bytes(range(256)))
    with pytest.raises(CommandError, match=r"is a spreadsheet: export it as CSV\.$"):
        read_table(str(path), "hit", ["score"])


def test_a_text_file_may_end_like_a_spreadsheet(frame, tmp_path):
    path = tmp_path / "scores.xls"
    frame.to_csv(path, sep="\t", index=False)
    check(read_table(str(path), "hit", ["score"]), frame)
    with pytest.raises(CommandError, match="cannot read"):
        read_table(str(tmp_path / "nowhere.xlsx"), "hit", ["score"])


@pytest.mark.parametrize(("columns", "side"), [([], "lower"), (["score"], "higher")])
def test_missing_scores_may_be_put_last(frame, tmp_path, columns, side):
    path = tmp_path / "scores.csv"
    frame.assign(score=[*frame["score"][:16], None, *frame["score"][17:]]).to_csv(path, index=False)
    with pytest.raises(CommandError) as stop:
        read_table(str(path), "hit", ["score"], lower_columns=columns)
    assert str(stop.value) == (
        "column 'score' has missing values in 1 of 40 rows, first in row 17 below the header: "
        "remove these rows, or put these items last by giving them all one score that is "
        f"{side} than every other score."
    )


@pytest.mark.parametrize(
    "text",
    ["hit,score\n1,2,3,4\n0,6,7,8\n", "hit,score\n1,2,3\n0,6,7\n", "hit,score\n1,2\n0,6,7\n"],
)
def test_rows_that_are_too_long_shift_no_columns(tmp_path, text):
    path = tmp_path / "scores.csv"
    path.write_text(text)
    with pytest.raises(CommandError, match=r"more values than the 2 names|cannot be read as"):
        read_table(str(path), "hit", ["score"])
