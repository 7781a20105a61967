"""Draw docs/figures/moving.png: regret so far in each world that moves, by `python docs/figures/moving.py`.

The figures are those of `benchmarks/results/moving.jsonl.gz`, which `benchmarks/moving.py` measured.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from look import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, drawn, dressed, plt

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
# Beyond this a curve is of no use, and would flatten the others.
MOST = 2.0
LINES = {
    "default": ("the default", BLACK, "-"),
    "learnt half-life": ("a learnt half-life", GREEN, "--"),
    "drift": ("a learnt drift of outcomes", PURPLE, "-."),
    "calendar": ("calendar or forecast", BLUE, "-"),
    "forecast": ("calendar or forecast", BLUE, "-"),
    "time given": ("time as a context", ORANGE, (0, (5, 1, 1, 1, 1, 1))),
    "drbo_kde": ("DRBO-KDE (robust)", RED, ":"),
    "wdrbo": ("WDRBO (robust)", SKY, (0, (1, 1))),
}


def main() -> None:
    """Draw the picture."""
    found: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(dict)
    with gzip.open(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS, "rt") as file:
        for line in file:
            record = json.loads(line)
            if "regret" in record:
                found[record["world"], record["method"]][record["seed"]] = record["regret"]
    dressed()
    figure, panels = plt.subplots(4, 3, figsize=(9.6, 10), sharex=True, sharey=True, layout="constrained")
    lines = {}
    for axes, world in zip(panels.flat, WORLDS, strict=False):
        for method, (label, colour, dash) in LINES.items():
            runs, plain = found.get((world, method), {}), found[world, "default"]
            seeds = runs.keys() & plain.keys()  # a method is measured by the default on its own seeds
            if seeds:
                unit = np.mean([sum(plain[seed]) for seed in seeds])
                height = np.cumsum(np.mean([runs[seed] for seed in seeds], 0)) / unit
                (line,) = axes.plot(np.arange(1, len(height) + 1), height, color=colour, ls=dash, lw=1.8)
                lines[label] = line
        axes.set_title(world.replace("-", ": ", 1) if world.startswith("forecast") else world.replace("-", " "))
        axes.set(ylim=(0, MOST), xlim=(0, 100), xticks=(0, 50, 100), yticks=(0, 0.5, 1, 1.5, 2), xlabel="round")
        axes.tick_params(labelbottom=True)
    for axes in panels.flat[len(WORLDS) :]:
        axes.axis("off")
    panels.flat[len(WORLDS)].legend(lines.values(), lines.keys(), loc="center left", bbox_to_anchor=(0, 0.4))
    figure.supylabel("regret so far (1: the default's after 100 rounds)")
    drawn(figure, HERE / "moving.png")


if __name__ == "__main__":
    main()
