"""Draw the picture of the README and of the front page: python doc/front_page.py."""

import io
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from sklearn_rankinf import NullDistributionDisplay, TopKSignificanceDisplay

PICTURE = Path(__file__).parent / "_static" / "front_page.png"


def draw():
    """Draw the null distribution and the hits at every k of the front page's example."""
    y_true = np.arange(2000) < 40
    y_score = np.random.default_rng(0).normal(size=2000) + 0.9 * y_true
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained")
    NullDistributionDisplay.from_predictions(y_true, y_score, ax=left, despine=True)
    TopKSignificanceDisplay.from_predictions(y_true, y_score, ax=right, despine=True)
    return figure


def main():
    """Write the picture with few colours, which makes the file small."""
    drawn = io.BytesIO()
    draw().savefig(drawn, dpi=200, format="png")
    Image.open(drawn).convert("RGB").quantize(48, dither=Image.Dither.NONE).save(
        PICTURE, optimize=True
    )


if __name__ == "__main__":
    main()
