"""The batched BFGS: bounds, smooth functions against scipy, kinks against linear and quadratic programmes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from windward.search.bfgs import _Rows, minimize_rows


def rosenbrock(x):
    value = 100 * (x[:, 1] - x[:, 0] ** 2) ** 2 + (1 - x[:, 0]) ** 2
    slope = np.stack(
        [-400 * x[:, 0] * (x[:, 1] - x[:, 0] ** 2) - 2 * (1 - x[:, 0]), 200 * (x[:, 1] - x[:, 0] ** 2)], axis=1
    )
    return value, slope


@pytest.mark.parametrize(("low", "high"), [((-2, -2), (2, 2)), ((-2, -2), (0.5, 2)), ((-1.5, 0.3), (0.2, 0.9))])
def test_bfgs_matches_scipy_inside_bounds(low, high):
    rng = np.random.default_rng(0)
    starts = rng.uniform(low, high, size=(12, 2))
    low, high = np.broadcast_to(low, (12, 2)).astype(float), np.broadcast_to(high, (12, 2)).astype(float)
    found, values = minimize_rows(rosenbrock, starts, low, high, evaluations=300, tolerance=1e-9)
    for start, x, value in zip(starts, found, values, strict=True):
        want = scipy.optimize.minimize(
            lambda z: rosenbrock(z[None])[0][0],
            start,
            jac=lambda z: rosenbrock(z[None])[1][0],
            method="L-BFGS-B",
            bounds=list(zip(low[0], high[0], strict=True)),
        )
        assert value <= want.fun + 1e-6
        assert (x >= low[0]).all() and (x <= high[0]).all()


@given(st.integers(1, 8), st.integers(0, 20))
def test_bfgs_solves_box_constrained_quadratics(d, seed):
    """A separable-by-rotation convex quadratic against scipy's bounded least squares."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(d + 3, d)), rng.normal(size=d + 3) * 2
    want = scipy.optimize.lsq_linear(a, b, bounds=(0, 1), tol=1e-14)

    def function(x):
        residual = x @ a.T - b
        return 0.5 * (residual**2).sum(-1), residual @ a

    starts = rng.uniform(size=(4, d))
    _, values = minimize_rows(function, starts, np.zeros((4, d)), np.ones((4, d)), evaluations=500, tolerance=1e-10)
    assert values.max() <= want.cost + 1e-7 * (1 + want.cost)


def test_bfgs_holds_pinned_variables_and_survives_nan():
    low, high = np.zeros((2, 2)), np.ones((2, 2))
    low[0, 1] = high[0, 1] = 0.7

    def function(x):
        value = ((x - 0.2) ** 2).sum(-1)
        value[x[:, 0] > 0.9] = np.nan
        return value, 2 * (x - 0.2)

    found, _ = minimize_rows(function, np.array([[0.8, 0.7], [0.85, 0.4]]), low, high, evaluations=50, tolerance=1e-9)
    assert found[0].tolist() == pytest.approx([0.2, 0.7]) and found[1].tolist() == pytest.approx([0.2, 0.2])
    _, stuck = minimize_rows(function, np.array([[0.95, 0.4]]), low[1:], high[1:], evaluations=50, tolerance=1e-9)
    assert np.isnan(stuck[0])


def test_bfgs_never_asks_for_more_than_it_may():
    calls = []

    def function(x):
        calls.append(len(x))
        return rosenbrock(x)

    minimize_rows(
        function, np.full((3, 2), -1.2), np.full((3, 2), -2.0), np.full((3, 2), 2.0), evaluations=7, tolerance=1e-9
    )
    assert len(calls) == 7


# -- kinks ---------------------------------------------------------------------------------------------------------


def highest_of(rng, pieces, d):
    """Return the maximum of paraboloids as a function of rows, and its minimum over the unit cube."""
    centers, offsets = rng.uniform(-0.5, 1.5, size=(pieces, d)), rng.uniform(0, 0.5, size=pieces)
    slopes, bend = rng.normal(size=(pieces, d)) * 3, rng.uniform(0.1, 2.0, size=pieces)

    def each(x):
        return bend * ((x[:, None] - centers) ** 2).sum(-1) + x @ slopes.T + offsets

    def function(x):
        values = each(x)
        top = values.argmax(-1)
        gradient = 2 * bend[top, None] * (x - centers[top]) + slopes[top]
        return values.max(-1), gradient

    best = np.inf
    for start in rng.uniform(size=(3, d)):
        answer = scipy.optimize.minimize(
            lambda z: z[-1],
            np.r_[start, each(start[None]).max()],
            jac=lambda z: np.r_[np.zeros(d), 1.0],
            bounds=[(0, 1)] * d + [(None, None)],
            constraints={"type": "ineq", "fun": lambda z: z[-1] - each(z[None, :-1])[0]},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 300},
        )
        best = min(best, each(answer.x[None, :-1].clip(0, 1)).max())
    return function, best


@given(st.integers(2, 6), st.integers(1, 4), st.integers(0, 30))
def test_kinks_are_found_in_few_evaluations(pieces, d, seed):
    rng = np.random.default_rng(seed)
    function, best = highest_of(rng, pieces, d)
    starts, low, high = rng.uniform(size=(8, d)), np.zeros((8, d)), np.ones((8, d))
    _, values = minimize_rows(function, starts, low, high, evaluations=60, tolerance=1e-6, finish=(8, 3), kinks=True)
    spread = np.quantile(function(rng.uniform(size=(500, d)))[0], 0.25) - best
    assert values.min() <= best + 2e-2 * spread + 1e-9


def test_with_kinks_far_fewer_evaluations_are_needed():
    """Over random maxima in the plane: what is left of the way to the optimum after 12 evaluations."""
    left = {True: [], False: []}
    for seed in range(30):
        for kinks in left:
            rng = np.random.default_rng(seed)
            function, best = highest_of(rng, 5, 2)
            box = rng.uniform(size=(8, 2)), np.zeros((8, 2)), np.ones((8, 2))
            _, values = minimize_rows(function, *box, evaluations=12, tolerance=1e-6, kinks=kinks)
            left[kinks].append(max(values.min() - best, 1e-12))
    logs = {kinks: np.log10(each).mean() for kinks, each in left.items()}
    assert logs[True] <= logs[False] - 0.3, logs


def test_a_kink_with_values_that_are_not_finite():
    def function(x):
        value = np.abs(x - 0.3).sum(-1)
        value[(x < 0.25).any(-1)] = np.nan
        return value, np.where(np.isnan(value)[:, None], np.nan, np.sign(x - 0.3))

    starts = np.array([[0.9, 0.8], [0.5, 0.95], [0.31, 0.6]])
    found, values = minimize_rows(
        function, starts, np.zeros((3, 2)), np.ones((3, 2)), evaluations=80, tolerance=1e-6, kinks=True
    )
    assert np.isfinite(found).all() and values.min() < 0.02


def test_rows_without_hope_are_left():
    """Two bowls, one ten higher: a start in it is given up long before it has converged."""
    evaluated = []

    def function(x):
        evaluated.append(len(x))
        high = x[:, 0] > 5
        value = np.where(high, 10 + (x[:, 0] - 8) ** 4, (x[:, 0] - 2) ** 4)
        return value, np.where(high, 4 * (x[:, 0] - 8) ** 3, 4 * (x[:, 0] - 2) ** 3)[:, None]

    starts, low, high = np.array([[1.0], [9.0]]), np.zeros((2, 1)), np.full((2, 1), 10.0)
    _, values = minimize_rows(function, starts, low, high, evaluations=40, tolerance=1e-12, finish=(40, 2))
    assert evaluated.count(2) <= 7 and values[0] < 1e-6
    evaluated.clear()
    minimize_rows(function, starts, low, high, evaluations=40, tolerance=1e-12)
    assert evaluated.count(2) > 7


def test_kinks_between_parabolas_are_reached_from_everywhere():
    """Where H is far too long across a kink, steps by tangents must not end before it."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 20001)[:, None]
    for _ in range(60):
        bend, center, offset = rng.normal(size=5) ** 2 + 0.1, rng.uniform(0.2, 0.8, 5), rng.normal(size=5) * 0.1

        def function(x, bend=bend, center=center, offset=offset):
            values = bend * (x - center) ** 2 + offset
            top = values.argmax(-1)
            return values.max(-1), (2 * bend * (x - center))[np.arange(len(x)), top][:, None]

        box = rng.random((8, 1)), np.zeros((8, 1)), np.ones((8, 1))
        _, values = minimize_rows(function, *box, evaluations=400, tolerance=1e-6, kinks=True)
        assert values.max() <= function(grid)[0].min() + 1e-4


@pytest.mark.parametrize("extreme", [-np.inf, np.inf, np.nan])
def test_a_row_that_is_not_finite_does_not_end_the_others(extreme):
    def function(x):
        value, gradient = rosenbrock(x)
        return np.where(x[:, 0] > 1.9, extreme, value), gradient

    starts, low, high = np.array([[-1.2, 1.0], [1.95, 0.0]]), np.full((2, 2), -2.0), np.full((2, 2), 2.0)
    for kinks in (False, True):
        _, values = minimize_rows(
            function, starts, low, high, evaluations=200, tolerance=1e-9, finish=(8, 1), kinks=kinks
        )
        assert values[0] < 1e-6


def test_a_start_without_a_gradient_is_left_alone():
    def function(x):
        value, gradient = rosenbrock(x)
        return value, np.where(x[:, :1] > 1.9, np.inf, gradient)

    starts, low, high = np.array([[-1.2, 1.0], [1.95, 0.0]]), np.full((2, 2), -2.0), np.full((2, 2), 2.0)
    found, values = minimize_rows(function, starts, low, high, evaluations=200, tolerance=1e-9, kinks=True)
    assert values[0] < 1e-6 and found[1].tolist() == [1.95, 0.0] and values[1] == function(starts)[0][1]


def test_rows_that_have_met_go_on_as_one():
    evaluated = []

    def function(x):
        evaluated.append(len(x))
        return rosenbrock(x)

    starts = np.array([[-1.2, 1.0], [-1.205, 1.0], [0.5, 1.5]])
    low, high = np.full((3, 2), -2.0), np.full((3, 2), 2.0)
    minimize_rows(function, starts, low, high, evaluations=6, tolerance=1e-9, finish=(2, 3))
    assert evaluated == [3, 3, 2, 2, 2, 2]


def test_the_bottom_of_a_kink_is_known_at_once():
    evaluated = []

    def function(x):
        evaluated.append(len(x))
        return np.abs(x[:, 0] - 0.5), np.sign(x - 0.5)

    starts = np.array([[0.5 - 1e-7]])
    minimize_rows(function, starts, np.zeros((1, 1)), np.ones((1, 1)), evaluations=50, tolerance=1e-6, kinks=True)
    assert len(evaluated) <= 4


def test_a_known_hessian_is_newtons_step():
    """A quadratic with its Hessian is solved by the first step; one too flat by two is corrected by what each step shows."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    hessian, centre, calls = root @ root.T + np.eye(4), rng.uniform(-0.5, 0.5, size=4), []

    def function(share):
        def evaluate(x):
            calls.append(len(x))
            slope = (x - centre) @ hessian
            return 0.5 * ((x - centre) * slope).sum(-1), slope, np.tile(share * hessian, (len(x), 1, 1))

        return evaluate

    starts, low, high = rng.uniform(-1, 1, size=(3, 4)), np.full((3, 4), -9.0), np.full((3, 4), 9.0)
    found, _ = minimize_rows(function(1.0), starts, low, high, evaluations=50, tolerance=1e-9)
    assert len(calls) == 2 and np.allclose(found, centre, atol=1e-9)
    found, _ = minimize_rows(function(0.4), starts, low, high, evaluations=50, tolerance=1e-9)
    assert len(calls) <= 2 + 15 and np.allclose(found, centre, atol=1e-7)


def test_no_step_is_longer_than_the_longest():
    seen = []

    def function(x):
        seen.append(x.copy())
        return (x - 5.0).sum(-1) ** 2, 2.0 * (x - 5.0), np.full((len(x), 1, 1), 2.0)

    box = np.zeros((1, 1)), np.full((1, 1), -9.0), np.full((1, 1), 9.0)
    found, _ = minimize_rows(function, *box, evaluations=50, tolerance=1e-9, longest_step=2.0)
    assert found[0, 0] == pytest.approx(5.0, abs=1e-9)
    steps = np.diff(np.concatenate(seen)[:, 0])
    assert np.abs(steps).max() <= 2.0 + 1e-12 and len(seen) <= 5


def test_a_hessian_that_says_nothing_is_left_aside():
    """NaN, zero, singular, negative: the row climbs by what its steps show, and the others as they would alone."""
    useless = [np.full((2, 2), np.nan), np.zeros((2, 2)), np.ones((2, 2)), -np.eye(2), np.full((2, 2), 1e-320)]
    for hessian in useless:
        given = np.stack([hessian, 200.0 * np.eye(2)])
        starts, low, high = np.tile([-0.5, 1.5], (2, 1)), np.full((2, 2), -2.0), np.full((2, 2), 2.0)
        found, values = minimize_rows(
            lambda x, given=given: (*rosenbrock(x), given[-len(x) :]),
            starts,
            low,
            high,
            evaluations=400,
            tolerance=1e-9,
        )
        assert values.max() <= 1e-9 and np.allclose(found, 1.0, atol=1e-3)


def test_the_hessian_of_every_point_counts():
    """w x^4 / 4 + x^2 / 2 in eight variables: by the start's curvature alone it takes more steps than by that of each point."""
    weights, calls = 10.0 ** np.linspace(-1, 3, 8), {True: 0, False: 0}

    def function(everywhere):
        def evaluate(x):
            calls[everywhere] += 1
            at = x if everywhere else np.full_like(x, 2.0)
            curvature = (3.0 * weights * at**2 + 1.0)[:, :, None] * np.eye(8)
            return (weights * x**4 / 4 + x**2 / 2).sum(-1), weights * x**3 + x, curvature

        return evaluate

    low, high = np.full((1, 8), -3.0), np.full((1, 8), 3.0)
    for everywhere in calls:
        found, _ = minimize_rows(function(everywhere), np.full((1, 8), 2.0), low, high, evaluations=500, tolerance=1e-9)
        assert np.allclose(found, 0.0, atol=1e-4)
    assert calls[True] <= 0.6 * calls[False], calls


def test_a_row_that_meets_a_lower_one_stops():
    """Two rows of Rosenbrock's valley, one near its end: the other is left where it comes near."""
    starts = np.array([[0.98, 0.96], [-0.8, 0.7]])
    low, high = np.full((2, 2), -2.0), np.full((2, 2), 2.0)
    budget = {"evaluations": 200, "tolerance": 1e-9}
    found, values = minimize_rows(rosenbrock, starts, low, high, **budget, meet=0.2)
    assert np.allclose(found[0], 1.0, atol=1e-4) and values[0] <= 1e-9
    assert 1e-3 < np.abs(found[1] - found[0]).max() <= 0.2
    apart, _ = minimize_rows(rosenbrock, starts, low, high, **budget)
    assert np.allclose(apart, 1.0, atol=1e-4)
    # Rows on two hills are both kept, and equal rows do not end each other.
    found, _ = minimize_rows(
        lambda x: (np.abs(x[:, 0]) ** 2, 2 * x), starts[:, :1] * 0 + 0.5, low[:, :1], high[:, :1], **budget, meet=0.1
    )
    assert np.allclose(found, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("known", "change"), [(1.0, [0.0, 1e-170]), (1.0, [1e-30, 1e-158]), (1e-300, [1e-12, 1e-12])], ids=str
)
def test_a_gradient_that_hardly_changes_teaches_nothing_and_breaks_nothing(known, change):
    rows = _Rows(
        np.zeros((1, 2)), np.ones(1), np.ones((1, 2)), -np.ones((1, 2)), np.ones((1, 2)), 1e-9, (0.1, 1.0), kinks=False
    )
    rows.inverse_hessian *= known
    rows.curved[:] = known != 1.0
    rows._learn(np.array([0]), np.array([[1.0, 1.0]]), np.array([change]))
    assert np.isfinite(rows.inverse_hessian).all()
