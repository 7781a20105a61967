"""What came back, trial by trial."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from windward.present.plots.style import ADVERSE, CHOSEN, QUIET, VALUE, figure, graph_objects, plain, whole_ticks
from windward.present.plots.view import View, view
from windward.present.sentences import objective_name
from windward.present.snapshot import Snapshot, Source
from windward.trials.records import Trial

if TYPE_CHECKING:
    import plotly.graph_objects as go


def history(study: Source) -> go.Figure:
    """Return values by trial, the best decision so far as it is judged today, and marks for what is pending or lost."""
    go = graph_objects()
    study = study.snapshot()
    trials = study.trials
    made = figure(
        "What came back",
        "Each dot is one result. The line is the best decision tried up to then, judged by all that is known today. Marks "
        "at the bottom edge are decisions whose result is still on the way or was lost.",
    )
    told = [trial for trial in trials if trial.value is not None]
    whole = [trial for trial in told if trials.knows_context(trial)]
    part = [trial for trial in told if not trials.knows_context(trial)]
    if whole:
        made.add_trace(_dots(go, study, whole, "results", VALUE, "circle"))
        made.add_trace(_running(go, view(study), study.direction))
    if part:
        made.add_trace(_dots(go, study, part, "results without their whole context", VALUE, "circle-open"))
    values = [float(trial.value) for trial in told if trial.value is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    edge = low - 0.08 * ((high - low) or 1.0)
    for state, name, color, symbol in (
        ("pending", "still on the way", ADVERSE, "diamond-open"),
        ("lost", "lost", QUIET, "x-thin-open"),
    ):
        rows = [trial for trial in trials if trial.state == state]
        if rows:
            made.add_trace(_dots(go, study, rows, f"{name} ({len(rows)})", color, symbol, at=edge))
    made.update_xaxes(title="trial", **whole_ticks([trial.id for trial in trials] or [0]))
    made.update_yaxes(title=plain(study.outcome.head))
    return made


def _running(go: Any, seen: View, direction: str) -> Any:
    ids = torch.tensor([trial.id for trial in seen.trials.arrived])
    order = ids.argsort()  # results arrive in any order, decisions were made in this one
    worth = seen.values_at(seen.trials.dataset.x)[order]
    best = worth.cummax(0).values if direction == "maximize" else worth.cummin(0).values
    return go.Scatter(
        x=ids[order].tolist(),
        y=best.tolist(),
        mode="lines",
        line={"shape": "hv", "color": CHOSEN, "width": 2.5},
        name=f"best so far, by {plain(objective_name(seen.objective, seen.outcome))}",
    )


def _dots(
    go: Any, study: Snapshot, rows: list[Trial], name: str, color: str, symbol: str, at: float | None = None
) -> Any:
    y = [trial.value if at is None else at for trial in rows]
    assert all(each is not None and math.isfinite(each) for each in y)
    return go.Scatter(
        x=[trial.id for trial in rows],
        y=y,
        mode="markers",
        marker={"color": color, "symbol": symbol, "size": 9, "line": {"width": 2, "color": color}},
        name=name,
        text=[_hover(study, trial) for trial in rows],
        hoverinfo="text",
    )


def _hover(study: Snapshot, trial: Trial) -> str:
    space, outcome = study.space, study.outcome
    lines = [f"trial {trial.id}: {trial.state}"]
    lines += [f"{plain(name)} = {plain(space.said(name, value))}" for name, value in trial.decision.items()]
    lines += [f"{plain(name)} = {plain(space.said(name, value))} (context)" for name, value in trial.context.items()]
    if trial.value is not None:
        lines.append(f"{plain(outcome.name)} = {plain(outcome.text(trial.value))}")
    if trial.set_aside is not None:
        lines.append(f"{plain(outcome.name)} set aside = {plain(outcome.text(trial.set_aside))}")
    if trial.lost is not None:
        lines.append(f"lost: {plain(trial.lost)}")
    return "<br>".join(lines)
