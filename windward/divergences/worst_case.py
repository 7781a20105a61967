"""What every divergence answers: the worst expectation over a ball of distributions around the reference.

    v(f, p, r) = min q.f   s.t.   q >= 0,  sum q = 1,  d(q, p) <= r

for values f `"*b n"` on the points of `Contexts(points, weights=p)`, the radius r a number or `"*b"`.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from windward.basics.arguments import LARGEST
from windward.basics.errors import ArgumentError
from windward.basics.speech import number, shown
from windward.contexts import Contexts

# Doubles per block of rows, 1 MiB: its intermediates stay in the cache. Of 2**13 to 2**17 this was the fastest.
BLOCK = 2**17


class WorstCase(NamedTuple):
    """The worst expectation, the distribution that attains it, and the slope.

    `multiplier` is minus the right derivative of `value` in the radius, the smallest dual optimum; it may be infinite at
    radius 0 (chi-square, Kullback-Leibler). `value` has the gradient of the envelope theorem, `multiplier` its own in the
    values, `weights` are detached.
    """

    value: Tensor  # "*b"
    weights: Tensor  # "*b n"
    multiplier: Tensor  # "*b"


class Ball(Protocol):
    """A divergence with everything prepared that depends on the reference alone."""

    def __call__(self, values: Tensor, radius: float | Tensor) -> WorstCase: ...


@runtime_checkable
class Screening(Protocol):
    """A ball whose worst cases are expensive and have a cheap bound: in the search for a maximum, most need no solving."""

    def ceiling(self, values: Tensor, radius: float | Tensor, alpha: float, beta: float) -> Tensor:
        """Return an upper bound of alpha * worst case - beta * multiplier for values `"*b n"`; `"*b"`."""


@runtime_checkable
class DraftingBall(Protocol):
    """A ball that makes one like it whose worst cases are solved less closely, and faster."""

    def draft(self) -> Ball: ...


@runtime_checkable
class AroundEach(Protocol):
    """A divergence that finds worst values around a reference of each row's own, faster than ball by ball."""

    def around_each(self, values: Tensor, references: Tensor, radius: float) -> Tensor:
        """Return the worst values of `"b n"` around references `"b n"`; `"b"`."""


@runtime_checkable
class Divergence(Protocol):
    """A distance between distributions on `Contexts`, with its inner worst case; `steep` where its slope at 0 is infinite."""

    @property
    def steep(self) -> bool: ...

    def distance(self, weights: Tensor, contexts: Contexts) -> Tensor: ...

    def on(self, contexts: Contexts) -> Ball: ...

    def worst_case(self, values: Tensor, contexts: Contexts, radius: float | Tensor) -> WorstCase: ...


KernelOfContexts: TypeAlias = Callable[[Tensor], Tensor]
"""From context points `"n k"` to their kernel matrix `"n n"`."""


@runtime_checkable
class OfTheProcess(Protocol):
    """A divergence that, where `fitted`, measures by the kernel of the fitted process, which `on` then takes."""

    @property
    def fitted(self) -> bool: ...

    def on(self, contexts: Contexts, kernel: KernelOfContexts | None = None) -> Ball: ...


@runtime_checkable
class Saying(Protocol):
    """A divergence in words. `radius_of_all`: at which every case may change; None where a radius is no share of the cases."""

    @property
    def radius_of_all(self) -> float | None: ...

    def says(self, radius: float) -> str: ...


def in_words(divergence: Divergence, radius: float) -> str:
    """Return what may happen within a ball, as a clause."""
    return divergence.says(radius) if isinstance(divergence, Saying) else drifting(type(divergence).__name__, radius)


def radius_of_all(divergence: Divergence) -> float | None:
    """Return the radius at which every case may change; None where a radius is no share of the cases."""
    return divergence.radius_of_all if isinstance(divergence, Saying) else None


def drifting(name: str, radius: float) -> str:
    """Return the clause for a divergence whose radius has no simpler meaning."""
    return f"the contexts drift from those seen by as much as a {name} of {number(radius)}"


def farther(radius: float) -> str:
    """Return the clause for contexts that lie elsewhere."""
    return f"contexts lie {number(radius)} away from those seen, on average, to the bad side"


@dataclass(frozen=True)
class Instance:
    """Checked arguments of a worst case, flattened to rows: `values` `"b n"`, `radius` `"b"`, and the way back."""

    values: Tensor
    radius: Tensor
    shape: torch.Size

    @staticmethod
    def of(call: str, values: Tensor, radius: float | Tensor, n: int) -> Instance:
        """Check values and radius, or raise `ArgumentError` that names what is wrong."""
        values = _checked_tensor(call, "values", values, n)
        shape = values.shape[:-1]
        if isinstance(radius, float) and radius >= 0.0:  # the usual case, without the checks of the others
            return Instance(values.reshape(-1, n), values.new_full((shape.numel(),), radius), shape)
        real = not radius.is_complex() if isinstance(radius, Tensor) else isinstance(radius, numbers.Real)
        if isinstance(radius, bool) or not real:
            raise ArgumentError(f"{call}(radius={shown(radius)}): radius must be a number or a tensor of real numbers.")
        try:
            radii = torch.as_tensor(radius, dtype=torch.float64, device=values.device).expand(shape)
        except RuntimeError as error:
            raise ArgumentError(
                f"{call}(radius={shown(radius)}): it does not broadcast over {tuple(shape)}."
            ) from error
        except (TypeError, OverflowError) as error:
            raise ArgumentError(
                f"{call}(radius={shown(radius)}): radius must be a number that a float can hold."
            ) from error
        if not bool((radii >= 0).all()):
            raise ArgumentError(f"{call}(radius={float(radii.min()):g}): radius must be >= 0.")
        return Instance(values.reshape(-1, n), radii.reshape(-1), shape)

    def answer(self, weights: Tensor, multiplier: Tensor) -> WorstCase:
        """Return the worst case for weights `"b n"`, with Danskin's gradient, in the caller's shape."""
        weights = weights.detach()
        # As a batch of products: no temporary of their size, whose fresh memory costs more than the sums.
        value = torch.bmm(weights[:, None, :], self.values[:, :, None]).reshape(-1)
        return WorstCase(
            value.reshape(self.shape),
            weights.reshape(*self.shape, weights.shape[-1]),
            multiplier.reshape(self.shape),
        )


def check_contexts(call: str, contexts: Contexts) -> Contexts:
    """Return the contexts, or raise `ArgumentError` where they are none."""
    if not isinstance(contexts, Contexts):
        raise ArgumentError(f"{call}(contexts={shown(contexts)}): give Contexts(points, weights).")
    return contexts


def check_weights(call: str, weights: Tensor, contexts: Contexts) -> Tensor:
    """Return weights `"*b n"` for a distance, or raise `ArgumentError`."""
    return check_shares(call, "weights", weights, len(check_contexts(call, contexts)))


def check_shares(call: str, name: str, weights: Tensor, n: int) -> Tensor:
    """Return distributions `"*b n"` over n contexts, or raise `ArgumentError`."""
    weights = _checked_tensor(call, name, weights, n)
    if bool((weights < -1e-9).any()):
        raise ArgumentError(f"{call}: {name} must be >= 0, got {float(weights.min()):g}.")
    total = weights.sum(-1)
    wrong = (total - 1.0).abs() > 1e-6
    if bool(wrong.any()):
        raise ArgumentError(f"{call}: {name} must sum to 1 over the contexts, got {float(total[wrong][0]):g}.")
    return weights


def _checked_tensor(call: str, name: str, tensor: Tensor, n: int) -> Tensor:
    """Return a tensor `"*b n"` of finite numbers in double precision, or raise `ArgumentError`."""
    if not isinstance(tensor, Tensor) or tensor.is_complex():
        raise ArgumentError(f"{call}({name}={shown(tensor)}): {name} must be a tensor of real numbers.")
    if tensor.ndim == 0 or tensor.shape[-1] != n:
        raise ArgumentError(f"{call}: the last axis of {name} must have the {n} contexts, got {tuple(tensor.shape)}.")
    tensor = tensor.to(torch.float64)
    bare = tensor.detach()
    low, high = torch.aminmax(bare) if bare.numel() else (bare.sum(), bare.sum())
    if not (float(low) >= -LARGEST and float(high) <= LARGEST):  # one pass; a NaN fails it too
        bad = float(tensor[~(tensor.abs() <= LARGEST)][0])
        raise ArgumentError(f"{call}: {name} must be finite, at most {LARGEST:g} in size, got {bad:g}.")
    return tensor


def least(values: Tensor, support: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the least value on the support, who attains it, and the largest; `"b"`, `"b n"` booleans, `"b"`."""
    low = values.masked_fill(~support, torch.inf).amin(-1)
    high = values.masked_fill(~support, -torch.inf).amax(-1)
    return low, (values == low[:, None]) & support, high


def in_blocks(function: Callable[..., tuple[Tensor, ...]], f: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """Return `function(f, *others)` for rows `"b n"` and `"b"`, done in blocks that stay in a core's cache."""
    size = max(1, BLOCK // f.shape[-1]) if f.device.type == "cpu" else max(1, len(f))
    if len(f) <= size:
        return function(f, *others)
    wholes: tuple[Tensor, ...] = ()
    for start in range(0, len(f), size):
        rows = slice(start, start + size)
        parts = function(f[rows], *(other[rows] for other in others))
        wholes = wholes or tuple(part.new_empty((len(f), *part.shape[1:])) for part in parts)
        for whole, part in zip(wholes, parts, strict=True):
            whole[rows] = part
    return wholes


def largest(f: Tensor, count: int) -> Tensor:
    """Return the places of the `count` largest values of each row, largest first; `"b count"`.

    On a processor numpy's vectorised sort is several times faster than torch's.
    """
    if f.device.type != "cpu":
        return f.topk(count, dim=-1).indices
    values, n = f.numpy(), f.shape[-1]
    if count == n:
        return torch.from_numpy(np.argsort(-values, axis=-1))
    some = np.argpartition(values, n - count, axis=-1)[:, n - count :]
    order = np.argsort(-np.take_along_axis(values, some, axis=-1), axis=-1)
    return torch.from_numpy(np.take_along_axis(some, order, axis=-1))


def below_chord(
    problem: Instance, reference: Tensor, reach: Tensor, alpha: float, beta: float, slack: float = 0.0
) -> Tensor:
    """Return an upper bound of alpha * worst case - beta * multiplier, where the least value is within `reach` `"b"`.

    The worst case v is convex in the radius: it lies below the chord from the mean at 0 to the minimum m at its reach R,
    and falls the rest of the way to m at no more than today's slope, s >= (v - m) / (R - r). So alpha v - beta s is at most
    alpha m + (alpha - beta / (R - r))_+ (chord - m). `slack` is how far above the true value, in ranges of the values, a
    solved one may lie.
    """
    f, low = problem.values, problem.values.amin(-1)
    left = (reach - problem.radius).clamp_min(0.0)
    above = left / reach.clamp_min(1e-300) * (f @ reference - low)
    rate = (alpha - beta / left.clamp_min(1e-300)).clamp_min(0.0)
    return (alpha * (low + slack * (f.amax(-1) - low)) + rate * above).reshape(problem.shape)
