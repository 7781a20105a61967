"""The contexts: seen, expected, and guarded against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windward.basics.errors import IncompatibleError
from windward.objectives.protocol import Averaging
from windward.present.plots.style import ADVERSE, QUIET, VALUE, faint, figure, graph_objects, panels, plain, share_ticks
from windward.present.plots.view import View, view
from windward.present.snapshot import Source
from windward.space import Value, sectioned

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Bins of a numeric context: fewer hide the adversary's move, more show the sampling of the points.
BINS = 24
# Panels; further contexts are left out, and the caption says so. More than three beside each other are too narrow.
MOST, ABREAST = 6, 3
# Letters that fit beside each other below one of three panels; how far labels are turned beyond that, and how wide a letter is.
MOST_LETTERS, TURNED, LETTER = 30, 40, 8
# Heights of a row of panels and of what stands around them, in pixels.
ROW, AROUND = 290, 130


def contexts(study: Source) -> go.Figure:
    """Return, context by context, what was seen, the model's density and the weights the recommendation is guarded against."""
    study = study.snapshot()
    seen = view(study)
    if not seen.space.context:
        raise IncompatibleError(f"study {study.name!r}: its policy looks at no contexts; there are none to draw.")
    names = list(seen.space.context)[:MOST]
    guarded = not isinstance(seen.objective, Averaging)
    made = figure("What the contexts look like", _caption(seen, guarded, len(seen.space.context)))
    rows = -(-len(names) // ABREAST)
    panels(made, rows, min(len(names), ABREAST), horizontal_spacing=0.1, vertical_spacing=0.3 / rows)
    deep = max(_depth(labels) for labels in (_labels(seen, name) for name in names))
    height = AROUND + ROW * rows + deep
    # Below the title of the last axis, however many rows there are and however long its labels.
    made.update_layout(height=height, legend={"y": -(65.0 + deep) / (height - 108 - deep)}, margin={"b": 52 + deep})
    made.update_layout(barmode="overlay", bargap=0.05)
    shown = set[str]()
    for place, name in enumerate(names):
        at = {"row": place // ABREAST + 1, "col": place % ABREAST + 1}
        most = 0.0
        for trace in _panel(seen, name, guarded):
            trace.update(showlegend=trace.name not in shown, legendgroup=trace.name)
            shown.add(trace.name)
            most = max([most, *trace.y])
            made.add_trace(trace, **at)
        made.update_xaxes(title=plain(seen.space.headed(name)), **at)
        made.update_yaxes(rangemode="tozero", **share_ticks(most), **at)
        if labels := _labels(seen, name):
            made.update_xaxes(type="category", tickangle=TURNED if _depth(labels) else 0, **at)
    made.update_yaxes(title="how likely", col=1)
    return made


def _labels(seen: View, name: str) -> list[str]:
    """Return the labels side by side on the axis of a context: none for a range."""
    parameter = seen.space.context[name]
    listed = sectioned(parameter, seen.space.circles[name], [])[0] if name in seen.space.circles else parameter.choices
    return [plain(each) for each in listed]


def _depth(labels: Sequence[str]) -> int:
    """Return how many pixels labels need below those of one line: where they do not fit beside each other they are turned."""
    letters = sum(len(label) + 2 for label in labels)
    return round(0.6 * LETTER * max(map(len, labels))) if letters > MOST_LETTERS else 0


def _caption(seen: View, guarded: bool, count: int) -> str:
    text = "Blue: how likely each context is taken to be, from those seen (ticks). "
    text += (
        f"Orange: the mix of contexts the {seen.subject} is protected against, the least favourable one considered."
        if guarded
        else f"The {seen.subject} is the best for this average; it is not protected against another mix."
    )
    return text + (f" The first {MOST} of {count} contexts are shown." if count > MOST else "")


def _panel(seen: View, name: str, guarded: bool) -> list[Any]:
    go = graph_objects()
    space, parameter = seen.space, seen.space.context[name]
    points = [space.decode_context(point)[name] for point in seen.contexts.points]
    observed = [
        trial.context[name] for trial in seen.trials if name in trial.context and trial.context_source != "chosen"
    ]
    reference, adversary = seen.contexts.weights.tolist(), seen.adversary.tolist()
    listed: Sequence[Value] = parameter.choices
    if name in space.circles:  # in sections, so that none of them is an end
        listed, places = sectioned(parameter, space.circles[name], points)
        points = [listed[place] for place in places]
        observed = [listed[place] for place in sectioned(parameter, space.circles[name], observed)[1]]
    if listed:
        labels = [plain(choice) for choice in listed]
        share = [_mass(points, reference, choice) for choice in listed]
        bars = [go.Bar(x=labels, y=share, name="expected", marker={"color": faint(VALUE, 0.55)})]
        if observed:
            counted = [sum(value == choice for value in observed) / len(observed) for choice in listed]
            bars.append(_marks(go, labels, counted, "seen", QUIET, "line-ew-open"))
        if guarded:
            worst = [_mass(points, adversary, choice) for choice in listed]
            bars.append(_marks(go, labels, worst, "protected against", ADVERSE, "diamond"))
        return bars
    numbers = [float(value) for value in points]
    spots = [float(value) for value in observed]
    low, high = min([*numbers, *spots]), max([*numbers, *spots])
    width = (high - low or 1.0) / BINS
    centres = [low + (bin + 0.5) * width for bin in range(BINS)]
    expected = _binned(numbers, reference, low, width)
    traces = [go.Bar(x=centres, y=expected, width=width * 0.96, name="expected", marker={"color": faint(VALUE, 0.55)})]
    if guarded:
        edges = [low + bin * width for bin in range(BINS + 1)]
        traces.append(
            go.Scatter(
                x=[low, *edges],  # from the first bar's left edge to the last one's right edge, and down to nothing
                y=[0.0, *_binned(numbers, adversary, low, width), 0.0],
                mode="lines",
                line={"shape": "hv", "color": ADVERSE, "width": 2.5},
                name="protected against",
            )
        )
    if spots:
        traces.append(_marks(go, spots, [0.0] * len(spots), "seen", QUIET, "line-ns-open"))
    return traces


def _marks(go: Any, x: Sequence[object], y: Sequence[float], name: str, color: str, symbol: str) -> Any:
    marker = {"color": color, "symbol": symbol, "size": 12, "line": {"width": 2, "color": color}}
    return go.Scatter(x=list(x), y=list(y), mode="markers", marker=marker, name=name)


def _mass(points: Sequence[Value], weights: Sequence[float], choice: Value) -> float:
    return sum(weight for value, weight in zip(points, weights, strict=True) if value == choice)


def _binned(numbers: Sequence[float], weights: Sequence[float], low: float, width: float) -> list[float]:
    mass = [0.0] * BINS
    for value, weight in zip(numbers, weights, strict=True):
        mass[min(int((value - low) / width), BINS - 1)] += weight
    return mass
