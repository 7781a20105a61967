"""The laws of a divergence: its worst case over a ball, and what it is beside other balls and other values."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.divergences import Divergence, WorstCase
from windward.testing.holding import even, normal, require

# An iterative solver's gap, relative to the size of the values: what laws between two worst cases may miss by.
GAP = 3e-8
# Room for a distance that is computed otherwise than the worst case that it judges.
FEASIBLE = 1e-7


def check_divergence(
    divergence: Divergence, largest: float, *, instances: int = 20, slope_gap: float = 1e-8, seed: int = 0
) -> None:
    """Hold a divergence to its laws on random contexts and values, for radii up to `largest`.

    The worst weights are a distribution inside the ball and attain the value; the value falls with the radius, in a convex
    way, and its slope lies between one-sided differences; values that are shifted, scaled, permuted, put into a batch or
    raised change it as they must; its gradient in the values lies between one-sided differences. `slope_gap` is how far
    the slope may be off, relative to the values over the radius: more for a solver that iterates.

    >>> import windward as ww
    >>> check_divergence(ww.ChiSquare(), 3.0)
    >>> check_divergence(ww.MMD(0.2), 0.5, instances=5, slope_gap=1e-5)
    """
    generator = torch.Generator().manual_seed(seed)
    for index in range(instances):
        case = _drawn(divergence, largest, 1 + index % 14, 1 + index % 2, generator)
        _check_weights(case)
        _check_radii(case, slope_gap)
        _check_values(case, generator)
        _check_order_and_batch(case, generator)
        _check_gradient(case)


@dataclass(frozen=True)
class _Case:
    divergence: Divergence
    contexts: Contexts
    values: Tensor
    radius: float

    @property
    def size(self) -> float:
        return 1.0 + float(self.values.abs().max())

    def worst(self, values: Tensor, radius: float) -> float:
        return float(self.divergence.worst_case(values, self.contexts, radius).value)

    def says(self, law: str) -> str:
        return (
            f"{self.divergence!r}: {law} (radius {self.radius!r}, weights {self.contexts.weights.tolist()}, points "
            f"{self.contexts.points.tolist()}, values {self.values.tolist()})."
        )


def _drawn(divergence: Divergence, largest: float, n: int, k: int, generator: torch.Generator) -> _Case:
    weights = (even(generator, n) + 0.05) * (even(generator, n) >= 0.25)  # a weight may be zero
    if float(weights.sum()) == 0.0:
        weights[0] = 1.0
    contexts = Contexts(even(generator, n, k), weights / weights.sum())
    radius = largest * (0.02 + 0.98 * float(even(generator, 1)))
    return _Case(divergence, contexts, normal(generator, n), radius)


def _check_weights(case: _Case) -> None:
    worst, f, p = (
        case.divergence.worst_case(case.values, case.contexts, case.radius),
        case.values,
        case.contexts.weights,
    )
    value, total = float(worst.value), float(worst.weights.sum())
    require(float(worst.weights.min()) >= 0.0, case.says("a worst weight is negative"))
    require(abs(total - 1.0) <= 1e-9, case.says(f"the worst weights sum to {total!r}"))
    distance = float(case.divergence.distance(worst.weights, case.contexts))
    within = case.radius * (1.0 + FEASIBLE) + 1e-9
    require(distance <= within, case.says(f"the worst weights are at a distance of {distance!r}, outside the ball"))
    attained = float(worst.weights @ f)
    require(
        abs(attained - value) <= 1e-12 * case.size, case.says(f"the weights give {attained!r}, the value is {value!r}")
    )
    mean = float(p @ f)
    between = float(f.min()) - 1e-9 <= value <= mean + 1e-9
    require(between, case.says(f"the value {value!r} is not between the least one and the mean {mean!r}"))
    require(float(worst.multiplier) >= 0.0, case.says(f"the multiplier {float(worst.multiplier)!r} is negative"))


def _check_radii(case: _Case, slope_gap: float) -> None:
    step, slack = 0.02, GAP * case.size
    radii = case.radius * torch.tensor([0.4, 0.7, 1.0 - step, 1.0, 1.0 + step], dtype=torch.float64)
    worst = case.divergence.worst_case(case.values.expand(5, -1), case.contexts, radii)
    _check_shapes(case, worst, (5,))
    near, middle, before, here, after = worst.value.tolist()
    require(here <= middle + slack and middle <= near + slack, case.says("the value rises with the radius"))
    require(middle <= 0.5 * (near + here) + slack, case.says("the value is not convex in the radius"))
    left, right = (before - here) / (step * case.radius), (here - after) / (step * case.radius)
    slope, bound = float(worst.multiplier[3]), slope_gap * case.size / case.radius
    between = right - bound <= slope <= left + bound
    require(between, case.says(f"the multiplier {slope!r} is not between the differences {right!r} and {left!r}"))


def _check_values(case: _Case, generator: torch.Generator) -> None:
    base = case.worst(case.values, case.radius)
    for shift, scale in ((-40.0, 1.0), (3.0, 1e-3), (0.0, 700.0)):
        other, want = case.worst(scale * case.values + shift, case.radius), scale * base + shift
        slack = 1e-7 * scale * case.size + 1e-12 * abs(shift)
        law = f"values times {scale:g} plus {shift:g} have the worst case {other!r} instead of {want!r}"
        require(abs(other - want) <= slack, case.says(law))
    raised = case.values + normal(generator, len(case.values)).abs()
    slack = GAP * (1.0 + float(raised.abs().max()))
    require(base <= case.worst(raised, case.radius) + slack, case.says("values that rise have a lower worst case"))


def _check_order_and_batch(case: _Case, generator: torch.Generator) -> None:
    f, contexts, slack = case.values, case.contexts, GAP * 2.0 * case.size
    base, order = case.worst(f, case.radius), torch.randperm(len(f), generator=generator)
    shuffled = Contexts(contexts.points[order], contexts.weights[order])
    other = float(case.divergence.worst_case(f[order], shuffled, case.radius).value)
    require(abs(other - base) <= slack, case.says(f"contexts in another order give {other!r} instead of {base!r}"))
    batch, radii = torch.stack([f, -f, 2.0 * f])[:, None, :], (case.radius, 0.5 * case.radius, case.radius)
    together = case.divergence.worst_case(batch, contexts, torch.tensor(radii, dtype=torch.float64)[:, None])
    _check_shapes(case, together, (3, 1))
    for row, radius in enumerate(radii):
        alone, here = case.worst(batch[row, 0], radius), float(together.value[row, 0])
        require(abs(alone - here) <= slack, case.says(f"a row gives {here!r} in a batch and {alone!r} alone"))


def _check_shapes(case: _Case, worst: WorstCase, batch: tuple[int, ...]) -> None:
    shapes = tuple(worst.value.shape), tuple(worst.weights.shape), tuple(worst.multiplier.shape)
    want = batch, (*batch, len(case.values)), batch
    require(shapes == want, case.says(f"a batch of {batch} has the shapes {shapes} instead of {want}"))


def _check_gradient(case: _Case) -> None:
    """The worst case is concave in the values: a gradient is between its one-sided differences, at a kink too."""
    values, step = case.values.clone().requires_grad_(), 1e-3
    worst = case.divergence.worst_case(values, case.contexts, case.radius).value
    (gradient,) = torch.autograd.grad(worst, values)
    bound, base, moved = GAP * case.size / step, worst.detach(), step * torch.eye(len(values), dtype=torch.float64)
    around = torch.cat([case.values + moved, case.values - moved])
    above, below = case.divergence.worst_case(around, case.contexts, case.radius).value.chunk(2)
    right, left = (above - base) / step, (base - below) / step
    between = ((right - bound <= gradient) & (gradient <= left + bound)).all()
    law = f"the gradient {gradient.tolist()} is not between the differences {right.tolist()} and {left.tolist()}"
    require(between, case.says(law))
