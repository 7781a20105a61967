"""Chi-square: d(q, p) = 1/2 sum_i p_i (q_i / p_i - 1)^2; infinite where q has mass that p has not.

The optimum is q_i = p_i (eta - f_i)_+ / lambda. On the k smallest values, with mass P, mean m and variance s^2 there,

    eta = m + u,   lambda = P u,   u = s / sqrt((1 + 2 r) P - 1),

and k is the one for which eta lies above the k-th value and not above the next. Sorting, O(n log n), exact for any
weights. While nothing clips (P = 1) v = p.f - sqrt(2 r Var_p f); the slope at r = 0 is infinite unless f is constant. The
minimum is reached at r = (1 / P_min - 1) / 2, P_min the mass on the minimisers, where the multiplier jumps to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.divergences.worst_case import Problem, WorstCase, check_contexts, check_weights, least


@dataclass(frozen=True)
class ChiSquare:
    """Half the chi-square divergence, 1/2 sum p (q / p - 1)^2.

    >>> contexts = Contexts.uniform(torch.zeros(2, 1))
    >>> ChiSquare().worst_case(torch.tensor([0.0, 2.0]), contexts, 0.125).value
    tensor(0.5000, dtype=torch.float64)
    """

    steep: ClassVar[bool] = True

    def distance(self, weights: Tensor, contexts: Contexts) -> Tensor:
        """Return 1/2 sum p (q / p - 1)^2, infinite where q leaves the support of p; `"*b"`."""
        q, p = check_weights("ChiSquare.distance", weights, contexts), contexts.weights
        inside = torch.where(p > 0, (q - p).square() / p.where(p > 0, torch.ones_like(p)), 0.0).sum(-1)
        outside = (q.where(p == 0, torch.zeros_like(q)) > 0).any(-1)
        return 0.5 * inside.masked_fill(outside, torch.inf)

    def on(self, contexts: Contexts) -> ChiSquareBall:
        """Return the worst case over this reference."""
        return ChiSquareBall(check_contexts("ChiSquare.on", contexts).weights)

    def worst_case(self, values: Tensor, contexts: Contexts, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        return self.on(contexts)(values, radius)


@dataclass(frozen=True)
class ChiSquareBall:
    """Chi-square around one reference `"n"`."""

    reference: Tensor

    def __call__(self, values: Tensor, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        problem = Problem.of("ChiSquare.worst_case", values, radius, len(self.reference))
        support = self.reference > 0
        f, p, growth = problem.values.detach()[:, support], self.reference[support], 1.0 + 2.0 * problem.radius
        p = p / p.sum()
        low, minimal, high = least(f, torch.ones_like(p, dtype=torch.bool))
        excess = f - low[:, None]
        ranked, order = excess.sort(dim=-1)
        mass = p[order]
        total = mass.cumsum(-1)
        mean = (mass * ranked).cumsum(-1) / total
        variance = ((mass * ranked.square()).cumsum(-1) / total - mean.square()).clamp_min(0.0)
        spread = growth[:, None] * total - 1.0
        u = (variance / spread.clamp_min(1e-300)).sqrt()
        eta = torch.where(spread > 0, mean + u, torch.inf)
        following = torch.cat([ranked[:, 1:], torch.full_like(ranked[:, :1], torch.inf)], dim=-1)
        # The first prefix whose eta does not reach the next value; equal values enter together.
        fits = (eta <= following) & (spread > 0) & (ranked < following)
        k = fits.to(torch.int8).argmax(-1, keepdim=True)
        # At the minimum (growth * P_min >= 1) or for constant values there is nothing left to lose.
        least_mass = (minimal * p).sum(-1)
        settled = (growth * least_mass >= 1.0) | (low == high)
        scale = (total.gather(-1, k) * u.gather(-1, k))[:, 0]
        tilt = p * (eta.gather(-1, k) - excess).clamp_min(0.0)
        tilt = torch.where(settled[:, None], minimal * p, tilt)
        still = (problem.radius == 0) | (low == high)
        tilt = torch.where(still[:, None], p, tilt)
        weights = torch.zeros_like(problem.values.detach())
        weights[:, support] = tilt / tilt.sum(-1, keepdim=True)
        infinite = (problem.radius == 0) & (low != high)
        multiplier = self._multiplier(problem, weights > 0, growth, settled, infinite, scale)
        return problem.answer(weights, multiplier)

    def _multiplier(
        self, problem: Problem, active: Tensor, growth: Tensor, settled: Tensor, infinite: Tensor, scale: Tensor
    ) -> Tensor:
        """Return lambda = P s / sqrt((1 + 2 r) P - 1) on the active points, differentiable in the values."""
        flat = settled | infinite
        number = torch.where(infinite, torch.inf, torch.where(settled, 0.0, scale))
        if not problem.values.requires_grad:
            return number
        share = torch.where(active, self.reference, 0.0)
        total = share.sum(-1)
        mean = (share * problem.values).sum(-1) / total
        variance = (share * (problem.values - mean[:, None]).square()).sum(-1) / total
        safe = torch.where(flat, torch.ones_like(variance), variance / (growth * total - 1.0).clamp_min(1e-300))
        return torch.where(flat, number, total * safe.sqrt())
