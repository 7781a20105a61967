"""What a study shows of itself: a snapshot of its log, and what it still waits for."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.policy import Policy
from windward.present.snapshot import Kept, Snapshot
from windward.study.log import Log
from windward.trials.records import Trial
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
        kept=kept,
        events=partial(log.journal.read, history.study, birth=history.birth),
    )


def still_pending(trials: Trials, now: datetime, older_than: timedelta | None) -> list[Trial]:
    """Return the trials without a value that nobody has given up, those asked longer ago than `older_than`."""
    if older_than is None:
        return list(trials.pending)
    if not isinstance(older_than, timedelta) or older_than < timedelta(0):
        raise ArgumentError(f"study.pending(older_than={shown(older_than)}): give a timedelta >= 0.")
    return [trial for trial in trials.pending if trial.asked_at and now - trial.asked_at >= older_than]
