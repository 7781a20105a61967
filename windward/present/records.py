"""What a study says as plain data: the same fields on the command line with `--json` and over HTTP."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from windward.basics.codec import encode
from windward.space.outcomes import Outcome
from windward.trials.coming import Awaited
from windward.trials.drifts import Drift, drift_of
from windward.trials.ledger import Ledger
from windward.trials.notes import written_tags
from windward.trials.reasons import Reason
from windward.trials.records import Comparison, Recommendation, Suggestion, Trial

if TYPE_CHECKING:  # records of trials need neither torch nor a fit
    from windward.present.snapshot import Snapshot, Source
    from windward.space import Space, Value
    from windward.suggest.checked import ModelCheck
    from windward.suggest.forecasters import Forecaster
    from windward.suggest.in_context import ByContext
    from windward.suggest.influence import Importance
    from windward.suggest.stage import Stage
    from windward.trials.overdue import Overdue
    from windward.trials.shift import Shift
    from windward.trials.trials import Trials

# The probability with which the search is called settled, unless a difference that does not matter is given.
SETTLED = 0.9
# An outcome that nobody named.
UNNAMED = Outcome()
# Columns of a file that are in the unit of the outcome.
AMOUNTS = ("value", "noise", "set_aside")
TIMES = ("when", "asked_at", "context_at", "told_at")


def suggestion(found: Suggestion) -> dict[str, Any]:
    """Return a suggestion."""
    return {
        "id": found.id,
        "decision": dict(found.decision),
        "context": None if found.context is None else dict(found.context),
        "reason": reason(found.reason),
        "when": _time(found.when),
    }


def reason(found: Reason | None) -> dict[str, Any] | None:
    """Return why a decision was suggested; None where it was not recorded."""
    return None if found is None else {**found.data(), "guards": found.guard_data()}


def recommendation(found: Recommendation) -> dict[str, Any]:
    """Return a recommendation with the contexts it was judged on and their weights."""
    return {
        **_judged(found),
        "unknown_function": found.unknown_function,
        "unknown_contexts": found.unknown_contexts,
        "allowed_shift": found.allowed_shift,
        "first_guess": found.first_guess,
        "beyond": [{"kind": one.kind, "name": one.name, "limit": one.limit} for one in found.beyond],
        "best_tried": None if found.best_tried is None else _judged(found.best_tried),
        "unseen": {name: list(choices) for name, choices in found.unseen.items()},
        "radius": None if found.radius is None else asdict(found.radius),
        "drift": drift(found.drift),
        "forecast": list(found.forecast),
        "beside_status_quo": None if found.beside_status_quo is None else comparison(found.beside_status_quo),
        "contexts": [dict(context) for context in found.contexts],
        "reference": list(found.reference),
        "adversary": list(found.adversary),
    }


def drift(found: Drift | None) -> dict[str, Any] | None:
    """Return whether outcomes change with time, in numbers and in words; None where nobody asked."""
    return None if found is None else {**asdict(found), "sentence": found.sentence}


def comparison(found: Comparison) -> dict[str, Any]:
    """Return two decisions side by side."""
    return {
        "first": _judged(found.first),
        "second": _judged(found.second),
        "difference": found.difference,
        "interval": list(found.interval),
        "probability": found.probability,
        "corrected": found.corrected,
    }


def settled(seen: Snapshot, delta: float | None, context: Awaited | Mapping[str, Value] | None) -> dict[str, Any]:
    """Return whether the search can stop: by how much no decision is better, and how probable that is.

    Without `delta` it is the least that holds with a probability of 0.9; None where there is none in the units of the value.
    """
    if delta is not None:
        return {"delta": delta, "probability": seen.settled("study.settled", delta, context=context)}
    least = seen.settled_within("study.settled", SETTLED, context=context)
    return {"delta": least if math.isfinite(least) else None, "probability": SETTLED}


def _judged(found: Recommendation) -> dict[str, Any]:
    return {"decision": dict(found.decision), "value": found.value, "interval": list(found.interval)}


def check(found: ModelCheck) -> dict[str, Any]:
    """Return a check of the model, with every result beside its prediction."""
    return {
        "explained": found.explained,
        "explained_linear": found.explained_linear,
        "surely": found.surely,
        "log_score": found.log_score,
        "log_score_constant": found.log_score_constant,
        "log_score_linear": found.log_score_linear,
        "coverage": [
            {"level": each.level, "inside": each.inside, "expected": each.expected} for each in found.coverage
        ],
        "outliers": list(found.outliers),
        "noise_depends_on": dict(found.noise_depends_on),
        "sentences": list(found.sentences),
        "warnings": list(found.warnings),
        "trials": [
            {
                "id": row.id,
                "observed": row.observed,
                "predicted": row.predicted,
                "range": [row.low, row.high],
                "residual": row.residual,
                "inside": row.inside,
            }
            for row in found.trials
        ],
    }


def by_context(found: ByContext) -> dict[str, Any]:
    """Return what a decision is worth on each kind of day."""
    cells = [
        {
            "where": {name: list(each) if isinstance(each, tuple) else each for name, each in cell.where.items()},
            "labels": dict(cell.labels),
            "share": cell.share,
            "seen": cell.seen,
            "value": cell.value,
            "interval": list(cell.interval),
            "status_quo": cell.status_quo,
            "status_quo_interval": None if cell.status_quo_interval is None else list(cell.status_quo_interval),
        }
        for cell in found.cells
    ]
    return {
        "decision": dict(found.decision),
        "status_quo": None if found.status_quo is None else dict(found.status_quo),
        "names": list(found.names),
        "average": found.average,
        "cells": cells,
        "sentences": list(found.sentences),
    }


def importance(found: Importance) -> dict[str, Any]:
    """Return what matters."""
    strongest = None
    if found.strongest is not None:
        strongest = {"names": [list(names) for names in found.strongest.names], "share": found.strongest.share}
    return {
        "inputs": [
            {
                **asdict(one),
                "names": list(one.names),
                "first_interval": list(one.first_interval),
                "total_interval": list(one.total_interval),
                "levels": list(one.levels),
                "effect": list(one.effect),
                "effect_interval": [list(ends) for ends in one.effect_interval],
            }
            for one in found.inputs
        ],
        "decisions": found.decisions,
        "contexts": found.contexts,
        "strongest": strongest,
        "sentences": list(found.sentences),
    }


def stage(found: Stage) -> dict[str, Any]:
    """Return where a study stands."""
    return {**asdict(found), "first_guess": found.first_guess, "sentences": list(found.sentences)}


def forecaster(found: Forecaster) -> dict[str, Any]:
    """Return how good the forecasts of a context were."""
    return {**asdict(found), "sentences": list(found.sentences)}


def shift(found: Shift) -> dict[str, Any]:
    """Return whether the contexts changed."""
    alarms = [{**asdict(each), "since_when": _time(each.since_when)} for each in found.alarms]
    return {**asdict(found), "alarms": alarms, "sentences": list(found.sentences)}


def trial(one: Trial, now: datetime) -> dict[str, Any]:
    """Return a trial, with its age in seconds while nothing has come back."""
    age = None if one.state != "pending" or one.asked_at is None else (now - one.asked_at).total_seconds()
    return {
        "id": one.id,
        "state": one.state,
        "decision": dict(one.decision),
        "planned": None if one.planned is None else dict(one.planned),
        "context": dict(one.context),
        "context_planned": None if one.context_planned is None else dict(one.context_planned),
        "context_source": one.context_source,
        "forecast": Awaited(forecasts=one.forecast).said,
        "value": one.value,
        "noise": one.noise,
        "set_aside": one.set_aside,
        "lost": one.lost,
        "delay": one.delay,
        "age": age,
        **{name: _time(getattr(one, name)) for name in TIMES},
        "note": one.note,
        "tags": list(one.tags),
    }


def overdue(found: Overdue) -> dict[str, Any]:
    """Return which pending trials have waited long, and what is usual, in seconds."""
    trials = [{"id": one.id, "wait": wait} for one, wait in zip(found.trials, found.waits, strict=True)]
    return {"trials": trials, "usual": found.usual, "limit": found.limit, "sentences": list(found.sentences)}


def counts(trials: Ledger | Trials) -> dict[str, int]:
    """Return how many trials are in each state; the told are those that arrived and those that await their context."""
    states = [one.state for one in trials]
    found = {state: states.count(state) for state in ("told", "pending", "lost")}
    waiting = {"arrived": len(trials.arrived), "awaiting_context": len(trials.awaiting_context)}
    return {"trials": len(trials), **found, **waiting}


def missing_context(trials: Ledger | Trials, id: int) -> list[str]:
    """Return which parts of its context a trial's value waits for; none before there is a value."""
    one = trials[id]
    return [] if one.value is None else [name for name in trials.space.context if name not in one.context]


def declaration(study: Source) -> dict[str, Any]:
    """Return a study's declaration."""
    seen = study.snapshot()
    space = encode(seen.space)
    return {
        "name": seen.name,
        "direction": seen.direction,
        "outcomes": {seen.outcome.name: encode(seen.outcome.declared)},
        "seed": seen.seed,
        "horizon": seen.horizon,
        "status_quo": None if seen.status_quo is None else dict(seen.status_quo),
        "decision": space["decision"],
        "context": space.get("context", {}),
        "constraints": space.get("constraints", []),
        "policy": encode(seen.policy),
    }


def status(study: Source) -> dict[str, Any]:
    """Return a study's declaration, its counts and its pending trials, oldest first."""
    seen = study.snapshot()
    trials, now = seen.trials, seen.now
    return {
        **declaration(seen),
        "revision": seen.revision,
        "dated": list(seen.space.dated),
        "counts": counts(trials),
        "stage": stage(seen.stage()),
        "pending": [trial(one, now) for one in trials.pending],
        "awaiting_context": [trial(one, now) for one in trials.awaiting_context],
        "overdue": overdue(seen.overdue()),
        "forecasts": [forecaster(one) for one in seen.forecasters()],
        "shift": shift(seen.shift()),
        "drift": drift(drift_of(seen.fit, encode(seen.policy)["surrogate"])),
    }


def csv_text(space: Space, trials: Iterable[Trial], outcome: Outcome = UNNAMED) -> str:
    """Return trials as CSV, one row each, with units in the headings; `windward import` reads it back."""
    names = [f"decision.{space.headed(name)}" for name in space.decision]
    names += [f"context.{space.headed(name)}" for name in space.context]
    fields = ("value", "noise", "state", "set_aside", "lost", "delay", "context_source", *TIMES, "note", "tags")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", *names, *(_heading(each, outcome) for each in fields)])
    for one in trials:
        row = [one.decision[name] for name in space.decision] + [one.context.get(name) for name in space.context]
        cells: list[Any] = [one.id, *row]
        for field in fields:
            entry = getattr(one, field)
            cells.append(_time(entry) if field in TIMES else written_tags(entry) if field == "tags" else entry)
        writer.writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()


def _heading(field: str, outcome: Outcome) -> str:
    if field == "value":
        return outcome.head
    return outcome.measure.headed(field) if field in AMOUNTS else field


def _time(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()
