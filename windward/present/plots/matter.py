"""What matters: the share of the variation that each decision and context accounts for, and how each acts on average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windward.basics.speech import Measure, and_list, percent
from windward.present.plots.style import (
    ADVERSE,
    VALUE,
    band,
    faint,
    figure,
    graph_objects,
    log_ticks,
    panels,
    plain,
    share_ticks,
)
from windward.present.snapshot import Source
from windward.space import Space, Value, sectioned
from windward.suggest.influence import Influence

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Inputs that are shown, those that matter most; further ones are left out, and the caption says so.
MOST_BARS, MOST_PANELS = 12, 6
# Heights of a bar, of a panel and of what stands around them, in pixels.
BAR, PANEL, AROUND = 46, 210, 150


def importance(study: Source) -> go.Figure:
    """Return bars of how much of the variation each decision and context accounts for, by itself and in all."""
    go = graph_objects()
    found = study.snapshot().importance("importance")
    shown = found.inputs[:MOST_BARS][::-1]  # the first at the top
    left = len(found.inputs) - len(shown)
    caption = (
        "The share of the variation that each accounts for: by itself, and with all that it does together with others. "
        f"Decisions count evenly over their ranges, contexts as they come. {plain_sentence(found.sentences[0])}"
    )
    made = figure("What matters", caption + (f" The {left} that matter least are left out." if left else ""))
    labels = [_label(one) for one in shown]
    bars = (
        ("in all", [one.total for one in shown], [one.total_interval for one in shown], faint(VALUE, 0.35), VALUE),
        ("by itself", [one.first for one in shown], [one.first_interval for one in shown], VALUE, ADVERSE),
    )
    for name, shares, intervals, color, mark in bars:
        made.add_trace(
            go.Bar(
                x=shares,
                y=labels,
                orientation="h",
                name=name,
                marker={"color": color},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [high - share for share, (_, high) in zip(shares, intervals, strict=True)],
                    "arrayminus": [share - low for share, (low, _) in zip(shares, intervals, strict=True)],
                    "color": mark,
                    "thickness": 1.5,
                    "width": 4,
                },
                hovertext=[
                    f"{label}, {name}: {percent(share)} ({percent(low)} to {percent(high)})"
                    for label, share, (low, high) in zip(labels, shares, intervals, strict=True)
                ],
                hoverinfo="text",
            )
        )
    made.update_xaxes(title="share of the variation", range=[0.0, 1.0], **share_ticks(1.0))
    made.update_yaxes(automargin=True)
    height = AROUND + BAR * len(shown)
    made.update_layout(barmode="group", height=height, legend={"traceorder": "reversed", "y": -70.0 / (height - 108)})
    return made


def effects(study: Source) -> go.Figure:
    """Return the mean value at each level of a decision or context, over everything else, with its 90 % interval."""
    go, seen = graph_objects(), study.snapshot()
    found = [one for one in seen.importance("effects").inputs if one.levels]
    shown = found[:MOST_PANELS]
    left = len(found) - len(shown)
    caption = (
        "The average value at each level, over all else: other decisions over their ranges, contexts as they come."
    )
    made = figure(
        "How each acts on average", caption + (f" The {left} that matter least are left out." if left else "")
    )
    panels(made, len(shown), 1, vertical_spacing=0.3 / len(shown))
    made.update_layout(height=AROUND + PANEL * len(shown), showlegend=False)
    values = [end for one in shown for ends in one.effect_interval for end in ends]
    room = 0.05 * (max(values) - min(values))
    for row, one in enumerate(shown, start=1):
        parameter = (seen.space.decision if one.role == "decision" else seen.space.context)[one.names[0]]
        listed = _listed(seen.space, one)
        measure = seen.space.measure(one.names[0])
        for trace in _curve(go, one, bool(listed), measure):
            made.add_trace(trace, row=row, col=1)
        made.update_xaxes(
            title=plain(seen.space.headed(one.names[0])), type="category" if listed else "linear", row=row, col=1
        )
        if parameter.log and not listed:
            ends = [float(level) for level in one.levels]
            made.update_xaxes(**log_ticks(min(ends), max(ends)), row=row, col=1)
        if listed:  # in the order in which they were declared, or follow each other
            order = [plain(measure.text(each)) for each in listed]
            ends = [-0.5, len(one.levels) - 0.5]
            made.update_xaxes(categoryorder="array", categoryarray=order, range=ends, row=row, col=1)
        # On one scale: what hardly acts is to look flat.
        made.update_yaxes(
            title=plain(seen.outcome.head), range=[min(values) - room, max(values) + room], row=row, col=1
        )
    return made


def _listed(space: Space, one: Influence) -> Sequence[Value]:
    """Return the values that stand beside each other, in order: choices, or the days of a week; nothing for a range."""
    name = one.names[0]
    parameter = (space.decision if one.role == "decision" else space.context)[name]
    if one.role == "decision" or name not in space.circles:
        return parameter.choices
    sections, _ = sectioned(parameter, space.circles[name], [])
    return sections if set(one.levels) <= set(sections) else ()


def _curve(go: Any, one: Influence, listed: bool, measure: Measure) -> list[Any]:
    low, high = ([ends[side] for ends in one.effect_interval] for side in (0, 1))
    if listed:
        error = {
            "type": "data",
            "symmetric": False,
            "array": [up - value for value, up in zip(one.effect, high, strict=True)],
            "arrayminus": [value - down for value, down in zip(one.effect, low, strict=True)],
            "color": VALUE,
        }
        marks = {"color": VALUE, "size": 9}
        labels = [plain(measure.text(level)) for level in one.levels]
        return [go.Scatter(x=labels, y=list(one.effect), error_y=error, mode="markers", marker=marks)]
    order = sorted(range(len(one.levels)), key=lambda place: float(one.levels[place]))
    x = [one.levels[place] for place in order]
    y, low, high = ([each[place] for place in order] for each in (one.effect, low, high))
    curve = go.Scatter(x=x, y=y, mode="lines", line={"color": VALUE, "width": 2.5})
    return [band(go, x, low, high, "90 % interval", VALUE), curve]


def plain_sentence(text: str) -> str:
    """Return a sentence with names that plotly shows as they are; longer than a name may be."""
    return "".join(plain(each) for each in text)


def _label(one: Influence) -> str:
    return plain(and_list(one.names))
