"""Forgetting where the outcome is known: what is lost by a learnt half-life, by none, and by the best fixed one.

    python benchmarks/moving_known.py run --out FILE.jsonl --half choosing --seeds 0 100 [--device cuda]
    python benchmarks/moving_known.py report FILE.jsonl
    python benchmarks/moving_known.py tried FILE.jsonl

Each round the distribution of the coming context is estimated from those before, by the density of `KernelDensity` with each
half-life, and the decision is the best one for it: the outcome is known, so nothing else is unknown. A round's regret is what
the best decision of the round's true distribution brings more. It is averaged over the rounds 10 to 99. `best` is the fixed
half-life that is best in that world, chosen in hindsight. The densities are tabulated: probabilities of narrow bins instead of
even points. `report` shows the library's own way to learn (`memory.learnt_shares`), `tried` other ways.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from moving_known_worlds import ROUNDS, WORLDS, World, dealt
from torch import Tensor

import windward as ww
from windward.bench.play import world_seed
from windward.contexts import memory
from windward.contexts.weighted import product

FIRST = 10
DECISIONS = 121
BINS = {1: 160, 2: 40}
# Fixed half-lives, and windows: the last so many contexts, all alike.
LIVES = (math.inf, 200.0, 100.0, 50.0, 30.0, 20.0, 14.0, 10.0, 7.0, 5.0, 3.0)
WINDOWS = (45.0, 30.0, 20.0, 13.0, 9.0, 6.0, 4.0)
PROFILES = tuple(f"half-life {h:g}" for h in LIVES) + tuple(f"window {w:g}" for w in WINDOWS)


def profile(place: int, age: Tensor) -> Tensor:
    """Return the weights of contexts by their age `"r t"`, negative where they have not come yet."""
    if place < len(LIVES):
        weights = torch.exp2(-age.clamp_min(0.0) / LIVES[place])
    else:
        weights = (age < WINDOWS[place - len(LIVES)]).to(age)
    weights = torch.where(age >= 0, weights, torch.zeros_like(age))
    return weights / weights.sum(-1, keepdim=True)


@dataclass(frozen=True)
class Rule:
    """How half-lives are learnt: from which, how probable none is, what flows back, the scores' power and broad part."""

    of: tuple[str, ...]
    none: float = 0.7
    back: float = 0.01
    power: float = 1.0
    broad: float = 0.05

    def shares(self, scores: dict[float, Tensor]) -> Tensor:
        """Return the probabilities of all profiles before each round that counts; `"r h"`."""
        columns = [PROFILES.index(name) for name in self.of]
        prior = torch.full((len(columns),), (1.0 - self.none) / (len(columns) - 1), dtype=torch.float64, device="cpu")
        prior[0] = self.none
        rows = [prior]
        for each in self.power * scores[self.broad][:, columns]:
            after = torch.softmax(rows[-1].log() + each, dim=0)
            rows.append((1.0 - self.back) * after + self.back * prior)
        found = torch.zeros(len(rows), len(PROFILES), dtype=torch.float64, device="cpu")
        found[:, columns] = torch.stack(rows)
        return found[FIRST - memory.FIRST : -1]


def lives(*some: float) -> tuple[str, ...]:
    return tuple(f"half-life {h:g}" for h in (math.inf, *some))


FIVE, SIX, TEN = lives(50, 20, 10, 5), lives(50, 20, 10, 5, 3), lives(100, 50, 30, 20, 14, 10, 7, 5, 3)
LAST = tuple(f"window {w:g}" for w in WINDOWS)
TRIED = {
    "METHODS": Rule(FIVE),
    "with 3": Rule(SIX),
    "ten": Rule(TEN),
    "windows": Rule((FIVE[0], *LAST)),
    "six and windows": Rule((*SIX, *LAST[::2])),
    **{f"five, none {p}": Rule(FIVE, none=p) for p in (0.5, 0.8, 0.9)},
    **{f"six, none {p}": Rule(SIX, none=p) for p in (0.5, 0.8, 0.9)},
    **{f"five, back {b}": Rule(FIVE, back=b) for b in (0.001, 0.003, 0.03)},
    **{f"six, back {b}": Rule(SIX, back=b) for b in (0.003, 0.03)},
    **{f"five, power {p}": Rule(FIVE, power=p) for p in (0.7, 1.5, 2.0)},
    **{f"six, power {p}": Rule(SIX, power=p) for p in (1.5, 2.0, 3.0)},
    **{f"six, none {n}, power {p}": Rule(SIX, none=n, power=p) for n in (0.8, 0.9, 0.95) for p in (1.5, 2.0, 3.0)},
    **{f"ten, none {n}, power {p}": Rule(TEN, none=n, power=p) for n in (0.8, 0.9) for p in (1.5, 2.0)},
    **{
        f"both, none {n}, power {p}": Rule((*SIX, *LAST[::2]), none=n, power=p)
        for n in (0.8, 0.9)
        for p in (1.0, 1.5, 2.0)
    },
    **{f"six, broad {b}": Rule(SIX, broad=b) for b in (0.02, 0.1)},
    **{f"six, none 0.9, power 2, broad {b}": Rule(SIX, none=0.9, power=2.0, broad=b) for b in (0.02, 0.1)},
}


def space_of(world: World) -> ww.Space:
    return ww.Space({"x": ww.Real(*world.decisions)}, dict(world.contexts))


def supports(world: World) -> list[Tensor]:
    """Return the points of each context that its distribution is tabulated on; `"b width"` each."""
    numeric = sum(not p.choices for p in world.contexts.values())
    found, reaches = [], iter(world.reach)
    for parameter in world.contexts.values():
        if parameter.choices:
            found.append(torch.eye(parameter.width, dtype=torch.float64))
            continue
        low, high = next(reaches)
        step = (high - low) / BINS[numeric]
        found.append(low + step * (torch.arange(BINS[numeric], dtype=torch.float64) + 0.5)[:, None])
    return found


def tabulated(world: World, seen: Tensor, weights: Tensor, widths: Tensor) -> Tensor:
    """Return the probability of each point of the product of `supports`, for rows of weights `"r t"`; `"r n"`."""
    space, joint = space_of(world), weights[:, :, None]
    for (name, parameter), points in zip(world.contexts.items(), supports(world), strict=True):
        column = seen[:, space.context_columns[name]]
        if parameter.choices:
            each = column.expand(len(weights), -1, -1)
        else:
            edges = 0.5 * (points[1:, 0] + points[:-1, 0])
            width = widths[:, space.context_columns[name]][:, :, None].clamp_min(1e-9)
            below = torch.special.ndtr((edges - column) / width)
            ends = torch.zeros(*below.shape[:2], 1).double(), torch.ones(*below.shape[:2], 1).double()
            each = torch.cat([ends[0], below, ends[1]], -1).diff(dim=-1)
        joint = (joint[:, :, :, None] * each[:, :, None, :]).flatten(2) if joint.shape[2] > 1 else joint * each
    return joint.sum(1)


def normals(count: int) -> Tensor:
    """Return normal numbers of equal weight, `"n count"`."""
    size = {1: 2000, 2: 80}[count]
    marks = torch.special.ndtri((torch.arange(size, dtype=torch.float64) + 0.5) / size)
    return torch.cartesian_prod(*[marks] * count).reshape(-1, count)


def course(world: World, seed: int) -> tuple[Tensor, Tensor]:
    """Return the states and the contexts of a run, the same on every device."""
    generator = torch.Generator().manual_seed(world_seed("moving known", world.name, seed, "course"))
    with torch.device("cpu"):
        states = world.states(generator)
        z = torch.randn(ROUNDS, len(world.contexts), generator=generator, dtype=torch.float64)
        seen = torch.cat([world.context(state, each[None]) for state, each in zip(states, z, strict=True)])
    return states.to(torch.get_default_device()), seen.to(torch.get_default_device())


def played(world: World, seed: int) -> dict[str, Any]:
    """Return the mean regret of each profile, of each rule that was tried, and of the library's own, in one run."""
    states, seen = course(world, seed)
    space, x = space_of(world), torch.linspace(*world.decisions, DECISIONS, dtype=torch.float64)[:, None]
    value = world.value(x, product(supports(world)))
    rounds = torch.arange(FIRST, ROUNDS)
    given = torch.zeros_like(seen, dtype=torch.bool)

    def ages(first: int) -> Tensor:
        return (torch.arange(first, ROUNDS)[:, None] - 1 - torch.arange(ROUNDS)).double()

    believed, densities = [], []
    for place in range(len(PROFILES)):
        weights = profile(place, ages(FIRST))
        widths = memory.spreads(space, seen, weights) * memory._silverman(space, weights)[:, None]
        believed.append(tabulated(world, seen, weights, widths) @ value.mT)
        densities.append(memory._log_density(space, seen, given, profile(place, ages(memory.FIRST)), memory.FIRST))
    broad = memory._log_broad(space, seen, given, profile(0, ages(memory.FIRST)), memory.FIRST) - math.log(memory.BROAD)
    scores = {
        share: torch.logaddexp(math.log1p(-share) + torch.stack(densities, -1), math.log(share) + broad[:, None]).cpu()
        for share in (0.02, 0.05, 0.1)
    }
    unique, places = torch.unique(states, dim=0, return_inverse=True)
    worth = torch.stack([world.value(x, world.context(s, normals(len(world.contexts)))).mean(-1) for s in unique])
    values, worth = torch.stack(believed, 1).cpu(), worth[places][rounds].cpu()
    with torch.device("cpu"):
        found = {name: regret(values, worth, rule.shares(scores)) for name, rule in TRIED.items()}
        every = torch.eye(len(PROFILES), dtype=torch.float64)
        fixed = [regret(values, worth, each.expand(len(rounds), -1)) for each in every]
        mine = memory.learnt_shares(scores[memory.BROAD][:, [LIVES.index(life) for life in memory.LEARNT]])
        own = torch.zeros(len(mine), len(PROFILES), dtype=torch.float64)
        own[:, [LIVES.index(life) for life in memory.LEARNT]] = mine
        learnt = regret(values, worth, own[FIRST - memory.FIRST : -1])
    record = {"world": world.name, "seed": seed, "learnt": learnt, "fixed": dict(zip(PROFILES, fixed, strict=True))}
    return {**record, "tried": found}


def regret(values: Tensor, worth: Tensor, shares: Tensor) -> float:
    """Return the mean regret of the decisions that are best by profiles' `values` `"r h x"` under `shares` `"r h"`."""
    best = (values * shares[:, :, None]).sum(1).argmax(-1, keepdim=True)
    return float((worth.amax(-1) - worth.gather(-1, best)[:, 0]).mean())


def run(arguments: argparse.Namespace) -> None:
    """Play every world of some halves and write a line for each run."""
    torch.set_num_threads(1)
    torch.set_default_device(arguments.device)
    halves, began = dealt(), time.perf_counter()
    with arguments.out.open("a") as out:
        for world in WORLDS:
            if halves[world.name] not in arguments.half or (arguments.worlds and world.name not in arguments.worlds):
                continue
            for seed in range(*arguments.seeds):
                out.write(json.dumps(played(world, seed)) + "\n")
            out.flush()
            print(f"{world.name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Row:
    """One world: the regret of none, of the best fixed half-life, and of a rule, with the standard error beside none."""

    world: World
    none: float
    best: float
    life: str
    mine: float
    error: float
    between: tuple[float, float]  # the share of the gap that is closed, 95 % of what resampled seeds give

    @property
    def beside(self) -> float:
        return self.mine / self.none

    @property
    def closed(self) -> float:
        return closed(self.none, self.best, self.mine)


def closed(none: float, best: float, mine: float) -> float:
    """Return the share of the gap between none and the best that is closed; NaN where none is the best."""
    return (none - mine) / (none - best) if none > best else math.nan


def resampled(runs: list[dict[str, Any]], mine: list[float], draws: int = 400) -> tuple[float, float]:
    """Return 95 % of the shares of the gap closed in runs drawn again; the best half-life is chosen anew in each."""
    fixed = torch.tensor([[run["fixed"][name] for name in PROFILES[: len(LIVES)]] for run in runs], device="cpu")
    picks = torch.randint(len(runs), (draws, len(runs)), generator=torch.Generator().manual_seed(0))
    means, own = fixed[picks].mean(1), torch.tensor(mine, device="cpu")[picks].mean(1)
    rows = zip(means[:, 0].tolist(), means.amin(1).tolist(), own.tolist(), strict=True)
    found = sorted(each for each in (closed(*row) for row in rows) if not math.isnan(each))
    edge = len(found) // 40
    return (found[edge], found[-1 - edge]) if found else (math.nan, math.nan)


def rows_of(records: list[dict[str, Any]], rule: str | None = None) -> list[Row]:
    """Return a row for each world, of the library's own rule or another one."""
    rows = []
    for world in WORLDS:
        runs = [record for record in records if record["world"] == world.name]
        if not runs:
            continue
        fixed = {name: statistics.fmean(run["fixed"][name] for run in runs) for name in PROFILES[: len(LIVES)]}
        life = min(fixed, key=lambda name: fixed[name])
        mine = [run["learnt"] if rule is None else run["tried"][rule] for run in runs]
        apart = [each - run["fixed"][PROFILES[0]] for each, run in zip(mine, runs, strict=True)]
        error = statistics.stdev(apart) / math.sqrt(len(runs)) if len(runs) > 1 else math.nan
        between = resampled(runs, mine)
        rows.append(Row(world, fixed[PROFILES[0]], fixed[life], life, statistics.fmean(mine), error, between))
    return rows


def report(records: list[dict[str, Any]]) -> str:
    """Return a line for each world."""
    halves = dealt()
    lines = ["| world | kind | half | none | best fixed | half-life | learnt | beside none | gap closed |"]
    lines.append("|" + " --- |" * 9)
    for row in rows_of(records):
        low, high = row.between
        gap = f"{100 * row.closed:.0f} % [{100 * low:.0f}, {100 * high:.0f}]" if row.best < row.none else ""
        lines.append(
            f"| {row.world.name} | {row.world.kind} | {halves[row.world.name]} | {row.none:.3f} | {row.best:.3f} | "
            f"{row.life.removeprefix('half-life ')} | {row.mine:.3f} | {row.beside:.3f} +- {row.error / row.none:.3f} | {gap} |"
        )
    return "\n".join(lines)


def tried(records: list[dict[str, Any]]) -> str:
    """Return a line for each rule: beside none where worlds stand still, the share of the gap closed elsewhere."""
    lines = []
    for rule in (None, *TRIED):
        rows = rows_of(records, rule)
        said = []
        for kind in ("still", "moving", "far", "season"):
            each = [row.beside if kind == "still" else row.closed for row in rows if row.world.kind == kind]
            if each:
                said.append(f"{kind} {statistics.fmean(each):.3f} [{' '.join(f'{one:.2f}' for one in each)}]")
        lines.append(f"{rule or 'own':30s} " + "  ".join(said))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--half", nargs="+", default=["choosing"])
    one.add_argument("--worlds", nargs="+", default=[])
    one.add_argument("--seeds", nargs=2, type=int, default=(0, 100))
    one.add_argument("--device", default="cpu")
    for name in ("report", "tried"):
        commands.add_parser(name).add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments)
        return
    records = [json.loads(line) for path in arguments.files for line in path.read_text().splitlines()]
    print((report if arguments.command == "report" else tried)(records))


if __name__ == "__main__":
    main()
