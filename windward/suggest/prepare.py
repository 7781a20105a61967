"""What stands before every answer, a suggestion, a recommendation or a figure: one preparation for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import torch

from windward.basics import budget
from windward.contexts import Contexts
from windward.objectives.situation import Moment, Situation
from windward.policy import Policy
from windward.space import Given, Space, Value
from windward.surrogate import Believed, Posterior, Start
from windward.trials.trials import Trials


@dataclass(frozen=True)
class Request:
    """What one suggestion is asked with, besides the trials."""

    given: Mapping[str, Value] = field(default_factory=dict)
    fixed: Mapping[str, Value] = field(default_factory=dict)
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    seed: int = 0
    start: Start = field(default_factory=Start)
    round: int | None = None  # of the design, where trials are numbered elsewhere; else how many trials there are
    memory: int | None = None  # bytes it may take; None for what its device has
    horizon: int | None = None  # trials that the study is meant to have
    status_quo: Mapping[str, Value] | None = None

    def known(self, space: Space) -> Given:
        """Return what is given of the context, as far as the space has it."""
        return space.encode_given({name: value for name, value in self.given.items() if name in space.context})


@dataclass(frozen=True)
class Prepared:
    """A policy turned so that more is better, the trials as it sees them, and the contexts, None while there are none."""

    policy: Policy
    trials: Trials
    contexts: Contexts | None
    request: Request

    def believing(self, believed: Believed) -> Situation:
        """Return the situation with what is believed of f."""
        assert self.contexts is not None
        return self._situation(self.contexts, believed)

    def unfitted(self) -> Situation:
        """Return the situation of the design: nothing is believed of f, and there may be no context to put a point on."""
        nowhere = Contexts.uniform(torch.zeros(1, self.trials.space.context_width, dtype=torch.float64))
        return self._situation(self.contexts or nowhere, None)

    def _situation(self, contexts: Contexts, believed: Believed | None) -> Situation:
        return Situation(
            contexts=contexts.to(self.trials.device),
            seen=self.trials.contexts_seen,
            trials=self.trials,
            believed=believed,
            given=self.request.given,
            moment=Moment(self.request.now),
            horizon=self.request.horizon,
            status_quo=self.request.status_quo,
        )


def prepare(
    policy: Policy, trials: Trials, request: Request, generator: torch.Generator, *, samples: int = 0
) -> Prepared:
    """Return what an answer starts from; `samples` for a recommendation."""
    policy, trials = policy.oriented(trials.sign), policy.view(trials)
    check_memory(policy.reporting if samples else policy, trials, request, samples=samples)
    contexts = policy.context_model(trials.space, trials, request.known(trials.space), generator)
    return Prepared(policy, trials, contexts, request)


def check_memory(policy: Policy, trials: Trials, request: Request, *, samples: int = 0) -> None:
    """Raise `ArgumentError` where a suggestion, or a recommendation by `samples`, takes more than the request allows.

    Called before the context model: it may be what takes too much.
    """
    sizes = policy.sizes(trials, samples=samples, given=request.known(trials.space).complete)
    memory = budget.of(trials.device) if request.memory is None else request.memory
    budget.check(policy, trials.space, [sizes], memory)


def arrived_only(ready: Prepared, posterior: Posterior | None = None) -> Situation:
    """Return the situation in which a recommendation is made: the posterior of what has arrived, nothing imagined."""
    if posterior is None:
        posterior = ready.policy.surrogate.fit(ready.trials.dataset, ready.request.start)
    return ready.believing(Believed(posterior))
