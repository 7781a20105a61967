"""Small worlds of known outcome for `moving_known.py`: contexts that stand still, move, shift far, or come with the season.

A world is a state for each round, a context drawn from the state by normal numbers, and an outcome of decision and context that
is known. The worlds were written, and dealt to two halves by a rule, before anything was run on them: within each kind, in
alphabetical order, the first is for choosing, the second for confirming, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

import windward as ww
from windward.space.parameters import Parameter

ROUNDS = 100
# A jump comes in a round drawn from these.
EARLIEST, LATEST = 30, 60

Path = Callable[[torch.Generator], Tensor]
Outcome = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class World:
    """`states(generator)` is `"rounds s"`, `context(state "s", normals "n k")` `"n k"` in the contexts' own columns.

    `value(decisions "m 1", contexts "n k")` is `"m n"`. `kind` is still, moving, far (three deviations or more) or season.
    """

    name: str
    kind: str
    words: str
    contexts: Mapping[str, Parameter]
    states: Path
    context: Callable[[Tensor, Tensor], Tensor]
    value: Outcome
    decisions: tuple[float, float]
    reach: tuple[tuple[float, float], ...]  # where the contexts are, for the grid that they are judged on


def still(*state: float) -> Path:
    """A state that does not move."""
    return lambda generator: torch.tensor([state] * ROUNDS, dtype=torch.float64)


def slope(start: float, end: float) -> Path:
    """A number that moves evenly."""
    return lambda generator: torch.linspace(start, end, ROUNDS, dtype=torch.float64)[:, None]


def jump(before: tuple[float, ...], after: tuple[float, ...], *, back: int = 0) -> Path:
    """Numbers that jump in a round that is drawn, and return `back` rounds later where that is not 0."""

    def states(generator: torch.Generator) -> Tensor:
        at = int(torch.randint(EARLIEST, LATEST + 1, (1,), generator=generator))
        until = min(at + back, ROUNDS) if back else ROUNDS
        rows = [before] * at + [after] * (until - at) + [before] * (ROUNDS - until)
        return torch.tensor(rows, dtype=torch.float64)

    return states


def walk(start: float, step: float) -> Path:
    """A number that goes a random step each round."""

    def states(generator: torch.Generator) -> Tensor:
        steps = step * torch.randn(ROUNDS, generator=generator, dtype=torch.float64)
        return (start + steps.cumsum(0) - steps[0])[:, None]

    return states


def season(levels: tuple[float, ...]) -> Path:
    """A number for each round of a season."""
    return lambda generator: torch.tensor(levels, dtype=torch.float64)[torch.arange(ROUNDS) % len(levels)][:, None]


def around(spread: float) -> Callable[[Tensor, Tensor], Tensor]:
    """A normal number around the state, never negative."""
    return lambda state, z: (state[0] + spread * z).clamp_min(0.0)


def spread_told(state: Tensor, z: Tensor) -> Tensor:
    """A normal number whose deviation is the second of the state."""
    return (state[0] + state[1] * z).clamp_min(0.0)


def skewed(state: Tensor, z: Tensor) -> Tensor:
    """A log-normal number: its median, and the deviation of its logarithm."""
    return state[0] * torch.exp(state[1] * z)


def spiky(state: Tensor, z: Tensor) -> Tensor:
    """Mostly near the state; one day in ten is a spike three times as high."""
    usual = torch.special.ndtr(z) < 0.9
    return torch.where(usual, state[0] + 3.0 * z, 3.0 * state[0] + 4.0 * z).clamp_min(0.0)


def heavy(state: Tensor, z: Tensor) -> Tensor:
    """A Pareto number of exponent 2.5 above the state."""
    return state[0] * (1.0 - torch.special.ndtr(z)).clamp_min(1e-4) ** (-0.4)


def two_hills(state: Tensor, z: Tensor) -> Tensor:
    """A low or a high day, the latter with the chance in the state."""
    u = torch.special.ndtr(z)
    p = float(state[0])
    low = 25.0 + 4.0 * torch.special.ndtri((u / (1.0 - p)).clamp(1e-6, 1.0 - 1e-6))
    high = 60.0 + 6.0 * torch.special.ndtri(((u - 1.0 + p) / p).clamp(1e-6, 1.0 - 1e-6))
    return torch.where(u < 1.0 - p, low, high)


def counted(state: Tensor, z: Tensor) -> Tensor:
    """A whole number of about Poisson's spread around the state."""
    return (state[0] + state[0].sqrt() * z).clamp_min(0.0).round()


def pair(state: Tensor, z: Tensor) -> Tensor:
    """Two numbers of correlation 0.6; the state moves the first."""
    second = 0.6 * z[:, 0] + 0.8 * z[:, 1]
    return torch.stack([(state[0] + 8.0 * z[:, 0]).clamp_min(0.0), (30.0 + 6.0 * second).clamp_min(0.0)], dim=-1)


def weather(state: Tensor, z: Tensor) -> Tensor:
    """Sun, cloud or rain by the chances in the state, and a demand that goes with it."""
    u = torch.special.ndtr(z[:, 0])
    place = (u > state[0]).long() + (u > state[0] + state[1]).long()
    level = torch.tensor([60.0, 40.0, 25.0], dtype=torch.float64)[place]
    kind = torch.nn.functional.one_hot(place, 3).to(z)
    return torch.cat([kind, (level + 5.0 * z[:, 1]).clamp_min(0.0)[:, None]], dim=-1)


def sales(price: float, cost: float, left: float) -> Outcome:
    """What an order earns beside a demand, the last column of the context."""

    def value(x: Tensor, c: Tensor) -> Tensor:
        demand = c[:, -1]
        return price * torch.minimum(x, demand) + left * (x - demand).clamp_min(0.0) - cost * x

    return value


def waiting(x: Tensor, c: Tensor) -> Tensor:
    """What staff costs beside a load: wages, and what waits."""
    return -3.0 * x - 12.0 * torch.nn.functional.softplus(c[:, -1] - x)


def tuned(x: Tensor, c: Tensor) -> Tensor:
    """How well a setting fits: a hill around the context with long tails."""
    return 1.0 / (1.0 + ((x - c[:, -1]) / 8.0).square())


def both(x: Tensor, c: Tensor) -> Tensor:
    """What an order earns beside two demands that share it."""
    return 9.0 * torch.minimum(x, c[:, 0] + 0.5 * c[:, 1]) - 4.0 * x


DEMAND = {"demand": ww.Real(0, 200)}
OPEN = {"demand": ww.Real(0, None)}
COUNT = {"demand": ww.Integer(0, 200)}
PAIR = {"demand": ww.Real(0, 200), "walk-in": ww.Real(0, 100)}
WEATHER = {"weather": ww.Categorical(["sun", "cloud", "rain"]), "demand": ww.Real(0, 120)}
X, WIDE = (0.0, 120.0), (0.0, 200.0)
C1, C2 = ((0.0, 120.0),), ((0.0, 120.0), (0.0, 70.0))
LONG = ((0.0, 400.0),)
EVEN, LEAN, RICH = sales(9.0, 4.0, 0.0), sales(9.0, 7.0, 1.0), sales(9.0, 1.5, 0.5)
Z = 8.0  # the deviation of the plain worlds

WORLDS = (
    World("still-normal", "still", "a normal demand", DEMAND, still(45.0), around(Z), EVEN, X, C1),
    World(
        "still-rich",
        "still",
        "a normal demand, ordered at its 90 % quantile",
        DEMAND,
        still(45.0),
        around(Z),
        RICH,
        X,
        C1,
    ),
    World("still-skewed", "still", "a log-normal demand", OPEN, still(35.0, 0.5), skewed, EVEN, WIDE, LONG),
    World("still-skewed-rich", "still", "the same, ordered high", DEMAND, still(35.0, 0.6), skewed, RICH, WIDE, LONG),
    World("still-spiky", "still", "one day in ten is a spike", DEMAND, still(25.0), spiky, RICH, X, C1),
    World("still-spiky-open", "still", "the same without bounds, ordered low", OPEN, still(25.0), spiky, LEAN, X, C1),
    World("still-heavy", "still", "a Pareto demand", OPEN, still(20.0), heavy, EVEN, WIDE, LONG),
    World("still-heavy-rich", "still", "a Pareto demand, ordered high", DEMAND, still(20.0), heavy, RICH, WIDE, LONG),
    World("still-hills", "still", "low and high days", DEMAND, still(0.4), two_hills, waiting, X, C1),
    World("still-counts", "still", "a few customers", COUNT, still(6.0), counted, EVEN, (0.0, 30.0), ((0.0, 30.0),)),
    World("still-pair", "still", "two demands that go together", PAIR, still(45.0), pair, both, X, C2),
    World("still-weather", "still", "a weather and its demand", WEATHER, still(0.5, 0.3), weather, EVEN, X, C1),
    World("trend-two", "moving", "rises by two deviations", DEMAND, slope(40.0, 56.0), around(Z), EVEN, X, C1),
    World(
        "trend-skewed",
        "moving",
        "a log-normal median doubles",
        OPEN,
        lambda g: torch.cat([slope(25.0, 50.0)(g), still(0.5)(g)], -1),
        skewed,
        EVEN,
        WIDE,
        LONG,
    ),
    World("jump-one", "moving", "jumps by one deviation", DEMAND, jump((40.0,), (48.0,)), around(Z), EVEN, X, C1),
    World("jump-two", "moving", "falls by two deviations", DEMAND, jump((56.0,), (40.0,)), around(Z), LEAN, X, C1),
    World(
        "jump-skewed",
        "moving",
        "a log-normal median jumps by 80 %",
        DEMAND,
        jump((25.0, 0.5), (45.0, 0.5)),
        skewed,
        RICH,
        WIDE,
        LONG,
    ),
    World(
        "spread-doubles",
        "moving",
        "the deviation doubles",
        DEMAND,
        jump((50.0, 6.0), (50.0, 14.0)),
        spread_told,
        RICH,
        X,
        C1,
    ),
    World("hills-change", "moving", "high days become usual", DEMAND, jump((0.2,), (0.7,)), two_hills, EVEN, X, C1),
    World("walk", "moving", "wanders by 0.2 deviations a round", DEMAND, walk(60.0, 1.6), around(Z), EVEN, X, C1),
    World(
        "weather-turns", "moving", "rain becomes usual", WEATHER, jump((0.7, 0.2), (0.15, 0.25)), weather, EVEN, X, C1
    ),
    World("spiky-trend", "moving", "a base with spikes rises by half", DEMAND, slope(22.0, 33.0), spiky, LEAN, X, C1),
    World("jump-three", "far", "jumps by three deviations", DEMAND, jump((35.0,), (59.0,)), around(Z), EVEN, X, C1),
    World(
        "jump-four-down", "far", "falls by four deviations", DEMAND, jump((72.0,), (40.0,)), around(Z), waiting, X, C1
    ),
    World("jump-five", "far", "jumps by five deviations", OPEN, jump((30.0,), (70.0,)), around(Z), EVEN, X, C1),
    World(
        "jump-back",
        "far",
        "jumps by four deviations and returns 25 rounds later",
        DEMAND,
        jump((35.0,), (67.0,), back=25),
        around(Z),
        EVEN,
        X,
        C1,
    ),
    World(
        "pair-jumps",
        "far",
        "the first of two demands jumps by three deviations",
        PAIR,
        jump((35.0,), (60.0,)),
        pair,
        both,
        X,
        C2,
    ),
    World("trend-five", "far", "rises by five deviations", DEMAND, slope(30.0, 70.0), around(Z), EVEN, X, C1),
    World(
        "tuned-four",
        "far",
        "a setting follows a context that jumps by four deviations",
        DEMAND,
        jump((30.0,), (62.0,)),
        around(Z),
        tuned,
        X,
        C1,
    ),
    World("trend-down", "far", "falls by four deviations", DEMAND, slope(72.0, 40.0), around(Z), RICH, X, C1),
    World(
        "week",
        "season",
        "each day of the week has its demand",
        DEMAND,
        season((30.0, 32.0, 34.0, 38.0, 55.0, 65.0, 50.0)),
        around(6.0),
        EVEN,
        X,
        C1,
    ),
    World(
        "month",
        "season",
        "a wave of 30 rounds, three deviations high",
        DEMAND,
        season(tuple(50.0 + 12.0 * math.sin(2 * math.pi * i / 30) for i in range(30))),
        around(Z),
        EVEN,
        X,
        C1,
    ),
)


def dealt() -> dict[str, str]:
    """Return which half each world is in, by name."""
    halves = {}
    for kind in ("still", "moving", "far", "season"):
        names = sorted(world.name for world in WORLDS if world.kind == kind)
        halves |= {name: ("choosing", "confirming")[place % 2] for place, name in enumerate(names)}
    return halves
