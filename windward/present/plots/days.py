"""What the recommended decision is worth on each kind of day, beside the status quo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windward.basics.speech import percent
from windward.present.plots.style import QUIET, VALUE, figure, graph_objects, panels, plain, plain_words
from windward.present.snapshot import Snapshot, Source
from windward.space import Outcome
from windward.suggest.in_context import ByContext, ContextCell

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Panels below each other; further contexts are left out, and the caption says so.
MOST = 6
# Heights of a panel and of what stands around them, in pixels.
PANEL, AROUND, BELOW = 230, 175, 80
# Letters of ranges that fit beside each other in one line; of more, each takes two, and a line is so high.
ABREAST, LINE = 72, 17
# How far to the sides two marks of one cell stand, of the distance between cells.
BESIDE = 0.04


def by_context(study: Source, *names: str) -> go.Figure:
    """Return what the recommended decision is worth in each cell of each context; of two `names` together, a heat map."""
    seen = study.snapshot()
    if len(names) == 2:
        return _map(seen, seen.by_context("by_context", over=names), *names)
    found = seen.by_context("by_context", over=names or None)
    shown = found.names[:MOST]
    made = figure("What it is worth on each kind of day", _caption(found))
    panels(made, len(shown), 1, vertical_spacing=0.32 / len(shown))
    by_name = {name: [cell for cell in found.cells if name in cell.where] for name in shown}
    texts = {name: _ticks(seen, by_name[name], name) for name in shown}
    # Below the lines of labels and the last axis's title.
    below = BELOW + (LINE if any("<br>" in text for text in texts[shown[-1]]) else 0)
    made.update_layout(height=AROUND + below - BELOW + PANEL * len(shown))
    made.update_layout(legend={"y": -below / (PANEL * len(shown))}, margin={"b": below + 30})
    for row, name in enumerate(shown, start=1):
        numeric = not seen.space.context[name].choices
        cells = by_name[name]
        for trace in _panel(cells, name, numeric):
            trace.update(showlegend=row == 1, legendgroup=trace.name)
            made.add_trace(trace, row=row, col=1)
        labels = [f"{text}<br>{_share(cell)}" for text, cell in zip(texts[name], cells, strict=True)]
        ticks = {"tickvals": list(range(len(cells))), "ticktext": labels}
        made.update_xaxes(
            title=plain(seen.space.headed(name)),
            range=[-0.5, len(cells) - 0.5],
            tickangle=0,
            zeroline=False,
            row=row,
            col=1,
            **ticks,
        )
        made.update_yaxes(title=plain(seen.outcome.head), row=row, col=1)
    return made


def _ticks(seen: Snapshot, cells: Sequence[ContextCell], name: str) -> list[str]:
    """Return the labels of an axis of cells: without the unit, which its title has, and in two lines where they are many."""
    unit = plain(seen.space.measure(name).unit or "")
    texts = [_label(cell, name).removesuffix(unit).rstrip() for cell in cells]
    if seen.space.context[name].choices or sum(len(text) + 2 for text in texts) <= ABREAST:
        return texts
    return ["<br>".join(text.rsplit(" ", 1)) for text in texts]


def _caption(found: ByContext) -> str:
    text = f"The average of {plain_words(found.called)} on each kind of day, with its 90 % interval."
    text += " Below each: how often it is taken to come."
    if not found.average:
        text += " These are plain averages; the study's objective is another one."
    left = len(found.names) - MOST
    return text + (f" The first {MOST} of {len(found.names)} contexts are shown." if left > 0 else "")


def _panel(cells: Sequence[ContextCell], name: str, numeric: bool) -> list[Any]:
    labels = [_label(cell, name) for cell in cells]
    outcome = cells[0].outcome if cells else Outcome()
    own = [(cell.value, cell.interval) for cell in cells]
    quo = [(c.status_quo, c.status_quo_interval) for c in cells if c.status_quo is not None]
    aside = BESIDE if quo else 0.0
    traces = [_marks(labels, -aside, own, "this decision", VALUE, numeric, outcome)]
    return [*traces, _marks(labels, aside, quo, "status quo", QUIET, numeric, outcome)] if quo else traces


def _marks(
    labels: Sequence[str],
    aside: float,
    values: Sequence[Any],
    name: str,
    color: str,
    joined: bool,
    outcome: Outcome,
) -> Any:
    go = graph_objects()
    said = [
        f"{label}, {name}: {plain(outcome.text(value))} ({plain(outcome.span(low, high, 'to'))})"
        for label, (value, (low, high)) in zip(labels, values, strict=True)
    ]
    return go.Scatter(
        x=[place + aside for place in range(len(values))],
        y=[value for value, _ in values],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [high - value for value, (_, high) in values],
            "arrayminus": [value - low for value, (low, _) in values],
            "color": color,
            "thickness": 1.5,
            "width": 5,
        },
        mode="lines+markers" if joined else "markers",
        line={"color": color, "width": 2},
        marker={"color": color, "size": 9, "symbol": "circle" if color == VALUE else "diamond"},
        name=name,
        hovertext=said,
        hoverinfo="text",
    )


def _map(seen: Snapshot, found: ByContext, first: str, second: str) -> go.Figure:
    go = graph_objects()
    across, up = (list(dict.fromkeys(_label(cell, name) for cell in found.cells)) for name in (first, second))
    cells = {(_label(cell, first), _label(cell, second)): cell for cell in found.cells}
    rows = [[cells.get((a, b)) for a in across] for b in up]
    made = figure(f"What it is worth by {plain(first)} and {plain(second)}", _caption(found))
    made.add_trace(
        go.Heatmap(
            x=across,
            y=up,
            z=[[None if cell is None else cell.value for cell in row] for row in rows],
            text=[
                ["" if cell is None else f"{plain(cell.outcome.text(cell.value))}<br>{_share(cell)}" for cell in row]
                for row in rows
            ],
            texttemplate="%{text}",
            colorscale="Blues",
            colorbar={"thickness": 10},
            hoverinfo="text",
        )
    )
    made.update_xaxes(title=plain(seen.space.headed(first)), type="category")
    made.update_yaxes(title=plain(seen.space.headed(second)), type="category")
    return made


def _label(cell: ContextCell, name: str) -> str:
    return plain(cell.labels[name])


def _share(cell: ContextCell) -> str:
    return "below 1 %" if cell.share < 0.01 else percent(cell.share)
