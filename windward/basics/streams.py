"""Every random stream of a study comes from its seed: this module says which is which.

An ask has the stream of its number among the asks, from 0 upward. A recommendation has 2**32 plus the last event that said
anything, so that asking for one never changes a suggestion. The design has 2**40: one sequence for all of its rounds. The
bands of a figure have the seed itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

RECOMMENDATIONS = 2**32
DESIGN = 2**40


def asking(seed: int, asks: int) -> torch.Generator:
    """Return the generator of an ask, the `asks`-th from 0."""
    return generator(hash_seed(seed, asks))


def recommending(seed: int, known: int) -> torch.Generator:
    """Return the generator of a recommendation that knows the events up to `known`."""
    return generator(hash_seed(seed, RECOMMENDATIONS + known))


def designing(seed: int) -> torch.Generator:
    """Return the generator of the design's one sequence."""
    return generator(hash_seed(seed, DESIGN))


def drawing(seed: int) -> torch.Generator:
    """Return the generator of a figure's bands: the same draws everywhere in it."""
    return generator(seed)


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
