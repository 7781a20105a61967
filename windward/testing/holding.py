"""What every suite stands on: a sentence for what does not hold, and numbers drawn from a generator of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


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
