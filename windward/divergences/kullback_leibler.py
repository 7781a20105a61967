"""Kullback-Leibler: d(q, p) = sum_i q_i log(q_i / p_i); infinite where q has mass that p has not.

The optimum is an exponential tilt, q_i proportional to p_i exp(-theta f_i), with theta = 1 / lambda the root of

    KL(theta) = -theta E_q f - log sum p exp(-theta f) = r,        KL'(theta) = theta Var_q f,

found by Newton's method for log KL in log theta between bounds that close in on it: for small radii KL is theta^2 Var / 2,
a straight line there. The two terms of KL cancel where it is small. Rows in which they leave fewer digits than are
wanted are solved again by a sum that has nothing to cancel,

    KL = sum p phi(q / p - 1),        phi(t) = (1 + t) log(1 + t) - t >= 0.

The minimum is reached, with multiplier 0, for r >= -log P_min, P_min the mass on the minimisers; the slope at r = 0 is
infinite unless f is constant on the support.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from windward.basics.errors import SolverError
from windward.contexts import Contexts
from windward.divergences.worst_case import (
    Instance,
    WorstCase,
    check_contexts,
    check_weights,
    drifting,
    in_blocks,
    least,
)

STEPS = 200
# From here on every other step halves the bounds. Newton's steps can go to and fro between two sides of a KL that rises in two
# stages; a row that takes so many is one of those.
PATIENCE = 30
# KL is met to this, relative to the radius: the value is then right to about the same share of the range.
TOLERANCE = 1e-12
# Rounding of KL, relative to the radius, up to which its plain formula is good enough.
PLAIN_ENOUGH = 1e-11
# Below this lies log theta for any radius and any values that are doubles.
HIGHEST = 705.0
# exp() of less is 0; larger exponents would overflow when they are squared.
VANISHING = 800.0
# Below this phi is taken from its series: the direct formula cancels there, the series' error is 1e-14 of it.
SMALL = 1e-3
EPSILON = torch.finfo(torch.float64).eps


@dataclass(frozen=True)
class KullbackLeibler:
    """Distance by surprise: how unlikely samples of one distribution look under the other, sum q log(q / p), in nats.

    >>> contexts = Contexts.uniform(torch.zeros(2, 1))
    >>> KullbackLeibler().worst_case(torch.tensor([0.0, 2.0]), contexts, 1.0).value
    tensor(0., dtype=torch.float64)
    """

    steep: ClassVar[bool] = True
    radius_of_all: ClassVar[float | None] = None

    def says(self, radius: float) -> str:
        """Return what may happen within a ball, as a clause."""
        return drifting("Kullback-Leibler divergence", radius)

    def distance(self, weights: Tensor, contexts: Contexts) -> Tensor:
        """Return sum q log(q / p), infinite where q leaves the support of p; `"*b"`."""
        q, p = check_weights("KullbackLeibler.distance", weights, contexts), contexts.weights
        support = p > 0
        # Term by term, none below zero: q log q - q log p would lose distances below 1e-16.
        change = torch.where(support, (q - p) / p.where(support, torch.ones_like(p)), 0.0)
        outside = (q.where(~support, torch.zeros_like(q)) > 0).any(-1)
        return (p * _phi(change.clamp_min(-1.0))).sum(-1).masked_fill(outside, torch.inf)

    def on(self, contexts: Contexts) -> KullbackLeiblerBall:
        """Return the worst case over this reference."""
        return KullbackLeiblerBall(check_contexts("KullbackLeibler.on", contexts).weights)

    def worst_case(self, values: Tensor, contexts: Contexts, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        return self.on(contexts)(values, radius)


@dataclass(frozen=True)
class KullbackLeiblerBall:
    """Kullback-Leibler around one reference `"n"`."""

    reference: Tensor

    def __call__(self, values: Tensor, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        problem = Instance.of("KullbackLeibler.worst_case", values, radius, len(self.reference))
        support = self.reference > 0
        f, p = problem.values.detach()[:, support], self.reference[support] / self.reference[support].sum()
        low, minimal, high = least(f, torch.ones_like(p, dtype=torch.bool))
        span = high - low
        constant = span == 0
        least_mass = (minimal * p).sum(-1)
        # From the smaller of both masses: the logarithm of nearly 1 has no digits left.
        farthest = torch.where(
            least_mass < 0.5, -least_mass.log(), -torch.log1p(-(~minimal * p).sum(-1).clamp_max(0.9))
        )
        reached = problem.radius >= farthest
        open_rows = ~(reached | constant | (problem.radius == 0))
        q = torch.where(reached[:, None], minimal * p / least_mass[:, None], p)
        q = torch.where((constant | (problem.radius == 0))[:, None], p, q)
        theta = torch.ones_like(span)
        if bool(open_rows.any()):
            parts = (f, problem.radius, low, span, farthest)
            theta[open_rows], q[open_rows] = in_blocks(
                lambda f, *rest: _tilt(f, p, *rest), *(part[open_rows] for part in parts)
            )
        weights = torch.zeros_like(problem.values.detach())
        weights[:, support] = q
        infinite = (problem.radius == 0) & ~constant
        number = torch.where(open_rows, span / theta, torch.where(infinite, torch.inf, 0.0))
        return problem.answer(weights, _attached(number, problem.values, weights, open_rows))


def _tilt(f: Tensor, p: Tensor, radius: Tensor, low: Tensor, span: Tensor, farthest: Tensor) -> tuple[Tensor, Tensor]:
    """Return theta, for values in units of their span, and the weights with KL(theta) = radius; `"b"`, `"b n"`."""
    excess = (f - low[:, None]).div_(span[:, None])
    spread = ((excess - (excess @ p)[:, None]).square_() @ p).clamp_min(1e-300)
    # Where KL is still quadratic.
    phi = (0.5 * (2.0 * radius / spread).log()).clamp_max(HIGHEST - 1.0)
    # With a smaller radius no row would pass.
    rest = radius * PLAIN_ENOUGH < 2.0 * EPSILON
    if not bool(rest.any()):
        phi, weights, rest = _by_difference(excess, p, radius, phi)
    else:
        weights, plain = torch.empty_like(f), (~rest).nonzero()[:, 0]
        phi[plain], weights[plain], rest[plain] = _by_difference(excess[plain], p, radius[plain], phi[plain])
    close = rest.nonzero()[:, 0]
    if len(close):
        phi[close], weights[close] = _by_sum(p, *(part[close] for part in (f, radius, phi, low, span, farthest)))
    return phi.exp(), weights


class _Search:
    """Newton's method for log KL = log radius in log theta, row by row, between bounds that stay valid: KL grows."""

    def __init__(self, radius: Tensor, phi: Tensor) -> None:
        self.radius, self.phi = radius, phi.clone()
        # KL <= theta^2 / 8, as Var <= 1 / 4 for values in units of their span. Where KL is flat, Newton's step down from
        # above the root would leave this far behind, for a theta at which KL is rounding alone. Less 1, for rounding here.
        self.low, self.high = 0.5 * (8.0 * radius).log() - 1.0, torch.full_like(phi, HIGHEST)
        self.rows = torch.arange(len(phi), device=phi.device)
        self.steps = 0

    def step(self, distance: Tensor, slope: Tensor, rounding: Tensor | float) -> Tensor:
        """Take KL and its slope theta^2 Var at the open rows; return which of these are met, and keep the others open."""
        rows = self.rows
        phi, low, high = self.phi[rows], self.low[rows], self.high[rows]
        error = (distance.clamp_min(1e-320) / self.radius[rows]).log()
        rate = slope / distance.clamp_min(1e-320)
        low, high = torch.where(error < 0, phi, low), torch.where(error > 0, phi, high)
        new = phi - error / rate.clamp_min(1e-300)
        trusted = (new > low) & (new < high) & (rate > 0)
        if self.steps >= PATIENCE and self.steps % 2 == 0:
            trusted = torch.zeros_like(trusted)
        new = torch.where(trusted, new, 0.5 * (low + high))
        met = error.abs() <= (TOLERANCE * rate.clamp_max(1.0)).clamp_min(rounding)
        met |= ((high - low) <= 1e-15 * phi.abs().clamp_min(1.0)) | (
            (new - phi).abs() <= 1e-16 * phi.abs().clamp_min(1.0)
        )
        self.low[rows], self.high[rows] = low, high
        self.phi[rows] = torch.where(met, phi, new)
        self.rows, self.steps = rows[~met], self.steps + 1
        if len(self.rows) and self.steps >= STEPS:
            raise SolverError(
                f"KullbackLeibler: {len(self.rows)} of {len(self.phi)} problems not solved in {STEPS} steps; the largest "
                f"residual is {float(error[~met].abs().max()):g} at radius {float(self.radius[self.rows[0]]):g}."
            )
        return met


def _by_difference(excess: Tensor, p: Tensor, radius: Tensor, phi: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return log theta, the weights and where rounding is too large, with KL as -theta E_q f - log sum p exp(-theta f)."""
    search = _Search(radius, phi)
    weights, rough = torch.empty_like(excess), torch.zeros_like(radius, dtype=torch.bool)
    y, first = torch.empty_like(excess), torch.empty_like(excess)  # written again and again: fresh memory is slow
    tilted = torch.empty_like(excess)
    while len(search.rows):
        rows, theta = search.rows, search.phi[search.rows].exp()
        if len(rows) < len(excess):
            y, first, tilted = y[: len(rows)], first[: len(rows)], tilted[: len(rows)]
            torch.index_select(excess, 0, rows, out=y).mul_(-theta[:, None])
        else:
            torch.mul(excess, -theta[:, None], out=y)
        if float(theta.max()) > VANISHING:
            y.clamp_min_(-VANISHING)
        total = torch.exp(y, out=tilted).mul_(p).sum(-1)
        mean = torch.mul(tilted, y, out=first).sum(-1) / total
        slope = torch.bmm(first[:, None, :], y[:, :, None])[:, 0, 0] / total - mean.square()
        distance = mean - total.log()
        rounding = 2.0 * EPSILON * (1.0 - mean - total.log()) / search.radius[rows]
        met = search.step(distance, slope, rounding)
        finished = rows[met]
        # Where KL hardly depends on theta any more, theta needs a closer KL; a few roundings are in any.
        needed = (PLAIN_ENOUGH * (slope / distance).clamp_max(1.0)).clamp_min(8.0 * EPSILON)
        weights[finished], rough[finished] = tilted[met] / total[met, None], (rounding > needed)[met]
    return search.phi, weights, rough


def _by_sum(
    p: Tensor, f: Tensor, radius: Tensor, phi: Tensor, low: Tensor, span: Tensor, farthest: Tensor
) -> tuple[Tensor, Tensor]:
    """Return log theta and the weights, with KL as sum p phi(q / p - 1): slower, and right to a few roundings.

    Exponents are taken about the mean under the weights, as far as it is known: there they are small where the mass is.
    """
    search, weights = _Search(radius, phi), torch.empty_like(f)
    center = f @ p
    while len(search.rows):
        rows = search.rows
        theta = search.phi[rows].exp()
        # theta (E_q f - min f) <= -log sum p exp(-theta (f - min f)) <= -log P_min: a mean further away is not that of q.
        # Rounding may have put it below the least value, where a large theta would leave no weight at all.
        center = torch.minimum(center, low[rows] + span[rows] * (farthest[rows].clamp_max(700.0) / theta)).maximum(
            low[rows]
        )
        gap = (f[rows] - center[:, None]) / span[rows, None]
        w = (gap * -theta[:, None]).clamp_min_(-VANISHING)
        grown, tilted = torch.expm1(w), w.exp()
        total, left = grown @ p, tilted @ p
        most_lost = total < -0.5  # 1 + total would cancel
        whole = torch.where(most_lost, left, 1.0 + total)[:, None]
        change = torch.where(most_lost[:, None], tilted - whole, grown - total[:, None]) / whole
        q = tilted.mul_(p).div_(whole)
        mean = (q * w).sum(-1)
        met = search.step(_phi(change) @ p, (w - mean[:, None]).square_().mul_(q).sum(-1), 0.0)
        weights[rows[met]] = q[met]
        center = (center + span[rows] * (q * gap).sum(-1))[~met]
    return search.phi, weights


def _phi(change: Tensor) -> Tensor:
    """Return (1 + t) log(1 + t) - t for t >= -1, to a few roundings."""
    direct = torch.special.xlog1py(1.0 + change, change) - change
    series = change.square() * (0.5 - change * (1 / 6 - change * (1 / 12 - change * (1 / 20 - change / 30))))
    return torch.where(change.abs() < SMALL, series, direct)


def _attached(number: Tensor, values: Tensor, weights: Tensor, open_rows: Tensor) -> Tensor:
    """Return lambda with its gradient lambda q_i (f_i - E_q f) / Var_q f, by the implicit function theorem."""
    if not values.requires_grad:
        return number
    f = values.detach()
    gap = f - (weights * f).sum(-1, keepdim=True)
    gap = gap - (weights * gap).sum(-1, keepdim=True)  # what rounding of an offset leaves
    variance = (weights * gap.square()).sum(-1, keepdim=True)
    slope = torch.where(open_rows[:, None], number[:, None] * weights * gap / variance.clamp_min(1e-300), 0.0)
    return number.detach() + (slope * (values - f)).sum(-1)
