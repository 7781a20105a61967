"""What to do about values that have not arrived: a feedback turns trials into the posterior a policy believes.

Ignore()        fit what has arrived, forget the rest
Hallucinate()   fit what has arrived, then imagine what has not at the posterior mean: the mean stays, the variance
                shrinks, so a place being evaluated (or one whose evaluation was lost) is not asked again at once
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from windward.surrogate import Believed, Posterior, Start, Surrogate
from windward.trials import Trials


@runtime_checkable
class Feedback(Protocol):
    """Turn trials into a belief, imagining or ignoring what has not arrived."""

    def __call__(self, trials: Trials, surrogate: Surrogate, now: datetime, start: Start) -> Believed: ...


def fit_arrived(trials: Trials, surrogate: Surrogate, start: Start) -> Posterior:
    """Return the posterior of what has arrived, refitted or with the hyper-parameters of `start`."""
    if start.keep and start.hyperparameters is not None:
        return surrogate.at(trials.dataset, start.hyperparameters)
    return surrogate.fit(trials.dataset, start.hyperparameters)


@dataclass(frozen=True)
class Ignore:
    """Use what has arrived and nothing else."""

    def __call__(self, trials: Trials, surrogate: Surrogate, now: datetime, start: Start) -> Believed:
        return Believed(fit_arrived(trials, surrogate, start))


@dataclass(frozen=True)
class Hallucinate:
    """Imagine pending, lost and context-less values at the posterior mean of what has arrived."""

    def __call__(self, trials: Trials, surrogate: Surrogate, now: datetime, start: Start) -> Believed:
        posterior = fit_arrived(trials, surrogate, start)
        waiting = trials.imaginable
        return Believed(posterior.condition(trials.decisions(waiting), trials.likely_contexts(waiting)))
