"""The laws of a maximizer: a decision of the region, as good as many others, for any acquisition."""

from __future__ import annotations

import torch
from torch import Tensor

from windward.search.acquisition import Acquisition, Function, Maximizer
from windward.search.region import LEAST_DISTANCE, Region
from windward.testing.holding import require, require_own_randomness
from windward.testing.regions import BOUNDED, MIXED, SQUARE, require_decision

# A maximizer must be as good as the best of this many decisions that are spread over the region, to this share of what
# they span: a grid may lie a little beside a peak.
OTHERS, SHARE = 64, 0.01


def check_maximizer(maximizer: Maximizer, *, apart: float = LEAST_DISTANCE, seed: int = 0) -> None:
    """Hold a maximizer to its laws on spaces of real, whole and categorical decisions, with and without constraints.

    The decision is one of the region: inside the cube, a choice, a whole number, on the right side of every constraint,
    with what is fixed as it is, within the limits of a guard, away from pending decisions. It is where the acquisition's margin
    allows it, and as good as the best of many others. The same generator gives the same decision, and no other is drawn from.
    `apart` is the share of the cube's diagonal that the maximizer keeps from pending decisions.

    >>> import windward as ww
    >>> check_maximizer(ww.MultiStart())
    """
    pending = torch.tensor([[0.37, 0.61]], dtype=torch.float64)
    hill = _hill(0.37, 0.61)
    low, high = torch.tensor([0.05, 0.1]).double(), torch.tensor([0.25, 0.9]).double()
    few, some = torch.tensor([0.0, 0.0, 0.0, 0.11, 0.2]).double(), torch.tensor([1.0, 0.0, 1.0, 0.43, 0.7]).double()
    cases = {
        "a hill": (Region(SQUARE), Acquisition(hill)),
        "a hill of tiny values far from zero": (Region(SQUARE), Acquisition(lambda x: 3.0 + 1e-6 * hill(x))),
        "a hill with cheaper functions": (
            Region(SQUARE),
            Acquisition(
                hill, climb=lambda x: 0.99 * hill(x), rank=lambda x: 2.0 * hill(x), ceiling=lambda x: hill(x) + 0.01
            ),
        ),
        "a hill behind a margin": (Region(SQUARE), Acquisition(hill, margin=lambda x: 0.3 - x[:, 0])),
        "a hill beyond limits": (Region(SQUARE, low=low, high=high), Acquisition(hill)),
        "whole numbers and choices within limits": (Region(MIXED, low=few, high=some), Acquisition(_mixed)),
        "a constraint within limits": (
            Region(BOUNDED, low=low, high=high),
            Acquisition(lambda x: x[:, 0] + 3.0 * x[:, 1]),
        ),
        "a corner": (Region(SQUARE), Acquisition(lambda x: x[:, 0] - x[:, 1])),
        "a plain": (Region(SQUARE), Acquisition(lambda x: 0.0 * x.sum(-1))),
        "whole numbers and choices": (Region(MIXED), Acquisition(_mixed)),
        "what is fixed": (Region(MIXED, {"kind": "u", "count": 7}), Acquisition(_mixed)),
        "a constraint": (Region(BOUNDED), Acquisition(lambda x: x[:, 0] + 3.0 * x[:, 1])),
        "a pending decision": (Region(SQUARE, avoid=pending, apart=apart), Acquisition(hill)),
    }
    for name, (region, acquisition) in cases.items():
        most = maximizer.most_decisions(region.space)
        require(most >= 1, f"{maximizer!r}: most_decisions says {most}.")
        found = _maximum(maximizer, acquisition, region, seed)
        again = _maximum(maximizer, acquisition, region, seed)
        require(torch.equal(found, again), f"{maximizer!r} on {name}: the same generator gave two decisions.")
        require_decision(maximizer, name, found, region)
        _check_quality(maximizer, name, found, region, acquisition, seed)


def _check_quality(
    maximizer: Maximizer, name: str, found: Tensor, region: Region, acquisition: Acquisition, seed: int
) -> None:
    others = region.points(OTHERS, torch.Generator().manual_seed(seed + 1))
    others = others[region.clear(others)]
    if acquisition.margin is not None:
        allowed = bool((acquisition.margin(found[None]) >= 0.0).all())
        require(allowed, f"{maximizer!r} on {name}: the decision {found.tolist()} is where the margin is below 0.")
        others = others[acquisition.margin(others) >= 0.0]
    value, values = float(acquisition(found[None])), acquisition(others)
    enough = float(values.max() - SHARE * (values.max() - values.min()))
    said = (
        f"{maximizer!r} on {name}: the decision has {value!r}, and one of {OTHERS} others has {float(values.max())!r}."
    )
    require(value >= enough - 1e-12 * abs(enough), said)


def _hill(*centre: float) -> Function:
    at = torch.tensor(centre, dtype=torch.float64)
    return lambda x: torch.exp(-20.0 * (x - at).square().sum(-1))


def _mixed(x: Tensor) -> Tensor:
    kind = x[:, :3] @ torch.tensor([0.0, 1.0, 0.4], dtype=torch.float64)
    return kind - 3.0 * (x[:, 3] - 13 / 20).abs() - (x[:, 4] - 0.3).square()


def _maximum(maximizer: Maximizer, acquisition: Acquisition, region: Region, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    found: Tensor = require_own_randomness(maximizer, lambda: maximizer(acquisition, region, generator))
    return found
