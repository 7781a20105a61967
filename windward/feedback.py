"""What to do about values that have not arrived: a feedback turns trials into the posterior a policy believes.

Ignore()                        fit what has arrived, forget the rest
Hallucinate()                   fit what has arrived, then imagine what has not at the posterior mean: the mean stays, the
variance shrinks, so a place being evaluated (or lost) is not asked again at once
Censor(worst, patience, late)   what has not arrived counts as the worst value from the moment it is asked (Verma2022);
                                learn_from="arrived": hyper-parameters are learnt from what has arrived alone
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar, Literal, Protocol, runtime_checkable

import torch

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.surrogate import Believed, Start, Surrogate, imagining
from windward.trials.records import Trial
from windward.trials.trials import Dataset, Trials

# Beyond this nobody waits, and a float of seconds no longer holds every microsecond.
LONGEST = timedelta(days=36500)


@runtime_checkable
class Feedback(Protocol):
    """Turn trials into a belief, imagining or ignoring what has not arrived.

    `fills_pending` where every pending trial has a value for the model, so that no distance need be kept from it;
    `patience` is how long a value is waited for, None where nobody gives up; `dataset` is what the surrogate is fitted to.
    """

    @property
    def fills_pending(self) -> bool: ...

    @property
    def patience(self) -> int | timedelta | None: ...

    def dataset(self, trials: Trials) -> Dataset: ...

    def __call__(self, trials: Trials, surrogate: Surrogate, now: datetime, start: Start) -> Believed: ...


@runtime_checkable
class Censoring(Protocol):
    """A feedback that may leave out a value because it came too late."""

    def censored(self, trial: Trial) -> bool: ...


@dataclass(frozen=True)
class Ignore:
    """Use what has arrived and nothing else."""

    fills_pending: ClassVar[bool] = False
    patience: ClassVar[None] = None

    def oriented(self, sign: float) -> Ignore:
        """Return it as it is: it has no outcome quantities."""
        return self

    def dataset(self, trials: Trials) -> Dataset:
        """Return what has arrived."""
        return trials.dataset

    def __call__(self, trials: Trials, surrogate: Surrogate, now: datetime, start: Start) -> Believed:
        posterior = surrogate.fit(trials.dataset, start)
        return Believed(posterior, arrived=posterior)


@dataclass(frozen=True)
class Hallucinate:
    """Imagine pending, lost and context-less values at the posterior mean of what has arrived."""

    fills_pending: ClassVar[bool] = False
    patience: ClassVar[None] = None

    def oriented(self, sign: float) -> Hallucinate:
        """Return it as it is: it has no outcome quantities."""
        return self

    def dataset(self, trials: Trials) -> Dataset:
        """Return what has arrived."""
        return trials.dataset

    def __call__(self, trials: Trials, surrogate: Surrogate, now: datetime, start: Start) -> Believed:
        posterior = surrogate.fit(trials.dataset, start)
        waiting = trials.imaginable
        rows, ages = (trials.decisions(waiting), trials.likely_contexts(waiting)), trials.ages(waiting)
        return Believed(imagining(posterior, rows, ages), arrived=posterior, imagined=rows, imagined_ages=ages)


@dataclass(frozen=True)
class Censor:
    """Count what has not arrived as the worst value, from the moment it is asked (Verma2022, Sec. 3).

    `patience` is a number of asks (a value told before the next ask has delay 0), or a time. A value told after it stays
    in the log: with `late="use"` (the default, the practical choice) it counts from then on, with `late="drop"` (the
    paper) it stays censored. The model is of the value less `worst`, with mean zero, scaled and never centred: the theory
    needs the censored value to be the prior mean. `worst` is in the user's units, and a study that minimizes turns it.
    Length-scales, noise and amplitude are learnt from all of these values; with `learn_from="arrived"` from those that
    have arrived, so that a worst value among good ones is not taken for noise.

    >>> Censor(0.0, 20, learn_from="arrived").late
    'use'
    """

    worst: float
    patience: int | timedelta
    late: Literal["use", "drop"] = "use"
    learn_from: Literal["all", "arrived"] = "all"
    fills_pending: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "worst", arguments.number("Censor", "worst", self.worst))
        if not isinstance(self.patience, timedelta):
            object.__setattr__(self, "patience", arguments.whole("Censor", "patience", self.patience, low=0))
        elif not timedelta(0) <= self.patience <= LONGEST:
            raise ArgumentError(f"Censor(patience={shown(self.patience)}): patience must be between 0 and 100 years.")
        arguments.choice("Censor", "late", self.late, ("use", "drop"))
        arguments.choice("Censor", "learn_from", self.learn_from, ("all", "arrived"))

    def __call__(self, trials: Trials, surrogate: Surrogate, now: datetime, start: Start) -> Believed:
        window = self.window(trials, now)
        recent = (trials.decisions(window), trials.likely_contexts(window))
        return Believed(surrogate.fit(self.dataset(trials), start), recent)

    def oriented(self, sign: float) -> Censor:
        """Return it with the worst value times `sign`."""
        return self if sign > 0 else replace(self, worst=-self.worst)

    def dataset(self, trials: Trials) -> Dataset:
        """Return every trial whose context is known or imagined, at its value or at the worst."""
        arrived = {trial.id for trial in trials.arrived if not self.censored(trial)}
        rows = [t for t in trials.rows if t.id in arrived or (t.asked_at is not None and trials.placeable(t))]
        values = [trials.sign * float(t.value or 0.0) if t.id in arrived else self.worst for t in rows]
        noise = [float("nan") if t.noise is None or t.id not in arrived else t.noise for t in rows]
        return Dataset(
            x=trials.decisions(rows),
            c=trials.likely_contexts(rows),
            y=torch.tensor(values, dtype=torch.float64),
            noise=torch.tensor(noise, dtype=torch.float64),
            roles=trials.space.roles,
            floor=self.worst,
            changed=tuple(trial.changed for trial in rows),
            ages=trials.ages(rows),
            told=None if self.learn_from == "all" else torch.tensor([t.id in arrived for t in rows], dtype=torch.bool),
        ).to(trials.device)

    def censored(self, trial: Trial) -> bool:
        """Whether a value that is there came too late to count."""
        if self.late == "use" or trial.value is None or trial.asked_at is None:
            return False
        if isinstance(self.patience, timedelta):
            return trial.told_at is not None and trial.told_at - trial.asked_at > self.patience
        return trial.delay is not None and trial.delay > self.patience

    def window(self, trials: Trials, now: datetime) -> list[Trial]:
        """Return the trials asked within the patience, whose values may still be on their way."""
        if isinstance(self.patience, timedelta):
            recent = [t for t in trials.asked if t.asked_at is not None and now - t.asked_at <= self.patience]
        else:
            recent = list(trials.asked[max(0, len(trials.asked) - self.patience) :])
        return [trial for trial in recent if trials.placeable(trial)]


# The parts of this room.
PARTS: tuple[type, ...] = (Censor, Hallucinate, Ignore)
