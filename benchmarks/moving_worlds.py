"""Ten small worlds with a fixed truth each: one stands still, the others move, or come with a forecast.

Stock, staff, prices, loaves, a press and a purchase of power: decisions made every day before a demand, a load or a
temperament is known. A world is a state per round, a context that comes from the state and normal numbers, and an outcome that
depends on decision, context and state. So the truth of each round is known, and the best decision of a round, and the regret
beside it, are quadratures over evenly chosen quantiles, exact but for their number.

A state, and all else that happens, depends on the world's name, the seed and the round alone, never on a method. The worlds
were written before anything was run on them. `PRACTICE` are worlds to try things out on; nothing is reported of those.

    python benchmarks/moving_worlds.py      # the worlds in a table, with what standing still costs
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

import windward as ww
from windward.bench.play import world_seed

# States are drawn for that many rounds, so that a shorter run is the beginning of a longer one.
ROUNDS = 100
# Evenly chosen quantiles of one normal number, and of each of two.
QUANTILES = {1: 1024, 2: 40}
# What a forecaster gives for a round.
SAMPLES = 40
# A jump comes in a round drawn from these.
EARLIEST, LATEST = 30, 69

Path = Callable[[torch.Generator], Tensor]


@dataclass(frozen=True)
class World:
    """One world. `states(generator)` is `"rounds s"`; `context(state "s", normals "n k")` is `"n k"`.

    `value(decisions "m d", contexts "n k", state "s")` is `"m n"`. `foreseen(states, generator)` gives the states by which a
    forecaster draws his samples, `"rounds s"`, None where nobody forecasts. `period` is that of a season that a calendar shows.
    """

    name: str
    words: str
    decision: Mapping[str, ww.Real]
    contexts: Mapping[str, ww.Real]
    states: Path
    context: Callable[[Tensor, Tensor], Tensor]
    value: Callable[[Tensor, Tensor, Tensor], Tensor]
    noise: float
    foreseen: Callable[[Tensor, torch.Generator], Tensor] | None = None
    period: int | None = None

    def limits(self) -> tuple[Tensor, Tensor]:
        """Return the least and largest decisions, `"d"` each."""
        pairs = [parameter.own_bounds()[0] for parameter in self.decision.values()]
        low, high = torch.tensor(pairs, dtype=torch.float64).unbind(-1)
        return low, high

    def quadrature(self) -> Tensor:
        """Return normal numbers of equal weight that stand for the distribution of contexts; `"n k"`."""
        k = len(self.contexts)
        count = QUANTILES[k]
        marks = torch.special.ndtri((torch.arange(count, dtype=torch.float64) + 0.5) / count)
        marks = (
            marks / marks.square().mean().sqrt()
        )  # a deviation of one, which the middles of the cells miss by a little
        return torch.cartesian_prod(*[marks] * k).reshape(-1, k)

    def worth(self, decisions: Tensor, state: Tensor) -> Tensor:
        """Return the true expectation of decisions in a state; `"m d"` to `"m"`."""
        return self.value(decisions, self.context(state, self.quadrature()), state).mean(-1)

    def best(self, state: Tensor) -> tuple[Tensor, float]:
        """Return the best decision in a state and its expectation: a grid, then finer ones around its best point."""
        return searched(lambda x: self.worth(x, state), *self.limits())


def searched(worth: Callable[[Tensor], Tensor], low: Tensor, high: Tensor) -> tuple[Tensor, float]:
    """Return the maximizer of a function on a box, and its value: a grid that closes in on its best point eight times."""
    count = {1: 129, 2: 25}[len(low)]
    start, end = low, high
    for _ in range(9):
        axes = [torch.linspace(float(a), float(b), count, dtype=torch.float64) for a, b in zip(start, end, strict=True)]
        points = torch.cartesian_prod(*axes).reshape(-1, len(low))
        values = worth(points)
        best = points[int(values.argmax())]
        reach = 3.0 * (end - start) / (count - 1)
        start, end = torch.maximum(best - reach, low), torch.minimum(best + reach, high)
    return best, float(values.max())


@dataclass(frozen=True, eq=False)
class Course:
    """A world at a seed: what happens in each round, the same for every method."""

    world: World
    seed: int
    states: Tensor  # "rounds s"
    contexts: Tensor  # "rounds k"
    noise: Tensor  # "rounds"
    forecasts: Tensor | None  # "rounds samples k"

    @staticmethod
    def of(world: World, seed: int) -> Course:
        def stream(purpose: str) -> torch.Generator:
            return torch.Generator().manual_seed(world_seed("moving", world.name, seed, purpose))

        def normals(purpose: str, *shape: int) -> Tensor:
            return torch.randn(*shape, generator=stream(purpose), dtype=torch.float64)

        states, k = world.states(stream("states")), len(world.contexts)
        drawn = normals("contexts", ROUNDS, k)
        contexts = torch.stack([world.context(state, z[None])[0] for state, z in zip(states, drawn, strict=True)])
        forecasts = None
        if world.foreseen is not None:
            told = world.foreseen(states, stream("forecasts"))
            dealt = normals("samples", ROUNDS, SAMPLES, k)
            forecasts = torch.stack([world.context(state, z) for state, z in zip(told, dealt, strict=True)])
        return Course(world, seed, states, contexts, world.noise * normals("noise", ROUNDS), forecasts)

    def outcome(self, turn: int, decision: Tensor) -> float:
        """Return what a decision `"d"` brings in a round, without its noise."""
        return float(self.world.value(decision[None], self.contexts[turn][None], self.states[turn])[0, 0])

    def worth(self, turn: int, decision: Tensor) -> float:
        """Return the true expectation of a decision `"d"` in a round."""
        return float(self.world.worth(decision[None], self.states[turn])[0])

    def bests(self, rounds: int = ROUNDS) -> list[float]:
        """Return the expectation of the best decision of each round: what an oracle has that knows the truth of the round."""
        kept: dict[tuple[float, ...], float] = {}
        for state in self.states[:rounds]:
            key = tuple(state.tolist())
            if key not in kept:
                kept[key] = self.world.best(state)[1]
        return [kept[tuple(state.tolist())] for state in self.states[:rounds]]

    def constant(self, rounds: int = ROUNDS) -> Tensor:
        """Return the one decision that is best over all rounds, `"d"`: what standing still brings at best."""
        states, counts = torch.unique(self.states[:rounds], dim=0, return_counts=True)

        def total(x: Tensor) -> Tensor:
            return sum(int(n) * self.world.worth(x, state) for state, n in zip(states, counts, strict=True))

        return searched(total, *self.world.limits())[0]


# -- how states move ---------------------------------------------------------------------------------------------------


def still(*state: float) -> Path:
    """A state that does not move."""
    return lambda generator: torch.tensor(state, dtype=torch.float64).expand(ROUNDS, -1).clone()


def slope(start: float, end: float) -> Path:
    """One number that moves evenly from the first round to the last."""
    return lambda generator: torch.linspace(start, end, ROUNDS, dtype=torch.float64)[:, None]


def jump(before: tuple[float, ...], after: tuple[float, ...]) -> Path:
    """Numbers that jump once, in a round that is drawn."""

    def states(generator: torch.Generator) -> Tensor:
        at = int(torch.randint(EARLIEST, LATEST + 1, (1,), generator=generator))
        rows = [before] * at + [after] * (ROUNDS - at)
        return torch.tensor(rows, dtype=torch.float64)

    return states


def weekly(levels: tuple[float, ...]) -> Path:
    """One number for each day of the week."""
    rows = torch.tensor(levels, dtype=torch.float64)
    return lambda generator: rows[torch.arange(ROUNDS) % len(levels)][:, None]


def daily(mean: float, spread: float, within: float) -> Path:
    """A level that is drawn anew each round, and the deviation of the context around it."""

    def states(generator: torch.Generator) -> Tensor:
        levels = mean + spread * torch.randn(ROUNDS, generator=generator, dtype=torch.float64)
        return torch.stack([levels, torch.full_like(levels, within)], dim=-1)

    return states


# -- outcomes ----------------------------------------------------------------------------------------------------------


def sales(price: float, cost: float, left: float) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """What an order earns beside a demand: `price` for what is sold, `left` for what is left over, `cost` for each."""

    def value(x: Tensor, c: Tensor, state: Tensor) -> Tensor:
        order, demand = x[:, :1], c[:, 0]
        return price * torch.minimum(order, demand) + left * (order - demand).clamp_min(0.0) - cost * order

    return value


def staffing(x: Tensor, c: Tensor, state: Tensor) -> Tensor:
    """What a shift of `x` people costs beside calls per hour and the share of hard ones: wages, and calls that wait."""
    load = c[:, 0] * (4.0 + 16.0 * c[:, 1]) / 60.0
    waiting = 0.5 * torch.nn.functional.softplus((load - x[:, :1]) / 0.5)
    return -30.0 * x[:, :1] - 150.0 * waiting


def calls(state: Tensor, z: Tensor) -> Tensor:
    """Calls per hour around the level, and the share of hard ones."""
    return torch.stack([(state[0] + 6.0 * z[:, 0]).clamp_min(0.0), torch.sigmoid(0.5 * z[:, 1] - 1.0)], dim=-1)


def pricing(x: Tensor, c: Tensor, state: Tensor) -> Tensor:
    """What a price earns: sixty visitors, most of whom buy below what is accepted that day."""
    return (x[:, :1] - 4.0) * 60.0 * torch.sigmoid((c[:, 0] - x[:, :1]) / 0.8)


def loaves(x: Tensor, c: Tensor, state: Tensor) -> Tensor:
    """What bread and cake earn; half of those who find no cake take bread that is left."""
    bread, cake, hungry, sweet = x[:, :1], x[:, 1:2], c[:, 0], c[:, 1]
    instead = torch.minimum(0.5 * (sweet - cake).clamp_min(0.0), (bread - hungry).clamp_min(0.0))
    return 4.0 * (torch.minimum(bread, hungry) + instead) + 7.0 * torch.minimum(cake, sweet) - 2.0 * bread - 3.0 * cake


def two_demands(state: Tensor, z: Tensor) -> Tensor:
    """Demands of bread and cake, of correlation a half."""
    second = 0.5 * z[:, 0] + math.sqrt(0.75) * z[:, 1]
    return torch.stack([state[0] + 12.0 * z[:, 0], state[1] + 8.0 * second], dim=-1).clamp_min(0.0)


def press(x: Tensor, c: Tensor, state: Tensor) -> Tensor:
    """The quality a press gives at a pressure and a heat; the pressure it needs grows with hardness, and as it wears."""
    apart = (x[:, :1] - state[0] - 0.6 * c[:, 0]) / 2.0
    return 60.0 / (1.0 + apart.square() + ((x[:, 1:2] - 205.0) / 30.0).square())


def power(x: Tensor, c: Tensor, state: Tensor) -> Tensor:
    """What it costs to buy power ahead: missing power is dearer, spare power is sold at a loss."""
    missing, spare = (c[:, 0] - x[:, :1]).clamp_min(0.0), (x[:, :1] - c[:, 0]).clamp_min(0.0)
    return -4.0 * x[:, :1] - 10.0 * missing + 2.0 * spare


def around(spread: float, *, least: float = 0.0) -> Callable[[Tensor, Tensor], Tensor]:
    """A number around the state, at least `least`."""
    return lambda state, z: (state[0] + spread * z).clamp_min(least)


def skewed(state: Tensor, z: Tensor) -> Tensor:
    """A log-normal number: median and deviation of the logarithm are the state."""
    return state[0] * torch.exp(state[1] * z)


def spread_told(state: Tensor, z: Tensor) -> Tensor:
    """A number around the first of the state, with the second as its deviation."""
    return (state[0] + state[1] * z).clamp_min(0.0)


# -- forecasters -------------------------------------------------------------------------------------------------------


def truthful(states: Tensor, generator: torch.Generator) -> Tensor:
    """A forecaster who knows the distribution of the day."""
    return states


def too_high_and_sure(states: Tensor, generator: torch.Generator) -> Tensor:
    """A forecaster who says ten too much, with half the deviation."""
    return torch.stack([states[:, 0] + 10.0, 0.5 * states[:, 1]], dim=-1)


def guessing(states: Tensor, generator: torch.Generator) -> Tensor:
    """A forecaster who knows nothing of the day and sounds as the good one does."""
    return daily(50.0, 12.0, 4.0)(generator)


# -- the worlds --------------------------------------------------------------------------------------------------------

ORDER, DEMAND = {"order": ww.Real(0, 100)}, {"demand": ww.Real(0, 120)}
POWER = {"power": ww.Real(0, 100)}
# The deviation of what the days of `daily(50, 12, 4)` bring, to one who does not know the day.
OVERALL = math.hypot(12.0, 4.0)

WORLDS = (
    World(
        "still",
        "stock; a skewed demand that does not move",
        ORDER,
        DEMAND,
        still(35.0, 0.5),
        skewed,
        sales(9.0, 5.0, 1.0),
        noise=4.0,
    ),
    World(
        "slow-up",
        "staff; calls per hour rise from 30 to 60, five deviations; the share of hard ones stays",
        {"staff": ww.Real(1, 16)},
        {"calls": ww.Real(0, 100), "hard": ww.Real(0, 1)},
        slope(30.0, 60.0),
        calls,
        staffing,
        noise=8.0,
    ),
    World(
        "slow-down",
        "a price; what customers accept falls from 16 to 10, four deviations",
        {"price": ww.Real(4, 24)},
        {"accepted": ww.Real(2, 24)},
        slope(16.0, 10.0),
        around(1.5, least=2.0),
        pricing,
        noise=10.0,
    ),
    World(
        "jump-up",
        "stock; demand jumps from 30 to 54, three deviations, in a round between 30 and 69",
        ORDER,
        DEMAND,
        jump((30.0,), (54.0,)),
        around(8.0),
        sales(9.0, 4.0, 0.0),
        noise=4.0,
    ),
    World(
        "jump-down",
        "bread and cake; both demands fall by two and a half deviations in a round between 30 and 69",
        {"bread": ww.Real(0, 120), "cake": ww.Real(0, 80)},
        {"bread demand": ww.Real(0, 140), "cake demand": ww.Real(0, 100)},
        jump((80.0, 45.0), (50.0, 25.0)),
        two_demands,
        loaves,
        noise=5.0,
    ),
    World(
        "season",
        "stock; each day of the week has its demand, 30 to 65 with a deviation of 6",
        ORDER,
        DEMAND,
        weekly((30.0, 32.0, 34.0, 38.0, 55.0, 65.0, 50.0)),
        around(6.0),
        sales(9.0, 4.0, 0.0),
        noise=4.0,
        period=7,
    ),
    World(
        "wear",
        "a press; hardness does not move, but the pressure that suits moves from 3 to 7, two of its half-widths",
        {"pressure": ww.Real(0, 10), "heat": ww.Real(150, 250)},
        {"hardness": ww.Real(-4, 4)},
        slope(3.0, 7.0),
        lambda state, z: z,
        press,
        noise=1.5,
    ),
    World(
        "forecast-good",
        "power; each day has its level, and a forecaster knows the day's distribution",
        POWER,
        DEMAND,
        daily(50.0, 12.0, 4.0),
        spread_told,
        power,
        noise=8.0,
        foreseen=truthful,
    ),
    World(
        "forecast-biased",
        "power; the forecaster knows the day, says ten too much and gives half the spread",
        POWER,
        DEMAND,
        daily(50.0, 12.0, 4.0),
        spread_told,
        power,
        noise=8.0,
        foreseen=too_high_and_sure,
    ),
    World(
        "forecast-useless",
        "power; no day differs from another, and the forecaster guesses",
        POWER,
        DEMAND,
        still(50.0, OVERALL),
        spread_told,
        power,
        noise=8.0,
        foreseen=guessing,
    ),
)


def hill(x: Tensor, c: Tensor, state: Tensor) -> Tensor:
    """A hill whose top moves with the context and, where there is a second state, with that."""
    return -(x[:, :1] - c[:, 0] - (state[1] if len(state) > 1 else 0.0)).square()


PRACTICE = (
    World(
        "practice-jump",
        "a hill under a context that jumps",
        {"x": ww.Real(0, 1)},
        {"c": ww.Real(0, 1)},
        jump((0.3,), (0.7,)),
        around(0.1),
        hill,
        noise=0.01,
    ),
    World(
        "practice-forecast",
        "a hill under a context that a forecaster knows",
        {"x": ww.Real(0, 1)},
        {"c": ww.Real(0, 1)},
        daily(0.5, 0.15, 0.05),
        spread_told,
        lambda x, c, state: hill(x, c, state[:1]),
        noise=0.01,
        foreseen=truthful,
    ),
    World(
        "practice-drift",
        "a hill that moves under a context that does not",
        {"x": ww.Real(0, 1)},
        {"c": ww.Real(0, 1)},
        lambda generator: torch.cat([still(0.3)(generator), slope(0.0, 0.4)(generator)], dim=-1),
        around(0.1),
        hill,
        noise=0.01,
    ),
)


def named(name: str) -> World:
    """Return the world of a name."""
    found = {world.name: world for world in (*WORLDS, *PRACTICE)}
    if name not in found:
        raise SystemExit(f"no world {name!r}; there are {', '.join(found)}")
    return found[name]


def main() -> None:
    """Print the worlds: what they are, what a round is worth, and what the best decision that never moves loses."""
    print("| world | what | best of a round | a constant loses | the middle loses |\n| --- | --- | --- | --- | --- |")
    for world in WORLDS:
        course = Course.of(world, 0)
        bests = course.bests()
        constant = course.constant()
        low, high = world.limits()
        lost = []
        for decision in (constant, 0.5 * (low + high)):
            lost.append(sum(best - course.worth(turn, decision) for turn, best in enumerate(bests)) / ROUNDS)
        print(f"| {world.name} | {world.words} | {sum(bests) / ROUNDS:.1f} | {lost[0]:.2f} | {lost[1]:.2f} |")


if __name__ == "__main__":
    main()
