"""Confidence widths from theory: what multiplies the deviation, as a function of the belief and of the rounds.

    HuangWidth(decisions, constant)     Huang2024, Thm. 1:  sqrt(2 log(t^2 / sqrt(2 pi)) + 2 d log(t^2 d constant sqrt(pi) / 2))
    MicheliWidth(bound, noise, risk)    Micheli2025, Eq. 7: noise / sqrt(lambda) sqrt(2 log(det(I + K / lambda)^(1/2) / risk))
                                                            + bound, for a sigma without the paper's 1 / sqrt(lambda)

    delayed_width(bound, base)          Verma2022, Thm. 1:  bound * sum of sigma(x_s) over the patience window + base
    VermaWidth(bound, noise, most, risk)  its beta_t:       bound + (noise + most) sqrt(2 (gain + 1 + log(2 / risk))),
                                                            gain = log det(I + K / lambda) / 2

    Wider(first, then, after)           Windward's own: `first` until `after` results have come back, `then` from there on

The first two hold with a probability the theory states and are wider than what works: the papers themselves run with 1.5.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError, IncompatibleError
from windward.basics.speech import shown
from windward.feedback import Feedback
from windward.objectives.radii import check_called
from windward.objectives.situation import Situation


@runtime_checkable
class Width(Protocol):
    """A width that depends on the situation: on what is believed, on the trials so far."""

    def __call__(self, situation: Situation) -> float: ...


AnyWidth: TypeAlias = float | Width


@dataclass(frozen=True)
class HuangWidth:
    """A width that grows slowly with the trials, as a theorem asks: sqrt(beta_t) of Huang2024, Theorem 1.

    t counts trials, `constant` is the paper's product a b r.
    """

    decisions: int
    constant: float = 1.0

    def __post_init__(self) -> None:
        arguments.whole("HuangWidth", "decisions", self.decisions, low=1)
        arguments.number("HuangWidth", "constant", self.constant, low=0.0, open_low=True)

    of: ClassVar[str] = "width"

    def __call__(self, situation: Situation) -> float:
        t = max(len(situation.trials), 2)  # at t = 1 the formula's logarithms are negative
        size = t**2 * self.decisions * self.constant * math.sqrt(math.pi) / 2.0
        beta = 2.0 * math.log(t**2 / math.sqrt(2.0 * math.pi)) + 2.0 * self.decisions * math.log(max(size, 1.0))
        return math.sqrt(max(beta, 0.0))


@dataclass(frozen=True)
class MicheliWidth:
    """A width that holds the function with probability 1 - `risk`, as a theorem asks: beta_t of Micheli2025, Eq. 7.

    `bound` is one of the function's norm, `noise` its sub-Gaussian noise.

    lambda is the noise variance of the fitted process; function and noise are in standardised outcomes.
    """

    bound: float = 1.0
    noise: float = 0.1
    risk: float = 0.1

    def __post_init__(self) -> None:
        arguments.number("MicheliWidth", "bound", self.bound, low=0.0)
        arguments.number("MicheliWidth", "noise", self.noise, low=0.0)
        arguments.number("MicheliWidth", "risk", self.risk, low=0.0, high=1.0, open_low=True)

    of: ClassVar[str] = "width"

    def __call__(self, situation: Situation) -> float:
        least = situation.posterior.hyperparameters.noise
        inside = information_gain(situation) - math.log(self.risk)
        # The paper's sigma_t has 1 / sqrt(lambda) in it (Eq. 5); here it is in the width.
        return self.noise / math.sqrt(least) * math.sqrt(2.0 * inside) + self.bound


@dataclass(frozen=True)
class VermaWidth:
    """A width that grows with what has been learnt, as a theorem asks: beta_t of Verma2022, Theorem 1.

    `bound` is of the function's norm, `noise` sub-Gaussian, `most` what a value can be, `risk` the probability of failure.

    The information gain is that of the observations, lambda the noise variance of the fitted process; function, noise and
    values are in standardised outcomes. As `delayed_width(base=VermaWidth())` it makes the theorem's nu_t. The paper's
    experiments have 1.

    >>> VermaWidth().risk
    0.1
    """

    bound: float = 1.0
    noise: float = 0.1
    most: float = 1.0
    risk: float = 0.1

    def __post_init__(self) -> None:
        for name in ("bound", "noise", "most"):
            arguments.number("VermaWidth", name, getattr(self, name), low=0.0)
        arguments.number("VermaWidth", "risk", self.risk, low=0.0, high=1.0, open_low=True)

    of: ClassVar[str] = "width"

    def __call__(self, situation: Situation) -> float:
        inside = information_gain(situation) + 1.0 + math.log(2.0 / self.risk)
        return self.bound + (self.noise + self.most) * math.sqrt(2.0 * inside)


def information_gain(situation: Situation) -> float:
    """Return log det(I + K / lambda) / 2 of the observations, lambda the noise variance of the fitted process."""
    posterior = situation.posterior
    least = posterior.hyperparameters.noise
    return 0.5 * max(posterior.log_determinant() - posterior.size * math.log(least), 0.0)


@dataclass(frozen=True)
class DelayedWidth:
    """A width that grows with what is still on the way: for late values that count as the worst meanwhile.

    nu_t = bound * sum over the patience window of sigma(x_s) + base, sigma in standardised outcomes (Verma2022).

    `base` is a number or a width of theory. `terms` is how many decisions asked last are summed; None: those of the window.
    """

    bound: float = 1.0
    base: float | Width = 1.0
    terms: int | None = None

    def __post_init__(self) -> None:
        arguments.number("delayed_width", "bound", self.bound, low=0.0)
        if callable(self.base):
            check_width("delayed_width", self.base)
        else:
            arguments.number("delayed_width", "base", self.base, low=0.0)
        if self.terms is not None:
            arguments.whole("delayed_width", "terms", self.terms, low=0)

    of: ClassVar[str] = "width"

    def __call__(self, situation: Situation) -> float:
        base = resolved_width("delayed_width", self.base, situation)
        x, c = self._recent(situation)
        if len(x) == 0:
            return base
        with torch.no_grad():
            deviations = situation.posterior.marginals(x, c)[1].diagonal() / situation.posterior.scale
        return self.bound * float(deviations.sum()) + base

    def _recent(self, situation: Situation) -> tuple[Tensor, Tensor]:
        """Return the decisions and contexts that are summed over."""
        if self.terms is not None:
            trials = situation.trials
            last = trials.asked[max(0, len(trials.asked) - self.terms) :]
            rows = [trial for trial in last if trials.placeable(trial)]
            return trials.decisions(rows), trials.likely_contexts(rows)
        recent = None if situation.believed is None else situation.believed.recent
        if recent is None:
            raise IncompatibleError(
                "delayed_width(): the feedback has no patience; use feedback=Censor(worst, patience)."
            )
        return recent


@dataclass(frozen=True)
class Wider:
    """A width that grows once: `first` until `after` results have come back, `then` from there on.

    Few results are soon outdated, so a bold choice among them costs more than it teaches; later a wider bound finds the
    hills that were passed by.

    >>> Wider(0.5, 1.0).after
    30
    """

    first: float = 0.5
    then: float = 1.0
    after: int = 30

    def __post_init__(self) -> None:
        arguments.number("Wider", "first", self.first, low=0.0)
        arguments.number("Wider", "then", self.then, low=0.0)
        arguments.whole("Wider", "after", self.after, low=0)

    of: ClassVar[str] = "width"

    def __call__(self, situation: Situation) -> float:
        return self.first if len(situation.trials.arrived) < self.after else self.then


def delayed_width(bound: float = 1.0, base: float | Width = 1.0, terms: int | None = None) -> DelayedWidth:
    """Return Verma2022's nu_t, which reads the patience window from `Censor`: `UpperConfidence(delayed_width())`.

    `bound` is B_y over the outcome's scale, `base` is beta_t; both are 1 in the paper's experiments, and `VermaWidth()` is the
    theorem's beta_t. `terms` sums over that many decisions asked last in place of the window.
    """
    return DelayedWidth(bound, base, terms)


def check_width(call: str, width: object) -> None:
    """Raise `ArgumentError` unless `width` is a number >= 0 or a width of theory."""
    if isinstance(width, type) or not callable(width):
        arguments.number(call, "width", width, low=0.0)
        return
    check_called(call, "width", width)


def check_patience(belief: object, width: AnyWidth, feedback: Feedback) -> None:
    """Raise `IncompatibleError` where the width reads a patience that the feedback has not."""
    if isinstance(width, DelayedWidth) and width.terms is None and feedback.patience is None:
        raise IncompatibleError(
            f"Policy(belief={shown(belief)}, feedback={shown(feedback)}): delayed_width() reads the patience of "
            "the feedback; use feedback=Censor(worst, patience)."
        )


def resolved_width(call: str, width: AnyWidth, situation: Situation) -> float:
    """Return the width as a number, now."""
    if not callable(width):
        return float(width)
    value = width(situation)
    if not 0.0 <= value <= sys.float_info.max:  # compared, not converted: a whole number may be beyond the floats
        raise ArgumentError(f"{call}(width={shown(width)}): it gave {shown(value)}; a width must be >= 0.")
    return float(value)
