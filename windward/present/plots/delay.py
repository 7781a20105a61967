"""What arrived, what is pending and what was lost, over time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from windward.basics.errors import TrialError
from windward.present.plots.style import ADVERSE, QUIET, VALUE, faint, figure, graph_objects, panels, whole_ticks
from windward.present.snapshot import Snapshot, Source

if TYPE_CHECKING:
    import plotly.graph_objects as go

# How long is "long": the unit of waiting times is the largest one that the longest wait fills.
UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))


def delays(study: Source) -> go.Figure:
    """Return how many asked trials had arrived, were pending or lost at any time, and how long each has waited."""
    go = graph_objects()
    study = study.snapshot()
    asked = study.trials.asked
    if not asked:
        raise TrialError(f"study {study.name!r}: nothing has been asked yet; there are no delays to draw.")
    made = figure(
        "What is late",
        "Over time: how many of the decisions asked so far had their result, were waiting for it, or had been given up. "
        "Below or beside it: how long each waited; open marks are still waiting.",
    )
    panels(made, 1, 2, horizontal_spacing=0.12, titles=["results over time", "waiting time"])
    made.update_layout(margin={"t": 84})  # two titles
    times, counts = _counts(study)
    for state, color in (("arrived", VALUE), ("pending", ADVERSE), ("lost", QUIET)):
        made.add_trace(
            go.Scatter(
                x=times,
                y=counts[state],
                stackgroup="all",
                line={"shape": "hv", "color": color, "width": 1},
                fillcolor=faint(color, 0.45),
                name=state,
            ),
            row=1,
            col=1,
        )
    for trace, unit in _waits(go, study):
        made.add_trace(trace, row=1, col=2)
        made.update_yaxes(title=unit, rangemode="tozero", row=1, col=2)
    made.update_yaxes(title="trials", rangemode="tozero", **whole_ticks([0, len(asked)]), row=1, col=1)
    made.update_xaxes(nticks=4, tickangle=0, row=1, col=1)  # dates are long, and would be turned
    made.update_xaxes(title="trial", **whole_ticks([trial.id for trial in asked]), row=1, col=2)
    return made


def _counts(study: Snapshot) -> tuple[list[datetime], dict[str, list[int]]]:
    """Return the times at which something happened, and how many trials were in each state from then on."""
    state: dict[int, str] = {}
    times: list[datetime] = []
    counts: dict[str, list[int]] = {"arrived": [], "pending": [], "lost": []}
    becomes = {"asked": "pending", "told": "arrived", "lost": "lost"}
    events = study.events()
    told = {event.trial: event.seq for event in events if event.kind == "told"}  # the last time
    for event in events:
        if event.trial is None or (event.kind != "asked" and event.trial not in state):
            continue  # history that was added was never waited for
        # A context that completes a lost trial's value brings it back.
        later = event.seq > told.get(event.trial, 0) and study.trials[event.trial].lost is None
        back = event.kind == "context_seen" and state.get(event.trial) == "lost" and later
        if event.kind not in becomes and not back:
            continue
        state[event.trial] = "arrived" if back else becomes[event.kind]
        times.append(event.at)
        for name, series in counts.items():
            series.append(sum(each == name for each in state.values()))
    times.append(study.now)
    return times, {name: [*series, series[-1]] for name, series in counts.items()}


def _waits(go: Any, study: Snapshot) -> list[tuple[Any, str]]:
    """Return the waiting times, and their unit: of what arrived, and of what is still pending."""
    now = study.now
    done, waiting = [], []
    for trial in study.trials.asked:
        assert trial.asked_at is not None
        if trial.told_at is not None:
            done.append((trial.id, (trial.told_at - trial.asked_at).total_seconds()))
        elif trial.state == "pending":
            waiting.append((trial.id, (now - trial.asked_at).total_seconds()))
    longest = max((seconds for _, seconds in [*done, *waiting]), default=0.0)
    unit, size = next((pair for pair in UNITS if longest >= pair[1]), UNITS[-1])
    traces = []
    for rows, name, color, symbol in (
        (done, "waited", VALUE, "circle"),
        (waiting, "still waiting", ADVERSE, "diamond-open"),
    ):
        if rows:
            marker = {"color": color, "symbol": symbol, "size": 8, "line": {"width": 2, "color": color}}
            x, y = [id for id, _ in rows], [seconds / size for _, seconds in rows]
            traces.append((go.Scatter(x=x, y=y, mode="markers", marker=marker, name=name, cliponaxis=False), unit))
    return traces
