"""How the pictures of the documentation look: the colours and the size of type of `windward.plots`, for matplotlib.

`drawn(figure, path)` writes a small PNG: a palette in place of full colours is a third of the size and the same to the eye.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.transforms import ScaledTranslation
from PIL import Image

from windward.present.plots.style import ADVERSE, CHOSEN, QUIET, VALUE

BLUE, RED, GREEN, GREY, INK = VALUE, ADVERSE, CHOSEN, QUIET, "#333333"
# The rest of Okabe and Ito's colours, for pictures of more than four lines.
PURPLE, SKY, ORANGE, BLACK = "#CC79A7", "#56B4E9", "#E69F00", "#000000"
# Type in points and dots per inch: a picture 9.6 inches wide is 1008 dots, and its letters are as large as the page's.
SIZE, DOTS = 10, 105
WIDE = (9.6, 3.8)
# Points from the axis to the legend: its labels and its title.
BELOW = 42
MOST_COLOURS = 128
# A line is told by its dash too.
DASHES = {BLUE: "-", RED: "--", GREEN: "-.", ORANGE: (0, (5, 1, 1, 1)), GREY: ":", INK: "-"}


def dressed() -> None:
    """Give every matplotlib figure made from here on the look of the documentation."""
    sizes = ("font.size", "axes.labelsize", "legend.fontsize", "xtick.labelsize", "ytick.labelsize", "figure.labelsize")
    plt.rcParams.update(dict.fromkeys(sizes, SIZE))
    plt.rcParams.update(
        {
            "axes.titlesize": SIZE + 1,
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "grid.linewidth": 0.5,
            "axes.axisbelow": True,
            "legend.frameon": False,
            "font.family": "DejaVu Sans",
        }
    )


def below(axes: Any, columns: int = 1) -> None:
    """Put the legend below the axis and its title, where it covers nothing."""
    down = ScaledTranslation(0.0, -BELOW / 72, axes.figure.dpi_scale_trans)
    place = {"loc": "upper left", "bbox_to_anchor": (0.0, 0.0), "bbox_transform": axes.transAxes + down}
    axes.legend(**place, ncols=columns, borderaxespad=0.0, handlelength=2.6)


def drawn(figure: Any, path: Path) -> None:
    """Write a matplotlib figure as a small PNG."""
    figure.savefig(path, dpi=DOTS, metadata={"Software": None})
    small(path)


def small(path: Path, colours: int = MOST_COLOURS) -> None:
    """Write a PNG again with a palette."""
    Image.open(path).convert("RGB").quantize(colours, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
