"""The worlds that move: their truths against plain sums, and what they share between methods."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.append(str(FOLDER))
worlds = importlib.import_module("moving_worlds")
EVERY = pytest.mark.parametrize("world", [*worlds.WORLDS, *worlds.PRACTICE], ids=lambda world: world.name)


def decisions(world, count, seed=0):
    low, high = world.limits()
    unit = torch.rand(count, len(low), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return low + unit * (high - low)


@EVERY
def test_an_expectation_is_the_average_of_what_comes(world):
    course, x = worlds.Course.of(world, 3), decisions(world, 6)
    normals = torch.randn(200_000, len(world.contexts), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for turn in (0, 29, 99):
        state = course.states[turn]
        drawn = world.value(x, world.context(state, normals), state)
        error = drawn.std(-1) / len(normals) ** 0.5
        scale = float(course.world.best(state)[1] - drawn.mean(-1).mean())
        assert bool(((world.worth(x, state) - drawn.mean(-1)).abs() < 5.0 * error + 0.004 * scale).all())


@EVERY
def test_nothing_is_better_than_the_best(world):
    course, x = worlds.Course.of(world, 1), decisions(world, 4000)
    for turn in (0, 50, 99):
        best, value = world.best(course.states[turn])
        assert value == pytest.approx(course.worth(turn, best))
        others = world.worth(x, course.states[turn])
        assert float(others.max()) <= value + 1e-9 * abs(value) and float(others.max()) > float(others.mean())
        low, high = world.limits()
        assert bool((best > low).all()) and bool((best < high).all())


@EVERY
def test_a_course_depends_on_world_and_seed_alone(world):
    one, again, other = (worlds.Course.of(world, seed) for seed in (5, 5, 6))
    assert torch.equal(one.states, again.states) and torch.equal(one.contexts, again.contexts)
    assert torch.equal(one.noise, again.noise) and not torch.equal(one.contexts, other.contexts)
    assert (one.forecasts is None) == (world.foreseen is None)
    lows, highs = zip(*(parameter.own_bounds()[0] for parameter in world.contexts.values()), strict=True)
    inside = (one.contexts >= torch.tensor(lows)) & (one.contexts <= torch.tensor(highs))
    assert float(inside.double().mean()) > 0.98


def test_what_moves_moves_and_what_stands_still_does_not():
    moved = {}
    for world in worlds.WORLDS:
        states = worlds.Course.of(world, 2).states
        moved[world.name] = len(torch.unique(states, dim=0))
    assert moved["still"] == moved["forecast-useless"] == 1
    assert moved["jump-up"] == moved["jump-down"] == 2 and moved["season"] == 7
    assert moved["slow-up"] == moved["slow-down"] == moved["wear"] == moved["forecast-good"] == 100


def test_forecasters_are_what_they_are_called():
    def gap(name):
        course = worlds.Course.of(worlds.named(name), 4)
        return course.forecasts[..., 0].mean(-1) - course.contexts[:, 0], course.forecasts[..., 0].std(-1).mean()

    (good, wide), (biased, narrow), (useless, sure) = (
        gap(f"forecast-{kind}") for kind in ("good", "biased", "useless")
    )
    assert abs(float(good.mean())) < 1.5 and float(good.std()) < 5.0 and float(wide) == pytest.approx(4.0, rel=0.1)
    assert float(biased.mean()) == pytest.approx(10.0, abs=1.5) and float(narrow) == pytest.approx(2.0, rel=0.1)
    assert float(useless.std()) > 14.0 and float(sure) == pytest.approx(4.0, rel=0.1)


def test_the_best_constant_is_that():
    course = worlds.Course.of(worlds.named("season"), 0)

    def total(x):
        return sum(course.worth(turn, torch.tensor([x], dtype=torch.float64)) for turn in range(14))

    best = float(course.constant(14)[0])
    assert all(total(best) >= total(float(x)) - 1e-9 for x in torch.linspace(20.0, 80.0, 40))
    assert sum(course.bests(14)) > total(best)
