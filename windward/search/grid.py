"""Maximizing an acquisition over every point of a regular grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import SolverError
from windward.search.acquisition import Acquisition
from windward.search.choice import best_of
from windward.search.region import LEAST_DISTANCE, Region
from windward.space.space import Space


@dataclass(frozen=True)
class OverGrid:
    """Look at every point of a regular grid, `per_parameter` points along each real parameter, and take the best.

    `apart` is as in `MultiStart`.
    """

    per_parameter: int = 32
    apart: float = LEAST_DISTANCE

    def __post_init__(self) -> None:
        arguments.whole("OverGrid", "per_parameter", self.per_parameter, low=2)
        arguments.number("OverGrid", "apart", self.apart, low=0.0, high=1.0)

    def most_decisions(self, space: Space) -> int:
        """Return how many decisions the grid has, counted without making it; whole numbers may have fewer."""
        return math.prod(len(p.choices) or self.per_parameter for p in space.decision.values())

    def lowered(self, space: Space, seen: int, most: int) -> str | None:
        """Return how to write it so that the grid has at most `most` decisions; it has two along each at least."""
        axes = [len(p.choices) for p in space.decision.values() if p.choices]
        numeric = len(space.decision) - len(axes)
        per_parameter = int((most / math.prod(axes)) ** (1.0 / numeric) + 1e-9) if numeric else 0
        return f"lower per_parameter to {per_parameter:,}" if per_parameter >= 2 else "use MultiStart()"

    def points(self, region: Region) -> Tensor:
        """Return the grid inside the region; `"n d"`."""
        ladder = torch.linspace(0.0, 1.0, self.per_parameter, dtype=torch.float64)[:, None]
        options = {}
        for name, parameter in region.space.decision.items():
            if parameter.choices:
                options[name] = region.allowed(name, torch.from_numpy(parameter.options(len(parameter.choices))))
                continue
            steps = ladder
            if region.bounds is not None:  # as many points in what is left of the cube
                low, high = (bound[region.space.decision_columns[name]] for bound in region.bounds)
                steps = low + ladder * (high - low)
            options[name] = torch.from_numpy(np.unique(parameter.snap(steps.numpy()), axis=0))
        points = region.assemble(options)
        inside = points[region.feasible(points)]
        if len(inside) == 0:
            raise SolverError(
                f"OverGrid(per_parameter={self.per_parameter}): no grid point satisfies the constraints; use a finer grid."
            )
        return inside

    def __call__(self, acquisition: Acquisition, region: Region, generator: torch.Generator) -> Tensor:
        points = self.points(region)
        margin = acquisition.margin if isinstance(acquisition, Acquisition) else None  # a plain function has none
        if margin is not None and region.hints is not None:  # what is allowed may lie between the points
            hints = region.valid(region.hints)
            points = torch.cat([points, hints[region.feasible(hints)]])
        return best_of(acquisition, points, replace(region, apart=self.apart))
