"""One round: contexts, belief in what has arrived, objective, search, context rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from windward.policy import Policy
from windward.search.region import Region
from windward.suggest.prepare import Request, prepare
from windward.surrogate import Hyperparameters, Posterior
from windward.trials.trials import Trials

# The maximizer also looks at this many of the best decisions that have come back: the peak is often beside one of them.
HINTS = 32


@dataclass(frozen=True)
class Proposal:
    """A decision `"d"`, the context a rule chose and the stand-in drawn, `"k"` each, and the fit behind them."""

    x: Tensor
    context: Tensor | None
    stand_in: Tensor | None
    hyperparameters: Hyperparameters | None
    posterior: Posterior | None = None  # of what has arrived


def suggest(policy: Policy, trials: Trials, request: Request, generator: torch.Generator) -> Proposal:
    """Return the next decision: a pure function of its arguments and the generator's state."""
    ready = prepare(policy, trials, request, generator)
    policy, trials, contexts, space = ready.policy, ready.trials, ready.contexts, ready.trials.space
    region = Region(space, dict(request.fixed), avoid=_avoided(policy, trials, request), hints=_hints(trials))
    stand_in = None if contexts is None or not space.context else contexts.draw(generator)
    round = len(trials) if request.round is None else request.round
    if contexts is None or not trials.arrived or round < policy.design.rounds(space):
        x = policy.design(round, replace(region, avoid=None, hints=None), request.seed)
        # Where a rule chooses contexts, those of the design are drawn: there is nothing to choose by yet.
        return Proposal(x, stand_in if policy.context_rule.chooses else None, stand_in, None)
    believed = policy.feedback(trials, policy.surrogate, request.now, request.start)
    situation = ready.believing(believed)
    reduction = policy.objective.bind(situation)
    x = policy.maximize(policy.belief(situation, reduction, generator), region, generator)
    context = policy.context_rule(x, situation, generator)
    chosen = None if context is None else context.cpu()
    return Proposal(x, chosen, stand_in, believed.posterior.hyperparameters, believed.arrived)


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
