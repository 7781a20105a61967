"""Why a decision was suggested, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from windward.basics.speech import and_list, number, percent
from windward.space.outcomes import Outcome
from windward.trials.reasons import Beside, Reason

if TYPE_CHECKING:
    from windward.space import Space, Value
    from windward.trials.records import Suggestion


# A difference below this share of what is unknown of the value is none to a reader.
NOTHING = 1e-3
# An outcome that nobody named: without a unit.
UNNAMED = Outcome()


def because(
    found: Suggestion,
    status_quo: Mapping[str, Value] | None = None,
    *,
    space: Space | None = None,
    outcome: Outcome = UNNAMED,
) -> list[str]:
    """Return why a decision is suggested, and what it is expected to bring; nothing where no reason was recorded.

    `status_quo` is the study's, for a design that begins with it; `space` and `outcome` say how numbers are written.
    """
    reason = found.reason
    if reason is None:
        return []
    same = status_quo is not None and dict(found.decision) == dict(status_quo)
    said = [_kind(reason, same)]
    if reason.kind != "design" and reason.value is not None:
        said.append(_expected(reason, space, outcome))
    said += _guards(reason)
    return said


def _kind(reason: Reason, same: bool) -> str:
    if reason.kind == "design":
        return _design(reason, same)
    if reason.kind == "best":
        return "It looks best by what is known."
    if reason.kind == "learn":
        return "It would teach most."
    if reason.kind == "far":
        return "It lies far from every decision that was tried: it shows whether something better was missed there."
    return "No other decision qualifies under the guards, so the status quo is asked."


def _design(reason: Reason, same: bool) -> str:
    begun = "it begins with the status quo" if same else "the first decisions are spread out to learn from"
    if reason.of is None:
        return f"Decision {reason.round} of a design that does not end: {begun}."
    if reason.round is not None and reason.round > reason.of:
        return "Too little has come back to fit a model: decisions are still spread out to learn from."
    return f"Design {reason.round} of {reason.of}: {begun}."


def _expected(reason: Reason, space: Space | None, outcome: Outcome) -> str:
    assert reason.value is not None and reason.deviation is not None
    text = f"It is expected to bring {outcome.text(reason.value)}, give or take {outcome.text(reason.deviation)}"
    beside = reason.status_quo
    if beside is None or reason.kind == "status_quo":
        return f"{text}."
    if beside.worse is not None and beside.difference == 0.0 and beside.worse == 0.0:
        return f"{text}. This is the status quo."
    none = abs(beside.difference) <= NOTHING * reason.deviation
    return f"{text}, which is {_compared(beside, space, outcome, none=none)}"


def _compared(beside: Beside, space: Space | None, outcome: Outcome, *, none: bool) -> str:
    plainly = and_list([f"{name} {number(value)}" for name, value in beside.decision.items()])
    there = plainly if space is None else space.named(beside.decision)
    gap = outcome.text(abs(beside.difference))
    side = (
        "as much as"
        if none or outcome.measure.bare(abs(beside.difference)) == "0"
        else f"{gap} {'more' if beside.difference > 0 else 'less'} than"
    )
    text = f"{side} the status quo, {there}, brings"
    if beside.worse is None:
        return f"{text}."
    how, share = ("worse", beside.worse) if beside.worse > 0.5 else ("better", 1.0 - beside.worse)
    return f"{text}; it is {how} with {_chance(share)} probability."


def _chance(share: float) -> str:
    """Return a probability in percent; what is nearly 0 or 1 is not rounded to it."""
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if share > 0.99 else percent(share)


def _guards(reason: Reason) -> list[str]:
    if not reason.guards or reason.kind == "status_quo":
        return []
    bound = [held.guard for held in reason.guards if held.bound]
    if bound and reason.kind == "design":
        return [f"The {and_list(bound)} {'limit' if len(bound) > 1 else 'limits'} where it may be."]
    if not bound:
        verb = "does" if len(reason.guards) == 1 else "do"
        return [f"The {and_list([held.guard for held in reason.guards])} {verb} not bind it."]
    return [
        f"The {and_list(bound)} {'bind' if len(bound) > 1 else 'binds'} it: without, another decision would be preferred."
    ]
