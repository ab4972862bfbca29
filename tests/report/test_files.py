"""Tables that the command line reads: the same ranking from every kind of file."""

import contextlib
import gzip
import io
import os
import socket
import sys
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from sklearn_rankinf._report.files import CommandError, read_table


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(40) < 6).astype(int)
    query = [f"q {i % 4}" for i in range(40)]
    return pd.DataFrame({"query": query, "hit": y, "score": rng.standard_normal(40).round(6)})


def read_text(tmp_path, text, score="score", label="hit", **options):
    """Return the table in a file with a text."""
    path = tmp_path / "scores.csv"
    path.write_text(text)
    return read_table(str(path), label, [score], **options)


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
    table = read_table(str(path), "hit", ["score"], groups="query")
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
    table = read_table(str(path), "hit", ["score"], lower_columns=["score"], clusters="query")
    assert_array_equal(table.scores["score"], -frame["score"])
    assert_array_equal(table.clusters, frame["query"])
    assert table.groups is None
    frame.assign(query=[None, *frame["query"][1:]]).to_csv(path, index=False)
    with pytest.raises(CommandError, match="column 'query' has missing values in 1 of 40 rows"):
        read_table(str(path), "hit", ["score"], groups="query")


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


def test_points_are_no_decimals_beside_a_decimal_comma(tmp_path):
    for value in ("1.137", "1.137,5"):
        text = f"hit;score\n1;1,5\n0;{value}\n"
        with pytest.raises(CommandError, match=f"row 2 below the header has '{value}'"):
            read_text(tmp_path, text, decimal=",")
    with pytest.raises(CommandError, match=r"decimal separator is ',': remove points between th"):
        read_text(tmp_path, "hit;score\n1;1.5\n0;1.137\n", decimal=",")
    table = read_text(tmp_path, "hit;score\n1,0;1,5\n0,0;-1e2\n", decimal=",")
    assert table.scores["score"].tolist() == [1.5, -100.0]
    assert table.is_positive.tolist() == [1, 0]


@pytest.mark.parametrize("decimal", ["", ",,", "5", "e", "-", " "])
def test_decimal_is_one_character(tmp_path, decimal):
    with pytest.raises(CommandError, match=f"must be a character such as.*; got '{decimal}'"):
        read_text(tmp_path, "hit,score\n1,2\n0,1\n", decimal=decimal)


def test_separator_is_one_character(tmp_path):
    with pytest.raises(CommandError, match=r"--sep must be one character, .* got '\|\|'"):
        read_text(tmp_path, "hit||score\n1||2\n0||1\n", sep="||")
    assert read_text(tmp_path, "hit   score\n1  2\n0 1\n", sep="\\s+").scores["score"].tolist() == [
        2.0,
        1.0,
    ]


def test_queries_and_clusters_are_texts(tmp_path):
    text = "hit,score,query\n1,3,1\n0,2,01\n0,1,001\n1,4,1.0\n"
    table = read_text(tmp_path, text, groups="query", clusters="query")
    assert table.groups.tolist() == table.clusters.tolist() == ["1", "01", "001", "1.0"]


@pytest.mark.parametrize(
    ("labels", "pos_label", "positive"),
    [
        (("9007199254740992", "9007199254740993"), "9007199254740993", [0, 1]),
        (("9007199254740992", "9007199254740993"), "9007199254740992", [1, 0]),
        (("01", "2"), "1", [1, 0]),
        (("1e2", "2"), "100.0", [1, 0]),
        (("10", "1_0"), "1_0", [0, 1]),
        (("10", "1_0"), "10", [1, 0]),
        (("TRUE", "False"), None, [1, 0]),
        (("true", "FALSE"), "1", [1, 0]),
        ((" 1", "0.0"), None, [1, 0]),
        (("-1", "+1.0"), None, [0, 1]),
    ],
)
def test_labels_are_compared_exactly(tmp_path, labels, pos_label, positive):
    text = "hit,score\n{},2\n{},1\n".format(*labels)
    assert read_text(tmp_path, text, pos_label=pos_label).is_positive.tolist() == positive


@pytest.mark.parametrize(
    ("labels", "pos_label", "message"),
    [
        (("10", "0"), "1_0", r"labels 0, 10: --pos-label 1_0 is not one of them"),
        (("1", "yes"), None, r"labels '1', 'yes': give the positive one with --pos-label"),
        (("9007199254740992", "0"), "9007199254740993", "93 is not one of them"),
    ],
)
def test_labels_that_are_not_there(tmp_path, labels, pos_label, message):
    text = "hit,score\n{},2\n{},1\n".format(*labels)
    with pytest.raises(CommandError, match=message):
        read_text(tmp_path, text, pos_label=pos_label)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["9007199254740993", "9007199254740992", "-5"], np.int64),
        (["9223372036854775807", "9223372036854775806", "-9223372036854775808"], np.int64),
        (["18446744073709551615", "18446744073709551614", "0"], np.uint64),
        (["18446744073709551616", "18446744073709551617", "1"], object),
        (["9007199254740993.0", "9007199254740992", "0.5"], object),
        (["-9007199254740993", "-9007199254740992e0", "0.25"], object),
        (["1e300", "9007199254740993", "0.5"], np.float64),
        (["0.1", "0.10", "0.1000000000000000055511151231257827"], np.float64),
    ],
)
def test_numbers_are_read_exactly(tmp_path, texts, kind):
    text = "hit,score\n" + "".join(f"{i % 2},{number}\n" for i, number in enumerate(texts))
    exact = [Fraction(number) for number in texts]
    if kind is np.float64:
        exact = [Fraction(float(number)) for number in texts]
    for sign, options in ((1, {}), (-1, {"lower_columns": ["score"]})):
        scores = read_text(tmp_path, text, **options).scores["score"]
        assert [Fraction(score) for score in scores.tolist()] == [sign * each for each in exact]
        assert scores.dtype == kind or sign < 0


@pytest.mark.parametrize("value", ["1_0", "0x10", "1d5", "١", "2020-01-01", "12:30", "nine", "+"])
def test_other_words_are_no_scores(tmp_path, value):
    text = f"hit,score\n1,2\n0,{value}\n"
    with pytest.raises(CommandError, match="'score' is not numeric: row 2 below the header has"):
        read_text(tmp_path, text)


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e999"])
def test_scores_are_finite(tmp_path, value):
    with pytest.raises(CommandError, match="'score' has an infinite value in row 2 below the head"):
        read_text(tmp_path, f"hit,score\n1,2\n0,{value}\n")


def test_scores_do_not_vanish(tmp_path):
    with pytest.raises(CommandError, match=r"'-1\.5E-400' in row 2 .* too close to 0 .* log"):
        read_text(tmp_path, "hit,score\n1,2\n0,-1.5E-400\n")
    scores = read_text(tmp_path, "hit,score\n1,-0.00e5\n0,1e-300\n").scores["score"]
    assert scores.tolist() == [0.0, 1e-300]


def test_truth_values_are_scores(tmp_path):
    scores = read_text(tmp_path, "hit,score\n1,True\n0,False\n").scores["score"]
    assert scores.tolist() == [1.0, 0.0]


@pytest.mark.usefixtures("_pyarrow")
def test_types_of_parquet(tmp_path):
    path = tmp_path / "scores.parquet"
    when = pd.to_datetime(["2020-01-01", "2020-01-02"])
    large = np.array([2**63 + 1, 2**63], dtype=np.uint64)
    frame = pd.DataFrame({"hit": [True, False], "large": large, "when": when})
    frame["zoned"], frame["lasts"] = when.tz_localize("UTC"), when - when[0]
    frame["text"], frame["query"] = ["1,5", "2"], ["01", "1"]
    frame.set_index("query").to_parquet(path)
    table = read_table(str(path), "hit", ["large", "text"], decimal=",", groups="query")
    assert table.is_positive.tolist() == [1, 0]
    assert table.scores["large"].tolist() == [2**63 + 1, 2**63]
    assert table.scores["text"].tolist() == [1.5, 2.0]
    assert table.groups.tolist() == ["01", "1"]
    lower = read_table(str(path), "hit", ["large"], lower_columns=["large"]).scores["large"]
    assert lower.tolist() == [-(2**63) - 1, -(2**63)]
    for name in ("when", "zoned", "lasts"):
        with pytest.raises(CommandError, match=f"'{name}' is not numeric: row 1 below the header"):
            read_table(str(path), "hit", [name])


@pytest.mark.parametrize("sep", [",", "\t"])
def test_a_name_is_there_once(tmp_path, sep):
    text = "hit,score,score,score.1\n1,2,3,4\n0,1,2,3\n".replace(",", sep)
    with pytest.raises(CommandError, match="has 2 columns with the name 'score': give them diff"):
        read_text(tmp_path, text)
    table = read_text(tmp_path, text, score="score.1")
    assert table.scores["score.1"].tolist() == [4.0, 3.0]


def test_a_byte_order_mark_is_no_part_of_a_name(frame, tmp_path):
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False, encoding="utf-8-sig", quoting=2)
    check(read_table(str(path), "hit", ["score"], groups="query"), frame)


QUOTES = {
    "to the end": 'name,hit,score\n"a,1,2\nb,0,1\nc,1,0\n',
    "to the next": 'name,hit,score\n"a,1,2\nb,0,1\n"c,1,0\nd,0,0\n',
    "to a quoted one": 'name,hit,score\n"a,1,2\nb,0,1\n"c",1,0\nd,0,0\n',
    "at the end": 'hit,score,name\n1,2,"a\n0,1,b\n1,0,"c"\n0,0,d\n',
    "in a score": 'hit,name,score\n1,a,"2\n0,b,1\n1,c,0"\n0,d,0\n',
    "by carriage returns": 'name,hit,score\r"a,1,2\rb,0,1\r"c,1,0\rd,0,0\r',
}


@pytest.mark.parametrize("case", QUOTES)
def test_open_quotes_swallow_no_rows(tmp_path, case):
    with pytest.raises(CommandError, match="a quotation mark in row 1 below the header that is no"):
        read_text(tmp_path, QUOTES[case])


def test_open_quotes_between_spaces(tmp_path):
    text = QUOTES["to the next"].replace(",", "  ")
    with pytest.raises(CommandError, match="a quotation mark in row 1 below the header that is no"):
        read_text(tmp_path, text, sep="\\s+")


def test_an_open_quote_in_the_header(tmp_path):
    with pytest.raises(CommandError, match="in the header that is not closed: close or remove it"):
        read_text(tmp_path, 'hit,"score\n1,2\n0,1\n')


def test_quoted_line_breaks_are_kept(tmp_path):
    text = 'name,hit,flag,score\n"a\nb, c",1,True,2\n"d ""e""",0,,1\nf,0,False,0\n'
    table = read_text(tmp_path, text)
    assert table.is_positive.tolist() == [1, 0, 0]
    assert table.scores["score"].tolist() == [2.0, 1.0, 0.0]


@pytest.mark.parametrize("scheme", ["http", "https", "ftp", "file", "s3", "simplecache::http"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_addresses_are_refused_without_a_connection(monkeypatch, tmp_path, scheme, ending):
    (tmp_path / f"scores.{ending}").write_text("hit,score\n1,2\n0,1\n")

    def connect(*arguments, **options):
        raise AssertionError("a connection was opened")

    for name in ("create_connection", "getaddrinfo", "socket"):
        monkeypatch.setattr(socket, name, connect)
    host = tmp_path if scheme == "file" else "localhost:9"
    with pytest.raises(CommandError, match="is an address, and rankinf opens no connection: down"):
        read_table(f"{scheme}://{host}/scores.{ending}", "hit", ["score"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of Unix")
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_pipe_is_opened_once(frame, tmp_path, pack):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = pack(frame.to_csv(sep=";", index=False).encode())
    writer = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
    writer.start()
    check(read_table(str(path), "hit", ["score"]), frame)
    writer.join(10)
    assert not writer.is_alive()


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="needs /dev/fd")
def test_process_substitution(frame):
    reading, writing = os.pipe()
    with contextlib.closing(os.fdopen(writing, "wb")) as file:
        file.write(frame.to_csv(index=False).encode())
    try:
        check(read_table(f"/dev/fd/{reading}", "hit", ["score"]), frame)
    finally:
        os.close(reading)
