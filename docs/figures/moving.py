"""Draw docs/figures/moving.png: regret so far in each world that moves, by `python docs/figures/moving.py`.

The figures are those of `benchmarks/results/moving.jsonl.gz`, which `benchmarks/moving.py` measured.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
RESULTS = HERE.parent.parent / "benchmarks" / "results" / "moving.jsonl.gz"
WORLDS = (
    "still",
    "slow-up",
    "slow-down",
    "jump-up",
    "jump-down",
    "season",
    "wear",
    "forecast-good",
    "forecast-biased",
    "forecast-useless",
)
# Okabe and Ito's colours, which colour-blind readers can tell apart.
LINES = {
    "default": ("the default", "#000000", "-"),
    "learnt half-life": ("a learnt half-life", "#009E73", "-"),
    "drift": ("a learnt drift of f", "#CC79A7", "-"),
    "calendar": ("calendar or forecast", "#0072B2", "-"),
    "forecast": ("calendar or forecast", "#0072B2", "-"),
    "time given": ("time as a given context", "#E69F00", "--"),
    "drbo_kde": ("DRBO-KDE", "#D55E00", ":"),
    "wdrbo": ("WDRBO", "#56B4E9", ":"),
}


def main() -> None:
    """Draw the picture."""
    found: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(dict)
    with gzip.open(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS, "rt") as file:
        for line in file:
            record = json.loads(line)
            if "regret" in record:
                found[record["world"], record["method"]][record["seed"]] = record["regret"]
    figure, panels = plt.subplots(2, 5, figsize=(13, 5.6), sharex=True, layout="constrained")
    drawn = {}
    for axes, world in zip(panels.flat, WORLDS, strict=True):
        for method, (label, colour, dash) in LINES.items():
            runs, plain = found.get((world, method), {}), found[world, "default"]
            seeds = runs.keys() & plain.keys()  # a method is measured by the default on its own seeds
            if seeds:
                unit = np.mean([sum(plain[seed]) for seed in seeds])
                height = np.cumsum(np.mean([runs[seed] for seed in seeds], 0)) / unit
                (line,) = axes.plot(np.arange(1, len(height) + 1), height, color=colour, ls=dash, lw=1.8)
                drawn[label] = line
        axes.set_title(
            world.replace("-", ": ", 1) if world.startswith("forecast") else world.replace("-", " "), fontsize=11
        )
        axes.set(ylim=(0, 2), xlim=(0, 100), xticks=(0, 50, 100), yticks=(0, 0.5, 1, 1.5, 2))
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[1]:
        axes.set_xlabel("round")
    figure.supylabel("regret so far (1: the default's after 100 rounds)", fontsize=11)
    figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(HERE / "moving.png", dpi=110)


if __name__ == "__main__":
    main()
