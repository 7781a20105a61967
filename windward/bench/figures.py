"""Curves with bands of one standard error, a panel for each problem: PNG by matplotlib, interactive HTML by plotly.

A method has the same colour and dash in every figure of its paper, and no other in that figure has both. Colours are Okabe and
Ito's, which people with any colour vision tell apart; where there are more methods than colours, dashes differ.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from windward.basics.errors import MissingDependency
from windward.bench.compare import Runs
from windward.bench.experiment import Panel, Published
from windward.present.plots.style import log_ticks

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, BLACK, GREY = "#CC79A7", "#56B4E9", "#C9B800", "#000000", "#7F7F7F"
SOLID, DASHED, DOTTED, MIXED = "solid", "dashed", "dotted", "dashdot"
STYLES: dict[str, tuple[str, str]] = {
    "SBO-KDE": (BLUE, SOLID),
    "DRBO-KDE": (RED, SOLID),
    "DRBO-MMD": (GREEN, DASHED),
    "DRBO-MMD-Minimax": (PURPLE, DOTTED),
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
    "GP-TS-SDF": (GREEN, SOLID),
    "asy-TS": (ORANGE, MIXED),
    "GP-BTS": (PURPLE, DASHED),
    "BQO-EI": (ORANGE, DASHED),
    "BQO-TS": (GREEN, DOTTED),
    "Maximin-BQO-EI": (RED, MIXED),
    "Maximin-BQO-TS": (PURPLE, DASHED),
    "Emp-DRBQO": (SKY, DOTTED),
    "DRBQO": (BLUE, SOLID),
    "MTBO": (BLACK, DOTTED),
}
PALETTE = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK, YELLOW, GREY)
DASHES = (SOLID, DASHED, DOTTED, MIXED)
PLOTLY_DASHES = {SOLID: "solid", DASHED: "dash", DOTTED: "dot", MIXED: "dashdot"}
MOST_COLUMNS = 3
# Sizes of type in points: of all that is read, and of the title.
SIZE, TITLE = 9, 10.5
# A log axis over fewer powers of ten than this has labels between them too.
FEW_DECADES = 1.6
# Colours of a PNG: of the curves, and of what lies over each other.
COLOURS = 128
# A letter of the title is about so wide, as a share of its size.
LETTER = 0.56
# A line of the legend and the room around it, in letters; more columns than this are not read as one legend.
LINE, MOST_LEGEND = 9, 8
PUBLISHED = "published"
Shown = Sequence[tuple[Panel, Mapping[str, Runs]]]


def styles_of(labels: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a dash for each label: its own where no other of these labels has it, or the next free pair."""
    own: dict[tuple[str, str], str] = {}
    for name, style in STYLES.items():
        # A method with a setting in brackets looks as the method does.
        mine = [label for label in labels if label == name] or [each for each in labels if each.startswith(f"{name} (")]
        if mine:
            own.setdefault(style, mine[0])
    given = {label: style for style, label in own.items()}
    # Colour and dash change together: two curves that lie on each other are both seen, the dashed one above.
    pairs = [
        (colour, DASHES[(turn + place) % len(DASHES)])
        for turn in range(len(DASHES))
        for place, colour in enumerate(PALETTE)
    ]
    free = (pair for pair in pairs if pair not in own)
    return {label: given[label] if label in given else next(free) for label in labels}


def labels_of(shown: Shown) -> list[str]:
    """Return the labels of all panels, each once, in order of appearance."""
    return list(dict.fromkeys(label for _, runs in shown for label in runs))


def columns_for(panels: int) -> int:
    """Return how many panels stand side by side: rows as full as they can be.

    >>> [columns_for(n) for n in (1, 2, 3, 4, 5, 6, 7, 8)]
    [1, 2, 3, 2, 3, 3, 3, 3]
    """
    rows = math.ceil(panels / MOST_COLUMNS)
    return math.ceil(panels / rows)


def draw_png(shown: Shown, title: str, file: Path, published: Sequence[Published] = ()) -> None:
    """Draw all panels into one PNG; numbers the paper printed are crosses in the colour of their curve."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise MissingDependency("figures need matplotlib: pip install 'windward[bench]'.") from error
    shown = _each_once(shown)
    columns = columns_for(len(shown))
    rows = math.ceil(len(shown) / columns)
    styles = styles_of(labels_of(shown))
    width = max(3.3 * columns, 4.6)
    in_legend = _legend_columns([*styles, PUBLISHED], width)
    legend_rows = math.ceil((len(styles) + bool(published)) / in_legend)
    heading = _heading(title, int(72 * width / (LETTER * TITLE)))
    height = 2.75 * rows + 0.24 * (legend_rows + len(heading)) + 0.25
    sizes: dict[Any, Any] = dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize"), SIZE)
    sizes |= {"xtick.labelsize": SIZE, "ytick.labelsize": SIZE}
    with matplotlib.rc_context({**sizes, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06))
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, (panel, runs) in zip(axes, shown, strict=False):
            _draw_panel(axis, panel, runs, styles)
            _draw_published(axis, [entry for entry in published if entry.panel == panel.title], runs, styles)
            axis.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 2.5, 5, 10]))
        for axis in axes[len(shown) :]:
            axis.remove()
        handles = {line.get_label(): line for axis in axes[: len(shown)] for line in axis.get_lines()}
        marks = [mark for axis in axes[: len(shown)] for mark in axis.collections if mark.get_label() == PUBLISHED]
        handles |= {PUBLISHED: marks[0]} if marks else {}
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=min(in_legend, len(handles)),
            frameon=False,
            handlelength=2.6,
        )
        figure.suptitle("\n".join(heading), fontsize=TITLE)
        figure.savefig(file, dpi=150, metadata={"Software": None})
    small(file)


def _each_once(shown: Shown) -> Shown:
    """Leave out panels whose curves another has shown already: of more rounds, say, of which none has been run yet."""
    kept = dict[object, tuple[Panel, Mapping[str, Runs]]]()
    for panel, runs in shown:
        curves = tuple((label, tuple(found.at), found.mean().tobytes()) for label, found in runs.items())
        kept.setdefault((panel.metric.name, curves), (panel, runs))
    return list(kept.values())


def small(file: Path) -> None:
    """Write a PNG again with a palette: a third of the size, the same to the eye."""
    from PIL import Image

    Image.open(file).convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE).save(file, optimize=True)


def _heading(title: str, letters: int) -> list[str]:
    """Return the lines of a title: what it is a figure of has a line of its own where both do not fit on one."""
    if len(title) <= letters:
        return [title]
    first, between, rest = title.partition(": ")
    return [line for part in (first + between.rstrip(), rest) for line in textwrap.wrap(part, letters)]


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """Return how many columns of labels fit side by side; a column is as wide as its longest label, and a line before it."""
    letters = max(map(len, labels)) + LINE
    return max(1, min(MOST_LEGEND, int(72 * width / (LETTER * SIZE * letters))))


def _draw_panel(axis: Any, panel: Panel, runs: Mapping[str, Runs], styles: Mapping[str, tuple[str, str]]) -> None:
    for label, found in runs.items():
        colour, dash = styles[label]
        mean, error = found.mean(), np.nan_to_num(found.error())
        marker = "o" if len(found.at) < 10 else None
        axis.plot(found.at, mean, color=colour, linestyle=dash, linewidth=1.5, label=label, marker=marker, markersize=3)
        axis.fill_between(found.at, *_band(panel, mean, error), color=colour, alpha=0.15, linewidth=0)
    if panel.metric.log:
        axis.set_yscale("log")
        _log_ticks(axis.yaxis, *axis.get_ylim())
    axis.set_title(panel.title)
    axis.set_xlabel(_counted(panel))
    axis.set_ylabel(panel.metric.label)
    axis.grid(alpha=0.25, linewidth=0.5)
    axis.margins(x=0.01)


def _log_ticks(axis: Any, low: float, high: float) -> None:
    """Give a log axis as many labels as can be read: the powers of ten, and what is between them where they are few."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter, NullLocator

    decades = math.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < FEW_DECADES else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    if decades < FEW_DECADES:
        axis.set_major_formatter(LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(10, 10)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


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
        figure.update_yaxes(title_text=panel.metric.label, row=row, col=column)
        if panel.metric.log:
            ends = [end for found in runs.values() for end in found.mean()[np.isfinite(found.mean())] if end > 0]
            figure.update_yaxes(
                **(log_ticks(0.1 * min(ends), 10 * max(ends)) if ends else {"type": "log"}), row=row, col=column
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
