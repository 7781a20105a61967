"""Every random stream of a study comes from its seed: one module says which is which."""

from __future__ import annotations

# The stream of the design. Rounds use the streams from 0 upward, recommendations those from 2**32 (see study.py).
DESIGN_STREAM = 2**40


def hash_seed(seed: int, stream: int) -> int:
    """Return a seed for one stream of a study's randomness: splitmix64 of the pair, the same on every machine."""
    mask = 2**64 - 1
    z = (seed * 0x9E3779B97F4A7C15 + (stream + 1) * 0xD1B54A32D192ED03) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (z ^ (z >> 31)) >> 1
