"""How outcomes are scaled before a fit; a fitted posterior gives its results back in the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.basics import arguments

# Outcomes whose spread is below this share of their size differ by rounding alone and count as constant.
CONSTANT = 1e-12
# A normal sample's median absolute deviation times this is its standard deviation.
MAD_TO_DEVIATION = 1.4826


@dataclass(frozen=True)
class ScaledOutcomes:
    """Scaled `values`, and the numbers that bring them back: y = values * scale + shift."""

    values: Tensor
    shift: float
    scale: float


@runtime_checkable
class Scaling(Protocol):
    """Scale outcomes `"n"`; with a `floor` they are shifted by it and never centred (see `feedback.Censor`)."""

    def scaled(self, y: Tensor, floor: float | None) -> ScaledOutcomes: ...


@dataclass(frozen=True)
class Standardize:
    """Subtract the mean and divide by the standard deviation (n - 1), as BoTorch does."""

    def scaled(self, y: Tensor, floor: float | None = None) -> ScaledOutcomes:
        """Return standardised outcomes; one value alone, or equal ones, are scaled by their size."""
        if len(y) == 0:
            return ScaledOutcomes(y, floor or 0.0, 1.0)
        if floor is not None:
            return _above_floor(y, floor)
        size = float(y.abs().max())
        small = y / size if size > 0.0 else y  # sums of squares of 1e200 would overflow
        center = float(small.mean())
        spread = float(small.std()) if len(y) > 1 else 0.0
        scale = spread * size if spread > CONSTANT else (size or 1.0)
        shift = center * size
        return ScaledOutcomes((y - shift) / scale, shift, scale)


def _above_floor(y: Tensor, floor: float) -> ScaledOutcomes:
    """Return outcomes less the floor over their root mean square: a process of mean zero and amplitude one fits them.

    Values at the floor, the censored ones, say nothing of the size of the others.
    """
    risen = (y - floor)[y != floor]
    size = float(risen.abs().max()) if len(risen) else 0.0
    scale = size * float((risen / size).square().mean().sqrt()) if size > 0.0 else 1.0
    return ScaledOutcomes((y - floor) / scale, floor, scale)


@dataclass(frozen=True)
class SoftClip:
    """Standardize robustly and bend what lies beyond `limit` robust deviations: |z| -> limit + log(1 + |z| - limit).

    For heavy-tailed outcomes: one wild value then no longer flattens all others. Values inside the limit, the bulk,
    keep their meaning exactly; the posterior speaks of the bent outcome beyond it.
    """

    limit: float = 3.0

    def __post_init__(self) -> None:
        arguments.number("SoftClip", "limit", self.limit, low=0.0, open_low=True)

    def scaled(self, y: Tensor, floor: float | None = None) -> ScaledOutcomes:
        """Return outcomes over their robust deviation, bent beyond the limit, then standardised."""
        if len(y) < 2:
            return Standardize().scaled(y, floor)
        if (
            floor is not None
        ):  # what is at the floor stays there: it is the prior mean; the others are bent among themselves
            risen = y != floor
            bent = y.clone()
            bent[risen] = self._bent(y[risen])
            return Standardize().scaled(bent, floor)
        return Standardize().scaled(self._bent(y))

    def _bent(self, y: Tensor) -> Tensor:
        if len(y) < 2:
            return y
        middle = float(y.quantile(0.5))
        deviation = float((y - middle).abs().quantile(0.5)) * MAD_TO_DEVIATION
        if deviation <= CONSTANT * float(y.abs().quantile(0.5)):  # more than half are equal: no robust scale exists
            return y
        z = (y - middle) / deviation
        beyond = (z.abs() - self.limit).clamp_min(0.0)
        bent = torch.where(beyond > 0.0, z.sign() * (self.limit + beyond.log1p()), z)
        return middle + deviation * bent


@dataclass(frozen=True)
class Unscaled:
    """Leave outcomes as they are: for fixed hyper-parameters stated in the outcome's own units."""

    def scaled(self, y: Tensor, floor: float | None = None) -> ScaledOutcomes:
        """Return the outcomes themselves."""
        return ScaledOutcomes(y - (floor or 0.0), floor or 0.0, 1.0)
