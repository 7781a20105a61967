"""What protection costs: value against how far the contexts may drift."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from windward.basics.errors import IncompatibleError
from windward.basics.speech import number, percent
from windward.divergences import IN_SHARES, Divergence, radius_of_all
from windward.objectives.plain import NO_PROTECTION
from windward.objectives.protocol import Around, Averaging, Within
from windward.objectives.radii import resolved
from windward.present.plots.style import CHOSEN, QUIET, VALUE, figure, graph_objects, plain, share_ticks
from windward.present.plots.view import View, view
from windward.present.sentences import joined
from windward.present.snapshot import Source

if TYPE_CHECKING:
    import plotly.graph_objects as go

STEPS = 41
# The curve is drawn up to where it is this near to the worst value, as a share of the whole way.
NEAR_WORST = 0.01
# And at most this many times the radius that it is protected up to, or that mark would be on the edge of the picture.
MOST_RADII = 5.0


def price(study: Source) -> go.Figure:
    """Return the worst average value of the recommended decision against the radius, beside the non-robust decision.

    At radius 0 it is the expected value; the legend has the worst, which the curve reaches at the right end or beyond it. The
    divergence is the objective's own, total variation where it has none.
    """
    study = study.snapshot()
    go, seen = graph_objects(), view(study)
    if len(seen.contexts) < 2:
        raise IncompatibleError(f"study {study.name!r}: its policy looks at one context alone; nothing can drift.")
    divergence = _divergence(seen)
    plain_best = seen.best(NO_PROTECTION)
    values = seen.mean_values(torch.stack([seen.x, plain_best]))
    radius = _policy_radius(seen)
    last = _last_radius(seen, divergence, values)
    cut = radius_of_all(divergence) is None and radius is not None and 0.0 < MOST_RADII * radius < last
    radii = torch.linspace(0.0, MOST_RADII * radius if cut and radius else last, STEPS, dtype=torch.float64)
    ball = replace(seen.situation, contexts=seen.contexts).ball(divergence)
    with torch.no_grad():
        curves = [seen.sign * ball(row.expand(STEPS, -1), radii).value for row in values]
        worst = [seen.sign * float(ball(row, last).value) for row in values]
    # Of total variation a person is told how many cases change, not a norm.
    share = radius_of_all(divergence) is not None
    x = (radii / 2 if share else radii).tolist()
    made = figure("What protection costs", _caption(seen, cut))
    rows = [(curves[0], worst[0], seen.x, seen.named, CHOSEN, "solid")]
    if not torch.allclose(seen.x, plain_best, atol=1e-3):
        rows.append((curves[1], worst[1], plain_best, "best if nothing drifts", VALUE, "dash"))

    def said(value: float) -> str:
        return plain(seen.outcome.text(value))

    for curve, least, decision, name, color, dash in rows:
        label = name
        if len(seen.space.decision) == 1:
            label += f": {plain(joined(seen.space, seen.space.decode_decision(decision)).replace(' to ', ' = '))}"
        # In the legend: beside the ends of the curves they would cross another line.
        label += f"<br>expected {said(float(curve[0]))}, worst {said(least)}"
        made.add_trace(go.Scatter(x=x, y=curve.tolist(), line={"color": color, "width": 2.5, "dash": dash}, name=label))
    if radius is not None and radius <= float(radii[-1]):
        at = radius / 2 if share else radius
        text = f"protected up to here ({percent(at)})" if share else f"protected up to here ({number(at)})"
        inward = "left" if at <= x[-1] / 2 else "right"
        note = {"text": text, "xanchor": inward, "yanchor": "bottom"}
        made.add_vline(x=at, line={"color": QUIET, "dash": "dot"}, annotation=note)
    made.update_xaxes(
        title="share of cases that turn out unfavourably"
        if share
        else f"how far the contexts may drift ({type(divergence).__name__} radius)",
        **(share_ticks(1.0) if share else {}),
    )
    made.update_yaxes(title=plain(seen.outcome.axis("worst average value")))
    return made


def _caption(seen: View, cut: bool) -> str:
    turns = "falls" if seen.sign > 0 else "rises"
    text = f"How the average value {turns} as the contexts drift from what was seen, in the least favourable way. "
    if cut:
        text += "Beyond the right edge it goes on, up to the worst value in the legend. "
    if isinstance(seen.objective, Averaging):
        return text + f"The {seen.subject} is the best without drift: it takes no protection into account."
    return text + "The solid line gives up a little on the left, where nothing drifts, to be better further right."


def _divergence(seen: View) -> Divergence:
    return seen.objective.divergence if isinstance(seen.objective, Around) else IN_SHARES


def _policy_radius(seen: View) -> float | None:
    return resolved("price", seen.objective.radius, seen.situation) if isinstance(seen.objective, Within) else None


def _last_radius(seen: View, divergence: Divergence, values: Tensor) -> float:
    """Return a radius at which both decisions have nearly their worst value; for total variation 2, its largest."""
    every = radius_of_all(divergence)
    if every is not None:
        return every
    ball = replace(seen.situation, contexts=seen.contexts).ball(divergence)
    mean, worst = values @ seen.contexts.weights, values.amin(-1)
    radius = 1e-3
    with torch.no_grad():
        for _ in range(40):  # doubling: from 1e-3 to 1e9
            here = ball(values, radius).value
            if bool((here - worst <= NEAR_WORST * (mean - worst) + 1e-12).all()):
                break
            radius *= 2.0
    return radius
