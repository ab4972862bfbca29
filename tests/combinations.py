"""Combinations of parameters of which the default runs half."""

import itertools

import pytest


def checkered(*factors):
    """All combinations; every second one, as of the squares of a chessboard, runs with --long."""
    return [
        pytest.param(
            *(value for _, value in numbered),
            marks=[pytest.mark.long] * (sum(place for place, _ in numbered) % 2),
        )
        for numbered in itertools.product(*map(enumerate, factors))
    ]
