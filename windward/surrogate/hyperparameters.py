"""What a fit finds, and how raw columns become kernel inputs by it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

# Beyond this many length-scales two points are uncorrelated to the last bit; clamping keeps far outliers from
# spoiling the distances of their neighbours by cancellation.
FARTHEST = 1e4


@dataclass(frozen=True)
class Hyperparameters:
    """Constant mean, length-scale per parameter, amplitude (signal variance) and noise variance, standardised.

    `shares` are those of the kernel's two factors, decisions' and contexts', that are the same everywhere; none where the
    kernel is a plain product. `drift` is the length of the drift of a function that changes, in trials, or in days where the
    surrogate was given a time; None where it stands still. `still` is the probability that it does, where it was learnt.
    """

    mean: float
    length_scales: tuple[float, ...]
    amplitude: float
    noise: float
    shares: tuple[float, ...] = ()
    drift: float | None = None
    still: float | None = None

    @property
    def x_share(self) -> float:
        """The share of the decisions' factor that is the same for all decisions."""
        return self.shares[0] if self.shares else 0.0

    @property
    def c_share(self) -> float:
        """The share of the contexts' factor that is the same for all contexts."""
        return self.shares[1] if self.shares else 0.0


@dataclass(frozen=True)
class Inputs:
    """How raw columns become kernel inputs: contexts less their origin, both times rates; `"d"`, `"k"` and `"k"`.

    A rate is one over unit and length-scale. Without the origin, contexts far from zero would cancel away.
    """

    x_rates: Tensor
    c_rates: Tensor
    c_origin: Tensor

    def x(self, x: Tensor) -> Tensor:
        """Return scaled decisions."""
        return (x.to(self.x_rates.device) * self.x_rates).clamp(-FARTHEST, FARTHEST)

    def c(self, points: Tensor) -> Tensor:
        """Return scaled contexts."""
        return ((points.to(self.c_rates.device) - self.c_origin) * self.c_rates).clamp(-FARTHEST, FARTHEST)
