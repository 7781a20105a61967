"""What an objective is: it binds to contexts and becomes a reduction over the last axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

from windward.contexts import Contexts

Extra: TypeAlias = Literal["slopes", "lower"]


@runtime_checkable
class Reduction(Protocol):
    """Reduce values over contexts. Where `extra` is "slopes" the belief also supplies |grad_c f| `"*b n"`, where it is
    "lower" a lower confidence bound of the values.
    """  # noqa: D205

    @property
    def extra(self) -> Extra | None: ...

    def __call__(self, values: Tensor, extra: Tensor | None = None) -> Tensor: ...


@runtime_checkable
class Objective(Protocol):
    """Bind to contexts and become a reduction; `monotone` in f, its bound is itself at the upper confidence bound."""

    @property
    def monotone(self) -> bool: ...

    def bind(self, contexts: Contexts, seen: int) -> Reduction: ...


@dataclass(frozen=True)
class Bound:
    """A bound objective: a function of values, and of an extra where it needs one.

    `ceiling`, where there is one, bounds the function from above, from the same arguments, and costs far less; `draft` is
    near it and costs less. `fewer` where it takes values on some of the points just as well.
    """

    function: Callable[..., Tensor]
    extra: Extra | None = None
    ceiling: Callable[..., Tensor] | None = None
    draft: Bound | None = None
    fewer: bool = False

    def __call__(self, values: Tensor, extra: Tensor | None = None) -> Tensor:
        values = values.to(torch.float64)
        return self.function(values) if self.extra is None else self.function(values, extra)
