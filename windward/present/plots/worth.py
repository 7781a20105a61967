"""What decisions are worth: the objective over one or two of them, the others as recommended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from windward.basics.errors import ArgumentError
from windward.basics.speech import and_list, percent
from windward.present.plots.style import (
    CHOSEN,
    SPOT,
    STAR,
    TRIED,
    VALUE,
    band,
    figure,
    graph_objects,
    log_ticks,
    panels,
    plain,
    whole_ticks,
)
from windward.present.plots.view import View, view
from windward.present.sentences import objective_name
from windward.present.snapshot import Source
from windward.space.parameters import Parameter, Value
from windward.suggest.in_context import across_decisions

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Places on one axis, and on each of two.
STEPS, STEPS_OF_TWO = 61, 21
# Where each drawn value is solved for, which takes about a second for a place.
SOLVED_STEPS, SOLVED_STEPS_OF_TWO = 17, 7
# Decisions that are held, as the picture names them; further ones are named in the caption alone.
MOST_NAMED = 3


def landscape(study: Source, *names: str) -> go.Figure:
    """Return what decisions are worth with the 90 % interval, over one or two of them: the first ones where not said.

    A decision and a context give the average value of each decision on each kind of day.
    """
    study = study.snapshot()
    seen = view(study)
    chosen = list(names) or list(seen.space.decision)[:2]
    if len(chosen) == 2 and chosen[0] in seen.space.decision and chosen[1] in seen.space.context:
        return _by_context(seen, chosen[0], chosen[1])
    unknown = [name for name in chosen if name not in seen.space.decision]
    if unknown or len(chosen) > 2 or len(set(chosen)) < len(chosen):
        known = ", ".join(repr(name) for name in seen.space.decision)
        raise ArgumentError(
            f"landscape{tuple(names)!r}: give one or two different decisions of {known}, or one and a context."
        )
    return _one(seen, chosen[0]) if len(chosen) == 1 else _two(seen, chosen[0], chosen[1])


def _one(seen: View, name: str) -> go.Figure:
    go, parameter = graph_objects(), seen.space.decision[name]
    places = _places(parameter, SOLVED_STEPS if seen.found.base.unknowns.solving else STEPS)
    x = _decisions(seen, {name: places})
    worth, (low, high) = seen.values_at(x).tolist(), (ends.tolist() for ends in seen.intervals_at(x))
    made = _empty(seen, [name])
    shown = [_label(parameter, place) for place in places]
    if parameter.choices or len(places) <= 12:
        error = {
            "type": "data",
            "symmetric": False,
            "array": [up - v for up, v in zip(high, worth, strict=True)],
            "arrayminus": [v - down for v, down in zip(worth, low, strict=True)],
            "color": VALUE,
        }
        marks = {"color": VALUE, "size": 9}
        made.add_trace(go.Scatter(x=shown, y=worth, error_y=error, mode="markers", marker=marks, name=_title(seen)))
    else:
        made.add_trace(band(go, shown, low, high, "90 % interval", VALUE))
        made.add_trace(go.Scatter(x=shown, y=worth, line={"color": VALUE, "width": 2.5}, name=_title(seen)))
    best = seen.decision[name]
    mark = {"color": CHOSEN, "size": 13, "symbol": "star"}
    label = f"{seen.named}: {plain(seen.space.said(name, best))}"
    made.add_trace(go.Scatter(x=[_label(parameter, best)], y=[seen.value], mode="markers", marker=mark, name=label))
    made.update_xaxes(title=plain(seen.space.headed(name)), **_axis(parameter))
    made.update_yaxes(title=plain(seen.outcome.measure.headed(objective_name(seen.objective, seen.outcome))))
    return made


def _two(seen: View, first: str, second: str) -> go.Figure:
    go = graph_objects()
    across, up = (seen.space.decision[name] for name in (first, second))
    steps = SOLVED_STEPS_OF_TWO if seen.found.base.unknowns.solving else STEPS_OF_TWO
    one, two = (_places(parameter, steps) for parameter in (across, up))
    pairs = [(a, b) for b in two for a in one]
    x = _decisions(seen, {first: [a for a, _ in pairs], second: [b for _, b in pairs]})
    worth, (low, high) = seen.values_at(x), seen.intervals_at(x)
    made = _empty(seen, [first, second])
    panels(made, 1, 2, horizontal_spacing=0.16, titles=[_title(seen), "± half the 90 % interval"])
    made.update_layout(margin={"t": made.layout.margin.t + 28})  # the panels have titles too
    tried = seen.trials.arrived
    for column, surface in enumerate((worth, 0.5 * (high - low)), start=1):
        made.add_trace(
            go.Heatmap(
                x=[_label(across, place) for place in one],
                y=[_label(up, place) for place in two],
                z=surface.reshape(len(two), len(one)).tolist(),
                colorscale="Viridis" if column == 1 else "Greys",
                reversescale=column == 1 and seen.sign < 0,  # bright is better, whichever way better is
                colorbar={"x": 0.42 if column == 1 else 1.0, "thickness": 10},
                zsmooth="best" if _smooth(across) and _smooth(up) else False,
            ),
            row=1,
            col=column,
        )
        for rows, mark, label in (
            ([trial.decision for trial in tried], TRIED, "tried"),
            ([seen.decision], STAR, seen.named),
        ):
            made.add_trace(
                go.Scatter(
                    x=[_label(across, row[first]) for row in rows],
                    y=[_label(up, row[second]) for row in rows],
                    mode="markers",
                    marker=mark,
                    name=label,
                    showlegend=column == 1,
                    cliponaxis=False,  # what was tried at a bound is drawn whole
                ),
                row=1,
                col=column,
            )
        made.update_xaxes(title=plain(seen.space.headed(first)), **_axis(across), row=1, col=column)
        made.update_yaxes(**_axis(up), showticklabels=column == 1, row=1, col=column)
    made.update_yaxes(
        title=plain(seen.space.headed(second)), row=1, col=1
    )  # the other panel has the same axis: its labels would need room
    return made


def _by_context(seen: View, name: str, context: str) -> go.Figure:
    go, parameter = graph_objects(), seen.space.decision[name]
    places = _places(parameter, STEPS_OF_TWO)
    rows = across_decisions(seen.found, context, _decisions(seen, {name: places}))
    labels = [f"{plain(label)} ({percent(share)})" for label, share, _ in rows]
    best = [places[int(means.argmax())] for _, _, means in rows]  # oriented: more is better
    text = (
        "The average value of every choice on each kind of day, with how often it comes. Dots: the best choice there."
    )
    made = _empty(seen, [name], f"What each choice of {plain(name)} is worth by {plain(context)}", text)
    made.add_trace(
        go.Heatmap(
            x=[_label(parameter, place) for place in places],
            y=labels,
            z=[(seen.sign * means).tolist() for _, _, means in rows],
            colorscale="Viridis",
            reversescale=seen.sign < 0,  # bright is better, whichever way better is
            colorbar={"thickness": 10},
        )
    )
    chosen = [_label(parameter, place) for place in best]
    made.add_trace(go.Scatter(x=chosen, y=labels, mode="markers", marker=SPOT, name="best there", showlegend=True))
    made.update_xaxes(title=plain(seen.space.headed(name)), **_axis(parameter))
    made.update_yaxes(title=plain(seen.space.headed(context)), type="category", automargin=True)
    return made


def _empty(seen: View, names: list[str], title: str = "", text: str = "") -> go.Figure:
    title = title or f"What each choice of {and_list([plain(name) for name in names])} is worth"
    text = text or f"Estimated {_title(seen)} of every choice, from what has arrived."
    rest = [f"{plain(n)} = {plain(seen.space.said(n, v))}" for n, v in seen.decision.items() if n not in names]
    if not rest:
        return figure(title, text)
    # In the picture too: it may be copied without its caption.
    note = f"with {', '.join(rest[:MOST_NAMED])}" + (" and the others" if len(rest) > MOST_NAMED else "")
    named = "as in the first guess" if seen.early else "as recommended"
    return figure(title, f"{text} The other decisions are {named}: {', '.join(rest)}.", f"{note} {named}")


def _title(seen: View) -> str:
    return plain(objective_name(seen.objective, seen.outcome))


def _places(parameter: Parameter, steps: int) -> list[Value]:
    if parameter.choices:
        return list(parameter.choices)
    unit = torch.linspace(0.0, 1.0, steps, dtype=torch.float64)
    places = [parameter.from_unit(u[None].numpy()) for u in unit]
    return places if parameter.continuous else list(dict.fromkeys(places))  # each whole number once


def _decisions(seen: View, columns: dict[str, list[Value]]) -> Tensor:
    """Return the recommended decision with some of its values replaced, encoded; `"b d"`."""
    count = len(next(iter(columns.values())))
    rows = [{**seen.decision, **{name: values[at] for name, values in columns.items()}} for at in range(count)]
    return seen.space.encode_decisions(rows)


def _label(parameter: Parameter, value: Value) -> Value:
    return plain(value) if parameter.choices else value


def _smooth(parameter: Parameter) -> bool:
    return not parameter.choices and not parameter.log


def _axis(parameter: Parameter) -> dict[str, Any]:
    if parameter.choices:
        return {"type": "category"}
    ends = [float(parameter.from_unit(np.array([end]))) for end in (0.0, 1.0)]
    if parameter.log:
        return log_ticks(*ends)
    return {"type": "linear"} if parameter.continuous else {"type": "linear", **whole_ticks(ends)}
