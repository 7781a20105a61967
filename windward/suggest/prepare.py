"""What stands before every answer, a suggestion, a recommendation or a figure: one preparation for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import torch

from windward.basics import budget
from windward.basics.errors import IncompatibleError
from windward.basics.speech import shown
from windward.contexts import Contexts
from windward.contexts.coupled import Foretold, made_of, usually
from windward.objectives.protocol import Radial
from windward.objectives.situation import Moment, Situation
from windward.policy import Policy
from windward.space import Given, Space, Value
from windward.surrogate import Believed, Posterior, Start
from windward.trials.coming import Forecasts
from windward.trials.foretold import MOST_SAMPLES
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
    forecasts: Forecasts = field(default_factory=dict)  # of the coming context, by name
    radius: float | None = None  # in place of the objective's own
    when: datetime | None = None  # when it takes place, where that was said; `given` has what is known from it
    far: bool = False  # a decision far from all that were tried is wanted

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
    foretold: Foretold | None = None  # what a forecast made of the coming context

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
            forecasts=self.request.forecasts,
            radius=self.request.radius,
        )

    def judged(self, *, far: bool = False) -> Contexts | None:
        """Return the contexts that decisions are judged on, with what is unknown of their weights; None for those chosen on.

        `far` looks farther out than was seen, as advice does.
        """
        trials = self.trials
        usual = usually(self.policy.context_model, trials.space, trials, self.request.known(trials.space), far=far)
        return usual if self.foretold is None else self.foretold.judged(usual)


def prepare(
    policy: Policy, trials: Trials, request: Request, generator: torch.Generator, *, samples: int = 0
) -> Prepared:
    """Return what an answer starts from; `samples` for a recommendation."""
    check_coming(policy, trials.space, request)
    policy, trials = policy.oriented(trials.sign), policy.view(trials)
    check_memory(policy.reporting if samples else policy, trials, request, samples=samples)
    model, known = policy.context_model, request.known(trials.space)
    if not request.forecasts:
        return Prepared(policy, trials, model(trials.space, trials, known, generator), request)
    made = made_of(model, trials.space, trials, known, request.forecasts, generator)
    return Prepared(policy, trials, None if made is None else made.contexts, request, made)


def check_coming(policy: Policy, space: Space, request: Request) -> None:
    """Raise `IncompatibleError` for a forecast of what the policy chooses or ignores, and for a radius without a ball."""
    if request.forecasts:
        name = shown(next(iter(request.forecasts)))
        if policy.context_model.blind:
            raise IncompatibleError(
                f"the forecast of {name}: this study's policy ignores contexts ({shown(policy.context_model)}); ask without "
                "it, or use a policy that looks at them, such as auto()."
            )
        if policy.context_rule.chooses:
            raise IncompatibleError(
                f"the forecast of {name}: this study's policy chooses the context itself ({shown(policy.context_rule)}); ask "
                "without it, or use context_rule=Nature()."
            )
    if request.radius is not None and not isinstance(policy.objective, Radial):
        raise IncompatibleError(
            f"ask(radius={request.radius:g}): the objective {shown(policy.objective)} has no radius; ask without it, or use "
            "one that has, such as Robust(TotalVariation(), 0.2)."
        )


def check_memory(policy: Policy, trials: Trials, request: Request, *, samples: int = 0) -> None:
    """Raise `ArgumentError` where a suggestion, or a recommendation by `samples`, takes more than the request allows.

    Called before the context model: it may be what takes too much.
    """
    sizes = policy.sizes(trials, samples=samples, given=request.known(trials.space).complete)
    if request.forecasts:
        sizes = replace(sizes, points=sizes.points + MOST_SAMPLES)
    memory = budget.of(trials.device) if request.memory is None else request.memory
    budget.check(policy, trials.space, [sizes], memory)


def arrived_only(ready: Prepared, posterior: Posterior | None = None) -> Situation:
    """Return the situation in which a recommendation is made: the posterior of what has arrived, nothing imagined."""
    if posterior is None:
        posterior = ready.policy.surrogate.fit(ready.trials.dataset, ready.request.start)
    return ready.believing(Believed(posterior))
