"""Wasserstein of type 1 with the Euclidean ground metric on the context points, in the contexts' own units.

Strong duality makes the worst case a concave, piecewise linear problem in one multiplier,

    v = max_{lambda >= 0}  -lambda r + sum_i p_i min_j (f_j + lambda |c_i - c_j|),

exact on the points given: mass may go to any of them, those of weight zero too. Each lambda gives a transport plan, its
value A and its cost C, and so the line A + lambda (C - r) above the dual. Two lines, one from a plan that costs more than
r and one from a plan that does not, meet above the dual's maximum; the adversary is the mixture of the two plans that
costs exactly r, its value that of the meeting point. The meeting point's lambda is tried next; where the dual reaches the
point, it is solved (for a value alone it need only do so at any lambda tried). One evaluation takes O(n m), or O(n) for a
single context, where the inner minimum is two running minima.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from windward.basics.budget import Need, Sizes
from windward.basics.errors import SolverError
from windward.contexts import Contexts
from windward.divergences.worst_case import Instance, WorstCase, below_chord, check_contexts, check_weights, farther

# The dual reaches the meeting point of its lines within this share of the range of values: rounding.
TOLERANCE = 1e-13
STEPS = 200
# A draft is this near: a step brings the lines four times nearer to each other, so it saves half of a dozen steps.
DRAFT_TOLERANCE = 1e-3
# Doubles in one block of the inner minimum (2 MiB): it is read twice, and larger ones fall out of the cache.
BLOCK = 2**18
# On an accelerator a block must be large enough to occupy it: 256 MiB.
LARGE_BLOCK = 2**25


@dataclass(frozen=True)
class Wasserstein:
    """Distance by how far contexts move on average, in their own units: the Wasserstein distance of type 1, Euclidean.

    >>> contexts = Contexts(torch.tensor([[0.0], [1.0]]), torch.tensor([1.0, 0.0]))
    >>> Wasserstein().worst_case(torch.tensor([2.0, 0.0]), contexts, 0.25).value
    tensor(1.5000, dtype=torch.float64)
    """

    steep: ClassVar[bool] = False
    radius_of_all: ClassVar[float | None] = None

    def cost(self, sizes: Sizes) -> list[Need]:
        """Return what the distances between all pairs of contexts take: the table, and one like it for each step."""
        return [
            Need(
                "the distances of Wasserstein", 4 * sizes.points**2, f"4 x {sizes.points:,} x {sizes.points:,} contexts"
            )
        ]

    def says(self, radius: float) -> str:
        """Return what may happen within a ball, as a clause."""
        return farther(radius)

    def distance(self, weights: Tensor, contexts: Contexts) -> Tensor:
        """Return the least cost of moving the reference to `weights`; `"*b"`. One linear programme for each."""
        rows = check_weights("Wasserstein.distance", weights, contexts)
        flat = rows.reshape(-1, len(contexts))
        costs = [_transport_cost(row, contexts) for row in flat]
        return torch.tensor(costs, dtype=torch.float64, device=rows.device).reshape(rows.shape[:-1])

    def on(self, contexts: Contexts) -> WassersteinBall:
        """Return the worst case over this reference."""
        support = check_contexts("Wasserstein.on", contexts).weights > 0
        points, origins = contexts.points, contexts.points[support]
        # Differences, not products of coordinates: near neighbours decide the slope at radius 0.
        gaps = torch.cdist(origins, points, compute_mode="donot_use_mm_for_euclid_dist")
        order = None
        if points.shape[1] == 1:
            order = points[:, 0].argsort()
        return WassersteinBall(contexts.weights, points, support, gaps, order)

    def worst_case(self, values: Tensor, contexts: Contexts, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        return self.on(contexts)(values, radius)


@dataclass(frozen=True)
class Plans:
    """Where each supported point's mass goes, `"b s"`, with the plan's value and cost, `"b"` each."""

    target: Tensor
    value: Tensor
    cost: Tensor

    def own(self) -> Plans:
        """Return a copy that can be written to."""
        return replace(self, target=self.target.clone())

    def at(self, rows: Tensor) -> Plans:
        """Return the plans of these rows."""
        return Plans(self.target[rows], self.value[rows], self.cost[rows])

    def put(self, rows: Tensor, other: Plans) -> None:
        """Overwrite the plans of these rows by the others."""
        self.target[rows], self.value[rows], self.cost[rows] = other.target, other.value, other.cost

    def replaced(self, chosen: Tensor, other: Plans) -> Plans:
        """Return these plans with the others where `chosen`."""
        return Plans(
            torch.where(chosen[:, None], other.target, self.target),
            torch.where(chosen, other.value, self.value),
            torch.where(chosen, other.cost, self.cost),
        )


@dataclass(frozen=True)
class WassersteinBall:
    """Wasserstein around one reference `"n"`; `gaps` are the distances `"s n"` from its support to every point."""

    reference: Tensor
    points: Tensor
    support: Tensor
    gaps: Tensor
    order: Tensor | None
    tolerance: float = TOLERANCE

    def draft(self) -> WassersteinBall:
        """Return this ball solved less closely: the value is then at most `DRAFT_TOLERANCE` of its range too high."""
        return replace(self, tolerance=DRAFT_TOLERANCE)

    def ceiling(self, values: Tensor, radius: float | Tensor, alpha: float, beta: float) -> Tensor:
        """Return an upper bound of alpha * worst case - beta * multiplier, without solving; `"*b"`."""
        problem = Instance.of("Wasserstein.ceiling", values, radius, len(self.reference))
        # Moving everything to one of the least values costs no less than moving it to the nearest of them: still a bound.
        reach = self._reach[problem.values.detach().argmin(-1)]
        return below_chord(problem, self.reference, reach, alpha, beta, slack=self.tolerance)

    def __call__(self, values: Tensor, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        problem = Instance.of("Wasserstein.worst_case", values, radius, len(self.reference))
        r, low = problem.radius, problem.values.detach().amin(-1, keepdim=True)
        f = problem.values.detach() - low  # an offset would cost digits of the lines
        span = f.amax(-1).clamp_min(1e-300)
        far = self._plans(f, torch.zeros_like(r))  # everything to the least value, as near as it can be had
        near = self._stay(f)
        settled = far.cost <= r
        if self.tolerance > TOLERANCE:
            return self._answer(problem, low, *self._roughly(f, r, span, far, near, settled), settled)
        far, near = far.own(), near.own()
        rows = (~settled).nonzero()[:, 0]
        above, below = far.at(rows), near.at(rows)
        f, r, span = f[rows], r[rows], span[rows]
        going = torch.ones_like(r, dtype=torch.bool)
        for _ in range(STEPS):
            level = (below.value - above.value).div_(above.cost - below.cost).clamp_min_(0.0)
            bound = above.value + level * (above.cost - r)
            near_enough = self.tolerance * torch.maximum(span, level * above.cost)
            # Solved rows are masked, and left out once they are half: with few rows each call costs more than its work.
            if 2 * int(going.sum()) <= len(rows):
                far.put(rows, above)
                near.put(rows, below)
                left = going.nonzero()[:, 0]
                if len(left) == 0:
                    break
                rows, above, below, going = rows[left], above.at(left), below.at(left), going[left]
                f, r, span = f[left], r[left], span[left]
                level, bound, near_enough = level[left], bound[left], near_enough[left]
            fresh = self._plans(f, level)
            dual = fresh.value + level * (fresh.cost - r)
            # The plan of one of the lines again, where they meet: rounding alone parts dual and bound.
            known = (fresh.target == above.target).all(-1) | (fresh.target == below.target).all(-1)
            going &= (bound - dual > near_enough) & ~known
            over = fresh.cost > r
            above, below = above.replaced(going & over, fresh), below.replaced(going & ~over, fresh)
        else:
            raise SolverError(
                f"Wasserstein: {int(going.sum())} of {len(settled)} problems not solved in {STEPS} steps."
            )
        return self._answer(problem, low, far, near, settled)

    def _roughly(
        self, f: Tensor, r: Tensor, span: Tensor, far: Plans, near: Plans, settled: Tensor
    ) -> tuple[Plans, Plans]:
        """Return the two plans of each row as the loop above does, once the dual has anywhere come near their lines' meeting.

        For a value that is enough, the multiplier need not be right. All rows go on until all are: in the small batches of a
        search a call costs more than its work.
        """
        slack, reached = self.tolerance * span, torch.full_like(r, -torch.inf)
        for _ in range(STEPS):
            level = (near.value - far.value).div_((far.cost - near.cost).clamp_min_(1e-300))
            level = torch.where(settled, 0.0, level.clamp_min_(0.0))
            bound = torch.addcmul(far.value, level, far.cost - r)
            if bool((bound - reached <= slack).all()):
                return far, near
            fresh = self._plans(f, level)
            reached = torch.maximum(reached, torch.addcmul(fresh.value, level, fresh.cost - r))
            over = (fresh.cost > r) & ~settled
            far, near = far.replaced(over, fresh), near.replaced(~over, fresh)
        raise SolverError(f"Wasserstein: a draft of {len(r)} problems not solved in {STEPS} steps.")

    def _answer(self, problem: Instance, low: Tensor, far: Plans, near: Plans, settled: Tensor) -> WorstCase:
        gap = torch.where(settled, 1.0, far.cost - near.cost)
        share = torch.where(settled, 1.0, ((problem.radius - near.cost) / gap).clamp(0.0, 1.0))[:, None]
        q_far, q_near = self._arrived(far), self._arrived(near)
        slope = ((q_near - q_far) * (problem.values - low)).sum(-1) / gap
        multiplier = torch.where(settled, torch.zeros_like(slope), slope.clamp_min(0.0))
        return problem.answer(share * q_far + (1.0 - share) * q_near, multiplier)

    def _arrived(self, plans: Plans) -> Tensor:
        weights = self.reference.new_zeros(len(plans.target), len(self.reference))
        return weights.scatter_add_(-1, plans.target, self._mass.expand_as(plans.target))

    def _stay(self, f: Tensor) -> Plans:
        """Return the plans of cost zero: stay, or move to the least of the points in the same place."""
        places = self.support.nonzero()[:, 0].expand(len(f), -1)
        if self._crowded:
            places = self._by_rows(lambda some: torch.where(self.gaps == 0, some[:, None, :], torch.inf).argmin(-1), f)
        return self._costed(f, places)

    @cached_property
    def _crowded(self) -> bool:
        return bool((self.gaps == 0).sum(-1).gt(1).any())

    def _plans(self, f: Tensor, level: Tensor) -> Plans:
        """Return the best plans at lambda = level: each point goes where value plus lambda times distance is least."""
        if self.order is not None:
            return self._costed(f, self._targets_on_a_line(f, level))
        # At lambda 0 ties are broken by distance: the nearest of the least.
        still = level == 0
        if bool(still.all()):
            return self._costed(f, self._nearest_least(f))
        found = self._by_rows(
            lambda f, level: _least(torch.addcmul(f[:, None, :], level[:, None, None], self.gaps)), f, level
        )
        if bool(still.any()):
            found = torch.where(still[:, None], self._nearest_least(f), found)
        return self._costed(f, found)

    def _nearest_least(self, f: Tensor) -> Tensor:
        minimal = f == f.amin(-1, keepdim=True)
        if bool((minimal.sum(-1) == 1).all()):
            return minimal.int().argmax(-1, keepdim=True).expand(-1, len(self.gaps))
        return self._by_rows(lambda some: torch.where(some[:, None, :], self.gaps, torch.inf).argmin(-1), minimal)

    def _by_rows(self, function: Callable[..., Tensor], *rows: Tensor) -> Tensor:
        """Return places `"b s"` by a function of rows that compares each with all gaps, as many at once as fit a block."""
        block = BLOCK if self.gaps.device.type == "cpu" else LARGE_BLOCK
        size = max(1, block // max(1, self.gaps.numel()))
        # Written to one place: a list of small results would leave holes between the large arrays that made them.
        found = torch.empty(len(rows[0]), len(self.gaps), dtype=torch.int64, device=self.gaps.device)
        for start in range(0, len(found), size):
            found[start : start + size] = function(*(part[start : start + size] for part in rows))
        return found

    def _targets_on_a_line(self, f: Tensor, level: Tensor) -> Tensor:
        """min_j f_j + lambda |c_i - c_j| from both sides: the running minima of f - lambda c and of f + lambda c."""
        assert self.order is not None
        if bool((level == 0).all()):
            return self._nearest_least(f)
        c, rank = self._line
        ranked, tilt = f[:, self.order], level[:, None] * c
        left, left_place = (ranked - tilt).cummin(-1)
        right, right_place = (ranked + tilt).flip(-1).cummin(-1)
        right, right_place = right.flip(-1), f.shape[-1] - 1 - right_place.flip(-1)
        place = self.order[torch.where(left + tilt <= right - tilt, left_place, right_place)]
        return place[:, rank]

    @cached_property
    def _line(self) -> tuple[Tensor, Tensor]:
        """The points from left to right about their mean, and at which place among them each point of the support is."""
        assert self.order is not None
        c = self.points[self.order, 0]
        return c - c.mean(), self.order.argsort()[self.support]

    def _costed(self, f: Tensor, target: Tensor) -> Plans:
        cost = self.gaps.gather(-1, target.T).T @ self._mass
        return Plans(target, f.gather(-1, target) @ self._mass, cost)

    @cached_property
    def _reach(self) -> Tensor:
        """What it costs to move everything to each point."""
        return self._mass @ self.gaps

    @cached_property
    def _mass(self) -> Tensor:
        """The reference's weights on its support."""
        mass = self.reference[self.support]
        return mass / mass.sum()


def _least(sums: Tensor) -> Tensor:
    """Return the places of the least of each last row; numpy's are found four times as fast as torch's, on a processor."""
    if sums.device.type == "cpu":
        return torch.from_numpy(sums.numpy().argmin(-1))
    return sums.min(-1).indices


def _transport_cost(weights: Tensor, contexts: Contexts) -> float:
    """Return the optimal transport cost between the reference and `weights` by linear programming."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    p, q = contexts.weights.cpu().numpy(), weights.cpu().numpy()
    sources, sinks = np.flatnonzero(p > 0), np.flatnonzero(q > 0)
    cost = torch.cdist(contexts.points[sources], contexts.points[sinks], compute_mode="donot_use_mm_for_euclid_dist")
    s, t, unit = len(sources), len(sinks), float(cost.max()) or 1.0  # the solver's tolerances are absolute
    # Column i * t + j is what goes from source i to sink j. The last equation follows from the others; with it, rounding
    # could make the programme infeasible.
    columns = np.arange(s * t)
    places = np.r_[columns // t, s + columns % t], np.r_[columns, columns]
    rows = coo_array((np.ones(2 * s * t), places), shape=(s + t, s * t)).tocsr()[: s + max(t - 1, 0)]
    totals = np.r_[p[sources] / p[sources].sum(), (q[sinks] / q[sinks].sum())[:-1]]
    answer = linprog(cost.cpu().numpy().ravel() / unit, A_eq=rows, b_eq=totals, bounds=(0, None))
    if answer.status != 0:
        raise SolverError(f"Wasserstein.distance: the linear programme failed: {answer.message}")
    return unit * float(answer.fun)
