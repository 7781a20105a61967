"""The worlds that move: their truths against plain sums, the program that plays them, and its report of made-up records."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.append(str(FOLDER))
worlds = importlib.import_module("moving_worlds")
tables = importlib.import_module("moving_report")
listed = importlib.import_module("moving_methods")
bench = importlib.import_module("moving")
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


def run(path, *words):
    arguments = bench.parser().parse_args(["run", "--out", str(path), *words])
    arguments.function(arguments)
    return bench.records_in(path)


def test_a_run_goes_on_where_it_stopped(tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    small = ("--worlds", "practice-jump", "--rounds", "6", "--methods", "default", "oracle")
    first = run(path, *small, "--seeds", "0", "1")
    assert [record["method"] for record in first] == ["default", "oracle"]
    path.write_text(path.read_text() + '{"cut off')
    both = run(path, *small, "--seeds", "0", "2")
    assert both[:2] == first and [record["seed"] for record in both] == [0, 0, 1, 1]
    assert run(path, *small, "--seeds", "0", "2") == both
    played, oracle = both[2:]
    assert max(map(abs, oracle["regret"])) < 1e-9 and min(played["regret"]) >= -1e-9
    course = worlds.Course.of(worlds.named("practice-jump"), 1)
    second = torch.tensor(played["decisions"][1], dtype=torch.float64)
    # The hill's expectation by hand: less the squared distance from the mean, and the variance.
    lost = (float(second[0]) - 0.3) ** 2
    assert played["regret"][1] == pytest.approx(lost, rel=0.01, abs=1e-5) and course.states[1].tolist() == [0.3]
    with pytest.raises(SystemExit, match="no method nobody"):
        run(path, "--methods", "nobody")
    capsys.readouterr()


def test_methods_see_what_they_are_given_and_only_where_it_makes_sense(tmp_path, capsys):
    words = (
        "--rounds",
        "3",
        "--seeds",
        "0",
        "1",
        "--methods",
        "time given",
        "forecast as a given point",
        "weekday given",
    )
    found = run(tmp_path / "runs.jsonl", *words, "--worlds", "forecast-good", "season")
    names = [(record["world"], record["method"]) for record in found]
    assert names == [
        ("forecast-good", "time given"),
        ("forecast-good", "forecast as a given point"),
        ("season", "time given"),
        ("season", "weekday given"),
    ]
    course = worlds.Course.of(worlds.named("forecast-good"), 0)
    point = listed.METHODS["forecast as a given point"].given(course, 2)
    assert point == {"demand expected": pytest.approx(float(course.forecasts[2].mean()))}
    capsys.readouterr()


def test_published_methods_see_contexts_from_0_to_1():
    course = worlds.Course.of(worlds.named("slow-up"), 0)
    method = listed.METHODS["wdrbo"]
    bounds = {name: (p.low, p.high) for name, p in method.contexts(course.world).items()}
    assert bounds == {"calls": (0.0, 1.0), "hard": (0.0, 1.0)}
    calls, hard = course.contexts[5].tolist()
    assert method.seen(course, 5) == {"calls": pytest.approx(calls / 100), "hard": pytest.approx(hard)}
    assert listed.METHODS["default"].seen(course, 5) == {"calls": calls, "hard": hard}
    assert set(listed.MAIN) <= set(listed.METHODS)


def test_a_calendar_knows_the_day_of_a_round(tmp_path, capsys):
    words = ("--rounds", "8", "--seeds", "0", "1", "--worlds", "season", "--methods")
    by_calendar, plain = run(tmp_path / "runs.jsonl", *words, "calendar", "default")
    assert by_calendar["decisions"][:4] == plain["decisions"][:4]  # the design
    assert by_calendar["decisions"][4:] != plain["decisions"][4:]
    assert bench.START.weekday() == 0 and run(tmp_path / "learnt.jsonl", *words, "learnt half-life")
    capsys.readouterr()


def test_no_run_begins_after_so_many_seconds(tmp_path, capsys):
    words = ("--worlds", "practice-jump", "--rounds", "6", "--methods", "oracle", "--seeds", "0", "3")
    assert run(tmp_path / "none.jsonl", *words, "--seconds", "0") == []
    assert "0 of 3 runs done, 3 left" in capsys.readouterr().out
    units = [bench.Unit(seed, "practice-jump", "oracle", 6, "abc") for seed in range(3)]
    assert [record["seed"] for record in bench.results(units, 1, 60.0)] == [0, 1, 2]


def made_up(world, method, seed, level):
    regret = [level] * 5 + [2.0 * level] * 5
    return {
        "world": world,
        "method": method,
        "seed": seed,
        "rounds": 10,
        "commit": "abc",
        "regret": regret,
        "ask_seconds": [0.1] * 10,
    }


def test_the_report_of_made_up_records():
    records = [
        made_up(world, method, seed, level * (1 + seed))
        for world, ratio in (("still", 2.0), ("season", 0.5))
        for seed in range(3)
        for method, level in (("default", 1.0), ("mine", ratio))
    ]
    text = tables.page(records, ["still", "season"], ["default", "mine"], "default")
    assert "| default | 30 [15, 45] | 1 | 1 |  | 3 |" in text
    assert "| mine | 60 [30, 90] | 2.00 [2.00, 2.00] | 2.00 [2.00, 2.00] |  | 3 |" in text
    assert "| mine | 1.00 [1.00, 1.00] | 0.50 [0.50, 0.50] | 2.00 [2.00, 2.00] | 2 |" in text
    refused = records[0] | {"method": "other", "refused": "too much"}
    del refused["regret"]
    assert "other refuses still: too much" in tables.page([*records, refused], ["still"], ["default"], "default")
    assert "Records of 3, 10 rounds" in tables.page([*records, records[0] | {"rounds": 3}], ["still"], [], "default")


def test_the_table_of_the_whole_loop_of_made_up_records():
    records = [
        made_up(world, method, seed, level * (1 + seed))
        for world, told in (("still", "time given"), ("season", "calendar"), ("forecast-good", "forecast"))
        for seed in range(2)
        for method, level in (("default", 1.0), ("learnt half-life", 0.5), (told, 0.25), ("oracle", 0.0))
    ]
    text = tables.whole_loop(records, ["still", "season", "forecast-good"])
    assert text.startswith("Rounds: 10; seeds: 2; commits: abc. The oracle's largest regret of a round: 0; the least")
    assert "| world | the default loses | learnt half-life | calendar or forecast | time given |" in text
    assert "| still | 22.5 [15, 30] | 0.50 [0.50, 0.50] |  | 0.25 [0.25, 0.25] |" in text
    assert "| forecast-good | 22.5 [15, 30] | 0.50 [0.50, 0.50] | 0.25 [0.25, 0.25] |  |" in text
    assert "| geometric mean | | 0.50 [0.50, 0.50] | 0.25 [0.25, 0.25] | 0.25 [0.25, 0.25] |" in text


def test_what_is_kept_reports_the_same(tmp_path, capsys):
    records = [
        made_up(world, name, seed, 1.0 + seed)
        for world in ("still",)
        for seed in range(3)
        for name in ("default", "oracle")
    ]
    longer = [record | {"regret": record["regret"] * 2, "rounds": 20, "ask_seconds": [0.25] * 20} for record in records]
    path, packed = tmp_path / "runs.jsonl", tmp_path / "runs.jsonl.gz"
    path.write_text("".join(json.dumps(record | {"decisions": [[0.5]] * 20}) + "\n" for record in longer))
    words = ["keep", str(path), "--out", str(packed)]
    arguments = bench.parser().parse_args(words)
    arguments.function(arguments)
    assert all("decisions" not in record and record["ask_median"] == 0.25 for record in bench.read(packed))
    texts = []
    for file in (path, packed):
        arguments = bench.parser().parse_args(["report", str(file)])
        arguments.function(arguments)
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] and "0.250" in texts[0]
