"""What the display of a leaderboard draws, against the result."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sklearn_rankinf import (
    LeaderboardDisplay,
    metric_multiple_comparison_test,
    values_multiple_comparison_test,
)

SHIFTS = {"a": 0.2, "b": 3.0, "c": 1.0, "d": 2.9, "e": 1.2}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y_true, common = np.arange(200) < 40, rng.normal(size=200)
    return y_true, {k: common + rng.normal(size=200) + d * y_true for k, d in SHIFTS.items()}


@pytest.fixture(scope="module")
def result(data):
    return metric_multiple_comparison_test(*data, metric="roc_auc")


def test_rows_are_those_of_the_leaderboard(result):
    display = LeaderboardDisplay(result).plot()
    board = result.leaderboard()
    ranks, places = display.points_.get_data()
    np.testing.assert_array_equal(ranks, board.rank)
    np.testing.assert_array_equal(places, np.arange(5))
    lines = display.intervals_.get_segments()
    limits = zip(board.rank_low, board.rank_high, strict=True)
    expected = [[[low, place], [high, place]] for place, (low, high) in enumerate(limits)]
    np.testing.assert_allclose(lines, expected)
    labels = display.ax_.get_yticklabels()
    assert [label.get_text() for label in labels] == board.names
    assert [label.get_fontweight() == "bold" for label in labels] == board.may_be_best.tolist()
    assert 0 < board.may_be_best.sum() < 5
    for text, value, letters in zip(display.texts_, board.statistic, board.letters, strict=True):
        shown, *found = text.get_text().split()
        assert float(shown) == pytest.approx(value, abs=5e-4)
        assert "".join(found) == letters
    low, high = display.ax_.get_xlim()
    assert 0 < low < 1
    assert 5 < high < 6
    assert "95 % limits of all ranks together" in display.ax_.get_xlabel()


def test_values_of_any_size_are_short():
    shares = np.array([1.0, 1.1, 1.2, 1.1, 1.15, 1.0, 1.3])
    for size, shown in ((1e-200, "1e\N{MINUS SIGN}200"), (0.12, "0.120"), (1e9, "1e+09")):
        display = LeaderboardDisplay(
            values_multiple_comparison_test({"x": size * shares / shares.mean(), "y": 0.0 * shares})
        ).plot()
        assert display.texts_[0].get_text().split()[0] == shown
        assert display.texts_[1].get_text().split()[0].strip("0.") == ""


def test_letters_are_in_columns(result):
    texts = [text.get_text() for text in LeaderboardDisplay(result).plot().texts_]
    assert len(set(map(len, texts))) == 1
    for letter in set("".join(result.letters)):
        assert len({text.index(letter) for text in texts if letter in text}) == 1


def test_names_are_in_the_order_of_the_result(result):
    names = [f"system {name}" for name in result.names]
    board = result.leaderboard()
    for display in (
        LeaderboardDisplay(result, name=names).plot(),
        LeaderboardDisplay(result).plot(name=names),
    ):
        found = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert found == [f"system {name}" for name in board.names]
    for wrong in ("abcde", names[:4]):
        with pytest.raises(ValueError, match="name must have one entry for each of the 5 rankers"):
            LeaderboardDisplay(result, name=wrong)


def test_ranks_by_themselves_and_means_over_queries_are_named(data):
    y_true, scores = data
    display = LeaderboardDisplay.from_predictions(
        y_true, scores, groups=np.arange(200) % 8, correction="none", plot_values=False
    )
    label = display.ax_.get_xlabel()
    assert "Rank by mean average precision" in label
    assert "limits of each rank by itself" in label
    assert display.texts_ == []


def test_many_rankers_have_fewer_ticks(data):
    y_true, _ = data
    rng = np.random.default_rng(1)
    scores = {f"r{i}": 0.1 * rng.normal(size=200) + 0.05 * i * y_true for i in range(29)}
    display = LeaderboardDisplay.from_predictions(y_true, scores, metric="roc_auc")
    assert len(display.ax_.get_yticks()) == 29
    assert len(display.ax_.get_xticks()) < 20
    plt.close(display.figure_)


def test_metric_values_of_other_sizes(data):
    y_true, scores = data
    display = LeaderboardDisplay.from_predictions(y_true, scores, metric="dcg")
    shown = [float(text.get_text().split()[0]) for text in display.texts_]
    board = display.results.leaderboard()
    np.testing.assert_allclose(shown, board.statistic, atol=0.05)
