"""The wealth of somebody who bets that the contexts change. Where they do not, it hardly ever reaches 1 / level.

Each new value is ranked among all so far, ties broken by a number between 0 and 1 that has nothing to do with the values. If
the values could have come in any other order as well, these ranks are independent and uniform, whatever the values are. So
every bet is fair: it multiplies its stake by a factor whose mean is 1. A small stake enters each round, because nobody knows
when the change will be. The wealth of all bets is a martingale: by Ville's inequality the probability that it ever reaches
1 / level is at most the level.

A number has bets on its rank (is it higher, or lower?) and on the rank of its distance from the median (is it farther out?). A
category has bets on each of its choices (does it come more often?). No torch here: `windward status` asks for it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, Protocol, TypeAlias

Kind: TypeAlias = Literal["location", "spread", "choice"]

# No stake enters before so many values: ranks among few say little.
FIRST = 10
# The share of what is left that enters with each value, and with the n-th at most the second number divided by n. A share
# that stayed the same would leave nothing for a change after many hundreds of values.
STAKE, FADING = 0.02, 1.5
# Bets on a number multiply their stake by 1 + slope (rank - 1/2), or by exp(slope z - slope^2 / 2), z the normal quantile of
# the rank. Steep ones gain from large changes, flat ones from small ones.
LINEAR = (1.9, -1.9)
NORMAL = (0.6, -0.6, 1.2, -1.2)
# Bets on a choice say that it comes with three times its odds, or a third of them; each is made for a choice of one share.
SHARES = (0.5, 0.3, 0.15, 0.05)
ODDS = (3.0, 1.0 / 3.0)
# How the wealth of a number is divided at the start.
LOCATION, SPREAD = 0.75, 0.25
# The largest float below 1: ranks lie strictly between 0 and 1.
BELOW_ONE = 1.0 - 2.0**-53
_quantile = NormalDist().inv_cdf


def _of_number(rank: float) -> list[float]:
    """Return the logarithms of the factors of all bets on a number; every other bet is that ranks are low."""
    z, off = _quantile(rank), rank - 0.5
    return [math.log1p(slope * off) for slope in LINEAR] + [slope * z - 0.5 * slope * slope for slope in NORMAL]


def _step(share: float, odds: float) -> tuple[float, float, float]:
    """Return where the highest ranks begin, and the logarithms of the factors there and below."""
    above = odds / (1.0 + (odds - 1.0) * share)
    return 1.0 - share, math.log(above), math.log((1.0 - above * share) / (1.0 - share))


STEPS = tuple(_step(share, odds) for share in SHARES for odds in ODDS)


def _of_choice(rank: float) -> list[float]:
    """Return the logarithms of the factors of all bets on a choice; every other bet is that it comes less often."""
    return [above if rank > start else below for start, above, below in STEPS]


class Ranked(Protocol):
    """The values of one column so far. It says how many bets there are and what they are about."""

    kinds: tuple[Kind, ...]
    weights: tuple[float, ...]

    def ranks(self, value: float, tie: float) -> tuple[float, ...]:
        """Take one more value and return a rank between 0 and 1 for each kind."""
        ...


class NumberRanks:
    """NumberRanks, ranked by their size and by their distance from the median of all so far."""

    kinds: tuple[Kind, ...] = ("location", "spread")
    weights: tuple[float, ...] = (LOCATION, SPREAD)

    def __init__(self) -> None:
        self.known: list[float] = []

    def ranks(self, value: float, tie: float) -> tuple[float, ...]:
        """Take one more value and return its two ranks."""
        known = self.known
        insort(known, value)
        count = len(known)
        middle = known[count // 2]
        away = abs(value - middle)

        def beside(other: float) -> float:
            return other - middle  # rises along the sorted list, rounded or not, so the list can be bisected by it

        nearer = bisect_left(known, away, key=beside) - bisect_right(known, -away, key=beside) if away else 0
        as_near = bisect_right(known, away, key=beside) - bisect_left(known, -away, key=beside)
        lower, as_low = bisect_left(known, value), bisect_right(known, value)
        return _between(lower, as_low, tie, count), _between(nearer, as_near, tie, count)


class ChoiceRanks:
    """The places of a category's choices; each choice has a rank of its own, of whether it came."""

    def __init__(self, count: int) -> None:
        self.kinds: tuple[Kind, ...] = tuple("choice" for _ in range(count))
        self.weights = (1.0 / count,) * count
        self.came = [0] * count
        self.count = 0

    def ranks(self, value: float, tie: float) -> tuple[float, ...]:
        """Take one more choice and return the rank of each."""
        chosen = int(value)
        self.came[chosen] += 1
        self.count += 1
        return tuple(
            _between(self.count - came, self.count, tie, self.count)
            if place == chosen
            else _between(0, self.count - came, tie, self.count)
            for place, came in enumerate(self.came)
        )


def _between(below: int, up_to: int, tie: float, count: int) -> float:
    return min((below + tie * (up_to - below)) / count, BELOW_ONE)


class Bets:
    """All bets on the ranks of one kind: their wealth, and since when each has done well."""

    def __init__(self, kind: Kind) -> None:
        self.factors = _of_choice if kind == "choice" else _of_number
        self.many = len(self.factors(0.5))
        self.left = 1.0
        self.count = 0
        self.stakes = [0.0] * self.many
        self.gains = [0.0] * self.many  # the largest sum of logarithms up to now, over where it starts
        self.starts = [0] * self.many

    @property
    def wealth(self) -> float:
        """What is left and what the bets have become."""
        return self.left + sum(self.stakes) / self.many

    def bet(self, rank: float, turn: int) -> None:
        """Bet on one more rank, that of this turn."""
        self.count += 1
        if self.count < FIRST:
            return
        entering = self.left * min(STAKE, FADING / self.count)
        self.left -= entering
        for place, gain in enumerate(self.factors(rank)):
            self.stakes[place] = (self.stakes[place] + entering) * math.exp(gain)
            if self.gains[place] <= 0.0:
                self.gains[place], self.starts[place] = 0.0, turn
            self.gains[place] += gain


@dataclass(frozen=True)
class Watched:
    """The values of one context by turn; a value has a number for each column, or is None where it does not count.

    `choices` is how many choices a category has, 0 for a number.
    """

    name: str
    choices: int
    values: Sequence[tuple[float, ...] | None]


@dataclass(frozen=True)
class Raised:
    """An alarm: the turn in which it was raised, where the change began, and the bet that gained most from it."""

    turn: int
    since: int
    name: str
    kind: Kind
    place: int  # of the choice, or of the column
    up: bool  # higher, farther out, more often


class _Context:
    """One context since the last alarm: its columns, and bets on each of their ranks."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        width = next(len(value) for value in watched.values if value is not None)
        self.columns: list[Ranked] = (
            [ChoiceRanks(watched.choices)] if watched.choices else [NumberRanks() for _ in range(width)]
        )
        self.bets = [[Bets(kind) for kind in column.kinds] for column in self.columns]

    def take(self, turn: int, tie: float) -> None:
        value = self.watched.values[turn]
        if value is None:
            return
        for column, bets, number in zip(self.columns, self.bets, value, strict=True):
            for each, rank in zip(bets, column.ranks(number, tie), strict=True):
                each.bet(rank, turn)

    @property
    def wealth(self) -> float:
        total = sum(
            weight * each.wealth
            for column, bets in zip(self.columns, self.bets, strict=True)
            for weight, each in zip(column.weights, bets, strict=True)
        )
        return total / len(self.columns)

    def best(self, turn: int) -> tuple[float, Raised]:
        """Return the largest gain of a bet, and what it was on."""
        found = []
        for at, (column, bets) in enumerate(zip(self.columns, self.bets, strict=True)):
            for place, (kind, each) in enumerate(zip(column.kinds, bets, strict=True)):
                gain, most = max((gain, -which) for which, gain in enumerate(each.gains))
                which, where = -most, place if kind == "choice" else at
                raised = Raised(turn, each.starts[which], self.watched.name, kind, where, which % 2 == 0)
                found.append((gain, raised))
        return max(found, key=lambda one: one[0])


def alarms(contexts: Iterable[Watched], ties: Sequence[float], level: float) -> tuple[list[Raised], float]:
    """Return the alarms among contexts, and the wealth after the last value.

    The wealth of several contexts is their mean. After an alarm everything starts again with half the level, and knows
    nothing of before: so false alarms after any number of true ones are together less probable than the level.
    """
    several = [each for each in contexts if any(value is not None for value in each.values)]
    found: list[Raised] = []
    watching = [_Context(each) for each in several]
    wealth = 1.0
    for turn, tie in enumerate(ties) if several else ():
        for each in watching:
            each.take(turn, tie)
        wealth = sum(each.wealth for each in watching) / len(watching)
        if wealth >= 1.0 / level:
            found.append(max((each.best(turn) for each in watching), key=lambda one: one[0])[1])
            level, wealth = 0.5 * level, 1.0
            watching = [_Context(each) for each in several]
    return found, wealth
