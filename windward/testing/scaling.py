"""The laws of a scaling: outcomes in their order, and two numbers that bring them back."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from windward.surrogate.scaling import ScaledOutcomes, Scaling
from windward.testing.holding import normal, require, require_json, require_own_randomness

# Rounding of an outcome on its way to the scaled one and back.
ROUNDING = 1e-9


def check_scaling(scaling: Scaling, *, seed: int = 0) -> None:
    """Hold a scaling of outcomes to its laws: on none, one, equal, spread, huge and wild ones.

    The scaled values are finite and as many as before; a larger outcome never gets a smaller value; `scale` is above 0. The
    outcome in the middle comes back as values * scale + shift: the posterior is turned into the user's units in that way.
    With a `floor`, which stands for the worst value, an outcome at the floor is scaled to 0. Nothing is drawn. It goes to JSON
    and back.

    >>> import windward as ww
    >>> check_scaling(ww.SoftClip(2.0))
    """
    require_json(scaling)
    spread = normal(torch.Generator().manual_seed(seed), 21)
    wild = spread.clone()
    wild[3] = 1e6
    cases = {
        "no outcome": spread[:0],
        "one outcome": spread[:1],
        "equal outcomes": torch.full((5,), 3.0, dtype=torch.float64),
        "spread outcomes": 40.0 + 7.0 * spread,
        "huge outcomes": 1e150 * spread,
        "one wild outcome": wild,
    }
    for name, y in cases.items():
        found = _scaled(scaling, name, y, None)
        if len(y):
            middle = int(y.argsort()[len(y) // 2])
            back = float(found.values[middle]) * found.scale + found.shift
            size = 1.0 + float(y.abs().median())
            require(
                abs(back - float(y[middle])) <= ROUNDING * size,
                f"{scaling!r} on {name}: the outcome in the middle is {float(y[middle])!r} and comes back as {back!r}.",
            )
        floor = float(y.min()) if len(y) else 0.0
        above = _scaled(scaling, f"{name} with a floor", y, floor)
        lowest = above.values[y == floor].abs().amax() if len(y) else torch.zeros(())
        require(
            float(lowest) <= ROUNDING,
            f"{scaling!r} on {name} with floor={floor!r}: an outcome at the floor is {float(lowest)!r}; scale it to 0.",
        )


def _scaled(scaling: Scaling, name: str, y: Tensor, floor: float | None) -> ScaledOutcomes:
    found: ScaledOutcomes = require_own_randomness(scaling, lambda: scaling.scaled(y.clone(), floor))
    said = f"{scaling!r} on {name}"
    require(found.values.shape == y.shape, f"{said}: the values have the shape {tuple(found.values.shape)}.")
    require(bool(torch.isfinite(found.values).all()), f"{said}: a value is not finite.")
    require(
        math.isfinite(found.shift) and math.isfinite(found.scale) and found.scale > 0.0,
        f"{said}: shift is {found.shift!r} and scale is {found.scale!r}; both must be finite and the scale above 0.",
    )
    rising = found.values[y.argsort(stable=True)].diff()
    require(bool((rising >= 0.0).all()), f"{said}: a larger outcome has a smaller value.")
    return found
