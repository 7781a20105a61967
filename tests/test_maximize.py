"""The maximizers: quality of the optimum, bounds, discrete parameters, constraints, distance from pending decisions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import windward as ww
from windward import search
from windward.search.grid import OverGrid
from windward.search.multistart import MultiStart, spread_best
from windward.search.near import NearBest
from windward.search.region import LEAST_DISTANCE, Region
from windward.testing import check_maximizer


def cube(d):
    return ww.Space({f"x{i}": ww.Real(0, 1) for i in range(d)})


def bump(center, sharpness=20.0):
    center = torch.as_tensor(center, dtype=torch.float64)
    return lambda x: torch.exp(-sharpness * (x - center).square().sum(-1))


MAXIMIZERS = [MultiStart(), MultiStart(screen=64, starts=2, evaluations=40), NearBest(), OverGrid()]


@pytest.mark.parametrize("maximizer", MAXIMIZERS, ids=repr)
def test_laws(maximizer):
    """A decision of the region, as good as many others, the same for the same generator."""
    check_maximizer(maximizer)


def test_no_maximizer_is_left_out():
    assert {kind for kind in search.PARTS if "most_decisions" in dir(kind)} == {type(each) for each in MAXIMIZERS}


# -- NearBest ------------------------------------------------------------------------------------------------------


def rising(x):
    return x.sum(-1)


def test_near_best_stays_near_what_came_back_not_near_hints(generator):
    """Under a guard the hints are all that it allows: a promise far from every result is not followed."""
    tried = torch.tensor([[0.2, 0.2], [0.25, 0.0]]).double()
    region = Region(cube(2), hints=torch.rand(64, 2, generator=generator).double(), tried=tried, results=2)
    x = NearBest(0.1)(rising, region, generator)
    assert torch.allclose(x, tried[0] + 0.1, atol=1e-6)


def test_near_best_begins_where_a_margin_allows(generator):
    tried = torch.tensor([[0.9], [0.2]]).double()
    region = Region(cube(1), hints=tried[1:], tried=tried, results=2)
    guarded = ww.Acquisition(rising, margin=lambda x: 0.25 - x[:, 0])
    assert 0.1 <= float(NearBest(0.1)(guarded, region, generator)) <= 0.25
    # Of what came back nothing is allowed: all that is allowed is searched.
    outside = Region(cube(1), tried=tried[:1], results=1)
    assert float(NearBest(0.1)(guarded, outside, generator)) <= 0.25


@pytest.mark.parametrize("reach", [0.001, 0.01, 0.3])
def test_near_best_repeats_no_pending_decision(reach, generator):
    """Where the reach holds nothing but what is pending it is doubled until it does."""
    tried, pending = torch.tensor([[0.5, 0.5]]).double(), torch.tensor([[0.5, 0.5], [0.52, 0.5]]).double()
    region = Region(cube(2), avoid=pending, hints=tried, tried=tried, results=1)
    x = NearBest(reach)(bump([0.5, 0.5]), region, generator)
    distance = float((x - pending).norm(dim=-1).min())
    assert LEAST_DISTANCE * math.sqrt(2) <= distance < 0.2


def test_near_best_prefers_a_box_with_room(generator):
    """The better box holds only what is near a pending decision; the other one is chosen."""
    tried = torch.tensor([[0.8], [0.2]]).double()
    region = Region(cube(1), avoid=tried[:1], hints=tried, tried=tried, results=2)
    assert abs(float(NearBest(0.01)(rising, region, generator)) - 0.2) < 0.02


# -- MultiStart ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5])
def test_multistart_finds_a_narrow_peak(d, generator):
    center = torch.full((d,), 0.37)
    x = MultiStart()(bump(center), Region(cube(d)), generator)
    assert torch.allclose(x, center.double(), atol=1e-4)


def test_multistart_reaches_bounds_exactly(generator):
    x = MultiStart()(lambda x: x[:, 0] - x[:, 1] - (x[:, 2] - 0.5) ** 2, Region(cube(3)), generator)
    assert x[0] == 1.0 and x[1] == 0.0 and float(x[2]) == pytest.approx(0.5, abs=1e-5)


def test_multistart_does_not_care_for_scale_and_offset(generator):
    def wavy(x):
        return torch.sin(9 * x[:, 0]) * torch.cos(7 * x[:, 1]) - (x - 0.4).square().sum(-1)

    plain = MultiStart()(wavy, Region(cube(2)), torch.Generator().manual_seed(1))
    other = MultiStart()(lambda x: 1e-7 * wavy(x) + 3.0, Region(cube(2)), torch.Generator().manual_seed(1))
    assert torch.allclose(plain, other, atol=1e-3)


def test_multistart_uses_hints(generator):
    """A spike too narrow for any screen is found when a hint stands on it."""
    spike = bump([0.123456, 0.654321], sharpness=1e6)
    flat = Region(cube(2), hints=torch.tensor([[0.1236, 0.6542]]).double())
    x = MultiStart(screen=64)(spike, flat, generator)
    assert torch.allclose(x, torch.tensor([0.123456, 0.654321]).double(), atol=1e-4)


MIXED = ww.Space(
    {
        "kind": ww.Categorical(["a", "b", "c"]),
        "count": ww.Integer(0, 40),
        "rate": ww.Real(1e-3, 10, log=True),
        "share": ww.Real(0, 1),
    }
)


def mixed_score(x):
    kind = x[:, :3] @ torch.tensor([0.0, 1.0, 0.4], dtype=torch.float64)
    return kind - 3 * (x[:, 3] - 13 / 40).abs() - (x[:, 4] - 0.25) ** 2 - (x[:, 5] - 1.3 * x[:, 4]) ** 2


def test_multistart_solves_mixed_spaces(generator):
    x = MultiStart()(mixed_score, Region(MIXED), generator)
    decision = MIXED.decode_decision(x)
    assert decision["kind"] == "b" and decision["count"] == 13
    assert float(x[4]) == pytest.approx(0.25, abs=1e-3) and float(x[5]) == pytest.approx(0.325, abs=1e-3)


def test_fixed_decisions_stay(generator):
    region = Region(MIXED, {"kind": "a", "rate": 10.0})
    decision = MIXED.decode_decision(MultiStart()(mixed_score, region, generator))
    assert decision["kind"] == "a" and decision["rate"] == 10.0 and decision["count"] == 13


def test_discrete_spaces_are_enumerated(generator):
    space = ww.Space({"a": ww.Integer(0, 30), "b": ww.Categorical(["x", "y"]), "c": ww.Integer(-3, 3)})
    table = torch.randn(31, 2, 7, generator=generator, dtype=torch.float64)

    def score(x):
        return table[(x[:, 0] * 30).round().long(), x[:, 2].long(), (x[:, 3] * 6).round().long()]

    decision = space.decode_decision(MultiStart()(score, Region(space), generator))
    place = np.unravel_index(int(table.argmax()), table.shape)
    assert decision == {"a": place[0], "b": "xy"[place[1]], "c": place[2] - 3}


# -- constraints ---------------------------------------------------------------------------------------------------


def test_constrained_optimum_is_on_the_constraint(generator):
    space = ww.Space(
        {"a": ww.Real(0, 1), "b": ww.Real(0, 2), "c": ww.Real(0, 1)},
        constraints=[ww.Linear({"a": 1, "b": 1}, upper=1)],
    )
    x = MultiStart()(lambda x: x[:, 0] + 3 * x[:, 1] - (x[:, 2] - 0.3) ** 2, Region(space), generator)
    decision = space.decode_decision(x)  # in user units a + 1.5 b is maximized over a + b <= 1
    space.check_decision("test", decision)
    assert decision["b"] == pytest.approx(1.0, abs=1e-6) and decision["a"] == pytest.approx(0.0, abs=1e-6)
    assert decision["c"] == pytest.approx(0.3, abs=1e-3)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_constrained_suggestions_are_feasible_and_good(seed):
    """A linear acquisition over a random polytope against linear programming."""
    rng = np.random.default_rng(seed)
    weights, target = rng.normal(size=3), rng.uniform(0.5, 2.5)
    space = ww.Space(
        {"a": ww.Real(0, 1), "b": ww.Real(0, 1), "c": ww.Real(0, 1)},
        constraints=[
            ww.Linear({"a": 1, "b": 2, "c": 1}, upper=float(target)),
            ww.Linear({"a": 1, "c": -1}, lower=-0.5),
        ],
    )
    w = torch.from_numpy(weights)
    x = MultiStart(screen=128)(lambda x: x @ w, Region(space), torch.Generator().manual_seed(seed))
    space.check_decision("test", space.decode_decision(x))
    best = scipy.optimize.linprog(-weights, A_ub=[[1, 2, 1], [-1, 0, 1]], b_ub=[target, 0.5], bounds=[(0, 1)] * 3)
    assert float(x @ w) == pytest.approx(-best.fun, abs=1e-5)


def test_equality_and_integers_under_constraints(generator):
    portfolio = ww.Space(
        {n: ww.Real(0, 1) for n in "abc"}, constraints=[ww.Linear(dict.fromkeys("abc", 1), lower=1, upper=1)]
    )
    target = torch.tensor([0.2, 0.5, 0.3]).double()
    x = MultiStart()(bump(target), Region(portfolio), generator)
    assert torch.allclose(x, target, atol=1e-3) and float(x.sum()) == pytest.approx(1.0, abs=1e-9)
    crew = ww.Space(
        {"day": ww.Integer(0, 20), "night": ww.Integer(0, 20)},
        constraints=[ww.Linear({"day": 2, "night": 3}, upper=31)],
    )
    decision = crew.decode_decision(MultiStart()(lambda x: x[:, 0] + 1.2 * x[:, 1], Region(crew), generator))
    best = max((d + 1.2 * n for d, n in itertools.product(range(21), repeat=2) if 2 * d + 3 * n <= 31))
    assert decision["day"] + 1.2 * decision["night"] == pytest.approx(best)


def test_fixing_what_breaks_the_constraints_is_refused(generator):
    space = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0.5, 1)}, constraints=[ww.Linear({"a": 1, "b": 1}, upper=1)])
    with pytest.raises(ww.SpaceError, match="with these fixed no decision"):
        MultiStart()(lambda x: x[:, 0], Region(space, {"a": 0.9}), generator)


# -- pending decisions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 6])
def test_a_pending_decision_is_kept_at_a_distance(d, generator):
    peak = torch.full((d,), 0.5).double()
    region = Region(cube(d), avoid=peak[None])
    x = MultiStart()(bump(peak), region, generator)
    distance = float((x - peak).norm())
    assert LEAST_DISTANCE * math.sqrt(d) <= distance <= 4 * LEAST_DISTANCE * math.sqrt(d)


def test_a_discrete_space_that_is_all_pending_still_answers(generator):
    space = ww.Space({"a": ww.Integer(0, 2)})
    everything = torch.tensor([[0.0], [0.5], [1.0]]).double()
    x = MultiStart()(lambda x: x[:, 0], Region(space, avoid=everything), generator)
    assert x.tolist() == [1.0]


# -- OverGrid and helpers ------------------------------------------------------------------------------------------


def test_over_grid_takes_the_best_grid_point(generator):
    x = OverGrid(11)(bump([0.32, 0.68]), Region(cube(2)), generator)
    assert x.tolist() == pytest.approx([0.3, 0.7])
    space = ww.Space({"a": ww.Integer(0, 3), "b": ww.Categorical(["p", "q"]), "c": ww.Real(0, 1)})
    assert len(OverGrid(5).points(Region(space))) == 4 * 2 * 5
    ends = OverGrid(32).points(Region(cube(1)))
    assert float(ends.min()) == 0.0 and float(ends.max()) == 1.0
    half = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, constraints=[ww.Linear({"a": 1, "b": 1}, upper=1)])
    assert len(OverGrid(3).points(Region(half))) == 6


def test_spread_best_keeps_starts_apart(generator):
    points = torch.rand(200, 2, generator=generator, dtype=torch.float64)
    values = bump([0.5, 0.5])(points)
    chosen = points[spread_best(points, values, 8)]
    assert torch.cdist(chosen, chosen).fill_diagonal_(9).min() >= 0.1 * math.sqrt(2)
    assert torch.equal(chosen[0], points[values.argmax()])
    with_nan = torch.where(torch.arange(200) % 3 == 0, torch.nan, values)
    assert torch.isfinite(with_nan[spread_best(points, with_nan, 8)]).all()


def test_an_acquisition_without_finite_values_is_an_error(generator):
    with pytest.raises(ww.SolverError, match="not finite at any"):
        MultiStart()(lambda x: x[:, 0] * math.nan, Region(cube(1)), generator)


def test_hints_do_not_take_every_start(generator):
    """All hints on a low hill, the high hill elsewhere: half of the starts still come from the screen."""

    def hills(x):
        return bump([0.2] * 4)(x) + 2.0 * bump([0.8] * 4, sharpness=8.0)(x)

    crowd = torch.full((32, 4), 0.2).double() + 0.3 * (
        torch.rand(32, 4, generator=generator, dtype=torch.float64) - 0.5
    )
    x = MultiStart()(hills, Region(cube(4), hints=crowd), generator)
    assert torch.allclose(x, torch.full((4,), 0.8).double(), atol=1e-2)


def test_every_log_integer_can_be_chosen(generator):
    space = ww.Space({"n": ww.Integer(1, 1000, log=True)})
    assert len(Region(space).all_discrete(4096)) == 1000
    target = space.encode_decisions([{"n": 777}])[0]
    x = MultiStart()(lambda x: -(x - target).abs().sum(-1), Region(space), generator)
    assert space.decode_decision(x) == {"n": 777}


def test_whole_and_real_parts_of_one_equation(generator):
    space = ww.Space(
        {"x": ww.Real(0, 10), "n": ww.Integer(0, 10)}, constraints=[ww.Linear({"x": 1, "n": 1}, lower=7.5, upper=7.5)]
    )
    decision = space.decode_decision(MultiStart()(lambda x: -(x[:, 0] - 0.25).square(), Region(space), generator))
    assert decision["n"] == 5 and decision["x"] == pytest.approx(2.5)
    whole = ww.Space(
        {f"n{i}": ww.Integer(0, 20) for i in range(6)},
        constraints=[ww.Linear({f"n{i}": 1 for i in range(6)}, lower=20, upper=20)],
    )
    weights = torch.arange(6).double()
    decision = whole.decode_decision(MultiStart()(lambda x: x @ weights, Region(whole), generator))
    assert list(decision.values()) == [0, 0, 0, 0, 0, 20]


@pytest.mark.parametrize(
    "constraints",
    [
        [ww.Linear({"a": 1, "b": 1, "c": 1}, lower=1, upper=1), ww.Linear({"a": 2, "b": 2, "c": 2}, lower=2, upper=2)],
        [ww.Linear({"a": 1, "b": 1, "c": 1}, upper=1), ww.Linear({"a": 1, "b": 1, "c": 1}, lower=1)],
    ],
)
def test_redundant_equations(constraints, generator):
    space = ww.Space({n: ww.Real(0, 1) for n in "abc"}, constraints=constraints)
    target = torch.tensor([0.2, 0.5, 0.3]).double()
    assert torch.allclose(MultiStart()(bump(target), Region(space), generator), target, atol=1e-3)
    fixed = MultiStart()(bump(target), Region(space, {"a": 0.6, "b": 0.4}), generator)
    assert fixed.tolist() == pytest.approx([0.6, 0.4, 0.0], abs=1e-8)


def test_a_constrained_screen_is_as_large_as_any(generator):
    space = ww.Space({n: ww.Real(0, 1) for n in "abcd"}, constraints=[ww.Linear(dict.fromkeys("abcd", 1.0), upper=1)])
    assert len(Region(space).points(512, generator)) == 512
    triangle = ww.Space({n: ww.Real(0, 1) for n in "ab"}, constraints=[ww.Linear({"a": 1, "b": 1}, upper=0.75)])
    design = [tuple(ww.Sobol(40)(i, Region(triangle), 0).tolist()) for i in range(40)]
    assert len(set(design)) == 40


def test_a_partly_broken_acquisition_is_used_where_it_works(generator):
    def broken(x):
        return torch.where(x[:, 5] > 0.5, torch.nan, mixed_score(x))

    decision = MIXED.decode_decision(MultiStart()(broken, Region(MIXED), generator))
    assert decision["kind"] == "b" and decision["count"] == 13


@pytest.mark.parametrize("objective", [ww.Robust, ww.Tradeoff])
@pytest.mark.parametrize("pending", [0, 3])
def test_a_screened_grid_has_the_same_best_point_as_a_whole_one(objective, pending):
    from windward.search.acquisition import Acquisition, values_of
    from windward.search.choice import best

    generator = torch.Generator().manual_seed(1)
    contexts = ww.Contexts.uniform(torch.linspace(0, 1, 20, dtype=torch.float64)[:, None])
    reduction = objective(ww.MMD(0.2, nugget=1e-6), 0.1).bind(ww.Situation(contexts))
    shape = torch.randn(2, 20, generator=generator, dtype=torch.float64).cumsum(-1)
    evaluated = []

    def values(x):
        return torch.sin(9 * x[:, :1] + 2 * contexts.points[:, 0]) + x @ shape

    def function(x):
        evaluated.append(len(x))
        return reduction(values(x))

    space = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)})
    points = OverGrid(24).points(Region(space))
    region = Region(space)
    for _ in range(pending):  # a pending decision takes the best point away
        top = best(points, values_of(function, points), region)
        avoid = top[None] if region.avoid is None else torch.cat([region.avoid, top[None]])
        region = Region(space, avoid=avoid)
    expected = best(points, values_of(function, points), region)
    evaluated.clear()
    screened = Acquisition(function, ceiling=lambda x: reduction.ceiling(values(x)))
    assert torch.equal(OverGrid(24)(screened, region, generator), expected)
    assert sum(evaluated) < len(points) / 2  # and most were never solved
