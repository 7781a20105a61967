"""How often the promise of `Confidence(0.9)` is broken, with f known: what is unknown is the contexts' distribution alone.

    python benchmarks/confidence.py run FOLDER [--runs 1000] [--seeds 0 1000] [--worlds ...] [--divergences ...] [--seen ...]
    python benchmarks/confidence.py show FOLDER

One run draws n contexts from a world, solves the radius as an ask does, takes the decision with the best robust value at that
radius, and compares this value with the decision's true average. The promise is broken where the true average is lower. It is
about the best average decision; that it holds for the decision that is chosen by the radius has to be seen. The contexts are
those of the default policy for a worst case: a density of 64 points and 64 places elsewhere. Each run is a line of a file, and
what is there is not made again.
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
    options.folder.mkdir(parents=True, exist_ok=True)
    truths = {name: WORLDS[name].draw(MANY, torch.Generator().manual_seed(7)) for name in options.worlds}
    cases = [(name, n) for name in options.worlds for n in options.seen]
    paths = {case: options.folder / f"{case[0]}-{case[1]}-{options.model}.jsonl" for case in cases}
    done = {case: {row["seed"] for row in rows_of(path)} for case, path in paths.items()}
    for seed in range(*options.seeds):
        for case in cases:
            if seed not in done[case]:
                name, n = case
                found = one_run(WORLDS[name], options.divergences, n, options.model, seed, truths[name])
                with paths[case].open("a") as out:
                    out.write(json.dumps(found) + "\n")


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the runs in a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def show(options: argparse.Namespace) -> None:
    """Print the share of broken promises, and what protection cost on average."""
    print("| world | seen | contexts | divergence | runs | broken | cost | no root |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for path in sorted(options.folder.glob("*.jsonl"), key=_order):
        for kind in DIVERGENCES:
            rows = [(row[kind], row["plain"]) for row in rows_of(path) if kind in row]
            if rows:
                world, n, model = path.stem.split("-")
                print(f"| {world} | {n} | {model} | {kind} | {len(rows)} | {_said(rows)} |")


def _said(rows: Sequence[tuple[dict[str, Any], float]]) -> str:
    count = len(rows)
    broken = sum(row["true"] < row["robust"] - 1e-9 for row, _ in rows) / count
    error = math.sqrt(broken * (1 - broken) / count)
    cost = sum(plain - row["true"] for row, plain in rows) / count
    corner = sum(row["how"] == "minimum" for row, _ in rows) / count
    return f"{100 * broken:.1f} % +- {100 * error:.1f} | {cost:.4f} | {100 * corner:.1f} %"


def _order(path: Path) -> tuple[str, int, int]:
    world, n, model = path.stem.split("-")
    return model, list(WORLDS).index(world), int(n)


def main(arguments: list[str]) -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--divergences", nargs="+", choices=DIVERGENCES, default=list(DIVERGENCES))
    parser.add_argument("--seen", nargs="+", type=int, default=[30, 100, 10])
    parser.add_argument("--model", choices=MODELS, default="density")
    parser.add_argument("--seeds", nargs=2, type=int, default=[0, 1000])
    options = parser.parse_args(arguments)
    {"run": run, "show": show}[options.what](options)


if __name__ == "__main__":
    main(sys.argv[1:])
