"""A recommendation in the user's words and units: what `assess` found, said."""

from __future__ import annotations

from collections.abc import Mapping

from windward.basics import streams
from windward.basics.errors import TrialError
from windward.policy import Policy
from windward.space import Value
from windward.suggest.assess import Assessment, Base, assess, base_of
from windward.suggest.prepare import Request
from windward.surrogate import Posterior
from windward.trials.records import Recommendation
from windward.trials.trials import Trials

Values = Mapping[str, Value]


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
    """Return an assessment in the user's words and units."""
    low, high = sorted(trials.sign * end for end in found.interval)
    seen = found.situation.trials.space
    return Recommendation(
        decision=dict(decision) if decision is not None else trials.space.decode_decision(found.x),
        value=trials.sign * found.value,
        interval=(low, high),
        contexts=tuple(seen.decode_context(point) for point in found.contexts.points),
        reference=tuple(found.contexts.weights.tolist()),
        adversary=tuple(found.weights.tolist()),
    )


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
