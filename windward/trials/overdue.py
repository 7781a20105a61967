"""Which pending trials have waited much longer than results took so far: somebody should ask after them. No torch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from windward.basics.speech import ages
from windward.trials.records import Trial

# Fewer results do not say how long a wait is usual.
FEWEST = 5
# A wait is long where it is this many times as long as this share of the results took. Delays are often skewed, so the
# longest so far is no measure: one result that came after a year would excuse every other.
TIMES, SHARE = 3.0, 0.9
# Loops on one machine take milliseconds; what a person should look at has waited longer, in seconds.
LEAST = 60.0


@dataclass(frozen=True)
class Overdue:
    """The trials that have waited long, the longest first; `usual` and `limit` are seconds, None with too few results."""

    trials: tuple[Trial, ...] = ()
    waits: tuple[float, ...] = ()  # of each, in seconds
    usual: float | None = None
    limit: float | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a person is told; nothing where no trial has waited long."""
        if not self.trials or self.usual is None:
            return ()
        usual = f"Nine in ten results so far came within {_within(self.usual)}."
        each = [f"Trial {t.id} has waited {ages(wait)}." for t, wait in zip(self.trials, self.waits, strict=True)]
        return (usual, *each)


def _within(seconds: float) -> str:
    """Return a length of time that is no shorter, in whole units."""
    unit = next((unit for unit in (86400.0, 3600.0) if seconds >= unit), 60.0)
    return ages(max(1, math.ceil(seconds / unit)) * unit)


def overdue_of(rows: Iterable[Trial], now: datetime) -> Overdue:
    """Return the pending trials that have waited more than three times as long as nine in ten results took."""
    known = [trial for trial in rows if trial.asked_at is not None]
    took = sorted(_since(t, t.told_at) for t in known if t.value is not None and t.told_at is not None)
    if len(took) < FEWEST:
        return Overdue()
    usual = took[math.ceil(SHARE * len(took)) - 1]
    limit = max(TIMES * usual, LEAST)
    waiting = [(_since(trial, now), trial) for trial in known if trial.state == "pending"]
    late = sorted(((wait, trial) for wait, trial in waiting if wait > limit), key=lambda pair: (-pair[0], pair[1].id))
    return Overdue(tuple(trial for _, trial in late), tuple(wait for wait, _ in late), usual, limit)


def _since(trial: Trial, moment: datetime) -> float:
    """Return how many seconds a trial has waited: from when it was asked, or from the later time that it is for."""
    assert trial.asked_at is not None
    begun = trial.asked_at if trial.when is None else max(trial.asked_at, trial.when)
    return max(0.0, (moment - begun).total_seconds())
