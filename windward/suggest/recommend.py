"""A recommendation in the user's words and units: what `assess` found, said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from windward.basics import streams
from windward.basics.errors import TrialError
from windward.objectives.protocol import Shifting
from windward.objectives.radii import solved_of
from windward.policy import Policy
from windward.space import Value
from windward.suggest.assess import Assessment, Base, assess, base_of
from windward.suggest.prepare import Request
from windward.suggest.tried import best_tried, beyond_tried
from windward.surrogate import Drifting, Posterior
from windward.trials.drifts import Drift
from windward.trials.records import Recommendation, SolvedRadius
from windward.trials.trials import Trials

Values = Mapping[str, Value]
# The levels of the quantiles that a recommendation hands out.
LEVELS = tuple(place / 200.0 for place in range(1, 200))


def base(call: str, policy: Policy, trials: Trials, request: Request, posterior: Posterior | None = None) -> Base:
    """Return what decisions are assessed by; `TrialError` where nothing has arrived."""
    # A stream for each state of what is known: words and pending asks move no recommendation.
    known = max((trial.changed for trial in trials.rows if trial.context or trial.value is not None), default=0)
    found = base_of(policy, trials, request, streams.recommending(request.seed, known), posterior)
    if found is None:
        raise TrialError(f"{call}: {_nothing(trials)}")
    return found


def assessed(by: Base, trials: Trials, decision: Values | None = None) -> Assessment:
    """Return the best decision, or this one, by the posterior of what has arrived."""
    return assess(by, None if decision is None else trials.space.encode_decisions([decision])[0])


def recommendation(found: Assessment, trials: Trials, decision: Values | None = None) -> Recommendation:
    """Return an assessment in the user's words and units; beside a decision that lies far from all, the best one tried."""
    said, beyond = _said(found, trials, decision), beyond_tried(found.x, found.situation.trials)
    if not beyond:
        return said
    best, done = best_tried(found)
    return replace(said, beyond=beyond, best_tried=_said(best, trials, done))


def _said(found: Assessment, trials: Trials, decision: Values | None = None) -> Recommendation:
    seen, sign = found.situation.trials.space, trials.sign
    quantiles = tuple(sorted(sign * each for each in found.quantiles(LEVELS)))
    low, high = sorted(sign * end for end in found.interval)
    of_function, of_contexts = found.shares
    return Recommendation(
        decision=dict(decision) if decision is not None else trials.space.decode_decision(found.x),
        value=sign * found.value,
        interval=(low, high),
        unknown_function=of_function,
        unknown_contexts=of_contexts,
        allowed_shift=_allowed_shift(found),
        unseen=_unseen(found),
        radius=_radius(found),
        drift=_drift(found),
        forecast=tuple(found.situation.forecasts),
        quantiles=quantiles,
        contexts=tuple(seen.decode_context(point) for point in found.contexts.points),
        reference=tuple(found.contexts.weights.tolist()),
        adversary=tuple(found.weights.tolist()),
    )


def _allowed_shift(found: Assessment) -> float | None:
    """Return by how much the value lies below the plain average because of the shift that the objective guards against."""
    if not isinstance(found.policy.reported, Shifting):
        return None
    return max(0.0, found.base.unknowns.expectation(found.x) - found.value)


def _radius(found: Assessment) -> SolvedRadius | None:
    """Return the radius that the contexts seen decided, where they did."""
    solved = solved_of(found.policy.reported)
    if solved is None:
        return None
    return SolvedRadius(solved.radius, solved.confidence.level, found.situation.seen, solved.how)


def _drift(found: Assessment) -> Drift | None:
    """Return whether outcomes change with time, where the model looked."""
    posterior = found.situation.posterior
    return posterior.drift if isinstance(posterior, Drifting) else None


def _unseen(found: Assessment) -> dict[str, tuple[Value, ...]]:
    """Return the declared categories of each context that have not come yet, while the distribution is learnt."""
    if found.base.unknowns.contexts.unknown is None:
        return {}
    trials = found.situation.trials
    unseen = {}
    for name, parameter in trials.space.context.items():
        if not parameter.choices or name in found.situation.given or name in found.situation.forecasts:
            continue
        seen = {trial.context.get(name) for trial in trials.rows if trial.context_source != "chosen"}
        missing = tuple(choice for choice in parameter.choices if choice not in seen)
        if missing:
            unseen[name] = missing
    return unseen


def _nothing(trials: Trials) -> str:
    waiting = trials.awaiting_context
    if not waiting:
        return "nothing has arrived yet; tell a value (and its context) first."
    one = len(waiting) == 1
    counted = "1 value is here" if one else f"{len(waiting)} values are here"
    return (
        f"{counted}, but {'it has not' if one else 'none has'} its whole context; use "
        f"study.reveal({waiting[0].id}, {{...}})."
    )
