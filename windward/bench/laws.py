"""Distributions of one context, clipped to where it lives: how to draw from them, and quadratures that are accurate.

A quadrature is Gauss-Legendre on panels, weighted by the density, with an atom at each bound for the mass that clipping puts
there. Panels end at the breaks a function has (a kink at a fixed context), so that the order is not lost there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from windward.contexts import Contexts, product, sobol

ORDER = 8  # nodes on a panel where nothing else is said
NEGLIGIBLE = 1e-15  # mass of an atom that is left out


@dataclass(frozen=True)
class Law:
    """One distribution on the line: density, distribution function and a draw, each elementwise."""

    density: Callable[[Tensor], Tensor]
    cumulative: Callable[[Tensor], Tensor]
    draw: Callable[[torch.Generator], Tensor]


@dataclass(frozen=True)
class Rule:
    """A quadrature of one context: nodes `"n"` and weights `"n"` that sum to one."""

    nodes: Tensor
    weights: Tensor


def normal(mean: float, sd: float) -> Law:
    """Return the normal distribution."""
    return Law(
        lambda c: torch.exp(-0.5 * ((c - mean) / sd).square()) / (sd * math.sqrt(2.0 * math.pi)),
        lambda c: torch.special.ndtr((c - mean) / sd),
        lambda generator: mean + sd * torch.randn((), generator=generator, dtype=torch.float64),
    )


def cauchy(place: float, scale: float) -> Law:
    """Return the Cauchy distribution."""
    return Law(
        lambda c: 1.0 / (math.pi * scale * (1.0 + ((c - place) / scale).square())),
        lambda c: 0.5 + torch.atan((c - place) / scale) / math.pi,
        lambda generator: place + scale * torch.tan(math.pi * (_uniform(generator) - 0.5)),
    )


def burr(alpha: float, beta: float) -> Law:
    """Return the Burr distribution of type XII, P(c <= u) = 1 - (1 + u^alpha)^-beta for u >= 0."""
    return Law(
        lambda c: alpha * beta * c.pow(alpha - 1.0) * (1.0 + c.pow(alpha)).pow(-beta - 1.0),
        lambda c: 1.0 - (1.0 + c.clamp_min(0.0).pow(alpha)).pow(-beta),
        lambda generator: ((1.0 - _uniform(generator)).pow(-1.0 / beta) - 1.0).pow(1.0 / alpha),
    )


def uniform(low: float, high: float) -> Law:
    """Return the uniform distribution."""
    return Law(
        lambda c: torch.full_like(c, 1.0 / (high - low)),
        lambda c: ((c - low) / (high - low)).clamp(0.0, 1.0),
        lambda generator: low + (high - low) * _uniform(generator),
    )


def student(place: float, scale: float) -> Law:
    """Return Student's distribution with three degrees of freedom."""
    root = math.sqrt(3.0)

    def draw(generator: torch.Generator) -> Tensor:
        normals = torch.randn(4, generator=generator, dtype=torch.float64)
        return place + scale * normals[0] / (normals[1:].square().sum() / 3.0).sqrt()

    def cumulative(c: Tensor) -> Tensor:
        t = (c - place) / (scale * root)
        return 0.5 + (t / (1.0 + t.square()) + torch.atan(t)) / math.pi

    return Law(
        lambda c: 2.0 / (math.pi * root * scale * (1.0 + ((c - place) / (scale * root)).square()).square()),
        cumulative,
        draw,
    )


def mixture(laws: Sequence[Law]) -> Law:
    """Return the mixture of several laws in equal parts."""
    return Law(
        lambda c: sum((law.density(c) for law in laws), torch.zeros_like(c)) / len(laws),
        lambda c: sum((law.cumulative(c) for law in laws), torch.zeros_like(c)) / len(laws),
        lambda generator: laws[int(torch.randint(len(laws), (1,), generator=generator))].draw(generator),
    )


def now_and_then(usual: Law, rare: Law, chance: float) -> Law:
    """Return the law that is `rare` with this chance and `usual` otherwise."""
    return Law(
        lambda c: (1.0 - chance) * usual.density(c) + chance * rare.density(c),
        lambda c: (1.0 - chance) * usual.cumulative(c) + chance * rare.cumulative(c),
        lambda generator: (rare if float(_uniform(generator)) < chance else usual).draw(generator),
    )


def rule(
    law: Law,
    low: float,
    high: float,
    panels: int,
    *,
    order: int = ORDER,
    stretch: float = 0.0,
    breaks: Sequence[float] = (),
) -> Rule:
    """Return `panels` panels of `order` Gauss-Legendre nodes between the bounds and an atom at each bound that clips mass.

    `stretch` in [0, 1) spreads a panel's nodes, which crowd at its ends, by t -> asin(stretch t) / asin(stretch)
    (Kosloff and Tal-Ezer): for a function that is sharp in the middle, up to pi / 2 fewer nodes for the same error.
    """
    edges = np.union1d(np.linspace(low, high, panels + 1), np.asarray(breaks, dtype=np.float64))
    nodes, weights = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(order))
    if stretch > 0.0:
        weights = weights * stretch / (math.asin(stretch) * (1.0 - (stretch * nodes).square()).sqrt())
        nodes = torch.asin(stretch * nodes) / math.asin(stretch)
    left, right = torch.from_numpy(edges[:-1]), torch.from_numpy(edges[1:])
    half = (right - left)[:, None] / 2.0
    inside = ((left + right)[:, None] / 2.0 + half * nodes).flatten()
    mass = (half * weights).flatten() * law.density(inside)
    ends = torch.tensor([low, high], dtype=torch.float64)
    below = law.cumulative(ends)
    atoms = torch.stack([below[0], 1.0 - below[1]])
    kept = atoms > NEGLIGIBLE
    total = torch.cat([mass, atoms[kept]])
    return Rule(torch.cat([inside, ends[kept]]), total / total.sum())


def gauss(fine: Rule, count: int) -> Rule:
    """Return the Gauss quadrature of `count` nodes for the measure a finer rule stands for (Stieltjes' recurrence)."""
    before, now = torch.zeros_like(fine.nodes), torch.ones_like(fine.nodes)
    diagonal, beside, norm = [], [], torch.ones((), dtype=torch.float64)
    for _ in range(count):
        square = fine.weights @ now.square()
        centre = fine.weights @ (fine.nodes * now.square()) / square
        diagonal.append(centre)
        beside.append(square / norm)
        before, now, norm = now, (fine.nodes - centre) * now - (square / norm) * before, square
    off = torch.stack(beside[1:]).sqrt() if count > 1 else torch.zeros(0, dtype=torch.float64)
    jacobi = torch.diag(torch.stack(diagonal)) + torch.diag(off, 1) + torch.diag(off, -1)
    nodes, vectors = torch.linalg.eigh(jacobi)
    return Rule(nodes, vectors[0].square())


def every(rules: Sequence[Rule]) -> Contexts:
    """Return independent contexts as the product of their quadratures."""
    points = product([part.nodes[:, None] for part in rules])
    weights = torch.ones(1, dtype=torch.float64)
    for part in rules:
        weights = (weights[:, None] * part.weights).flatten()
    return Contexts(points, weights)


def quasi(mean: float, sd: float, low: float, high: float, *, width: int, count: int) -> Contexts:
    """Return `count` scrambled Sobol points, the same on every call, of `width` clipped normal contexts."""
    u = sobol(width, count, torch.Generator().manual_seed(0)).clamp(1e-12, 1.0 - 1e-12)
    return Contexts.uniform((mean + sd * torch.special.ndtri(u)).clamp(low, high))


def clipped_draw(laws: Sequence[Law], low: float, high: float) -> Callable[[int, torch.Generator], Tensor]:
    """Return what draws one context `"k"`, an independent draw of each law clipped to the bounds."""
    return lambda turn, generator: torch.stack([law.draw(generator) for law in laws]).clamp(low, high)


def listed_draw(contexts: Contexts) -> Callable[[int, torch.Generator], Tensor]:
    """Return what draws one of the points by its weight."""
    return lambda turn, generator: contexts.draw(generator)


def no_context() -> tuple[Contexts, Callable[[int, torch.Generator], Tensor]]:
    """Return the truth and the draw of a problem without contexts: one empty point."""
    return Contexts.uniform(torch.zeros(1, 0)), lambda turn, generator: torch.zeros(0, dtype=torch.float64)


@dataclass(frozen=True)
class Coming:
    """One context of a problem: its quadrature, and how it is drawn."""

    rule: Rule
    draw: Callable[[torch.Generator], Tensor]


def clipped(
    law: Law,
    low: float,
    high: float,
    panels: int,
    *,
    breaks: Sequence[float] = (),
    few: int | None = None,
    through: Callable[[Tensor], Tensor] = lambda c: c,
) -> Coming:
    """Return a law clipped to the bounds, then mapped by `through`; `few` is the number of Gauss nodes to keep."""
    fine = rule(law, low, high, panels, breaks=breaks)
    kept = fine if few is None else gauss(fine, few)
    return Coming(
        Rule(through(kept.nodes), kept.weights), lambda generator: through(law.draw(generator).clamp(low, high))
    )


def category(shares: Sequence[float]) -> Coming:
    """Return the index of a category, drawn by these shares."""
    weights = torch.tensor(shares, dtype=torch.float64)
    nodes = torch.arange(len(weights), dtype=torch.float64)
    return Coming(
        Rule(nodes, weights), lambda generator: nodes[int(torch.multinomial(weights, 1, generator=generator))]
    )


def independent(sources: Sequence[Coming]) -> tuple[Contexts, Callable[[int, torch.Generator], Tensor]]:
    """Return the truth and the draw of independent contexts."""
    if not sources:
        return no_context()
    truth = every([source.rule for source in sources])
    return truth, lambda turn, generator: torch.stack([source.draw(generator) for source in sources])


def _uniform(generator: torch.Generator) -> Tensor:
    return torch.rand((), generator=generator, dtype=torch.float64)
