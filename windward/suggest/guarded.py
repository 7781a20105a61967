"""The choice of a decision under a guard: within its limits, the status quo where nothing qualifies.

What is allowed may be a small part of the space, around decisions that are known: the search gets the status quo, what has
come back, and points beside both as hints, so that it finds that part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from windward.basics import streams
from windward.basics.errors import IncompatibleError, SpaceError
from windward.basics.speech import shown
from windward.contexts import Contexts
from windward.objectives.situation import Situation
from windward.policy import Policy
from windward.rules.guards import Guard, Wary, check_status_quo, each_of
from windward.search.acquisition import Acquisition, values_of
from windward.search.limits import Limits, together
from windward.search.multistart import ENUMERATE
from windward.search.region import Region
from windward.space import Space, Value
from windward.suggest.prepare import Request
from windward.surrogate import Doubting, Posterior
from windward.trials.reasons import Held
from windward.trials.trials import Trials

# Draws of the hyper-parameters that a guard looks at.
DRAWS = 32
# Decisions looked at for what is allowed, besides those that are known and their neighbours.
SPREAD = 512
# Points beside each decision that is known to be allowed, and how far they lie from it, as shares of the cube's sides.
BESIDE, REACHES = 4, (0.02, 0.05, 0.15)
# Hints from which the search goes on: the best of what is allowed.
MOST_HINTS, MOST_BESIDE = 64, 16


@dataclass(frozen=True)
class Choice:
    """A decision `"d"`, what each guard had to do with it, and whether it is the status quo because nothing else was allowed.

    `exact` is the decision as it was declared, where it is the status quo: its way through the unit cube would round it.
    """

    x: Tensor
    held: tuple[Held, ...] = ()
    nothing_else: bool = False
    exact: Mapping[str, Value] | None = None


def check_request(policy: Policy, request: Request) -> None:
    """Raise `IncompatibleError` where the guard needs a status quo that nobody declared."""
    check_status_quo("study.ask", policy.guard, request.status_quo)


def begins(trials: Trials, request: Request) -> bool:
    """Whether the design begins with the status quo: it was declared, and neither tried nor excluded by what is fixed."""
    status_quo = request.status_quo
    if status_quo is None or any(status_quo[name] != value for name, value in request.fixed.items()):
        return False
    return not any(dict(trial.decision) == dict(status_quo) for trial in trials.rows if trial.state != "lost")


def _status_quo(space: Space, request: Request, held: Sequence[Held], *, nothing_else: bool = False) -> Choice:
    assert request.status_quo is not None
    x = space.encode_decisions([request.status_quo])[0]
    return Choice(x, tuple(held), nothing_else, dict(request.status_quo))


def designed(policy: Policy, situation: Situation, region: Region, request: Request, round: int) -> Choice:
    """Return a decision of the design: the status quo first, where there is one, then points within the guard's limits."""
    guards = each_of(policy.guard)
    region = replace(region, avoid=None, hints=None)
    if begins(situation.trials, request):
        return _status_quo(region.space, request, [Held(guard.title, False) for guard in guards])
    if not guards:
        return Choice(policy.design(round, region, request.seed))
    every = [guard(situation) for guard in guards]
    limits = together(region.space, every)
    inner = replace(region, low=limits.low, high=limits.high)
    if not _somewhere(inner):
        return _nothing(guards, every, region, request, situation)
    x = policy.design(round, inner, request.seed)
    held = tuple(Held(guard.title, _narrows(each)) for guard, each in zip(guards, every, strict=True))
    return Choice(x, held)


def chosen(
    policy: Policy,
    acquisition: Acquisition,
    region: Region,
    situation: Situation,
    request: Request,
    generator: torch.Generator,
    judged: Callable[[], Contexts | None],
) -> Choice:
    """Return the best decision of those that the guard allows; `judged` gives the contexts that a guard looks at."""
    guards = each_of(policy.guard)
    if not guards:
        return Choice(policy.maximize(acquisition, region, generator))
    situation = _doubted(policy, situation, generator, judged)
    every = [guard(situation) for guard in guards]
    limits = together(region.space, every)
    inner = replace(region, low=limits.low, high=limits.high)
    allowed = _allowed(inner, limits, request, generator) if _somewhere(inner) else None
    if allowed is None or len(allowed) == 0:
        return _nothing(guards, every, region, request, situation)
    rank = acquisition.rank or acquisition.climb or acquisition.value
    best = values_of(rank, allowed).argsort(descending=True)[:MOST_HINTS]
    guarded = replace(acquisition, margin=limits.margin)
    x = policy.maximize(guarded, replace(inner, hints=allowed[best]), generator)
    _check(policy, x, limits)
    return Choice(x, _held(guards, every, rank, x, region, generator))


def _doubted(
    policy: Policy, situation: Situation, generator: torch.Generator, judged: Callable[[], Contexts | None]
) -> Situation:
    """Return the situation with what is unknown of the model and of the contexts: a guard is not to take a fit for certain."""
    if not any(isinstance(guard, Wary) for guard in each_of(policy.guard)):
        return situation
    trials, believed = situation.trials, situation.believed
    assert believed is not None
    posterior = believed.posterior if believed.arrived is None else believed.arrived
    plausible: tuple[Posterior, ...] = (posterior,)
    if isinstance(policy.surrogate, Doubting):
        plausible = policy.surrogate.nearby(policy.feedback.dataset(trials), posterior, DRAWS, generator)
    contexts = judged()
    return replace(situation, plausible=plausible, judged=None if contexts is None else contexts.to(trials.device))


def _allowed(region: Region, limits: Limits, request: Request, generator: torch.Generator) -> Tensor:
    """Return decisions that the limits allow: of a spread over the box, of those known, and of points beside these."""
    every = region.all_discrete(ENUMERATE)
    if every is not None:
        return every[limits.allow(every)]
    known = [] if region.hints is None else [region.hints]
    if request.status_quo is not None:
        known.append(region.space.encode_decisions([request.status_quo]))
    points = region.repaired(region.valid(torch.cat([*known, region.points(SPREAD, generator)])))
    points = points[region.feasible(points)]
    found = points[limits.allow(points)]
    if len(found) == 0:
        return found
    near = region.repaired(region.valid(_beside(found[:MOST_BESIDE], generator)))
    near = near[region.feasible(near)]
    return torch.cat([found, near[limits.allow(near)]])


def _beside(points: Tensor, generator: torch.Generator) -> Tensor:
    """Return points at some distances from each of these; `"n d"`."""
    blocks = [points[:0]]
    for reach in REACHES:
        moves = torch.randn(BESIDE, *points.shape, generator=generator, dtype=torch.float64)
        blocks.append((points + reach * moves).reshape(-1, points.shape[-1]))
    return torch.cat(blocks)


def _somewhere(region: Region) -> bool:
    """Whether the limits leave a decision: no side is turned, what is fixed is inside, the constraints can be met."""
    assert region.bounds is not None
    low, high = region.bounds
    fixed, values = region.held
    if bool((low > high).any()) or bool(((values < low - 1e-9) | (values > high + 1e-9))[fixed].any()):
        return False
    if region.polytope is None:
        return True
    try:  # whole numbers may satisfy the constraints nowhere in the box
        region.points(1, streams.fixed())
    except SpaceError:
        return False
    return True


def _nothing(
    guards: Sequence[Guard], every: Sequence[Limits], region: Region, request: Request, situation: Situation
) -> Choice:
    """Return the status quo, since no other decision qualifies; an error where it cannot be asked."""
    status_quo, rule = request.status_quo, shown(guards[0]) if len(guards) == 1 else shown(list(guards))
    if status_quo is None:
        raise IncompatibleError(
            f"study.ask: no decision satisfies the guard {rule}, and there is no status quo to fall back to; use "
            "study.declare(status_quo={...})."
        )
    if any(status_quo[name] != value for name, value in request.fixed.items()):
        raise SpaceError(
            f"ask(fix={shown(dict(request.fixed))}): with these fixed no decision satisfies the guard {rule}; fix them nearer "
            "to the status quo, or ask without fix."
        )
    anywhere = region.points(SPREAD, streams.trying(request.seed))
    held = [Held(guard.title, bool((~each.allow(anywhere)).any())) for guard, each in zip(guards, every, strict=True)]
    return _status_quo(region.space, request, held, nothing_else=True)


def _held(
    guards: Sequence[Guard],
    every: Sequence[Limits],
    rank: object,
    x: Tensor,
    region: Region,
    generator: torch.Generator,
) -> tuple[Held, ...]:
    """Return which guards bound the choice: those that forbid a decision that ranks above the one chosen."""
    points = region.points(SPREAD, generator)
    better = points[values_of(rank, points) > values_of(rank, x[None])]  # type: ignore[arg-type]
    return tuple(
        Held(guard.title, bool((~each.allow(better)).any())) for guard, each in zip(guards, every, strict=True)
    )


def _narrows(limits: Limits) -> bool:
    return bool((limits.low > 0.0).any() or (limits.high < 1.0).any())


def _check(policy: Policy, x: Tensor, limits: Limits) -> None:
    """Refuse a decision outside the limits: a maximizer of somebody's own may not look at them."""
    if not bool(limits.allow(x[None]).all()):
        raise IncompatibleError(
            f"Policy(maximize={shown(policy.maximize)}, guard={shown(policy.guard)}): the maximizer returned a decision that "
            "the guard does not allow; choose only from region.points, or use MultiStart()."
        )
