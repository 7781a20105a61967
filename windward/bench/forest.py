"""One figure of all papers: each headline as its paper has it, and as it was found here with its interval.

A mark says how much was run: filled at full size, half filled where a change came since, hollow where it was less than the
paper's. The paper's side is shaded. What is in no claim of order, printed numbers, stands below on an axis of ratios.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windward.basics.errors import MissingDependency
from windward.bench.figures import BLACK, BLUE, GREY, RED, SIZE, small
from windward.bench.headlines import BEFORE, Found, in_words, percent, place, singles

WIDTH = 7.0
# Where the axes lie, as shares of the width: words left of them, numbers right.
LEFT, RIGHT = 0.375, 0.745
# Heights in inches: of a line of text, of what is above and below the axes, between them, and around each row.
LINE, TOP, BOTTOM, BETWEEN, AROUND = 0.142, 0.56, 1.0, 0.74, 0.1
# Letters that fit left of the axes, and right of them.
WORDS, NOTES = 40, 27
SMALL = 8.3
SHADE, INK, SOFT = "#DCE6EE", "#444444", "#6A6A6A"
FILLS = {"full": "full", "before a change": "left", "smaller": "none"}
COLOURS_OF = {"agrees": BLUE, "agrees in part": BLUE, "differs": RED, "undecided": INK}
ADVANTAGES, RATIOS = (-0.75, 2.08), (0.5, 1.5)
TICKS, RATIO_TICKS = (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0), (0.5, 0.75, 1.0, 1.25, 1.5)
TITLE = "What the papers say, and what was found here"


def draw_forest(found: Sequence[Found], file: Path) -> None:
    """Draw the headlines into one PNG."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency("figures need matplotlib: pip install 'windward[bench]'.") from error
    orders = [each for each in found if each.headline.claims is not None]
    numbers = [each for each in found if each.headline.claims is None]
    tall = [sum(map(_height, part)) + LINE * 1.8 * _papers(part) for part in (orders, numbers)]
    height = TOP + tall[0] + BETWEEN + tall[1] + BOTTOM
    with matplotlib.rc_context({"font.size": SMALL, "axes.spines.top": False}):
        figure = Figure(figsize=(WIDTH, height))
        bottom = BOTTOM + tall[1] + BETWEEN
        upper = figure.add_axes((LEFT, bottom / height, RIGHT - LEFT, tall[0] / height))
        _draw(upper, orders, tall[0], ADVANTAGES, TICKS, 0.0)
        upper.set_xticks(TICKS, [f"{100 * tick:.0f}" if tick else "0" for tick in TICKS])
        upper.set_xlabel("advantage, % of the mean of the two methods", labelpad=2)
        lower = figure.add_axes((LEFT, BOTTOM / height, RIGHT - LEFT, tall[1] / height))
        _draw(lower, numbers, tall[1], RATIOS, RATIO_TICKS, 1.0)
        lower.set_xlabel("found here / published", labelpad=2)
        for axis, words in ((upper, ("other side", "the paper's side")), (lower, ("smaller", "larger here"))):
            _sides(axis, *words)
        figure.text(0.012, 1.0 - 0.2 / height, TITLE, fontsize=10.5, va="center", fontweight="bold")
        figure.legend(handles=_legend(), loc="lower left", ncols=2, frameon=False, fontsize=SMALL, columnspacing=1.2)
        figure.savefig(file, dpi=150, metadata={"Software": None})
    small(file)


def _papers(found: Sequence[Found]) -> int:
    return len({each.headline.paper for each in found})


def _words(found: Found) -> list[str]:
    says = found.headline.says
    return textwrap.wrap(says[0].upper() + says[1:], WORDS, break_on_hyphens=False)


def _said(found: Found) -> list[str]:
    return textwrap.wrap(place(found), WORDS)


def _verdict(found: Found) -> list[str]:
    if found.pooled is None:
        return []
    told = singles(found)
    return textwrap.wrap(f"{in_words(found)}{', ' if told else ''}{told}", NOTES)


def _notes(found: Found) -> list[str]:
    """Return what was run; that a change came since, the half-filled mark says."""
    run = found.run if found.size == "smaller" else tuple(word for word in found.run if word != BEFORE)
    return textwrap.wrap(", ".join(run), NOTES)


def _numbers(found: Found) -> str:
    if found.pooled is None:
        return "not run"
    one = found.pooled
    if found.headline.claims is None:
        return f"{one.mean:.2f}  [{one.low:.2f}, {one.high:.2f}]"
    return "{} %  [{}, {}]".format(*(percent(100.0 * value) for value in (one.mean, one.low, one.high)))


def _height(found: Found) -> float:
    return LINE * max(len(_words(found)) + len(_said(found)), 1 + len(_verdict(found)) + len(_notes(found))) + AROUND


def _draw(
    axis: Any, found: Sequence[Found], tall: float, limits: tuple[float, float], ticks: Sequence[float], zero: float
) -> None:
    axis.set_xlim(*limits)
    axis.set_ylim(tall, 0.0)  # inches, downward
    axis.set_yticks([])
    axis.set_xticks(ticks)
    for side in ("left", "right"):
        axis.spines[side].set_visible(False)
    axis.tick_params(labelsize=SMALL, length=3)
    axis.axvspan(zero, limits[1], color=SHADE, linewidth=0, zorder=0) if zero == 0.0 else None
    axis.axvline(zero, color=BLACK, linewidth=0.8, zorder=1)
    at, paper = 0.0, ""
    left, right = axis.get_yaxis_transform(), axis.get_yaxis_transform()
    share = 1.0 / (RIGHT - LEFT)
    edge, margin = (0.012 - LEFT) * share, 1.03
    for each in found:
        if each.headline.paper != paper:
            paper = each.headline.paper
            axis.plot([edge, (0.99 - LEFT) * share], [at, at], transform=left, color=GREY, linewidth=0.5, clip_on=False)
            axis.text(edge, at + 1.0 * LINE, paper, transform=left, fontweight="bold", va="center", fontsize=SIZE)
            at += 1.8 * LINE
        words = [*((line, BLACK) for line in _words(each)), *((line, SOFT) for line in _said(each))]
        for row, (line, colour) in enumerate(words):
            axis.text(edge, at + (row + 0.5) * LINE, line, transform=left, va="center", color=colour)
        axis.text(margin, at + 0.5 * LINE, _numbers(each), transform=right, va="center", fontweight="bold")
        if each.pooled is not None:
            colour = COLOURS_OF[each.outcome]
            lines = [*((line, colour) for line in _verdict(each)), *((line, INK) for line in _notes(each))]
            for row, (line, ink) in enumerate(lines, start=1):
                axis.text(margin, at + (row + 0.5) * LINE, line, transform=right, va="center", color=ink)
            _mark(axis, each, at + 0.5 * (_height(each) - AROUND), limits)
        at += _height(each)


def _mark(axis: Any, found: Found, at: float, limits: tuple[float, float]) -> None:
    assert found.pooled is not None
    colour, one = COLOURS_OF[found.outcome], found.pooled
    low, mean, high = (_within(value, limits) for value in (one.low, one.mean, one.high))
    if len(found.single) > 1:
        single = [_within(value, limits) for value in found.single]
        axis.plot(single, [at + 0.14] * len(single), "|", color=GREY, markersize=5, markeredgewidth=0.8, zorder=2)
    axis.plot([low, high], [at, at], color=colour, linewidth=1.8, zorder=3, solid_capstyle="butt")
    axis.plot([mean], [at], **_shape(found.size, colour), zorder=4, clip_on=False)
    # Where all of it lies beyond, one arrow says so.
    ends = [(one.low, low)] if low == high and one.low != low else [(one.low, low), (one.high, high)]
    for value, end in ends:
        cut, arrow = value != end, "<" if value < end else ">"
        shape: dict[str, Any] = (
            {"marker": arrow, "markersize": 5} if cut else {"marker": "|", "markersize": 9, "markeredgewidth": 1.6}
        )
        axis.plot([end], [at], color=colour, clip_on=False, zorder=5, **shape)
    if found.published is not None:
        axis.plot(
            [_within(found.published, limits)],
            [at - 0.14],
            "x",
            color=BLACK,
            markersize=5.5,
            markeredgewidth=1.3,
            zorder=5,
        )


def _within(value: float, limits: tuple[float, float]) -> float:
    return min(max(value, limits[0]), limits[1])


def _shape(size: str, colour: str) -> dict[str, Any]:
    return {
        "marker": "o",
        "markersize": 6.8,
        "color": colour,
        "markerfacecolor": "white" if size == "smaller" else colour,
        "markerfacecoloralt": "white",
        "markeredgewidth": 1.5,
        "fillstyle": "full" if size == "smaller" else FILLS[size],
        "linestyle": "none",
    }


def _sides(axis: Any, left: str, right: str) -> None:
    zero = 0.0 if right == "the paper's side" else 1.0
    for text, align, gap in ((f"← {left} ", "right", -0.0), (f" {right} →", "left", 0.0)):
        axis.annotate(
            text,
            (zero + gap, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha=align,
            va="bottom",
            color=INK,
            fontsize=SMALL,
        )


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D

    ticks: dict[str, Any] = {"linestyle": "none", "color": GREY, "marker": "|", "markersize": 6}
    cross: dict[str, Any] = {
        "linestyle": "none",
        "color": BLACK,
        "marker": "x",
        "markersize": 5.5,
        "markeredgewidth": 1.3,
    }
    return [
        Line2D([], [], label="the paper's rounds and data", **_shape("full", INK)),
        Line2D([], [], label="the same, before a change in the code", **_shape("before a change", INK)),
        Line2D([], [], label="hollow: fewer rounds or other data", **_shape("smaller", INK)),
        Line2D([], [], label="line: 95 % interval over seeds", color=INK, linewidth=1.8),
        Line2D([], [], label="one pair of methods on one problem, or one number", **ticks),
        Line2D([], [], label="the same from published numbers", **cross),
    ]
