"""Draw docs/figures/default.png: regret in each round on the held problems, by `python docs/figures/default.py`.

The figures are those of `benchmarks/results/default.json`, which `benchmarks/default.py` measured.
"""

from __future__ import annotations

import json
from pathlib import Path

import plotly.graph_objects as go

HERE = Path(__file__).parent
RESULTS = HERE.parent.parent / "benchmarks" / "results" / "default.json"
# Okabe and Ito's colours, which colour-blind readers can tell apart.
LINES = {"default": ("ww.auto()", "#0072B2", "solid"), "sbo_kde": ("SBO-KDE", "#D55E00", "dash")}


def main() -> None:
    """Draw the picture."""
    curves = json.loads(RESULTS.read_text())["regret_by_round"]
    figure = go.Figure()
    for name, (label, colour, dash) in LINES.items():
        rounds = list(range(1, len(curves[name]) + 1))
        line = {"color": colour, "dash": dash, "width": 3}
        figure.add_scatter(x=rounds, y=curves[name], name=label, mode="lines", line=line)
    figure.update_layout(
        template="plotly_white",
        font_size=15,
        width=820,
        height=420,
        margin={"l": 70, "r": 20, "t": 50, "b": 60},
        title="Regret of each decision, average over the held problems",
        xaxis_title="round",
        yaxis_title="regret (1: an average decision)",
        legend={"x": 0.99, "y": 0.99, "xanchor": "right"},
    )
    figure.update_yaxes(rangemode="tozero")
    figure.write_image(HERE / "default.png", scale=2)


if __name__ == "__main__":
    main()
