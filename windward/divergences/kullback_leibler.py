"""Kullback-Leibler: d(q, p) = sum_i q_i log(q_i / p_i); infinite where q has mass that p has not.

The optimum is an exponential tilt, q_i proportional to p_i exp(-theta f_i), with theta = 1 / lambda the root of

    KL(theta) = -theta E_q f - log sum p exp(-theta f) = r,        KL'(theta) = theta Var_q f,

found by Newton's method in log theta between bounds that close in on it. The minimum is reached, with multiplier 0, for
r >= -log P_min, P_min the mass on the minimisers; the slope at r = 0 is infinite unless f is constant on the support.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.divergences.worst_case import Problem, WorstCase, check_contexts, check_weights, in_blocks, least
from windward.errors import SolverError

STEPS = 200
# KL is met to this, relative to the radius: the value is then right to about the same share of the range.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class KullbackLeibler:
    """The Kullback-Leibler divergence sum q log(q / p), in nats.

    >>> contexts = Contexts.uniform(torch.zeros(2, 1))
    >>> KullbackLeibler().worst_case(torch.tensor([0.0, 2.0]), contexts, 1.0).value
    tensor(0., dtype=torch.float64)
    """

    steep: ClassVar[bool] = True

    def distance(self, weights: Tensor, contexts: Contexts) -> Tensor:
        """Return sum q log(q / p), infinite where q leaves the support of p; `"*b"`."""
        q, p = check_weights("KullbackLeibler.distance", weights, contexts), contexts.weights
        inside: Tensor = torch.special.xlogy(q, q) - torch.special.xlogy(q, p.where(p > 0, torch.ones_like(p)))
        outside = (q.where(p == 0, torch.zeros_like(q)) > 0).any(-1)
        return inside.sum(-1).masked_fill(outside, torch.inf)

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
        problem = Problem.of("KullbackLeibler.worst_case", values, radius, len(self.reference))
        support = self.reference > 0
        f, p = problem.values.detach()[:, support], self.reference[support] / self.reference[support].sum()
        low, minimal, high = least(f, torch.ones_like(p, dtype=torch.bool))
        span = high - low
        constant = span == 0
        least_mass = (minimal * p).sum(-1)
        reached = problem.radius >= -least_mass.log()
        open_rows = ~(reached | constant | (problem.radius == 0))
        q = torch.where(reached[:, None], minimal * p / least_mass[:, None], p)
        q = torch.where((constant | (problem.radius == 0))[:, None], p, q)
        theta = torch.ones_like(span)
        if bool(open_rows.any()):
            excess = (f[open_rows] - low[open_rows, None]) / span[open_rows, None]
            theta[open_rows], q[open_rows] = in_blocks(lambda z, r: _tilt(z, p, r), excess, problem.radius[open_rows])
        weights = torch.zeros_like(problem.values.detach())
        weights[:, support] = q
        infinite = (problem.radius == 0) & ~constant
        number = torch.where(open_rows, span / theta, torch.where(infinite, torch.inf, 0.0))
        return problem.answer(weights, _attached(number, problem.values, weights, open_rows))


def _tilt(excess: Tensor, p: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """Return theta and the tilted weights with KL(theta) = radius, for values scaled to [0, 1]; `"b"`, `"b n"`."""
    log_p = p.log()
    spread = (p * (excess - (excess @ p)[:, None]).square()).sum(-1)
    guess = (2.0 * radius / spread).sqrt()  # where KL is still quadratic
    low, high = torch.full_like(guess, -70.0), torch.full_like(guess, 70.0)
    # log theta between bounds that stay valid: KL grows with theta, from 0 to -log P_min > radius.
    phi = guess.log().clamp(-69.0, 69.0)
    rows = torch.arange(len(radius), device=radius.device)
    done = torch.zeros_like(radius, dtype=torch.bool)
    result, tilted = phi.clone(), torch.empty_like(excess)
    for _ in range(STEPS):
        theta = phi[rows].exp()
        z, r = excess[rows], radius[rows]
        logits = log_p - theta[:, None] * z
        log_total = logits.logsumexp(-1, keepdim=True)
        q = (logits - log_total).exp()
        mean = (q * z).sum(-1)
        error = -theta * mean - log_total[:, 0] - r
        slope = theta.square() * (q * (z - mean[:, None]).square()).sum(-1)
        low[rows] = torch.where(error < 0, phi[rows], low[rows])
        high[rows] = torch.where(error > 0, phi[rows], high[rows])
        step = phi[rows] - error / slope.clamp_min(1e-300)
        inside = (step > low[rows]) & (step < high[rows]) & (slope > 0)
        new = torch.where(inside, step, 0.5 * (low[rows] + high[rows]))
        met = (error.abs() <= TOLERANCE * r) | ((high[rows] - low[rows]) <= 1e-15 * phi[rows].abs().clamp_min(1.0))
        met |= (new - phi[rows]).abs() <= 1e-16 * phi[rows].abs().clamp_min(1e-3)
        finished = rows[met]
        result[finished], tilted[finished], done[finished] = phi[finished], q[met], True
        phi[rows] = new
        rows = rows[~met]
        if len(rows) == 0:
            return result.exp(), tilted
    raise SolverError(
        f"KullbackLeibler: {len(rows)} of {len(radius)} problems not solved in {STEPS} steps; the largest residual is "
        f"{float(error.abs().max()):g} at radius {float(radius[rows[0]]):g}."
    )


def _attached(number: Tensor, values: Tensor, weights: Tensor, open_rows: Tensor) -> Tensor:
    """Return lambda with its gradient lambda q_i (f_i - E_q f) / Var_q f, by the implicit function theorem."""
    if not values.requires_grad:
        return number
    f = values.detach()
    gap = f - (weights * f).sum(-1, keepdim=True)
    variance = (weights * gap.square()).sum(-1, keepdim=True)
    slope = torch.where(open_rows[:, None], number[:, None] * weights * gap / variance.clamp_min(1e-300), 0.0)
    return number.detach() + (slope * (values - f)).sum(-1)
