"""One round: contexts, belief in what has arrived, objective, search, context rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from windward.contexts.coupled import Foretold
from windward.objectives.protocol import Aim
from windward.policy import Policy
from windward.search.region import Region
from windward.space import Value
from windward.suggest.confident import confident
from windward.suggest.doubted import doubted
from windward.suggest.far import everywhere, farthest
from windward.suggest.guarded import check_request, chosen, designed
from windward.suggest.prepare import Request, prepare
from windward.suggest.reason import design_reason, fitted_reason
from windward.surrogate import Hyperparameters, Posterior
from windward.trials.reasons import Reason
from windward.trials.trials import Trials

# The maximizer also looks at this many of the best decisions that have come back: the peak is often beside one of them.
HINTS = 32


@dataclass(frozen=True)
class Proposal:
    """A decision `"d"`, the context a rule chose and the stand-in drawn, `"k"` each, the fit behind them, and why."""

    x: Tensor
    context: Tensor | None
    stand_in: Tensor | None
    hyperparameters: Hyperparameters | None
    reason: Reason
    posterior: Posterior | None = None  # of what has arrived
    exact: Mapping[str, Value] | None = None  # the decision as it was declared, where it is the status quo
    foretold: Foretold | None = None  # what a forecast made of the coming context


def suggest(policy: Policy, trials: Trials, request: Request, generator: torch.Generator) -> Proposal:
    """Return the next decision: a pure function of its arguments and the generator's state."""
    check_request(policy, request)
    ready = prepare(policy, trials, request, generator)
    policy, trials, contexts, space = ready.policy, ready.trials, ready.contexts, ready.trials.space
    avoid, results = _avoided(policy, trials, request), len(trials.dataset.y)
    hints = _hints(trials)
    region = Region(space, dict(request.fixed), avoid=avoid, hints=hints, results=results, tried=hints)
    stand_in = None if contexts is None or not space.context else contexts.draw(generator)
    round, rounds = len(trials) if request.round is None else request.round, policy.design.rounds(space)
    if contexts is None or not trials.arrived or round < rounds:
        choice = designed(policy, ready.unfitted(), region, request, round)
        # Where a rule chooses contexts, those of the design are drawn: there is nothing to choose by yet.
        drawn = stand_in if policy.context_rule.chooses else None
        return Proposal(
            choice.x,
            drawn,
            stand_in,
            None,
            design_reason(round, rounds, choice),
            exact=choice.exact,
            foretold=ready.foretold,
        )
    believed = policy.feedback(trials, policy.surrogate, request.now, request.start)
    situation = ready.believing(believed)
    policy = confident(policy, situation, ready.judged)
    aim = Aim(policy.objective, policy.objective.bind(situation))
    situation = doubted(policy, replace(situation, aim=aim), generator)
    acquisition = farthest(trials) if request.far else policy.belief(situation, aim.reduction, generator)
    region = everywhere(acquisition, region, generator) if request.far else region
    choice = chosen(policy, acquisition, region, situation, request, generator, ready.judged)
    context = policy.context_rule(choice.x, situation, generator)
    reason = fitted_reason(choice, situation, aim, trials.sign, far=request.far)
    found = None if context is None else context.cpu()
    return Proposal(
        choice.x,
        found,
        stand_in,
        believed.posterior.hyperparameters,
        reason,
        believed.arrived,
        choice.exact,
        ready.foretold,
    )


def _avoided(policy: Policy, trials: Trials, request: Request) -> Tensor:
    """Return the decisions to keep a distance from: those without a value, unless the feedback gives them one.

    The same decision for another context is no repetition, where the context is given beforehand.
    """
    if policy.feedback.fills_pending:
        return trials.decisions(())
    given = request.given.items()
    return trials.decisions(
        [trial for trial in trials.unresolved if all(trial.context.get(name, value) == value for name, value in given)]
    )


def _hints(trials: Trials) -> Tensor:
    order = trials.dataset.y.argsort(descending=True)[:HINTS]
    return trials.dataset.x[order].clamp(0.0, 1.0).cpu()
