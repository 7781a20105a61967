"""The benchmark problems against values from elsewhere: closed forms, scipy's quadrature, published optima."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import integrate, stats

import windward as ww
from windward.bench import laws
from windward.bench.problems import expectations, functions, problem
from windward.cli import demo

DATA = Path(os.environ.get("WINDWARD_DATA", "no-folder-named"))
# `scipy.integrate.quad` says when it is unsure; warnings are errors here, so it is sure.
EXPECTED = ww.Expected()


def stored(name, file, seed=0):
    if not (DATA / file).exists():
        pytest.skip(f"needs {file} in the folder named by WINDWARD_DATA (it is {DATA})")
    return problem(name, seed, DATA)


def row(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


# -- the functions at places known by hand or from the literature --------------------------------------------------------


def test_functions_at_known_places():
    nothing = torch.zeros(0, dtype=torch.float64)
    assert float(functions.ackley(row(0.5, 0.5), row(0.5))) == pytest.approx(0.0, abs=1e-14)
    # At (1, 0, 0) in its own units every wave is at its crest: 20 - 20 exp(-0.2 / sqrt 3).
    at_one = row(0.5 + 1.0 / 65.536, 0.5)
    assert float(functions.ackley(at_one, row(0.5))) == pytest.approx(20 - 20 * math.exp(-0.2 / math.sqrt(3)))
    for u, v in ((math.pi, 2.275), (-math.pi, 12.275), (9.42478, 2.475)):
        assert float(functions.branin(row(u), row(v))[0]) == pytest.approx(0.397887, abs=1e-6)
    top = row(0.20169, 0.150011, 0.476874, 0.275332, 0.311652)
    six = functions.hartmann(top, row(0.6573), functions.RATES_6, functions.PLACES_6)
    assert float(six) == pytest.approx(3.32237, abs=1e-5)
    three = functions.hartmann(row(0.114614, 0.555649, 0.852547), nothing, functions.RATES_3, functions.PLACES_3)
    assert float(three) == pytest.approx(3.86278, abs=1e-5)
    assert float(functions.beale(row(3.0, 0.5))) == 0.0
    assert float(functions.beale(row(0.0, 0.0))) == pytest.approx(1.5**2 + 2.25**2 + 2.625**2)
    assert float(functions.eggholder(row(512.0, 404.2319))) == pytest.approx(-959.6407, abs=1e-4)
    assert float(functions.levy(row(1.0, 1.0))) == pytest.approx(0.0, abs=1e-30)
    assert float(functions.levy(row(5.0, 1.0))) == pytest.approx(1.0 + 10.0 * math.sin(2 * math.pi + 1.0) ** 2)
    assert float(functions.three_humps(row(1.0), row(-1.0))[0]) == pytest.approx(2 - 1.05 + 1 / 6)


def test_joined_and_apart_agree():
    """Contexts may be joined to decisions or stand apart: the value is the same."""
    generator = torch.Generator().manual_seed(0)
    z = torch.rand(7, 6, generator=generator, dtype=torch.float64)
    whole = functions.hartmann(z, z[:, :0], functions.RATES_6, functions.PLACES_6)
    apart = functions.hartmann(z[:, :4], z[:, 4:], functions.RATES_6, functions.PLACES_6)
    assert torch.allclose(whole, apart, rtol=1e-14)


# -- optima of the expectation -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "tolerance", "decision"),
    [
        ("ackley-2-1", -10.9523, 5e-5, (0.5, 0.5)),
        ("branin-2-2", -9.604, 5e-4, (0.196, 0.179)),
        ("hartmann-5-1", 2.6136, 5e-5, None),
        ("newsvendor", 0.46394, 5e-6, (0.188,)),
        ("three-humps", -1 / 3, 1e-9, (0.0,)),
    ],
)
def test_published_optima_of_the_expectation(name, value, tolerance, decision):
    best = problem(name).optimum(EXPECTED)
    assert best.value == pytest.approx(value, abs=tolerance)
    assert float(problem(name).worth(EXPECTED, best.decision)) == pytest.approx(best.value, abs=1e-12)
    if decision is not None:
        assert best.decision.tolist() == pytest.approx(decision, abs=5e-4)


@pytest.mark.parametrize("name", ["ackley-1-1-wide", "ackley-2-1-wide", "branin-2-2-wide", "hartmann-complicated"])
def test_no_decision_of_many_beats_an_optimum(name):
    task = problem(name)
    width = len(task.space.decision)
    others = torch.rand(1000, width, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    best = task.optimum(EXPECTED)
    near = (best.decision + 1e-3 * (others - 0.5)).clamp(0.0, 1.0)
    assert float(task.worth(EXPECTED, torch.cat([others, near])).max()) <= best.value + 1e-12


def test_optimum_is_found_once_and_shared_by_wrappers():
    from windward.bench.problems import Noisy

    task = problem("newsvendor")
    assert task.optimum(EXPECTED) is task.optimum(ww.Expected())
    assert Noisy(0.3)(task).optimum(EXPECTED) is task.optimum(EXPECTED)


def test_micheli_general_by_hand():
    """E|c - 1/2| of a normal is closed (the folded normal), so the optimum is one equation."""
    task = problem("micheli-general")

    def folded(mean, sd):
        return sd * math.sqrt(2 / math.pi) * math.exp(-0.5 * (mean / sd) ** 2) + mean * (
            1 - 2 * stats.norm.cdf(-mean / sd)
        )

    x = np.linspace(0, 1, 200001)
    for contexts, spread in ((task.truth, folded(0.1, 0.2)), (task.reference, folded(0.0, 0.1))):
        value = 1 - spread / (x + 0.2) - np.sqrt(x + 0.05)
        best = task.optimum(EXPECTED, contexts)
        assert best.value == pytest.approx(value.max(), abs=1e-9)
        assert abs(float(best.decision)) == pytest.approx(x[value.argmax()], abs=1e-5)


# -- quadratures against scipy -------------------------------------------------------------------------------------------


def clipped(function, density, cumulative, points):
    """E function(c), c clipped to [0, 1]: scipy's adaptive quadrature and the mass beyond each bound."""
    inside = integrate.quad(lambda c: function(c) * density(c), 0, 1, points=points, limit=2000, epsabs=1e-9)[0]
    return inside + function(0.0) * cumulative(0.0) + function(1.0) * (1.0 - cumulative(1.0))


@pytest.mark.parametrize(("name", "sd"), [("ackley-2-1", 0.15), ("ackley-2-1-wide", 0.2)])
@pytest.mark.parametrize("x", [(0.5, 0.5), (0.503, 0.5), (0.31, 0.77), (0.0, 1.0)])
def test_ackley_expectation(name, sd, x):
    def minus_ackley(c):
        z = 65.536 * np.array([*x, c]) - 32.768
        wave = np.exp(np.cos(2 * np.pi * z).mean())
        return 20 * np.exp(-0.2 * np.sqrt((z**2).mean())) + wave - 20 - np.e

    law = stats.norm(0.5, sd)
    want = clipped(minus_ackley, law.pdf, law.cdf, [*np.linspace(0.05, 0.95, 60).tolist(), 0.5])
    assert float(problem(name).worth(EXPECTED, row(*x))) == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize(("name", "sd"), [("branin-2-2", 0.1), ("branin-2-2-wide", 0.2)])
@pytest.mark.parametrize("x", [(0.196, 0.179), (0.54, 0.15), (0.9, 0.05)])
def test_branin_expectation(name, sd, x):
    """The value is minus a product of two roots, each with a context of its own: two integrals."""

    def h(u, v):
        return (v - 5.1 / (4 * np.pi**2) * u**2 + 5 / np.pi * u - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10

    law = stats.norm(0.5, sd)
    first = clipped(lambda c: np.sqrt(h(15 * x[0] - 5, 15 * c)), law.pdf, law.cdf, [0.25, 0.5, 0.75])
    second = clipped(lambda c: np.sqrt(h(15 * c - 5, 15 * x[1])), law.pdf, law.cdf, [0.25, 0.5, 0.75])
    assert float(problem(name).worth(EXPECTED, row(*x))) == pytest.approx(-first * second, abs=1e-6)


def test_hartmann_expectations():
    x = row(0.2, 0.15, 0.48, 0.27, 0.31)

    def value(c):
        return float(functions.hartmann(x, row(c), functions.RATES_6, functions.PLACES_6))

    for name, sd in (("hartmann-5-1", 0.1), ("hartmann-5-1-wide", 0.2)):
        law = stats.norm(0.5, sd)
        want = clipped(value, law.pdf, law.cdf, [0.5])
        assert float(problem(name).worth(EXPECTED, x)) == pytest.approx(want, abs=1e-9)
    parts = [
        stats.norm(m, s) for m, s in ((0.1, 0.02), (0.3, 0.075), (0.4, 0.1), (0.5, 0.1), (0.7, 0.075), (0.8, 0.03))
    ]
    parts += [stats.cauchy(0.2, 0.02), stats.cauchy(0.8, 0.02)]
    want = np.mean([clipped(value, law.pdf, law.cdf, [law.median()]) for law in parts])
    assert float(problem("hartmann-complicated").worth(EXPECTED, x)) == pytest.approx(want, abs=1e-8)


def test_newsvendor_expectation_is_closed():
    orders = torch.linspace(0, 1, 21, dtype=torch.float64)[:, None]
    want = [demo.expected_profit(float(order)) for order in orders]
    assert problem("newsvendor").worth(EXPECTED, orders).tolist() == pytest.approx(want, abs=1e-6)
    assert float(problem("newsvendor").value(row(0.5), row(0.2))) == pytest.approx(demo.profit(0.5, 0.2))


def test_three_humps_expectation_is_closed():
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)
    want = -(2 * x**2 - 1.05 * x**4 + x**6 / 6 + 1 / 3)
    assert torch.allclose(problem("three-humps").worth(EXPECTED, x[:, None]), want, atol=1e-12)


def test_ackley_with_four_contexts():
    """The waves' part is a product of one-dimensional integrals; the rest, smooth, from half a million normal draws."""
    law, x = stats.norm(0.5, 0.15), np.array([0.5, 0.62])
    one = clipped(
        lambda c: math.exp(math.cos(2 * math.pi * (65.536 * c - 32.768)) / 6),
        law.pdf,
        law.cdf,
        np.linspace(0.1, 0.9, 50),
    )
    z = 65.536 * x - 32.768
    waves = math.exp(np.cos(2 * math.pi * z).sum() / 6) * one**4
    draws = np.clip(np.random.default_rng(0).normal(0.5, 0.15, (500_000, 4)), 0, 1)
    cone = 20 * np.exp(-0.2 * np.sqrt(((z**2).sum() + ((65.536 * draws - 32.768) ** 2).sum(1)) / 6))
    got = float(problem("ackley-2-4").worth(EXPECTED, row(*x)))
    allowed = 5e-4 + 4 * cone.std() / math.sqrt(len(cone))
    assert got == pytest.approx(waves + cone.mean() - 20 - math.e, abs=allowed)


def test_rules_hold_the_mass_that_is_clipped():
    law = laws.normal(0.5, 0.2)
    rule = laws.rule(law, 0.0, 1.0, 8)
    assert rule.nodes[-2:].tolist() == [0.0, 1.0]
    assert rule.weights[-2:].tolist() == pytest.approx([stats.norm.cdf(-2.5)] * 2, rel=1e-9)
    assert float(rule.weights.sum()) == pytest.approx(1.0, abs=1e-14)
    few = laws.gauss(rule, 5)
    for power in range(10):  # n Gauss nodes are exact up to degree 2 n - 1
        assert float(few.weights @ few.nodes**power) == pytest.approx(
            float(rule.weights @ rule.nodes**power), abs=1e-12
        )
    assert abs(float(few.weights @ few.nodes**10) - float(rule.weights @ rule.nodes**10)) > 1e-9


DRAWN = [
    "ackley-2-1", "ackley-2-4", "branin-2-2-wide", "hartmann-complicated", "newsvendor", "three-humps", "micheli-general",
    "portfolio-simulated", "portfolio-simulated-uniform", "hartmann-2-1", "gp-2-2", "epidemic", "logistic", "levy",
    "svm-wine",
]  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_draws_follow_the_truth(name):
    """First and second moments of 4000 draws, within five standard errors by the truth's own moments."""
    task, generator = problem(name), torch.Generator().manual_seed(11)
    draws = torch.stack([task.draw(turn, generator) for turn in range(4000)])
    for power in (1, 2):
        mean = task.truth.weights @ task.truth.points**power
        variance = task.truth.weights @ task.truth.points ** (2 * power) - mean**2
        error = (variance.clamp_min(0.0) / len(draws)).sqrt()
        assert bool(((draws**power).mean(0) - mean).abs().le(5 * error + 1e-9).all()), (name, power)


# -- the portfolio -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "decision"),
    [
        ("portfolio-normal", 21.77539, (0.0, 1.0, 0.08039)),
        ("portfolio-normal-wide", 20.59071, (0.0, 1.0, 0.08712)),
        ("portfolio-uniform", 19.39438, (0.0, 1.0, 0.60048)),
    ],
)
def test_portfolio_optimum(name, value, decision):
    """The search takes ten seconds: its answer is kept here, checked at its place and against a grid."""
    task = stored(name, "portfolio.csv")
    assert float(task.worth(EXPECTED, row(*decision))) == pytest.approx(value, abs=2e-4)
    others = torch.cartesian_prod(*[torch.linspace(0, 1, 5, dtype=torch.float64)] * 3)
    near = (row(*decision) + 0.02 * (others - 0.5)).clamp(0.0, 1.0)
    assert float(task.worth(EXPECTED, torch.cat([others, near])).max()) <= value + 2e-4


def test_portfolio_surface_is_the_posterior_mean():
    """Against scikit-learn's Gaussian process with the same hyper-parameters held."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern

    task = stored("portfolio-normal", "portfolio.csv")
    table = np.loadtxt(DATA / "portfolio.csv", delimiter=",", skiprows=1)
    kernel = ConstantKernel(4.451771) * Matern([0.220874, 7.134504, 0.252325, 0.536833, 2.511442], nu=2.5)
    values = (table[:, 5] - table[:, 5].mean()) / table[:, 5].std(ddof=1) + 0.532998
    process = GaussianProcessRegressor(kernel, alpha=0.01376948, optimizer=None).fit(table[:, :5], values)
    z = np.random.default_rng(0).random((40, 5))
    want = -(table[:, 5].mean() + table[:, 5].std(ddof=1) * (process.predict(z) - 0.532998))
    got = task.value(torch.from_numpy(z[:, :3]), torch.from_numpy(z[:, 3:]))
    assert got.tolist() == pytest.approx(want.tolist(), abs=1e-6)


def test_complicated_law_is_the_mixture():
    law = expectations.complicated()
    c = torch.linspace(-0.5, 1.5, 4001, dtype=torch.float64)
    total = torch.trapezoid(law.density(c), c)
    assert float(total) == pytest.approx(float(law.cumulative(c[-1]) - law.cumulative(c[0])), abs=1e-6)
