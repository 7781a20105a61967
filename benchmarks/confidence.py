"""How often the promise of `Confidence(0.9)` is broken, with f known: what is unknown is the contexts' distribution alone.

    python benchmarks/confidence.py run FOLDER [--seeds 0 1000] [--worlds ...] [--divergences ...] [--seen ...]
    python benchmarks/confidence.py keep FOLDER --out benchmarks/results/confidence.json
    python benchmarks/confidence.py show benchmarks/results/confidence.json

One run draws n contexts from a world, solves the radius as an ask does, takes the decision with the best robust value at that
radius, and compares this value with the decision's true average. The promise is broken where the true average is lower. It is
about the best average decision; that it holds for the decision that is chosen by the radius has to be seen. The contexts are
those of the default policy for a worst case: a density of 64 points and 64 places elsewhere. Each run is a line of a file, and
what is there is not made again. `keep` counts the runs of each case; `show` prints the tables of docs/radii.md.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from default import commit, records_in, whole_lines
from torch import Tensor

import windward as ww
from windward.divergences import Ball, Screening
from windward.objectives.confidence import root
from windward.objectives.situation import Situation
from windward.search.region import Region
from windward.surrogate import Believed
from windward.trials.records import Trial
from windward.trials.trials import Trials

LEVEL = 0.9
# What the records depend on, besides the library.
DEPENDS = ("windward", "benchmarks/confidence.py")
# A true average that is below the robust value by no more than this is not below it.
ROUNDING = 1e-9
# Decisions that the robust value is maximized over: a grid, or Sobol points with the candidates of the ask.
GRID, SPREAD = 61, 200
TOGETHER = 4  # of them, solved at once where that takes long
# Contexts that stand for the truth.
MANY = 50_000
MODELS = {"density": ww.KernelDensity(64, 64), "seen": ww.Empirical(64)}


@dataclass(frozen=True)
class World:
    """What decisions bring in each context, and how contexts come; both in natural units."""

    space: ww.Space
    value: Callable[[Tensor, Tensor], Tensor]  # "b d" and "n k" to "b n"
    draw: Callable[[int, torch.Generator], Tensor]  # "n k"


def normal(count: int, generator: torch.Generator) -> Tensor:
    """Return standard normal numbers."""
    return torch.randn(count, generator=generator, dtype=torch.float64)


def uniform(count: int, generator: torch.Generator) -> Tensor:
    """Return even numbers between 0 and 1."""
    return torch.rand(count, generator=generator, dtype=torch.float64)


def shop(x: Tensor, c: Tensor) -> Tensor:
    """Return what an order earns: sold at 2, bought at 1."""
    order = 3.0 * x[:, :1]
    return 2.0 * torch.minimum(order, c[:, 0]) - order


def dose(x: Tensor, c: Tensor) -> Tensor:
    """Return minus the harm of a dose: too much is three times as bad as too little."""
    gap = x[:, :1] - c[:, 0]
    return -torch.where(gap > 0, 3.0, 1.0) * gap.square()


def plan(x: Tensor, c: Tensor) -> Tensor:
    """Return what two settings bring under two conditions that matter together."""
    one, two = x[:, :1], x[:, 1:2]
    return 1.0 - (one - c[:, 0]).square() - (two - c[:, 0] * c[:, 1]).square() - 0.5 * (one - c[:, 1]).abs()


def crash(x: Tensor, c: Tensor) -> Tensor:
    """Return what a speed brings: more with the speed, and a loss of twenty times that in 3 % of all cases."""
    return x[:, :1] * (1.0 - 20.0 * torch.sigmoid((c[:, 0] - 0.97) / 0.003))


def together(count: int, generator: torch.Generator) -> Tensor:
    """Return two conditions that go together."""
    a, b = normal(count, generator), normal(count, generator)
    return torch.stack([0.5 + 0.15 * a, 0.5 + 0.15 * (0.6 * a + 0.8 * b)], 1).clamp(0.0, 1.0)


ONE, TWO = {"x": ww.Real(0, 1)}, {"x": ww.Real(0, 1), "y": ww.Real(0, 1)}
WORLDS = {
    "shop": World(ww.Space(ONE, {"demand": ww.Real(0, None)}), shop, lambda n, g: (0.5 * normal(n, g)).exp()[:, None]),
    "dose": World(ww.Space(ONE, {"need": ww.Real(0, 1)}), dose, lambda n, g: uniform(n, g)[:, None] ** 2),
    "plan": World(ww.Space(TWO, {"a": ww.Real(0, 1), "b": ww.Real(0, 1)}), plan, together),
    "crash": World(ww.Space(ONE, {"ice": ww.Real(0, 1)}), crash, lambda n, g: uniform(n, g)[:, None]),
}
DIVERGENCES = {
    "tv": ww.TotalVariation(),
    "chi2": ww.ChiSquare(),
    "kl": ww.KullbackLeibler(),
    "mmd": ww.MMD(0.3, nugget=1e-6, tolerance=1e-4),
    "wasserstein": ww.Wasserstein(),
}


@dataclass(frozen=True)
class KnownFunction:
    """A posterior that knows f."""

    world: World

    def means(self, x: Tensor, points: Tensor) -> Tensor:
        """Return f at decisions and contexts."""
        return self.world.value(x, points)


def situation_of(world: World, seen: Tensor, model: ww.KernelDensity | ww.Empirical, seed: int) -> Situation:
    """Return the situation of an ask after these contexts."""
    names = list(world.space.context)
    middle = dict.fromkeys(world.space.decision, 0.5)
    rows = [
        Trial(id, middle, context=dict(zip(names, row, strict=True)), context_source="revealed", value=0.0)
        for id, row in enumerate(seen.tolist())
    ]
    trials = Trials(world.space, tuple(rows))
    given, generator = world.space.encode_given({}), torch.Generator().manual_seed(seed)
    contexts = model(world.space, trials, given, generator)
    assert contexts is not None
    judged = model.judged(world.space, trials, given)
    return Situation(contexts, len(rows), trials, Believed(KnownFunction(world)), judged=judged)  # type: ignore[arg-type]


def one_run(world: World, kinds: Sequence[str], n: int, model: str, seed: int, truth: Tensor) -> dict[str, Any]:
    """Return a run by divergence: the radius and how it was found, and the robust value and the true average it leads to."""
    generator = torch.Generator().manual_seed(1_000_003 * seed + n)
    situation = situation_of(world, world.draw(n, generator), MODELS[model], seed)
    contexts, x = situation.contexts, decisions(world)
    assert situation.judged is not None
    best, least = ww.Confidence(LEVEL).bound(situation, situation.judged)
    at_best, values = world.value(best[None], contexts.points)[0], world.value(x, contexts.points)
    plain = x[(values @ contexts.weights).argmax()]
    found: dict[str, Any] = {"seed": seed, "plain": float(world.value(plain[None], truth).mean())}
    for kind in kinds:
        ball = DIVERGENCES[kind].on(contexts)
        radius, how = root(ball, at_best, contexts.weights, least)
        place, robust = best_worst(ball, values, radius)
        true = float(world.value(x[place : place + 1], truth).mean())
        found[kind] = {"radius": radius, "how": how, "robust": robust, "true": true}
    return found


def best_worst(ball: Ball, values: Tensor, radius: float) -> tuple[int, float]:
    """Return which row of `values` `"b n"` has the highest worst average, and that average.

    Where it takes long, rows are solved in the order of a bound that is never below, until no other can be higher.
    """
    if not isinstance(ball, Screening):
        worst = ball(values, radius).value
        return int(worst.argmax()), float(worst.max())
    ceilings = ball.ceiling(values, radius, 1.0, 0.0)
    order = ceilings.argsort(descending=True)
    best, highest = -1, -math.inf
    for some in torch.split(order, TOGETHER):
        if float(ceilings[some[0]]) <= highest:
            break
        worst = ball(values[some], radius).value
        if float(worst.max()) > highest:
            best, highest = int(some[worst.argmax()]), float(worst.max())
    return best, highest


def decisions(world: World) -> Tensor:
    """Return the decisions to choose from; `"b d"`."""
    if len(world.space.decision) == 1:
        return torch.linspace(0.0, 1.0, GRID, dtype=torch.float64)[:, None]
    return Region(world.space).points(SPREAD, torch.Generator().manual_seed(0))


def run(options: argparse.Namespace) -> None:
    """Make the runs that are not there yet; seeds are the outer loop, so that a part of them is a fair sample."""
    torch.set_num_threads(1)
    made_by = commit(DEPENDS)
    truths = {name: WORLDS[name].draw(MANY, torch.Generator().manual_seed(7)) for name in options.worlds}
    cases = [(name, n) for name in options.worlds for n in options.seen]
    paths = {case: options.path / f"{case[0]}-{case[1]}-{options.model}.jsonl" for case in cases}
    for path in paths.values():
        whole_lines(path)
    done = {case: {row["seed"] for row in records_in(path)} for case, path in paths.items()}
    for seed in range(*options.seeds):
        for case in cases:
            if seed not in done[case]:
                name, n = case
                found = one_run(WORLDS[name], options.divergences, n, options.model, seed, truths[name])
                with paths[case].open("a") as out:
                    out.write(json.dumps({"commit": made_by} | found) + "\n")


def keep(options: argparse.Namespace) -> None:
    """Count what became of the runs of each world, number of contexts and divergence, and write it to a file."""
    cells, commits, bests = [], set(), {name: best_of(world) for name, world in WORLDS.items()}
    for path in sorted(options.path.glob("*.jsonl"), key=_order):
        world, n, model = path.stem.split("-")
        rows = records_in(path)
        commits |= {row["commit"] for row in rows}
        for kind in DIVERGENCES:
            mine = [row for row in rows if kind in row]
            if mine:
                cells.append(
                    {"world": world, "seen": int(n), "contexts": model, "divergence": kind} | counted(mine, kind)
                )
    options.out.write_text(
        json.dumps({"level": LEVEL, "commits": sorted(commits), "best": bests, "cells": cells}, indent=1) + "\n"
    )


def counted(rows: Sequence[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return how many promises were broken, what protection cost on average, and how often there was no root."""
    mine = [row[kind] for row in rows]
    return {
        "runs": len(mine),
        "broken": sum(row["true"] < row["robust"] - ROUNDING for row in mine),
        "no_ball": sum(row["radius"] == 0.0 for row in mine),
        "no_root": sum(row["how"] == "minimum" for row in mine),
        "radius": round(sum(row["radius"] for row in mine) / len(mine), 4),
        "plain": round(sum(row["plain"] for row in rows) / len(mine), 5),
        "true": round(sum(row["true"] for row in mine) / len(mine), 5),
        "robust": round(sum(row["robust"] for row in mine) / len(mine), 5),
    }


def show(options: argparse.Namespace) -> None:
    """Print the share of broken promises, and what is given up on average; a row for a world and a number of contexts."""
    kept = json.loads(options.path.read_text())
    cells = [cell | {"best": kept["best"][cell["world"]]} for cell in kept["cells"]]
    kinds = [kind for kind in DIVERGENCES if any(cell["divergence"] == kind for cell in cells)]
    runs = ", ".join(sorted({str(cell["runs"]) for cell in cells}))
    print(f"Runs of each: {runs}; commits: {', '.join(kept['commits'])}.")
    for title, said in (("broken promises", broken), ("given up on average", given_up)):
        print(f"\n{title}\n\n| world | contexts seen | {' | '.join(kinds)} |\n" + "| --- " * (2 + len(kinds)) + "|")
        for world, n in dict.fromkeys((cell["world"], cell["seen"]) for cell in cells):
            found = {cell["divergence"]: cell for cell in cells if (cell["world"], cell["seen"]) == (world, n)}
            print(f"| {world} | {n} | {' | '.join(said(found[kind]) for kind in kinds)} |")


def broken(cell: dict[str, Any]) -> str:
    """Return the share of broken promises."""
    return f"{100 * cell['broken'] / cell['runs']:.1f} %"


def given_up(cell: dict[str, Any]) -> str:
    """Return what the guarded decision brings less than the plain one, as a share of the best true average."""
    return f"{round(100 * (cell['plain'] - cell['true']) / abs(cell['best']), 1) + 0.0:.1f} %"  # not minus zero


def best_of(world: World) -> float:
    """Return the best true average of the decisions that runs choose from."""
    truth = world.draw(MANY, torch.Generator().manual_seed(7))
    return max(float(world.value(some, truth).mean(-1).max()) for some in torch.split(decisions(world), 16))


def _order(path: Path) -> tuple[str, int, int]:
    world, n, model = path.stem.split("-")
    return model, list(WORLDS).index(world), int(n)


def main(arguments: list[str]) -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "keep", "show"])
    parser.add_argument("path", type=Path, help="the folder of the runs; of show, the file that keep wrote")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/confidence.json"))
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--divergences", nargs="+", choices=DIVERGENCES, default=list(DIVERGENCES))
    parser.add_argument("--seen", nargs="+", type=int, default=[30, 100, 10])
    parser.add_argument("--model", choices=MODELS, default="density")
    parser.add_argument("--seeds", nargs=2, type=int, default=[0, 1000])
    options = parser.parse_args(arguments)
    {"run": run, "keep": keep, "show": show}[options.what](options)


if __name__ == "__main__":
    main(sys.argv[1:])
