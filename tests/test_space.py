"""User values to tensors and back."""

from __future__ import annotations

import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import windward as ww
from windward.space.polytope import Polytope

MIXED = ww.Space(
    decision={
        "dose": ww.Real(0.1, 10, log=True),
        "nurses": ww.Integer(1, 9),
        "route": ww.Categorical(["rail", "road", 3, True]),
        "share": ww.Real(0, 1),
    },
    context={
        "load": ww.Real(),
        "price": ww.Real(1, 100, log=True, outside="clip"),
        "day": ww.Categorical(["week", "weekend"]),
        "visits": ww.Integer(0, 50, outside="error"),
    },
    constraints=[ww.Linear({"nurses": 0.1, "share": 1}, upper=1.2)],
)
BARE = ww.Space(decision={"a": ww.Real(0, 1), "b": ww.Real(0, 1)})


def test_encoding_by_hand():
    decision = {"dose": 1.0, "nurses": 5, "route": "road", "share": 0.25}
    row = MIXED.encode_decisions([decision])[0]
    assert row.tolist() == pytest.approx([0.5, 0.5, 0, 1, 0, 0, 0.25])
    assert MIXED.decode_decision(row) == {"dose": pytest.approx(1.0), "nurses": 5, "route": "road", "share": 0.25}
    context = {"load": -3.5, "price": 10.0, "day": "weekend", "visits": 7}
    own = MIXED.encode_contexts([context])[0]
    assert own.tolist() == pytest.approx([-3.5, math.log(10), 0, 1, 7])  # own units, logs in log units
    assert MIXED.decode_context(own) == {"load": -3.5, "price": pytest.approx(10.0), "day": "weekend", "visits": 7}
    assert MIXED.decision_width == 7 and MIXED.context_width == 5


@given(st.lists(st.floats(0, 1), min_size=7, max_size=7))
def test_decoded_decisions_are_valid_and_stable(units):
    decision = MIXED.decode_decision(torch.tensor(units, dtype=torch.float64))
    MIXED.check_decision("test", {**decision, "nurses": 1, "share": 0.5})  # bounds; the constraint is not decode's work
    again = MIXED.decode_decision(MIXED.encode_decisions([decision])[0])
    assert again["nurses"] == decision["nurses"] and again["route"] == decision["route"]
    assert again["dose"] == pytest.approx(decision["dose"], rel=1e-14)


@pytest.mark.parametrize("parameter", [ww.Real(0.1, 0.7), ww.Real(1e-4, 100, log=True), ww.Real(-1e9, 3e9)])
def test_ends_of_the_cube_are_the_bounds_exactly(parameter):
    space = ww.Space({"v": parameter})
    assert space.decode_decision(torch.tensor([0.0]).double()) == {"v": parameter.low}
    assert space.decode_decision(torch.tensor([1.0]).double()) == {"v": parameter.high}
    assert space.encode_decisions([{"v": parameter.low}, {"v": parameter.high}])[:, 0].tolist() == [0.0, 1.0]


def test_snap_agrees_with_decode(generator):
    x = torch.rand(200, 7, generator=generator, dtype=torch.float64)
    snapped = MIXED.snap(x)
    for row, before in zip(snapped, x, strict=True):
        assert torch.allclose(MIXED.encode_decisions([MIXED.decode_decision(before)])[0], row, atol=1e-12)


def test_log_integer_reaches_every_value():
    space = ww.Space({"n": ww.Integer(1, 8, log=True)})
    found = {space.decode_decision(torch.tensor([u]).double())["n"] for u in torch.linspace(0, 1, 200).tolist()}
    assert found == set(range(1, 9))


@pytest.mark.parametrize(("outside", "want"), [("keep", 250.0), ("clip", 100.0)])
def test_values_outside_bounds(outside, want):
    space = ww.Space({"a": ww.Real(0, 1)}, {"price": ww.Real(1, 100, outside=outside)})
    assert space.check_context("test", {"price": 250}) == {"price": want}


def test_values_outside_bounds_can_be_refused():
    with pytest.raises(ww.SpaceError, match=r"'visits' must lie in \[0, 50\], got 51"):
        MIXED.check_context("study.reveal", {"visits": 51}, partial=True)


def test_done_decisions_may_leave_the_bounds_planned_ones_may_not():
    done = BARE.check_decision("study.tell", {"a": 1.2, "b": 0}, planned=False)
    assert BARE.encode_decisions([done])[0].tolist() == [1.2, 0.0]
    with pytest.raises(ww.SpaceError, match=r"got 1\.2"):
        BARE.check_decision("study.assess", {"a": 1.2, "b": 0})


def test_json_round_trip():
    assert ww.from_json(ww.to_json(MIXED)) == MIXED
    assert ww.from_json(ww.to_json(BARE)) == BARE
    assert ww.to_json(ww.from_json(ww.to_json(MIXED))) == ww.to_json(MIXED)
    awkward = ww.Space({"part": ww.Real(0, 1)}, {"πart 'x'": ww.Categorical(["part", '"; drop'])})
    assert ww.from_json(ww.to_json(awkward)) == awkward


def test_spaces_pickle_and_hash():
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED
    assert hash(pickle.loads(pickle.dumps(MIXED))) == hash(MIXED)
    assert MIXED != BARE


def test_context_may_be_absent():
    assert BARE.context_width == 0
    assert BARE.encode_contexts([{}, {}]).shape == (2, 0)
    assert BARE.encode_given(None).complete


def test_constraints_in_user_units():
    space = ww.Space(
        {"a": ww.Real(10, 20), "b": ww.Integer(0, 4)}, constraints=[ww.Linear({"a": 1, "b": 2}, lower=14, upper=25)]
    )
    rows, lower, upper = space.constraint_rows()
    decision = {"a": 12.0, "b": 3}
    at = float(rows[0] @ space.encode_decisions([decision])[0])
    size = math.hypot(10, 8)  # the rows are divided by their norm in units of the cube
    assert (at - float(lower[0])) * size == pytest.approx(12 + 6 - 14)
    assert (float(upper[0]) - at) * size == pytest.approx(25 - 18)
    with pytest.raises(ww.SpaceError, match=r"1 a \+ 2 b = 12 must be >= 14"):
        space.check_decision("study.assess", {"a": 12.0, "b": 0})


# -- polytopes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "lower", "upper"),
    [
        ([[1.0, 1.0, 0.0]], [-math.inf], [0.3]),
        ([[1.0, 1.0, 1.0]], [1.0], [1.0]),  # an equation
        ([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]], [0.0, 0.0], [0.01, 0.01]),  # thin
    ],
)
def test_polytope_samples_are_inside_and_spread(rows, lower, upper, generator):
    polytope = Polytope(torch.tensor(rows).double(), torch.tensor(lower).double(), torch.tensor(upper).double())
    assert bool(polytope.contains(torch.from_numpy(polytope.interior.start)))
    points = polytope.sample(500, generator)
    assert bool(polytope.contains(points).all())
    assert (points >= 0).all() and (points <= 1).all()
    assert (points.std(0) > 0.05).all()


def test_simplex_samples_are_uniform(generator):
    """On x1 + x2 + x3 = 1 each coordinate has mean 1/3 and variance 1/18."""
    polytope = Polytope(torch.ones(1, 3).double(), torch.ones(1).double(), torch.ones(1).double())
    points = polytope.sample(4000, generator)
    assert torch.allclose(points.sum(-1), torch.ones(4000).double(), atol=1e-9)
    assert torch.allclose(points.mean(0), torch.full((3,), 1 / 3).double(), atol=5 * math.sqrt(1 / 18 / 4000))
    assert torch.allclose(points.var(0), torch.full((3,), 1 / 18).double(), rtol=0.1)


def test_infeasible_constraints_are_refused():
    with pytest.raises(ww.SpaceError, match="no decision satisfies them all"):
        ww.Space({"a": ww.Real(0, 1)}, constraints=[ww.Linear({"a": 1}, lower=2)])


def flat_space(*constraints):
    return ww.Space({n: ww.Real(0, 1) for n in "abc"}, constraints=list(constraints))


@pytest.mark.parametrize(
    ("constraints", "dimension"),
    [
        ([ww.Linear({"a": 1, "b": 1}, lower=1, upper=1)], 2),
        ([ww.Linear({"a": 1, "b": 1}, upper=1), ww.Linear({"a": 1, "b": 1}, lower=1)], 2),
        ([ww.Linear({"a": 1}, upper=0)], 2),
        ([ww.Linear({"a": 1, "b": 1, "c": 1}, lower=1, upper=1), ww.Linear({"a": 2, "b": 2, "c": 2}, lower=2)], 2),
        ([ww.Linear({"a": 1, "b": 1, "c": 1}, lower=1, upper=1), ww.Linear({"a": 1}, upper=0)], 1),
        ([ww.Linear({"a": 1, "b": 1, "c": 1}, lower=3)], 0),
    ],
)
def test_flat_polytopes_are_sampled_inside_their_hull(constraints, dimension, generator):
    space = flat_space(*constraints)
    polytope = Polytope(*space.constraint_rows())
    assert polytope.interior.basis.shape == (3, dimension)
    points = polytope.sample(200, generator)
    assert bool(polytope.contains(points).all()) and (points >= 0).all() and (points <= 1).all()
    spread = torch.linalg.svdvals(points - points.mean(0))
    assert int((spread > 0.5).sum()) == dimension
    for point in points[:20]:
        space.check_decision("test", space.decode_decision(point))


def test_constraints_hold_in_any_unit():
    for unit in (1e-9, 1.0, 1e9):
        space = ww.Space(
            {"a": ww.Real(0, unit), "b": ww.Real(0, unit)}, constraints=[ww.Linear({"a": 1, "b": 1}, upper=unit)]
        )
        space.check_decision("test", {"a": unit, "b": 0.0})
        with pytest.raises(ww.SpaceError, match="must be <="):
            space.check_decision("test", {"a": unit, "b": 1e-6 * unit})
        rows, _, upper = space.constraint_rows()
        assert float(rows.norm()) == pytest.approx(1.0) and float(upper[0]) == pytest.approx(1 / math.sqrt(2))


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_half_a_surrogate_pair_names_nothing(text):
    for declare in (
        lambda: ww.Space({text: ww.Real(0, 1)}),
        lambda: ww.Space({"a": ww.Real(0, 1)}, {text: ww.Real(0, 1)}),
        lambda: ww.Categorical(["rail", text]),
    ):
        with pytest.raises(ww.SpaceError, match="must be writable as UTF-8"):
            declare()
    assert ww.Categorical(["\U0001f6a2", "é"]).choices == ("\U0001f6a2", "é")
