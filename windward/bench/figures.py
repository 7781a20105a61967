"""Curves with bands of one standard error, a panel for each problem: PNG by matplotlib, interactive HTML by plotly.

A method has the same colour and dash in every figure. Colours are Okabe and Ito's, which people with any colour vision tell
apart; where there are more methods than colours, dashes differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from windward.basics.errors import MissingDependency
from windward.bench.compare import Runs
from windward.bench.experiment import Panel, Published

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, BLACK, GREY = "#CC79A7", "#56B4E9", "#C9B800", "#000000", "#7F7F7F"
SOLID, DASHED, DOTTED, MIXED = "solid", "dashed", "dotted", "dashdot"
STYLES: dict[str, tuple[str, str]] = {
    "SBO-KDE": (BLUE, SOLID),
    "DRBO-KDE": (RED, SOLID),
    "DRBO-MMD": (GREEN, DASHED),
    "DRBO-MMD-Minimax": (PURPLE, DASHED),
    "StableOpt": (ORANGE, MIXED),
    "GP-UCB": (BLACK, DOTTED),
    "ERBO": (SKY, SOLID),
    "WDRBO": (PURPLE, SOLID),
    "WDRBO-exact": (GREEN, SOLID),
    "Random": (GREY, DOTTED),
    "UCB-SO": (SKY, DASHED),
    "UCB-RO": (ORANGE, MIXED),
    "UCB-BOCU-1": (GREEN, DASHED),
    "UCB-BOCU-2": (PURPLE, DASHED),
    "TS-BOCU": (BLUE, SOLID),
    "TS-DRO": (BLUE, SOLID),
    "TS-WCS": (RED, DASHED),
    "TS-GEN": (GREEN, MIXED),
    "GP-UCB-SDF": (BLUE, SOLID),
    "GP-BUCB": (RED, DASHED),
    "GP-TS-SDF": (BLUE, SOLID),
    "asy-TS": (ORANGE, DASHED),
    "GP-BTS": (RED, DASHED),
    "BQO-EI": (ORANGE, DASHED),
    "BQO-TS": (GREEN, DASHED),
    "Maximin-BQO-EI": (RED, MIXED),
    "Maximin-BQO-TS": (PURPLE, MIXED),
    "Emp-DRBQO": (SKY, DOTTED),
    "DRBQO": (BLUE, SOLID),
    "MTBO": (BLACK, DOTTED),
}
PALETTE = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK, YELLOW, GREY)
DASHES = (SOLID, DASHED, DOTTED, MIXED)
PLOTLY_DASHES = {SOLID: "solid", DASHED: "dash", DOTTED: "dot", MIXED: "dashdot"}
MOST_COLUMNS = 4
PUBLISHED = "published"
Shown = Sequence[tuple[Panel, Mapping[str, Runs]]]


def styles_of(labels: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a dash for each label: its own, or the next pair that is free."""
    taken = [STYLES[label] for label in labels if label in STYLES]
    free = [(colour, dash) for dash in DASHES for colour in PALETTE if (colour, dash) not in taken]
    result = {}
    for label in labels:
        result[label] = STYLES[label] if label in STYLES else free.pop(0)
    return result


def labels_of(shown: Shown) -> list[str]:
    """Return the labels of all panels, each once, in order of appearance."""
    return list(dict.fromkeys(label for _, runs in shown for label in runs))


def columns_for(panels: int) -> int:
    """Return how many panels stand side by side: rows as full as they can be.

    >>> [columns_for(n) for n in (1, 2, 3, 4, 5, 6, 7, 8)]
    [1, 2, 3, 4, 3, 3, 4, 4]
    """
    rows = math.ceil(panels / MOST_COLUMNS)
    return math.ceil(panels / rows)


def draw_png(shown: Shown, title: str, file: Path, published: Sequence[Published] = ()) -> None:
    """Draw all panels into one PNG; numbers the paper printed are crosses in the colour of their curve."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise MissingDependency("figures need matplotlib: pip install 'windward[bench]'.") from error
    columns = columns_for(len(shown))
    rows = math.ceil(len(shown) / columns)
    styles = styles_of(labels_of(shown))
    legend_rows = math.ceil(len(styles) / _legend_columns(columns))
    height = 2.75 * rows + 0.24 * legend_rows + 0.45
    with matplotlib.rc_context({"font.size": 8.5, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(max(3.3 * columns, 4.6), height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, (panel, runs) in zip(axes, shown, strict=False):
            _draw_panel(axis, panel, runs, styles)
            _draw_published(axis, [entry for entry in published if entry.panel == panel.title], runs, styles)
            axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        for axis in axes[len(shown) :]:
            axis.remove()
        handles = {line.get_label(): line for axis in axes[: len(shown)] for line in axis.get_lines()}
        marks = [mark for axis in axes[: len(shown)] for mark in axis.collections if mark.get_label() == PUBLISHED]
        handles |= {PUBLISHED: marks[0]} if marks else {}
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=min(_legend_columns(columns), len(handles)),
            frameon=False,
            handlelength=2.6,
        )
        figure.suptitle(title, fontsize=10)
        figure.savefig(file, dpi=150, metadata={"Software": None})


def _legend_columns(columns: int) -> int:
    return {1: 3, 2: 4, 3: 6}.get(columns, 8)


def _draw_panel(axis: Any, panel: Panel, runs: Mapping[str, Runs], styles: Mapping[str, tuple[str, str]]) -> None:
    for label, found in runs.items():
        colour, dash = styles[label]
        mean, error = found.mean(), np.nan_to_num(found.error())
        marker = "o" if len(found.at) < 10 else None
        axis.plot(found.at, mean, color=colour, linestyle=dash, linewidth=1.5, label=label, marker=marker, markersize=3)
        axis.fill_between(found.at, *_band(panel, mean, error), color=colour, alpha=0.15, linewidth=0)
    if panel.metric.log:
        axis.set_yscale("log")
    axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel(_counted(panel))
    axis.set_ylabel(panel.metric.label)
    axis.grid(alpha=0.25, linewidth=0.5)
    axis.margins(x=0.01)


def _draw_published(
    axis: Any, entries: Sequence[Published], runs: Mapping[str, Runs], styles: Mapping[str, tuple[str, str]]
) -> None:
    for entry in entries:
        if entry.curve not in runs:
            continue
        marks = [mark for mark in entry.values if mark in runs[entry.curve].at]
        values, colour = [entry.values[mark] for mark in marks], styles[entry.curve][0]
        axis.scatter(marks, values, marker="x", s=28, color=colour, linewidths=1.2, zorder=3, label=PUBLISHED)


def _counted(panel: Panel) -> str:
    return "samples" if panel.metric.name == "total_variation" else "round"


def _band(panel: Panel, mean: Any, error: Any) -> tuple[Any, Any]:
    low = mean - error
    if panel.metric.log:  # a band that reaches zero has no lower edge on a log scale: it ends at a tenth of the mean
        low = np.maximum(low, 0.1 * np.abs(mean))
    return low, mean + error


def draw_html(shown: Shown, title: str, file: Path) -> None:
    """Draw all panels into one interactive page; plotly.min.js is written beside it, once for all pages there."""
    try:
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots
    except ImportError as error:
        raise MissingDependency("interactive figures need plotly: pip install 'windward[bench]'.") from error
    columns = min(columns_for(len(shown)), 3)
    rows = math.ceil(len(shown) / columns)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=[panel.title for panel, _ in shown],
        vertical_spacing=min(0.12, 0.45 / rows),
    )
    styles, named = styles_of(labels_of(shown)), set()
    for place, (panel, runs) in enumerate(shown):
        row, column = place // columns + 1, place % columns + 1
        for label, found in runs.items():
            for trace in _traces(go, panel, label, found, styles[label], show=label not in named):
                figure.add_trace(trace, row=row, col=column)
            named.add(label)
        figure.update_yaxes(
            title_text=panel.metric.label, type="log" if panel.metric.log else "linear", row=row, col=column
        )
        figure.update_xaxes(title_text=_counted(panel), row=row, col=column)
    figure.update_layout(
        title=title, template="plotly_white", height=140 + 330 * rows, legend={"groupclick": "togglegroup"}
    )
    figure.write_html(file, include_plotlyjs="directory", full_html=True, div_id=file.stem)


def _traces(go: Any, panel: Panel, label: str, found: Runs, style: tuple[str, str], *, show: bool) -> list[Any]:
    colour, dash = style
    mean, error = found.mean(), np.nan_to_num(found.error())
    at = np.array(found.at)
    there = np.isfinite(mean)
    at, mean, error = at[there], mean[there], error[there]
    low, high = _band(panel, mean, error)
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    band = go.Scatter(
        x=np.concatenate([at, at[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        mode="lines",  # plotly marks the points of short curves otherwise
        fill="toself",
        fillcolor=f"rgba({red},{green},{blue},0.15)",
        line={"width": 0},
        hoverinfo="skip",
        legendgroup=label,
        showlegend=False,
    )
    line = go.Scatter(
        x=at,
        y=mean,
        name=label,
        legendgroup=label,
        showlegend=show,
        line={"color": colour, "dash": PLOTLY_DASHES[dash], "width": 2},
        customdata=error,
        hovertemplate=f"{_counted(panel)} %{{x}}: %{{y:.4g}} ± %{{customdata:.2g}}",
    )
    return [band, line]
