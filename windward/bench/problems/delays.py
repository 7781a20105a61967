"""After how many rounds a value comes: `delay(generator)` draws it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from windward.basics import arguments


@dataclass(frozen=True)
class Poisson:
    """A Poisson distribution with this mean."""

    mean: float

    def __post_init__(self) -> None:
        arguments.number("Poisson", "mean", self.mean, low=0.0)

    def __call__(self, generator: torch.Generator) -> int:
        return int(torch.poisson(torch.tensor(self.mean, dtype=torch.float64), generator=generator))


@dataclass(frozen=True)
class Fixed:
    """Always the same number of rounds."""

    rounds: int

    def __post_init__(self) -> None:
        arguments.whole("Fixed", "rounds", self.rounds, low=0)

    def __call__(self, generator: torch.Generator) -> int:
        return self.rounds


@dataclass(frozen=True)
class Lossy:
    """Never, with this chance; otherwise as `delay` says."""

    chance: float
    delay: Poisson | Fixed = Fixed(0)

    def __post_init__(self) -> None:
        arguments.number("Lossy", "chance", self.chance, low=0.0, high=1.0)

    def __call__(self, generator: torch.Generator) -> int | None:
        lost = float(torch.rand((), generator=generator, dtype=torch.float64)) < self.chance
        return None if lost else self.delay(generator)
