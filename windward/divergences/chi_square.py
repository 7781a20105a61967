"""Chi-square: d(q, p) = 1/2 sum_i p_i (q_i / p_i - 1)^2; infinite where q has mass that p has not.

The optimum is q_i = p_i (eta - f_i)_+ / lambda. On the k smallest values, with mass P, mean m and variance s^2 there,

    eta = m + u,   lambda = P u,   u = s / sqrt((1 + 2 r) P - 1),

and k is the one for which eta lies above the k-th value and not above the next: found by dropping points until none is
left to drop, a few passes over the values, or by sorting, O(n log n). Exact for any weights. While nothing clips (P = 1)
v = p.f - sqrt(2 r Var_p f); the slope at r = 0 is infinite unless f is constant. The minimum is reached at
r = (1 / P_min - 1) / 2, P_min the mass on the minimisers, where the multiplier jumps to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.divergences.worst_case import Instance, WorstCase, check_contexts, check_weights, drifting, in_blocks

NEGLIGIBLE = 1e-31
# Where eta is nearer to the mean than this share of the mean's size, values are taken about the mean and solved again:
# of eta less the values of the heavy points, digits would be lost to their size.
NEAR = 1e-2
# Rounds of dropping points before sorting takes over; two to six are usual.
ROUNDS = 20
# Among many contexts, each eighth gives a first guess of eta in a few rounds that cost an eighth.
STRIDE, GUESSES, MANY = 8, 3, 256


@dataclass(frozen=True)
class ChiSquare:
    """Distance by changed odds, large changes counting most: half the chi-square divergence, 1/2 sum p (q / p - 1)^2.

    >>> contexts = Contexts.uniform(torch.zeros(2, 1))
    >>> ChiSquare().worst_case(torch.tensor([0.0, 2.0]), contexts, 0.125).value
    tensor(0.5000, dtype=torch.float64)
    """

    steep: ClassVar[bool] = True
    radius_of_all: ClassVar[float | None] = None

    def says(self, radius: float) -> str:
        """Return what may happen within a ball, as a clause."""
        return drifting("chi-square divergence", radius)

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
        problem = Instance.of("ChiSquare.worst_case", values, radius, len(self.reference))
        # No distribution of the ball has more than sqrt((1 + 2 r) p_i) at a point: where that is rounding, it has none.
        most = 1.0 + 2.0 * float(problem.radius.max()) if len(problem.radius) else 1.0
        support = self.reference * most > NEGLIGIBLE
        whole = bool(support.all())
        f = problem.values.detach() if whole else problem.values.detach()[:, support]
        p = self.reference if whole else self.reference[support]
        p = p / p.sum()
        guess = torch.full_like(problem.radius, torch.inf)
        if len(p) >= MANY:
            some = p[::STRIDE] / p[::STRIDE].sum()
            (guess,) = in_blocks(lambda f, r: _guessed(f, some, r), f[:, ::STRIDE].contiguous(), problem.radius)
        q, scale, flat = in_blocks(lambda f, r, g: _solved(f, p, r, g), f, problem.radius, guess)
        weights = q if whole else torch.zeros_like(problem.values.detach()).index_copy_(-1, support.nonzero()[:, 0], q)
        return problem.answer(weights, self._multiplier(problem, weights, flat, scale))

    def _multiplier(self, problem: Instance, weights: Tensor, flat: Tensor, scale: Tensor) -> Tensor:
        """Return lambda = P s / sqrt((1 + 2 r) P - 1) on the active points, differentiable in the values."""
        if not problem.values.requires_grad:
            return scale
        active = weights > 0
        share = torch.where(active, self.reference, 0.0)
        total = share.sum(-1)
        mean = (share * problem.values).sum(-1) / total
        variance = (share * (problem.values - mean[:, None]).square()).sum(-1) / total
        dropped = torch.where(active, 0.0, self.reference).sum(-1)
        spread = (2.0 * problem.radius * total - dropped).clamp_min(1e-300)
        safe = torch.where(flat, torch.ones_like(variance), variance)
        return torch.where(flat, scale, total * safe.sqrt() / spread.sqrt())


def _guessed(f: Tensor, p: Tensor, radius: Tensor) -> tuple[Tensor]:
    """Return a value near eta, from a part of the points."""
    low = f.amin(-1)
    eta, _, _ = _by_active_sets(f - low[:, None], p, 2.0 * radius, torch.ones_like(f), GUESSES)
    return (torch.where(eta > 0, low + eta, torch.inf),)


def _solved(f: Tensor, p: Tensor, radius: Tensor, guess: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the weights, the multiplier, and whether the latter is constant in the values; p > 0 everywhere."""
    growth = 2.0 * radius
    excess = f - f.amin(-1, keepdim=True)
    active = torch.lt(f, guess[:, None], out=torch.empty_like(f))
    eta, scale, found = _by_active_sets(excess, p, growth, active, ROUNDS)
    tilt = (eta[:, None] - excess).clamp_min_(0.0).mul_(p)
    fixed = torch.zeros_like(found)
    if not bool(found.all()):
        rest = (~found).nonzero()[:, 0]
        tilt[rest], scale[rest], fixed[rest], eta[rest] = _at_the_ends(excess[rest], p, growth[rest])
    total = tilt.sum(-1, keepdim=True)
    near = (scale < NEAR * eta) & ~fixed
    if bool(near.any()):
        rows = near.nonzero()[:, 0]
        tilt[rows], scale[rows] = _about_the_mean(f[rows], p, growth[rows], eta[rows], tilt[rows], scale[rows])
        minimal, fixed[rows] = _settled(excess[rows], p, growth[rows])
        tilt[rows], scale[rows] = (
            torch.where(fixed[rows, None], minimal, tilt[rows]),
            scale[rows].masked_fill(fixed[rows], 0.0),
        )
        total[rows] = tilt[rows].sum(-1, keepdim=True)
    return tilt.div_(total), scale, fixed


def _settled(excess: Tensor, p: Tensor, growth: Tensor) -> tuple[Tensor, Tensor]:
    """Return the reference on the minimisers, and where that is all: (1 + 2 r) P_min >= 1, nothing is left to lose."""
    minimal = torch.where(excess == 0, p, 0.0)
    return minimal, growth * minimal.sum(-1) >= (p - minimal).sum(-1)


def _about_the_mean(
    f: Tensor, p: Tensor, growth: Tensor, eta: Tensor, tilt: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor]:
    """Return tilts and multipliers from values about the active points' mean, which keep the digits of small differences.

    The rounds begin with every point that may be active, as far as the given eta has digits. What is given stays where
    no round separates.
    """
    active = (f - f.amin(-1, keepdim=True) <= eta[:, None] * (1.0 + 1e-9)).to(f)
    share = active * p
    share = share / share.sum(-1, keepdim=True)
    center = (share * f).sum(-1)
    # Again about itself: the mean of values far from zero is rounded more than their differences.
    center = center + (share * (f - center[:, None])).sum(-1)
    gap = f - center[:, None]
    closer, closer_scale, found = _by_active_sets(gap, p, growth, active, ROUNDS)
    closer_tilt = (closer[:, None] - gap).clamp_min_(0.0).mul_(p)
    return torch.where(found[:, None], closer_tilt, tilt), torch.where(found, closer_scale, scale)


def _by_active_sets(
    excess: Tensor, p: Tensor, growth: Tensor, active: Tensor, rounds: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Solve for the active points, take those below eta, and again, until they stay the same.

    An answer is used where eta separates exactly the points it was computed from: then it is the optimum. The masks are
    zeros and ones in double precision: a selection by booleans would cost ten times a product.
    """
    etas, scales = torch.zeros_like(growth), torch.zeros_like(growth)
    found, rows = torch.zeros_like(growth, dtype=torch.bool), torch.arange(len(growth), device=growth.device)
    count = active.sum(-1)
    share, work = torch.empty_like(excess), torch.empty_like(excess)  # written again and again: fresh memory is slow
    for _ in range(rounds):
        share, work = share[: len(excess)], work[: len(excess)]
        torch.mul(active, p, out=share)
        total, dropped = share.sum(-1), torch.sub(p, share, out=work).sum(-1)
        center = torch.mul(share, excess, out=work).sum(-1) / total
        # About the mean, in a second pass: the difference of two moments loses small variances.
        variance = torch.sub(excess, center[:, None], out=work).square_().mul_(share).sum(-1) / total
        # (1 + 2 r) P - 1, without cancelling: growth holds 2 r.
        spread = growth * total - dropped
        u = variance.sqrt() / spread.clamp_min(1e-300).sqrt()  # each root alone: their quotient may overflow
        eta = center + u
        torch.lt(excess, eta[:, None], out=active)
        kept = active.sum(-1)
        done = (kept == count) & (spread > 0)
        if len(rows) == len(etas):
            etas, scales, found = eta, total * u, done
        else:
            etas[rows], scales[rows], found[rows] = eta, total * u, done
        if bool(done.all()):
            break
        count = kept
        if 2 * int(done.sum()) >= len(done):  # worth going on without them
            rows, growth, excess, active, count = (part[~done] for part in (rows, growth, excess, active, count))
    return etas, scales, found


def _at_the_ends(excess: Tensor, p: Tensor, growth: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return tilts, multipliers, whether these are constant, and eta where no round separates: at the ends, or by sorting."""
    eta, scale = _by_sorting(excess, p, growth)
    flat = excess.amax(-1) == 0
    still = (growth == 0) | flat
    minimal, settled = _settled(excess, p, growth)
    settled = settled & ~still
    tilt = (eta[:, None] - excess).clamp_min_(0.0).mul_(p)
    tilt = torch.where(settled[:, None], minimal, tilt)
    tilt = torch.where(still[:, None], p, tilt)
    scale = torch.where(settled | still, 0.0, scale)
    scale = torch.where((growth == 0) & ~flat, torch.inf, scale)
    return tilt, scale, settled | still, eta


def _by_sorting(excess: Tensor, p: Tensor, growth: Tensor) -> tuple[Tensor, Tensor]:
    """Find the prefix of the sorted values whose eta does not reach the next value."""
    ranked, order = excess.sort(dim=-1)
    mass = p[order]
    total = mass.cumsum(-1)
    dropped = mass.flip(-1).cumsum(-1).flip(-1) - mass  # beyond each prefix
    mean = (mass * ranked).cumsum(-1) / total
    variance = ((mass * ranked.square()).cumsum(-1) / total - mean.square()).clamp_min(0.0)
    spread = growth[:, None] * total - dropped
    u = variance.sqrt() / spread.clamp_min(1e-300).sqrt()  # each root alone: their quotient may overflow
    eta = torch.where(spread > 0, mean + u, torch.inf)
    following = torch.cat([ranked[:, 1:], torch.full_like(ranked[:, :1], torch.inf)], dim=-1)
    # Equal values enter together.
    fits = (eta <= following) & (spread > 0) & (ranked < following)
    k = fits.to(torch.int8).argmax(-1, keepdim=True)
    return eta.gather(-1, k)[:, 0], (total.gather(-1, k) * u.gather(-1, k))[:, 0]
