"""What every divergence answers: the worst expectation over a ball of distributions around the reference.

    v(f, p, r) = min q.f   s.t.   q >= 0,  sum q = 1,  d(q, p) <= r

for values f `"*b n"` on the points of `Contexts(points, weights=p)`, the radius r a number or `"*b"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.errors import ArgumentError


class WorstCase(NamedTuple):
    """The worst expectation, the distribution that attains it, and the slope.

    `multiplier` is minus the right derivative of `value` in the radius, the smallest dual optimum; it may be infinite at
    radius 0 (chi-square, Kullback-Leibler). `value` has the gradient of the envelope theorem, `weights` are detached.
    """

    value: Tensor  # "*b"
    weights: Tensor  # "*b n"
    multiplier: Tensor  # "*b"


class Ball(Protocol):
    """A divergence with everything prepared that depends on the reference alone."""

    def __call__(self, values: Tensor, radius: float | Tensor) -> WorstCase: ...


@runtime_checkable
class Divergence(Protocol):
    """A distance between distributions on `Contexts`, with its inner worst case; `steep` where its slope at 0 is infinite."""

    @property
    def steep(self) -> bool: ...

    def distance(self, weights: Tensor, contexts: Contexts) -> Tensor: ...

    def on(self, contexts: Contexts) -> Ball: ...

    def worst_case(self, values: Tensor, contexts: Contexts, radius: float | Tensor) -> WorstCase: ...


@dataclass(frozen=True)
class Problem:
    """Checked arguments of a worst case, flattened to rows: `values` `"b n"`, `radius` `"b"`, and the way back."""

    values: Tensor
    radius: Tensor
    shape: torch.Size

    @staticmethod
    def of(call: str, values: Tensor, radius: float | Tensor, n: int) -> Problem:
        """Check values and radius, or raise `ArgumentError` that names what is wrong."""
        if not isinstance(values, Tensor) or values.ndim == 0 or values.shape[-1] != n:
            given = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
            raise ArgumentError(f"{call}: values must be a tensor whose last axis has the {n} contexts, got {given}.")
        values = values.to(torch.float64)
        if not bool(torch.isfinite(values).all()):
            raise ArgumentError(f"{call}: values must be finite.")
        shape = values.shape[:-1]
        try:
            radii = torch.as_tensor(radius, dtype=torch.float64, device=values.device).expand(shape)
        except RuntimeError as error:
            raise ArgumentError(f"{call}: radius {radius!r} does not broadcast over {tuple(shape)}.") from error
        except TypeError as error:
            raise ArgumentError(f"{call}(radius={radius!r}): radius must be a number or a tensor.") from error
        if bool(torch.isnan(radii).any()) or bool((radii < 0).any()):
            raise ArgumentError(f"{call}(radius={float(radii.min()):g}): radius must be >= 0.")
        return Problem(values.reshape(-1, n), radii.reshape(-1), shape)

    def answer(self, weights: Tensor, multiplier: Tensor) -> WorstCase:
        """Return the worst case for weights `"b n"`, with Danskin's gradient, in the caller's shape."""
        weights = weights.detach()
        value = (weights * self.values).sum(-1)
        return WorstCase(
            value.reshape(self.shape),
            weights.reshape(*self.shape, weights.shape[-1]),
            multiplier.reshape(self.shape),
        )


def check_weights(call: str, weights: Tensor, contexts: Contexts) -> Tensor:
    """Return weights `"*b n"` for a distance, or raise `ArgumentError`."""
    if not isinstance(weights, Tensor) or weights.ndim == 0 or weights.shape[-1] != len(contexts):
        given = tuple(weights.shape) if isinstance(weights, Tensor) else type(weights).__name__
        raise ArgumentError(
            f"{call}: weights must be a tensor whose last axis has the {len(contexts)} contexts, got {given}."
        )
    if not bool(torch.isfinite(weights).all()) or bool((weights < -1e-9).any()):
        raise ArgumentError(f"{call}: weights must be finite and >= 0.")
    if bool(((weights.sum(-1) - 1.0).abs() > 1e-6).any()):
        raise ArgumentError(f"{call}: weights must sum to 1 over the contexts.")
    return weights.to(torch.float64)


def least(values: Tensor, support: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the least value on the support, who attains it, and the largest; `"b"`, `"b n"` booleans, `"b"`."""
    low = values.masked_fill(~support, torch.inf).amin(-1)
    high = values.masked_fill(~support, -torch.inf).amax(-1)
    return low, (values == low[:, None]) & support, high
