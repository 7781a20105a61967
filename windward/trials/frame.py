"""Trials as a pandas DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windward.basics.errors import MissingDependency
from windward.space.space import Space
from windward.trials.trials import Trials

if TYPE_CHECKING:
    import pandas

FIELDS = (
    "value",
    "noise",
    "state",
    "set_aside",
    "lost",
    "delay",
    "context_source",
    "when",
    "asked_at",
    "context_at",
    "told_at",
    "note",
    "tags",
)


def dataframe(space: Space, trials: Trials) -> pandas.DataFrame:
    """Return one row per trial: `decision.<name>` (done), `planned.<name>` (asked), `context.<name>` and the rest.

    `context_planned.<name>` is what was given or chosen of the context when the trial was asked.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingDependency("study.dataframe() needs pandas: pip install 'windward[data]'.") from error
    rows = []
    for trial in trials:
        row: dict[str, Any] = {"id": trial.id}
        row |= {f"decision.{name}": trial.decision[name] for name in space.decision}
        row |= {f"planned.{name}": (trial.planned or trial.decision)[name] for name in space.decision}
        row |= {f"context.{name}": trial.context.get(name) for name in space.context}
        row |= {f"context_planned.{name}": (trial.context_planned or {}).get(name) for name in space.context}
        rows.append(row | {field: getattr(trial, field) for field in FIELDS})
    named = [f"{role}.{name}" for role in ("decision", "planned") for name in space.decision]
    named += [f"{role}.{name}" for role in ("context", "context_planned") for name in space.context]
    frame = pandas.DataFrame(rows, columns=["id", *named, *FIELDS]).set_index("id")
    return frame.astype({"value": float, "noise": float, "set_aside": float})
