"""Why a decision was suggested, as plain data: what an `asked` event records and a `Suggestion` hands out.

    kind        "design"      the first decisions are spread out to learn from
                "best"        it looks best by what is known
                "learn"       it would teach most
                "far"         it lies far from all that was tried, and was asked for as that
                "status_quo"  a guard left nothing else

Numbers are in the user's units and orientation. `value` is the objective at the posterior mean, `deviation` how far the
truth may be off by what is unknown of f.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from windward.space.parameters import Value

Kind: TypeAlias = Literal["design", "best", "learn", "far", "status_quo"]


@dataclass(frozen=True)
class Beside:
    """The status quo beside a suggestion: `difference` is the suggestion's value less the status quo's.

    `worse` is the probability that the suggestion is worse than the status quo; None where the model cannot say.
    """

    decision: Mapping[str, Value]
    value: float
    deviation: float
    difference: float
    worse: float | None = None


@dataclass(frozen=True)
class Held:
    """A guard in a few words, and whether it bound the choice: without it another decision would have been preferred."""

    guard: str
    bound: bool


@dataclass(frozen=True)
class Reason:
    """Why a decision was suggested; see the kinds above. `round` and `of` count the design, from 1.

    `of` is None for a design that does not end. `value` and `deviation` are None in the design, where nothing is fitted.

    >>> Reason("design", round=4, of=10).data()["round"]
    4
    """

    kind: Kind
    round: int | None = None
    of: int | None = None
    value: float | None = None
    deviation: float | None = None
    status_quo: Beside | None = None
    guards: tuple[Held, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return the reason as plain data, without its guards."""
        beside = self.status_quo
        return {
            "kind": self.kind,
            "round": self.round,
            "of": self.of,
            "value": self.value,
            "deviation": self.deviation,
            "status_quo": None if beside is None else {**vars(beside), "decision": dict(beside.decision)},
        }

    def guard_data(self) -> list[dict[str, Any]]:
        """Return the guards as plain data."""
        return [dict(vars(held)) for held in self.guards]


def reason_of(data: Mapping[str, Any] | None, guards: Sequence[Mapping[str, Any]] = ()) -> Reason | None:
    """Return the reason that an event recorded; None where it recorded none, as those of older versions."""
    if data is None:
        return None
    if data["kind"] not in get_args(Kind):
        raise ValueError(f"{data['kind']!r:.60} is no kind of reason")
    beside = data["status_quo"]
    return Reason(
        data["kind"],
        data["round"],
        data["of"],
        data["value"],
        data["deviation"],
        None if beside is None else Beside(**beside),
        tuple(Held(**held) for held in guards),
    )
