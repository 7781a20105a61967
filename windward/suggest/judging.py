"""Draws of f judged under many distributions of contexts: each draw under one of them, and what is known of f under all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from windward.objectives.protocol import Reduction


class Judge(Protocol):
    """An objective under some distributions. The draws are dealt out to them in turn, the first ones to the first."""

    def __call__(self, drawn: Tensor) -> Tensor:
        """Return the objective of draws `"s *m n"`, each under one distribution; `"s *m"`."""

    def with_known(self, drawn: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """Return the same of draws `"s n"`, and that of what is known `"n"` under every distribution; `"s"`, `"r"`."""


@dataclass(frozen=True)
class Bindings:
    """An objective that was bound to each distribution."""

    reductions: Sequence[Reduction]

    def __call__(self, drawn: Tensor) -> Tensor:
        """Return the objective of draws `"s *m n"`."""
        return torch.cat([_reduced(reduction, some) for reduction, some in self._dealt(drawn)])

    def with_known(self, drawn: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objective of draws `"s n"` and of what is known."""
        # Together: half as many worst cases are called for.
        found = [_reduced(reduction, torch.cat([some, known[None]])) for reduction, some in self._dealt(drawn)]
        return torch.cat([each[:-1] for each in found]), torch.stack([each[-1] for each in found])

    def _dealt(self, drawn: Tensor) -> list[tuple[Reduction, Tensor]]:
        return list(zip(self.reductions, drawn.tensor_split(len(self.reductions)), strict=True))


@dataclass(frozen=True)
class InRows:
    """An objective that takes a distribution for each row: all are done in one call."""

    by_rows: Callable[[Tensor, Tensor], Tensor]
    weights: Tensor  # "r n"

    def __call__(self, drawn: Tensor) -> Tensor:
        """Return the objective of draws `"s *m n"`."""
        count, remainder = divmod(len(drawn), len(self.weights))
        turns = torch.full((len(self.weights),), count)
        turns[:remainder] += 1
        each = drawn[0, ..., 0].numel()  # decisions that share a draw
        weights = self.weights.repeat_interleave(each * turns.to(self.weights.device), dim=0)
        return self.by_rows(drawn.flatten(0, -2), weights).reshape(drawn.shape[:-1])

    def with_known(self, drawn: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objective of draws `"s n"` and of what is known."""
        return self(drawn), self.by_rows(known.expand(self.weights.shape), self.weights)


def _reduced(reduction: Reduction, values: Tensor) -> Tensor:
    return reduction(values, values if reduction.extra == "lower" else None)
