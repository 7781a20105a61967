"""Whether the model deserves belief: every result beside its prediction from the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windward.present.plots.style import ADVERSE, QUIET, VALUE, faint, figure, graph_objects, plain
from windward.present.snapshot import Snapshot, Source
from windward.suggest.checked import CheckedTrial
from windward.trials.records import Trial

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Room around what is drawn, as a share of it.
ROOM = 0.04


def check(study: Source) -> go.Figure:
    """Return the predictions of all results against what came back, with their 90 % ranges; outliers are named."""
    go = graph_objects()
    seen = study.snapshot()
    found = seen.check("study.check")
    made = figure(
        "What the model would have predicted",
        "Each result was left out and predicted from the others. Bars are 90 % ranges: nine in ten should reach the dashed "
        "line, where prediction and result are the same.",
    )
    across = _range([row.observed for row in found.trials])
    up = _range([end for row in found.trials for end in (row.low, row.high, row.observed)])
    line = {"color": QUIET, "dash": "dash", "width": 1.5}
    made.add_trace(go.Scatter(x=across, y=across, mode="lines", line=line, hoverinfo="skip", showlegend=False))
    strange = set(found.outliers)
    groups = (
        ("in its 90 % range", [row for row in found.trials if row.inside and row.id not in strange], VALUE),
        ("outside it", [row for row in found.trials if not row.inside and row.id not in strange], ADVERSE),
    )
    for name, rows, color in groups:
        if rows:
            made.add_trace(_dots(go, seen, rows, name, color))
    if strange:
        made.add_trace(_named(go, seen, [row for row in found.trials if row.id in strange], sum(across) / 2))
    made.update_xaxes(title=plain(seen.outcome.measure.headed("result")), range=across)
    made.update_yaxes(title=plain(seen.outcome.measure.headed("predicted from the others")), range=up)
    return made


def _range(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    room = ROOM * (high - low)
    return [low - room, high + room]


def _dots(go: Any, seen: Snapshot, rows: Sequence[CheckedTrial], name: str, color: str) -> Any:
    return go.Scatter(
        x=[row.observed for row in rows],
        y=[row.predicted for row in rows],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [row.high - row.predicted for row in rows],
            "arrayminus": [row.predicted - row.low for row in rows],
            "color": faint(color, 0.5),
            "thickness": 1.5,
            "width": 0,
        },
        mode="markers",
        marker={"color": color, "size": 8},
        name=f"{name} ({len(rows)})",
        hovertext=[_hover(seen, row, seen.trials[row.id]) for row in rows],
        hoverinfo="text",
    )


def _named(go: Any, seen: Snapshot, rows: Sequence[CheckedTrial], middle: float) -> Any:
    """Return outliers with their ids beside them, on the side that has more room."""
    drawn = _dots(go, seen, rows, "far from what the others suggest", ADVERSE)
    return drawn.update(
        mode="markers+text",
        marker={"symbol": "diamond", "size": 12},
        text=[f"trial {row.id}" for row in rows],
        textposition=[f"middle {'left' if row.observed > middle else 'right'}" for row in rows],
    )


def _hover(seen: Snapshot, row: CheckedTrial, trial: Trial) -> str:
    space, outcome = seen.space, seen.outcome
    lines = [f"trial {row.id}: {plain(outcome.text(row.observed))}"]
    lines.append(
        f"predicted {plain(outcome.text(row.predicted))}, range {plain(outcome.span(row.low, row.high, 'to'))}"
    )
    lines += [f"{plain(name)} = {plain(space.said(name, value))}" for name, value in trial.decision.items()]
    lines += [f"{plain(name)} = {plain(space.said(name, value))} (context)" for name, value in trial.context.items()]
    return "<br>".join(lines)
