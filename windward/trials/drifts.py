"""Whether outcomes change with time, as a fitted model has it, in numbers and in words: no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from windward.basics.speech import ages, counted, percent

Unit: TypeAlias = Literal["trials", "days"]

# Results older than so many lengths of a drift are left out: their correlation with the coming trial is below 0.02.
REACH = 4.0
# A probability that is told is never certain.
NEARLY = 0.99


@dataclass(frozen=True)
class Drift:
    """Whether the outcome of a decision changes with time.

    A result from `half` trials or days ago counts half, one older than `oldest` not at all; both are None where outcomes do not
    seem to change. `probability` is that of a change, where it was learnt.
    """

    half: float | None
    oldest: float | None
    unit: Unit
    probability: float | None

    @staticmethod
    def of(length: float | None, unit: Unit, still: float | None) -> Drift | None:
        """Return it for the length that a model found and the probability that nothing changes; None where neither is."""
        if length is None and still is None:
            return None
        half, oldest = (None, None) if length is None else (math.log(2.0) * length, REACH * length)
        return Drift(half, oldest, unit, None if still is None else min(max(1.0 - still, 0.0), 1.0))

    @property
    def sentence(self) -> str:
        """What it says in words.

        >>> Drift.of(25.0, "trials", 0.04).sentence
        'The outcome of a decision seems to change with time (96 % probability): a result from 17 trials ago counts half, and \
results older than 100 trials are left out.'
        """
        if self.half is None or self.oldest is None:
            if self.probability is not None and self.probability > 0.5:  # but no length is as probable as none
                return (
                    f"The outcome of a decision may change with time ({percent(self.probability)} probability); it is not "
                    "clear how fast, so it is taken to stand still."
                )
            return (
                f"The outcome of a decision does not seem to change with time{_sure(self.probability, changes=False)}."
            )
        seems = "is taken to" if self.probability is None else "seems to"
        half, oldest = (_long(length, self.unit) for length in (self.half, self.oldest))
        return (
            f"The outcome of a decision {seems} change with time{_sure(self.probability, changes=True)}: a result from {half} "
            f"ago counts half, and results older than {oldest} are left out."
        )


def drift_of(fit: Any, surrogate: Any) -> Drift | None:
    """Return what the fit of the last suggestion says, both as plain data; None where its model knows of no drift."""
    if not isinstance(fit, Mapping) or not isinstance(surrogate, Mapping):
        return None
    unit: Unit = "days" if isinstance(surrogate.get("drift"), Mapping) else "trials"
    return Drift.of(fit.get("drift"), unit, fit.get("still"))


def _sure(probability: float | None, *, changes: bool) -> str:
    if probability is None:
        return ""
    chance = probability if changes else 1.0 - probability
    return f" ({'more than 99 %' if chance > NEARLY else percent(chance)} probability)"


def _long(length: float, unit: Unit) -> str:
    return ages(86400.0 * length) if unit == "days" else counted(round(length), "trial")
