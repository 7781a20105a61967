"""Problems over finite sets and samples, substitutes that are simulated, the registry and the wrappers."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from test_problems import DATA, EXPECTED, row, stored

import windward as ww
from windward.bench.play import values_of
from windward.bench.problem import Problem
from windward.bench.problems import (
    Delayed,
    Fixed,
    Lossy,
    Noisy,
    Poisson,
    Shifted,
    entry,
    problem,
    problems,
    register,
    simulated,
)

TV, MMD = ww.TotalVariation(), ww.MMD(0.1, nugget=1e-6)

# -- Tay2024 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "file", "radii"),
    [
        ("hartmann-2-1", None, (0.157617, 0.072243)),
        ("plant", "plant.npz", (0.157617, 0.072243)),
        ("gp-2-2", None, (0.269328, 0.058586)),
        ("infection", "infection.npz", (0.396336, 0.061142)),
    ],
)
def test_radii(name, file, radii):
    task = stored(name, file) if file else problem(name)
    for divergence, radius in zip((TV, MMD), radii, strict=True):
        assert float(divergence.distance(task.truth.weights, task.reference)) == pytest.approx(radius, abs=5.1e-7)
    assert len(task.truth) == 64 and task.noise == 0.01


@pytest.mark.parametrize(
    ("name", "file", "divergence", "optima"),
    [
        ("hartmann-2-1", None, TV, (1.398094, -0.116540, 0.128177)),
        ("hartmann-2-1", None, MMD, (1.415563, -0.244390, -0.083129)),
        ("plant", "plant.npz", TV, (0.190072, -0.596059, -0.515930)),
    ],
)
def test_published_optima_over_the_grid(name, file, divergence, optima):
    task = stored(name, file) if file else problem(name)
    radius = float(divergence.distance(task.truth.weights, task.reference))
    objectives = (ww.Robust(divergence, radius), ww.Sensitivity(divergence), ww.Tradeoff(divergence, radius, 1.0, 1.0))
    for objective, want in zip(objectives, optima, strict=True):
        assert task.optimum(objective, task.reference).value == pytest.approx(want, abs=6e-7)


def test_plant_and_infection_at_check_values():
    plant = stored("plant", "plant.npz")
    assert float(plant.value(row(0.0), row(0.0))) == pytest.approx(0.823265, abs=5e-7)
    assert float(plant.value(row(0.5), row(0.5))) == pytest.approx(-0.521014, abs=5e-7)
    infection = stored("infection", "infection.npz")
    assert float(infection.value(row(0.0, 0.0), row(0.0, 0.0, 0.0))) == pytest.approx(14.221806, abs=5e-7)
    assert len(infection.decisions) == 528 and float(infection.decisions.sum(-1).max()) <= 1.0 + 1e-9
    with pytest.raises(ww.SpaceError, match="must be <= 1"):
        infection.space.check_decision("study.ask", {"x1": 0.8, "x2": 0.5})
    # One at a time and as a table of decisions by contexts: two ways through the kernel.
    table = infection.value(infection.decisions[:5, None, :], infection.truth.points[:3])
    single = infection.value(infection.decisions[4], infection.truth.points[2])
    assert float(table[4, 2]) == pytest.approx(float(single), abs=1e-8)


def test_gp_draws_have_their_covariance():
    """200 draws: variance one, correlation exp(-d^2 / 0.02) one grid step apart in each of the four inputs."""
    tables = torch.stack([problem("gp-2-2", seed).value(*corner_pairs()) for seed in range(200)])
    covariance = (tables.T @ tables) / len(tables)
    want = [1.0] + [math.exp(-((step / 0.1) ** 2) / 2) for step in (1 / 31, 1 / 31, 1 / 7, 1 / 7)]
    assert covariance[0].tolist() == pytest.approx(want, abs=5 * math.sqrt(2 / 200))
    assert torch.equal(problem("gp-2-2", 3).value(*corner_pairs()), problem("gp-2-2", 3).value(*corner_pairs()))
    with pytest.raises(ww.ArgumentError, match="known on a grid of 32 points"):
        problem("gp-2-2").value(row(0.5, 0.5), row(0.0, 0.0))


def corner_pairs():
    x, c = torch.zeros(5, 2, dtype=torch.float64), torch.zeros(5, 2, dtype=torch.float64)
    x[1, 0], x[2, 1], c[3, 0], c[4, 1] = 1 / 31, 1 / 31, 1 / 7, 1 / 7
    return x, c


# -- Verma2022's draw and Nguyen2020's samples ---------------------------------------------------------------------------


def test_one_dimensional_draw():
    task = problem("gp-1", 4)
    values = task.value(task.decisions, torch.zeros(0))
    assert values.shape == (1000,) and float(values.min()) == 0.0 and float(values.max()) == 1.0
    assert task.optimum(EXPECTED).value == 1.0 and task.delay == Poisson(10.0)
    # Length-scale 0.02: neighbours differ by about 0.05 of a deviation, points 0.2 apart have nothing in common.
    steps = values.diff().square().mean() / values.var()
    assert float(steps) == pytest.approx((0.001001 / 0.02) ** 2, rel=0.5)
    assert not torch.equal(values, problem("gp-1", 5).value(task.decisions, torch.zeros(0)))


def test_logistic_by_hand():
    task = problem("logistic", 2)
    assert len(task.truth) == 10 and task.reference is task.truth
    w = task.truth.points
    assert float(task.value(row(1.0, 2.0), w[0])) == pytest.approx(-math.log1p(math.exp(w[0, 0] + 2 * w[0, 1])))
    assert not torch.equal(w, problem("logistic", 3).truth.points)
    # A ball that holds every distribution: some w.x is >= 0 for any x (ten samples surround the origin), so x = 0 is best.
    best = task.optimum(ww.Robust(ww.ChiSquare(), 4.5))
    assert best.value == pytest.approx(-math.log(2.0), abs=1e-9) and best.decision.tolist() == pytest.approx(
        [0, 0], abs=1e-8
    )


@pytest.mark.parametrize("name", ["logistic", "beale", "eggholder", "levy"])
def test_robust_optimum_against_a_grid(name):
    task, objective = problem(name, 1), ww.Robust(ww.ChiSquare(), 1.0)
    axes = [torch.linspace(p.low, p.high, 201, dtype=torch.float64) for p in task.space.decision.values()]
    coarse = float(task.worth(objective, torch.cartesian_prod(*axes)).max())
    best = task.optimum(objective).value
    assert best >= coarse - 1e-12 and best - coarse < 0.05 * abs(coarse)


def test_one_context_moves_every_input():
    task = problem("hartmann-6", 0)
    top = row(0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)
    assert float(task.value(top - 0.1, row(0.1))) == pytest.approx(3.32237, abs=1e-5)
    assert float(problem("beale").value(row(2.0, -0.5), row(1.0))) == 0.0


# -- substitutes ---------------------------------------------------------------------------------------------------------


def test_epidemic_by_another_program():
    """One decision in one context, day by day in plain numbers."""
    outbreaks = simulated.Outbreaks(torch.randn(2, 40, 2, 3, generator=torch.Generator().manual_seed(1)).double())
    x, c = (0.3, 0.2), (0.5, 1.0, 0.8)
    people, meet = np.array([2000.0, 1000, 500]), np.array([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1], [0.3, 0.2, 0.5]])
    for index in range(2):
        cases = 0.05 * np.array([c[0], c[1], 0.2]) * people
        healthy = people - cases
        found = 0.8 * np.clip(350 * np.array([*x, 0.5]) / people, 0, 1)
        for day in range(40):
            z = outbreaks.noise[index, day].numpy()
            risk = 1 - np.exp(-(0.15 + 0.3 * c[2]) * (meet @ (cases / people)))
            caught = np.clip(healthy * risk + np.sqrt(healthy * risk * (1 - risk)) * z[0], 0, healthy)
            healed = np.clip(cases / 7 + np.sqrt(cases * 6 / 49) * z[1], 0, cases)
            healthy, cases = healthy - caught, (cases - healed + caught) * (1 - found)
        share = (people - healthy).sum() / 3500
        assert float(outbreaks(row(*x), row(*c))[index]) == pytest.approx(share, abs=1e-9)


def test_epidemic_makes_sense():
    task = problem("epidemic")
    even, calm, wild = row(0.4, 0.3), row(0.5, 0.5, 0.0), row(0.5, 0.5, 1.0)
    assert float(task.value(even, calm)) > float(task.value(even, wild)) + 1.0
    assert float(task.value(even, row(0.0, 0.0, 0.5))) > float(task.value(even, row(1.0, 1.0, 0.5)))
    assert 0.0 < task.noise < 0.5 and task.space == replace(task, noise=0.0).space
    best = task.optimum(EXPECTED)
    assert best.value == float(task.worth(EXPECTED, task.decisions).max())
    assert best.value > float(task.worth(EXPECTED, row(0.0, 0.0))) + 0.2


def test_portfolio_backtest_by_another_program():
    """Week by week with a dense solve, in place of the risk model's axes."""
    market = simulated.market(0)
    x, c = (0.2, 0.6, 0.9), (0.7, 0.3)
    risk, trade, holding = (10 ** (2 * np.array(x) - 1)).tolist()
    spread, borrow = 1e-4 + 4.9e-3 * c[0], (0.01 + 0.19 * c[1]) / 52
    axes, variances = market.axes.numpy(), market.variances.numpy()
    matrix = 20 * risk * axes @ np.diag(variances) @ axes.T + (trade * spread + holding * borrow) / 0.05 * np.eye(6)
    before, wealth = np.zeros(6), 0.0
    for seen, came in zip(market.forecasts.numpy(), market.returns.numpy(), strict=True):
        plan = np.linalg.solve(matrix, seen + trade * spread / 0.05 * before)
        wealth += plan @ came - spread * np.abs(plan - before).sum() - borrow * np.clip(-plan, 0, None).sum()
        before = plan
    assert float(market(row(*x), row(*c))) == pytest.approx(100 * wealth, rel=1e-9)


# -- registry ------------------------------------------------------------------------------------------------------------


def test_names_are_listed_and_near_ones_offered():
    assert problems() == sorted(problems()) and len(problems()) >= 40
    with pytest.raises(ww.ArgumentError, match=r"problem\('akley-2-1'\): no problem .* did you mean 'ackley-2-1'"):
        problem("akley-2-1")
    with pytest.raises(ww.ArgumentError, match=r"problems\(\) lists all"):
        problem("%%%%")
    with pytest.raises(ww.ArgumentError, match="seed must be >= 0"):
        problem("newsvendor", -1)
    with pytest.raises(ww.ArgumentError, match="there is a problem of that name"):
        register("newsvendor")


def test_a_problem_is_added_by_one_function():
    from windward.bench.problems import registry

    @register("mine", seeded=True)
    def mine(seed, data):
        return replace(problem("newsvendor"), name="mine", noise=float(seed))

    try:
        assert "mine" in problems() and problem("mine", 3).noise == 3.0
    finally:
        registry._ENTRIES.pop("mine")


def test_unseeded_problems_are_made_once():
    assert problem("newsvendor", 1) is problem("newsvendor", 2)
    assert problem("logistic", 1) is not problem("logistic", 2)


@pytest.mark.parametrize("name", problems())
def test_every_problem_keeps_the_contract(name, generator):
    """Natural units, the space's order of names, broadcasting, draws that belong to the truth's space."""
    task = stored(name, entry(name).files[0]) if entry(name).files else problem(name)
    assert task.name == name
    parameters = list(task.space.decision.values())
    low, high = (
        torch.tensor([0.0 if p.choices else getattr(p, side) for p in parameters], dtype=torch.float64)
        for side in ("low", "high")
    )
    x = (low + high) / 2 if task.decisions is None else task.decisions[len(task.decisions) // 2]
    x = torch.where(torch.tensor([isinstance(p, ww.Integer) for p in parameters]), x.round(), x)
    task.space.check_decision("study.ask", dict(values_of(task.space.decision, x)))
    c = task.draw(0, generator)
    assert c.shape == (len(task.space.context),) and c.dtype == torch.float64
    value = task.value(x, c)
    assert value.shape == () and value.dtype == torch.float64 and math.isfinite(float(value))
    both = task.value(torch.stack([x, x])[:, None, :], torch.stack([c, c, c]))
    assert both.shape == (2, 3) and torch.allclose(both, value.expand(2, 3), rtol=1e-12)
    for contexts in (task.truth, task.reference or task.truth):
        assert contexts.points.shape[1] == len(task.space.context)
    assert task.delay is None or (task.delay(generator) or 0) >= 0


BACKED = [name for name in problems() if entry(name).files]


@pytest.mark.parametrize("name", BACKED)
def test_missing_data_is_named_with_its_folder_origin_and_substitute(name, tmp_path, monkeypatch):
    file, instead = entry(name).files[0], entry(name).substitute
    with pytest.raises(ww.MissingData) as raised:
        problem(name, data=tmp_path)
    for part in (file, str(tmp_path), repr(instead), "WINDWARD_DATA", "UCI" if file.endswith("csv") else "github.com"):
        assert part in str(raised.value) or (file == "portfolio.csv" and part == "UCI")
    monkeypatch.delenv("WINDWARD_DATA", raising=False)
    with pytest.raises(ww.MissingData, match="no folder was named"):
        problem(name)
    assert not entry(instead).files and problem(instead).space.context.keys() is not None


def test_data_folder_from_the_environment(monkeypatch):
    stored("plant", "plant.npz")
    monkeypatch.setenv("WINDWARD_DATA", str(DATA))
    assert problem("plant").name == "plant"


# -- wrappers ------------------------------------------------------------------------------------------------------------


def test_noisy_adds_variances():
    task = Noisy(0.4)(Noisy(0.3)(problem("newsvendor")))
    assert task.noise == pytest.approx(0.5) and "noisy(0.3)" in task.name
    with pytest.raises(ww.ArgumentError, match=r"Noisy\(sd=-1"):
        Noisy(-1.0)


def test_delays(generator):
    assert Delayed(Fixed(10))(problem("gp-1")).delay(generator) == 10
    drawn = [Poisson(10.0)(generator) for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(10.0, abs=5 * math.sqrt(10 / 4000))
    assert np.var(drawn) == pytest.approx(10.0, abs=5 * math.sqrt(210 / 4000))
    lossy = [Lossy(0.25, Fixed(3))(generator) for _ in range(2000)]
    assert set(lossy) == {None, 3} and lossy.count(None) / 2000 == pytest.approx(0.25, abs=0.05)
    for make in (lambda: Poisson(-1.0), lambda: Fixed(-1), lambda: Lossy(2.0), lambda: Delayed(10)):
        with pytest.raises(ww.ArgumentError):
            make()


def test_shifted_moves_the_truth_and_not_the_reference(generator):
    base = problem("newsvendor")
    task = Shifted(by=[0.2])(base)
    assert task.reference is base.truth
    # Demand moved by 0.2 and clipped: an order below 0.2 always sells.
    assert float(task.worth(EXPECTED, row(0.2))) == pytest.approx(4 * 0.2, abs=1e-9)
    draws = torch.stack([task.draw(turn, generator) for turn in range(2000)])
    assert float(draws.min()) >= 0.2 and float(draws.max()) <= 1.0
    assert float(draws.mean()) == pytest.approx(float(task.truth.weights @ task.truth.points[:, 0]), abs=0.02)
    assert task.optimum(EXPECTED).value > base.optimum(EXPECTED).value + 0.5


def test_shifted_drifts(generator):
    base = problem("three-humps")
    task = Shifted(per_round=[0.01])(base)
    assert torch.equal(task.truth.points, base.truth.points) and task.truth_at(0).points.shape == (128, 1)
    moved = (base.truth.points + 0.5).clamp(-1.0, 1.0)
    assert torch.allclose(task.truth_at(50).points, moved)
    assert float(task.draw(10**6, generator)) == 1.0
    twice = Shifted(by=[0.1])(task)
    assert torch.allclose(twice.truth_at(50).points, (moved + 0.1).clamp(-1.0, 1.0))
    assert base.truth_at(50) is base.truth


def test_shifts_that_cannot_be():
    for make, message in (
        (lambda: Shifted(), "give by, per_round or both"),
        (lambda: Shifted(by=0.1), "give a list of numbers"),
        (lambda: Shifted(by=[0.1, 0.2])(problem("newsvendor")), "has 1 contexts"),
        (lambda: Shifted(by=[0.1])(problem("gp-1")), "has 0 contexts"),
        (lambda: Shifted(by=[1.0])(problem("svm-wine")), "is categorical"),
    ):
        with pytest.raises(ww.ArgumentError, match=re.escape(message)):
            make()


# -- a problem's own refusals --------------------------------------------------------------------------------------------


def test_worth_refuses_what_it_cannot_judge():
    task = problem("branin-2-2")
    with pytest.raises(ww.ArgumentError, match=r"decisions must be '\*b 2'"):
        task.worth(EXPECTED, torch.zeros(3))
    with pytest.raises(ww.ArgumentError, match="context points must be 'n 2'"):
        task.worth(EXPECTED, row(0.1, 0.2), ww.Contexts.uniform(torch.zeros(4, 1)))
    with pytest.raises(ww.IncompatibleError, match="needs slopes"):
        task.worth(ww.LipschitzRobust(0.1), row(0.1, 0.2))
    rows = torch.rand(3, 4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.allclose(task.worth(EXPECTED, rows)[2, 1], task.worth(EXPECTED, rows[2, 1]))


def test_search_refuses_constraints_and_objectives_that_are_nowhere_finite():
    space = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, constraints=[ww.Linear({"a": 1, "b": 1}, upper=1)])
    truth, draw = problem("gp-1").truth, problem("gp-1").draw
    task = Problem(name="bounded", space=space, value=lambda x, c: x[..., 0], truth=truth, draw=draw)
    with pytest.raises(ww.IncompatibleError, match="without constraints"):
        task.optimum(EXPECTED)
    broken = replace(task, space=ww.Space({"a": ww.Real(0, 1)}), value=lambda x, c: x[..., 0] * torch.nan)
    with pytest.raises(ww.SolverError, match="not finite at any"):
        broken.optimum(EXPECTED)
