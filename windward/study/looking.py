"""What a study shows of itself: a snapshot of its log."""

from __future__ import annotations

from functools import partial

from windward.journal import Event
from windward.policy import Policy
from windward.present.snapshot import Kept, Snapshot
from windward.study.log import Log
from windward.trials.trials import Trials


def snapshot_of(log: Log, policy: Policy, trials: Trials, memory: int, kept: Kept) -> Snapshot:
    """Return a study as its log says it is now; whoever calls holds the log's lock."""
    history = log.history
    return Snapshot(
        name=history.study,
        space=history.space,
        policy=policy,
        direction=history.direction,
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


def _events(log: Log, study: str, birth: str | None, head: int) -> list[Event]:
    """Return the log up to the last event that was known: others may have written since."""
    return [event for event in log.journal.read(study, birth=birth) if event.seq <= head]
