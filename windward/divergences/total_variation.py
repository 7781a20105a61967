"""Total variation, the full L1 norm: d(q, p) = sum_i |q_i - p_i|, between 0 and 2.

The adversary takes mass r / 2 from the largest values downward and puts it on the least value, over all points, those of
weight zero too. v is piecewise linear in r: its slope is -(f_k - f_min) / 2 with k the point now losing mass. Sorting,
O(n log n). (Huang2024, Prop. 2; Tay2024, Lemma A.11.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from windward.basics.errors import ArgumentError
from windward.basics.speech import percent
from windward.contexts import Contexts
from windward.divergences.worst_case import (
    Instance,
    WorstCase,
    check_contexts,
    check_shares,
    check_weights,
    in_blocks,
    largest,
)

# Relative rounding of a running sum of weights.
KINK = 4e-15
# From this many points on, finding the largest few is cheaper than sorting all.
MANY = 256


@dataclass(frozen=True)
class TotalVariation:
    """Distance by the share of cases that may change: total variation as the full L1 norm, from 0 to 2, twice that share.

    >>> contexts = Contexts.uniform(torch.zeros(4, 1))
    >>> TotalVariation().worst_case(torch.tensor([1.0, 2.0, 3.0, 4.0]), contexts, 0.5).value
    tensor(1.7500, dtype=torch.float64)
    """

    steep: ClassVar[bool] = False
    radius_of_all: ClassVar[float | None] = 2.0

    def says(self, radius: float) -> str:
        """Return what may happen within a ball, as a clause."""
        cases = percent(min(radius / 2, 1.0))
        return f"up to {cases} of the cases turn out as the least favourable contexts instead of as before"

    def distance(self, weights: Tensor, contexts: Contexts) -> Tensor:
        """Return sum |q - p|; `"*b"`."""
        return (check_weights("TotalVariation.distance", weights, contexts) - contexts.weights).abs().sum(-1)

    def on(self, contexts: Contexts) -> TotalVariationBall:
        """Return the worst case over this reference."""
        return TotalVariationBall(check_contexts("TotalVariation.on", contexts).weights)

    def worst_case(self, values: Tensor, contexts: Contexts, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        return self.on(contexts)(values, radius)

    def around_each(self, values: Tensor, references: Tensor, radius: float) -> Tensor:
        """Return the worst values of `"b n"`, each row around a reference of its own, `"b n"`; `"b"`."""
        call = "TotalVariation.around_each"
        n = references.shape[-1] if isinstance(references, Tensor) and references.ndim == 2 else 0
        references = check_shares(call, "references", references, n)
        problem = Instance.of(call, values, radius, n)
        if problem.values.shape != references.shape:
            raise ArgumentError(f"{call}: give {len(references)} rows of values, got {len(problem.values)}.")
        order = largest(problem.values, n)
        ranked, mass = problem.values.gather(-1, order), references.gather(-1, order)
        kept = torch.minimum((mass.cumsum(-1) - 0.5 * problem.radius[:, None]).clamp_min_(0.0), mass)
        return (kept * ranked).sum(-1) + (1.0 - kept.sum(-1)).clamp_min(0.0) * ranked[:, -1]


@dataclass(frozen=True)
class TotalVariationBall:
    """Total variation around one reference `"n"`."""

    reference: Tensor

    def __call__(self, values: Tensor, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        problem = Instance.of("TotalVariation.worst_case", values, radius, len(self.reference))
        n, f = problem.values.shape[-1], problem.values.detach()
        # Points without weight have nothing to lose: they only take, where theirs is the least value.
        support = self._support
        weights, losing = in_blocks(self._moved, f if support is None else f[:, support], 0.5 * problem.radius)
        if support is not None:
            losing = torch.where(losing < len(support), support[losing.clamp_max(len(support) - 1)], n)
            weights = torch.zeros_like(f).index_copy_(-1, support, weights)
        place = problem.values.detach().argmin(-1, keepdim=True)
        weights.scatter_add_(-1, place, (1.0 - weights.sum(-1, keepdim=True)).clamp_min(0.0))
        spent = losing >= n  # all has moved
        slope = problem.values.gather(-1, losing.clamp_max(n - 1)) - problem.values.gather(-1, place)
        return problem.answer(weights, torch.where(spent, torch.zeros_like(slope), 0.5 * slope)[:, 0])

    @cached_property
    def _support(self) -> Tensor | None:
        """Where the points with weight are, None where all have one."""
        positive = self.reference > 0
        return None if bool(positive.all()) else positive.nonzero()[:, 0]

    @cached_property
    def _masses(self) -> Tensor:
        return self.reference if self._support is None else self.reference[self._support]

    def _moved(self, f: Tensor, moved: Tensor) -> tuple[Tensor, Tensor]:
        """Return what each point is left with, and the point now losing mass (n where none is); `"b n"`, `"b 1"`."""
        n = f.shape[-1]
        # Those that lose mass are enough, and cheaper to find than the order of all: a quarter more than their share of the
        # points, and where light points make them more, all.
        some = n
        if n >= MANY and len(f):
            some = int(1.25 * n * min(1.0, float(moved.max()))) + n // 32
            some = some if 2 * some <= n else n
        weights, losing, short = self._taken(f, moved, largest(f, some))
        if some < n and bool(short.any()):
            weights[short], losing[short], _ = self._taken(f[short], moved[short], largest(f[short], n))
        return weights, losing

    def _taken(self, f: Tensor, moved: Tensor, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mass = self._masses[order]
        above = mass.cumsum(-1)
        kept = torch.minimum((above - moved[:, None]).clamp_min_(0.0), mass)
        weights = self._masses.repeat(len(f), 1).scatter_(-1, order, kept)
        # The first point whose running mass exceeds what is moved.
        # A kink is met up to the rounding of a sum; once all the mass has moved nobody loses.
        edge = torch.where(moved >= 1.0, torch.inf, moved * (1.0 + KINK) + KINK)
        rank = torch.searchsorted(above, edge[:, None], right=True)
        short = rank[:, 0] >= order.shape[-1]
        losing = order.gather(-1, rank.clamp_max(order.shape[-1] - 1))
        return weights, torch.where(short[:, None], f.shape[-1], losing), short
