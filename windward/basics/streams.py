"""Every random stream of a study comes from its seed: this module says which is which.

    0 upward            the asks, each by its number
    2**32 upward        recommendations, by the last event that said anything: asking for one never changes a suggestion
    2**33 upward        checks of the model, by the same event
    2**34 upward        ties among the ranks of contexts, by the trial
    2**40               the design: one sequence for all of its rounds
    2**40 + 1 upward    the rounds of a design that draws from a list

The bands of a figure, and the points where a guard is tried, have the seed itself. What is the same in every study has `fixed`.
What must come again, such as the draws of f that two decisions are compared on, has `repeated`, by a seed that was drawn from
one of these streams. The worlds of the bench have streams of their own, and so have the suites of `windward.testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

RECOMMENDATIONS = 2**32
CHECKS = 2**33
TIES = 2**34
DESIGN = 2**40


def asking(seed: int, asks: int) -> torch.Generator:
    """Return the generator of an ask, the `asks`-th from 0."""
    return generator(hash_seed(seed, asks))


def recommending(seed: int, known: int) -> torch.Generator:
    """Return the generator of a recommendation that knows the events up to `known`."""
    return generator(hash_seed(seed, RECOMMENDATIONS + known))


def checking(seed: int, known: int) -> torch.Generator:
    """Return the generator of a check of the model that knows the events up to `known`."""
    return generator(hash_seed(seed, CHECKS + known))


def breaking_ties(seed: int, trial: int) -> float:
    """Return a number strictly between 0 and 1 that breaks ties with what came in a trial."""
    return ((hash_seed(seed, TIES + trial) >> 11) + 0.5) / 2.0**52


def designing(seed: int) -> torch.Generator:
    """Return the generator of the design's one sequence."""
    return generator(hash_seed(seed, DESIGN))


def listing(seed: int, round: int) -> torch.Generator:
    """Return the generator of one round of a design that draws from a list."""
    return generator(hash_seed(seed, DESIGN + 1 + round))


def drawing(seed: int) -> torch.Generator:
    """Return the generator of a figure's bands: the same draws everywhere in it."""
    return generator(seed)


def trying(seed: int) -> torch.Generator:
    """Return the generator of the points where it is tried whether a guard forbids anything."""
    return generator(seed)


def repeated(seed: int) -> torch.Generator:
    """Return a generator that draws the same whenever it is asked for, by a seed that another stream drew."""
    return generator(seed)


def resumed(state: torch.Tensor) -> torch.Generator:
    """Return a generator that goes on from the state of another one."""
    found = generator(0)
    found.set_state(state)
    return found


def fixed() -> torch.Generator:
    """Return the generator of what is scattered once and the same way in every study, such as a sample of points."""
    return generator(0)


def generator(seed: int) -> torch.Generator:
    """Return a generator of its own."""
    import torch  # here: whoever needs no random numbers need not load it

    return torch.Generator().manual_seed(seed)


def hash_seed(seed: int, stream: int) -> int:
    """Return a seed for one stream of a study's randomness: splitmix64 of the pair, the same on every machine."""
    mask = 2**64 - 1
    z = (seed * 0x9E3779B97F4A7C15 + (stream + 1) * 0xD1B54A32D192ED03) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (z ^ (z >> 31)) >> 1
