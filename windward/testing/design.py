"""The laws of a design: a decision of the region for every round, by the round, the region and the seed alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from windward.search.design import Design
from windward.search.region import Region
from windward.space import Real, Space
from windward.testing.holding import require, require_json, require_own_randomness
from windward.testing.regions import BOUNDED, MIXED, SQUARE, require_decision

# The rounds that are looked at: the first ones, and one beyond most designs.
ROUNDS = (0, 1, 2, 40)


def check_design(design: Design, *, seed: int = 0) -> None:
    """Hold a design to its laws on spaces of real, whole and categorical decisions, with and without constraints.

    Every round has a decision of the region: inside the cube, a choice, a whole number, on the right side of every
    constraint, with what is fixed as it is. The same round, region and seed give the same decision, and torch's global
    generator is left alone. `rounds` is a number of at least 0, maybe infinite. It goes to JSON and back.

    >>> import windward as ww
    >>> check_design(ww.Sobol())
    """
    require_json(design)
    for space in (SQUARE, MIXED, Space({"x": Real(0, 1)}, {"demand": Real(0, 9)})):
        rounds = design.rounds(space)
        said = f"{design!r}: rounds says {rounds!r} of a space with {len(space.decision)} decisions"
        require(not math.isnan(rounds) and rounds >= 0, f"{said}; give a number of at least 0, or infinity.")
    regions = {
        "real decisions": Region(SQUARE),
        "whole numbers and choices": Region(MIXED),
        "what is fixed": Region(MIXED, {"kind": "u", "count": 7}),
        "a constraint": Region(BOUNDED),
    }
    for name, region in regions.items():
        for turn in ROUNDS:
            found = _decision(design, turn, region, seed)
            require_decision(design, name, found, region)
            again = _decision(design, turn, region, seed)
            require(torch.equal(found, again), f"{design!r} on {name}: round {turn} has two decisions for one seed.")


def _decision(design: Design, turn: int, region: Region, seed: int) -> Tensor:
    found: Tensor = require_own_randomness(design, lambda: design(turn, region, seed))
    return found
