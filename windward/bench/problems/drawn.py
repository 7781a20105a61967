"""Draws of a Gaussian process over decisions and contexts together, a new one for each seed; free decisions, deviation 1.

A draw is a sum of 1024 random cosines, whose covariance is the kernel: squared-exponential ("smooth") or Matern-3/2
("rough"). It is one explicit function, so that values, expectations and optima are exact for it. Contexts are normal around
0.5 with deviation 0.2, clipped to [0, 1], unless the problem says otherwise. Length-scales are in units of the ranges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from windward.bench import laws
from windward.bench.problem import Problem
from windward.bench.problems.delays import Fixed
from windward.bench.problems.expectations import numbered
from windward.bench.problems.registry import Data, register
from windward.space.parameters import Categorical, Parameter, Real
from windward.space.space import Space

COSINES = 1024
NORMAL = laws.normal(0.5, 0.2)
KINDS = ("a", "b", "c", "d")


@dataclass(frozen=True, eq=False)
class Draw:
    """sum_m heights_m cos(decisions_m . x + contexts_m . c + phases_m); categories, `(decision, context)`, as unit vectors."""

    decisions: Tensor  # "m d"
    contexts: Tensor  # "m k"
    phases: Tensor  # "m"
    heights: Tensor  # "m"
    categories: tuple[int, int] = (0, 0)  # of the last decision and of the last context; 0: it is a number

    def __call__(self, x: Tensor, c: Tensor) -> Tensor:
        """Return the values; decisions and contexts broadcast."""
        left = spread_out(x, self.categories[0]) @ self.decisions.T + self.phases
        right = spread_out(c, self.categories[1]) @ self.contexts.T
        if left.ndim == 3 and left.shape[1] == 1 and right.ndim == 2:  # every decision meets every context
            left = left[:, 0]
            cosines = (self.heights * torch.cos(left)) @ torch.cos(right).T
            return cosines - (self.heights * torch.sin(left)) @ torch.sin(right).T
        return (self.heights * torch.cos(left + right)).sum(-1)


def spread_out(points: Tensor, categories: int) -> Tensor:
    """Return points with their last column, the index of a category, as a unit vector; the same where there is none."""
    if not categories:
        return points
    vectors = torch.nn.functional.one_hot(points[..., -1].round().long(), categories).to(points)
    return torch.cat([points[..., :-1], vectors], dim=-1)


def draw(
    seed: int,
    decisions: Sequence[float],
    contexts: Sequence[float],
    *,
    rough: bool = False,
    categories: tuple[int, int] = (0, 0),
) -> Draw:
    """Return one draw with these length-scales, one for each column."""
    generator = torch.Generator().manual_seed(seed)
    scales = torch.tensor([*decisions, *contexts], dtype=torch.float64)
    frequencies = torch.randn(COSINES, len(scales), generator=generator, dtype=torch.float64)
    if rough:  # the spectrum of Matern-3/2 is Student's with three degrees of freedom
        squares = torch.randn(COSINES, 3, generator=generator, dtype=torch.float64).square().sum(-1, keepdim=True)
        frequencies = frequencies / (squares / 3.0).sqrt()
    frequencies = frequencies / scales
    phases = 2.0 * math.pi * torch.rand(COSINES, generator=generator, dtype=torch.float64)
    heights = math.sqrt(2.0 / COSINES) * torch.randn(COSINES, generator=generator, dtype=torch.float64)
    left, right = frequencies[:, : len(decisions)], frequencies[:, len(decisions) :]
    return Draw(left, right, phases, heights, categories)


def drawn(
    name: str,
    seed: int,
    decisions: int,
    sources: Sequence[laws.Coming],
    scale: float,
    context_scale: float = 1.0,
    *,
    noise: float = 0.0,
    rough: bool = False,
) -> Problem:
    """Return a draw with one length-scale for all decisions and one for all contexts."""
    truth, come = laws.independent(sources)
    value = draw(seed, [scale] * decisions, [context_scale] * len(sources), rough=rough)
    space = Space(
        decision={each: Real(0, 1) for each in numbered("x", decisions)},
        context={each: Real(0, 1) for each in numbered("c", len(sources))},
    )
    return Problem(name=name, space=space, value=value, truth=truth, draw=come, noise=noise)


def normals(count: int, nodes: int) -> list[laws.Coming]:
    """Return independent normal contexts with so many Gauss nodes each."""
    return [laws.clipped(NORMAL, 0.0, 1.0, 32, few=nodes)] * count


def even(panels: int) -> laws.Coming:
    """Return a context uniform over [0, 1]."""
    return laws.clipped(laws.uniform(0.0, 1.0), 0.0, 1.0, panels)


@register("gp-smooth-1-1", seeded=True)
def _smooth_1_1(seed: int, data: Data) -> Problem:
    return drawn("gp-smooth-1-1", seed, 1, normals(1, 32), 0.2, 0.3)


@register("gp-rough-1-1", seeded=True)
def _rough_1_1(seed: int, data: Data) -> Problem:
    return drawn("gp-rough-1-1", seed, 1, [even(32)], 0.15, 0.3, noise=0.1, rough=True)


@register("gp-rough-2-1", seeded=True)
def _rough_2_1(seed: int, data: Data) -> Problem:
    return drawn("gp-rough-2-1", seed, 2, [even(32)], 0.25, 0.2, noise=0.05, rough=True)


@register("gp-noisy-3-1", seeded=True)
def _noisy_3_1(seed: int, data: Data) -> Problem:
    return drawn("gp-noisy-3-1", seed, 3, normals(1, 32), 0.35, 0.3, noise=0.5)


@register("gp-restless-contexts-2-2", seeded=True)
def _restless(seed: int, data: Data) -> Problem:
    """Context length-scales of 0.1: what one context shows says nothing of the next."""
    return drawn("gp-restless-contexts-2-2", seed, 2, normals(2, 32), 0.3, 0.1)


@register("gp-slow-contexts-2-2", seeded=True)
def _slow(seed: int, data: Data) -> Problem:
    """Context length-scales of 3: contexts hardly matter."""
    return drawn("gp-slow-contexts-2-2", seed, 2, normals(2, 12), 0.25, 3.0, noise=0.05)


@register("gp-smooth-4-2", seeded=True)
def _smooth_4_2(seed: int, data: Data) -> Problem:
    return drawn("gp-smooth-4-2", seed, 4, normals(2, 16), 0.5, 0.5, noise=0.05)


@register("gp-wide-8-1", seeded=True)
def _wide_8_1(seed: int, data: Data) -> Problem:
    return drawn("gp-wide-8-1", seed, 8, normals(1, 24), 1.0, 0.5, noise=0.02)


@register("gp-noisy-2-0", seeded=True)
def _noisy_2_0(seed: int, data: Data) -> Problem:
    return drawn("gp-noisy-2-0", seed, 2, [], 0.25, noise=0.3)


@register("gp-late-2-1", seeded=True)
def _late_2_1(seed: int, data: Data) -> Problem:
    """Each value comes five rounds later."""
    return replace(drawn("gp-late-2-1", seed, 2, normals(1, 32), 0.3, 0.3, noise=0.1), delay=Fixed(5))


@register("gp-three-contexts-2-3", seeded=True)
def _three_contexts(seed: int, data: Data) -> Problem:
    return drawn("gp-three-contexts-2-3", seed, 2, normals(3, 10), 0.3, 0.6, noise=0.1)


@register("gp-kinds-3-2", seeded=True)
def _kinds_3_2(seed: int, data: Data) -> Problem:
    """Two numbers and one of four kinds to decide; a number and one of three groups as context, the last one rare."""
    truth, come = laws.independent([*normals(1, 32), laws.category([0.6, 0.3, 0.1])])
    categories = 4, 3
    value = draw(seed, [0.3, 0.3, *[1.0] * 4], [0.4, *[1.5] * 3], categories=categories)
    decision: dict[str, Parameter] = {"x1": Real(0, 1), "x2": Real(0, 1), "kind": Categorical(KINDS)}
    context: dict[str, Parameter] = {"c": Real(0, 1), "group": Categorical(KINDS[:3])}
    return Problem(name="gp-kinds-3-2", space=Space(decision, context), value=value, truth=truth, draw=come, noise=0.1)
