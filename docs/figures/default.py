"""Draw docs/figures/default.png: regret in each round on the held problems, by `python docs/figures/default.py`.

The figures are those of `benchmarks/results/default.json`, which `benchmarks/default.py` measured.
"""

from __future__ import annotations

import json
from pathlib import Path

from look import BLUE, RED, drawn, dressed, plt

HERE = Path(__file__).parent
RESULTS = HERE.parent.parent / "benchmarks" / "results" / "default.json"
LINES = {"default": ("the default, ww.auto()", BLUE, "-"), "sbo_kde": ("SBO-KDE", RED, "--")}


def main() -> None:
    """Draw the picture."""
    dressed()
    curves = json.loads(RESULTS.read_text())["regret_by_round"]
    figure, axes = plt.subplots(figsize=(7.6, 3.8), layout="constrained")
    for name, (label, colour, dash) in LINES.items():
        axes.plot(range(1, len(curves[name]) + 1), curves[name], color=colour, ls=dash, lw=2, label=label)
    axes.set(
        title="Regret of each decision, average over the held problems",
        xlabel="round",
        ylabel="regret (1: an average decision)",
        ylim=(0, None),
        xlim=(0, max(map(len, (curves[name] for name in LINES)))),
    )
    axes.legend(loc="upper right")
    drawn(figure, HERE / "default.png")


if __name__ == "__main__":
    main()
