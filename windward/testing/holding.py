"""What every suite stands on: a sentence for what does not hold, and numbers drawn from a generator of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from windward.objectives.protocol import Turning
from windward.parts import OWN_PARTS, from_json, to_json

# Of a one-sided difference: its error is about this times the curvature.
STEP = 1e-5


def require(condition: object, sentence: str) -> None:
    """Raise `AssertionError` with a sentence unless the condition holds; a plain assert would vanish under `python -O`."""
    if not bool(condition):
        raise AssertionError(sentence)


def require_error(call: Callable[[], object], kind: type[Exception], sentence: str) -> None:
    """Raise `AssertionError` with a sentence unless the call raises an error of this kind."""
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{sentence}: no {kind.__name__} was raised.")


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Return standard normal numbers in double precision."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def even(generator: torch.Generator, *shape: int) -> Tensor:
    """Return uniform numbers between 0 and 1 in double precision."""
    return torch.rand(*shape, generator=generator, dtype=torch.float64)


def require_own_randomness(part: object, call: Callable[[], Any]) -> Any:
    """Return what a call gives, after seeing that it left torch's global generator alone."""
    before = torch.get_rng_state()
    found = call()
    require(
        torch.equal(before, torch.get_rng_state()),
        f"{part!r} drew from torch's global generator; draw from the one that is given.",
    )
    return found


def require_json(part: Any) -> None:
    """Raise `AssertionError` unless a part is the same after its way to JSON and back."""
    text = to_json(part)
    own = {kind.__name__ for kind in OWN_PARTS}
    again = from_json(text, parts=[kind for kind in classes_of(part) if kind.__name__ not in own])
    require(again == part, f"{part!r} is another part after its way to JSON and back: {again!r}.")
    require(to_json(again) == text, f"{part!r} is written otherwise after its way to JSON and back.")


def classes_of(part: object) -> set[type]:
    """Return the classes of a part and of the parts in its fields."""
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return set()
    within = (getattr(part, field.name) for field in dataclasses.fields(part))
    return {type(part)}.union(*(classes_of(value) for value in within))


def require_turning(part: object) -> None:
    """Raise `AssertionError` where a part that says how it turns is not itself again when it is turned twice."""
    if not isinstance(part, Turning):  # studies that minimize refuse it by name
        return
    require(part.oriented(1.0) == part, f"{part!r}: oriented(1.0) must be the part itself.")
    twice = part.oriented(-1.0).oriented(-1.0)
    require(twice == part, f"{part!r}: turned twice it is another part: {twice!r}.")


def require_slope(function: Callable[[Tensor], Tensor], at: Tensor, along: Tensor, gap: float, said: str) -> None:
    """Raise `AssertionError` unless the gradient along a direction lies between the differences on both sides.

    Where the function has a kink the two differ, and anything between them is a gradient. `gap` is how far the function
    itself may be off.
    """
    free = at.clone().requires_grad_()
    value = function(free).sum()
    require(value.requires_grad, f"{said}: it has no gradient in its argument.")
    (gradient,) = torch.autograd.grad(value, free)
    slope = float((gradient * along).sum())
    with torch.no_grad():
        before, middle, after = (float(function(at + step * along).sum()) for step in (-STEP, 0.0, STEP))
    sides = sorted(((middle - before) / STEP, (after - middle) / STEP))
    room = gap / STEP + 1e-6 * (1.0 + abs(slope))
    inside = sides[0] - room <= slope <= sides[1] + room
    require(inside, f"{said}: its slope along a direction is {slope!r}, its differences on both sides are {sides!r}.")
