"""The problems of `coverage.py`, and the rule that splits them.

A problem is held back for the confirmation where the SHA-256 of its name is odd; nothing is chosen or tuned on those. The names
were picked, before anything was run on any problem, so that both halves have every kind: noisy, categorical, rare categories,
whole numbers, heavy tails, two humps, given contexts, CVaR, robust, minimize.

The held half was looked at once, at commit 9ac2e43. Problems written after that are split by the same rule: the odd ones are
the part "new", which the second confirmation is made on; the even ones join those to choose on. Those written after the part
"new" had been looked at are the part "third", of the third confirmation; no name among them is even.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

from coverage_draws import other_draws, plain_draws
from coverage_later import LATER
from coverage_more import MORE, later_draws
from coverage_problem import Problem
from coverage_shops import SHOPS
from coverage_third import THIRD
from coverage_third_tails import THIRD_TAILS, third_draws
from coverage_works import WORKS


def held(name: str) -> bool:
    """Whether a problem is held back for the confirmation."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1


HALVES = ("choose", "held", "new", "third")


def half_of(name: str) -> str:
    """Return the part that a problem belongs to."""
    if not held(name):
        return "choose"
    return "new" if name in later() else "third" if name in third() else "held"


@cache
def later() -> dict[str, Problem]:
    """Return the problems written after the held half had been looked at."""
    found = [make() for make in (*LATER, *MORE)] + later_draws()
    return {problem.name: problem for problem in found}


@cache
def third() -> dict[str, Problem]:
    """Return the problems written after the part "new" had been looked at."""
    found = [make() for make in (*THIRD, *THIRD_TAILS)] + third_draws()
    return {problem.name: problem for problem in found}


@cache
def problems() -> dict[str, Problem]:
    """Return every problem by its name."""
    found = [make() for make in (*SHOPS, *WORKS)] + plain_draws() + other_draws()
    return {problem.name: problem for problem in found} | later() | third()


def chosen(half: str, only: Sequence[str] = ()) -> list[Problem]:
    """Return the problems of a half, or those of it that are named."""
    strangers = sorted(set(only) - set(problems()))
    if strangers:
        raise SystemExit(f"--only {' '.join(strangers)}: no such problem; the names are {', '.join(problems())}.")
    wrong = sorted(name for name in only if half_of(name) != half)
    if wrong:
        raise SystemExit(f"--only {' '.join(wrong)}: not in the half {half!r}; give --half of the other one.")
    return [problem for name, problem in problems().items() if half_of(name) == half and (not only or name in only)]
