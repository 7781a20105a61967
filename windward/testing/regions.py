"""Spaces to look for decisions in, and what every decision must be."""

from __future__ import annotations

import torch
from torch import Tensor

from windward.search.region import Region
from windward.space import Categorical, Integer, Linear, Real, Space
from windward.testing.holding import require

SQUARE = Space({"a": Real(0, 1), "b": Real(0, 1)})
MIXED = Space({"kind": Categorical(["u", "v", "w"]), "count": Integer(0, 20), "share": Real(0, 1)})
BOUNDED = Space({"a": Real(0, 1), "b": Real(0, 1)}, constraints=[Linear({"a": 1, "b": 1}, upper=1)])


def require_decision(part: object, name: str, found: Tensor, region: Region) -> None:
    """Raise `AssertionError` unless this is a decision of the region: valid, as fixed, inside constraints, clear of others."""
    said = f"{part!r} on {name}: the decision {found.tolist()}"
    require(found.shape == (region.space.decision_width,), f"{said} has the shape {tuple(found.shape)}.")
    require(
        torch.isfinite(found).all() and ((found >= 0.0) & (found <= 1.0)).all(), f"{said} is outside the unit cube."
    )
    require(
        torch.allclose(region.valid(found[None])[0], found, rtol=0.0, atol=1e-12),
        f"{said} breaks what is fixed or discrete.",
    )
    require(region.feasible(found[None]).all(), f"{said} breaks a constraint.")
    require(region.clear(found[None]).all(), f"{said} is too near a pending one.")
    region.space.check_decision("windward.testing", region.space.decode_decision(found))
