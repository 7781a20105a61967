"""What a study shows of itself: a snapshot of its log."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from windward.journal import Event, History
from windward.policy import Policy
from windward.present.reasons import because
from windward.present.snapshot import Kept, Snapshot
from windward.study.log import Log
from windward.trials.records import Suggestion
from windward.trials.trials import Trials


def snapshot_of(log: Log, policy: Policy, trials: Trials, memory: int, kept: Kept) -> Snapshot:
    """Return a study as its log says it is now; whoever calls holds the log's lock."""
    history = log.history
    return Snapshot(
        name=history.study,
        space=history.space,
        policy=policy,
        direction=history.direction,
        outcome=history.told,
        seed=history.seed,
        trials=trials,
        revision=history.head,
        now=log.now(),
        memory=memory,
        status_quo=None if history.status_quo is None else dict(history.status_quo),
        horizon=history.horizon,
        fit=history.fit_body,
        kept=kept,
        events=partial(_events, log, history.study, history.birth, history.head),
    )


def worded(found: Suggestion, history: History) -> Suggestion:
    """Return a suggestion with what a person reads of it: its values with their units, and why it is suggested."""
    space, values = history.space, {**found.decision, **(found.context or {})}
    said = because(found, history.status_quo, space=space, outcome=history.told)
    return replace(found, sentences=tuple(said), named={name: space.said(name, each) for name, each in values.items()})


def _events(log: Log, study: str, birth: str | None, head: int) -> list[Event]:
    """Return the log up to the last event that was known: others may have written since."""
    return [event for event in log.journal.read(study, birth=birth) if event.seq <= head]
