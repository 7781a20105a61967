"""The problems of `coverage.py`, and the rule that splits them.

A problem is held back for the confirmation where the SHA-256 of its name is odd; nothing is chosen or tuned on those. The names
were picked, before anything was run on any problem, so that both halves have every kind: noisy, categorical, rare categories,
whole numbers, heavy tails, two humps, given contexts, CVaR, robust, minimize.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

from coverage_draws import other_draws, plain_draws
from coverage_problem import Problem
from coverage_shops import SHOPS
from coverage_works import WORKS


def held(name: str) -> bool:
    """Whether a problem is held back for the confirmation."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1


@cache
def problems() -> dict[str, Problem]:
    """Return every problem by its name."""
    found = [make() for make in (*SHOPS, *WORKS)] + plain_draws() + other_draws()
    return {problem.name: problem for problem in found}


def chosen(half: str, only: Sequence[str] = ()) -> list[Problem]:
    """Return the problems of a half, or those of it that are named."""
    strangers = sorted(set(only) - set(problems()))
    if strangers:
        raise SystemExit(f"--only {' '.join(strangers)}: no such problem; the names are {', '.join(problems())}.")
    wrong = sorted(name for name in only if held(name) != (half == "held"))
    if wrong:
        raise SystemExit(f"--only {' '.join(wrong)}: not in the half {half!r}; give --half of the other one.")
    return [
        problem for name, problem in problems().items() if held(name) == (half == "held") and (not only or name in only)
    ]
