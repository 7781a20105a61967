"""Constraints on whole numbers: what no decision can meet is refused when the space is made, and named as it is."""

from __future__ import annotations

import itertools
import logging
import random
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import windward as ww
from windward import papers

EVEN = ww.Linear({"a": 2, "b": 2}, lower=5, upper=5)


def test_constraints_that_no_whole_numbers_meet_are_refused_when_the_space_is_made():
    with pytest.raises(ww.SpaceError) as caught:
        ww.Space({"a": ww.Integer(0, 10), "b": ww.Integer(0, 10)}, {}, [EVEN])
    assert "Linear({'a': 2.0, 'b': 2.0}, lower=5, upper=5)" in str(caught.value)
    assert "because 'a' and 'b' must be whole; there are fractions that would" in str(caught.value)
    ww.Space({"a": ww.Integer(0, 10), "b": ww.Real(0, 10)}, {}, [EVEN])


def test_constraints_that_no_numbers_meet_do_not_blame_the_whole_ones():
    with pytest.raises(ww.SpaceError, match=r"no decision satisfies them all\.$"):
        ww.Space({"a": ww.Integer(0, 1), "b": ww.Integer(0, 1)}, {}, [EVEN])


coefficients = st.dictionaries(st.sampled_from("abc"), st.integers(-7, 7).filter(bool), min_size=1)


@settings(max_examples=80)
@given(st.lists(st.tuples(coefficients, st.integers(-30, 30), st.integers(0, 3)), min_size=1, max_size=3))
@example([({"a": 2}, 3, 0)])
@example([({"a": 3, "b": 6}, 4, 1), ({"c": 2}, 4, 0)])
def test_a_space_of_whole_numbers_is_made_just_where_a_decision_exists(rows):
    decision = {"a": ww.Integer(-2, 4), "b": ww.Integer(0, 5), "c": ww.Integer(1, 6)}
    constraints = [ww.Linear(row, lower=low, upper=low + room) for row, low, room in rows]

    def meets(values):
        named = dict(zip("abc", values, strict=True))
        return all(low <= sum(k * named[n] for n, k in row.items()) <= low + room for row, low, room in rows)

    exists = any(meets(v) for v in itertools.product(range(-2, 5), range(6), range(1, 7)))
    if exists:
        ww.Space(decision, {}, constraints)
    else:
        with pytest.raises(ww.SpaceError, match="no decision satisfies them all"):
            ww.Space(decision, {}, constraints)


def market_split(rows=5, count=40, seed=1):
    """Feasible for fractions; whether for whole numbers, no solver says in a second."""
    chance = random.Random(seed)
    constraints = []
    for _ in range(rows):
        row = {f"x{j}": chance.randint(1, 99) for j in range(count)}
        constraints.append(ww.Linear(row, lower=sum(row.values()) // 2, upper=sum(row.values()) // 2))
    return {f"x{j}": ww.Integer(0, 1) for j in range(count)}, constraints


def test_what_a_second_does_not_decide_is_noted_once_and_the_study_goes_on(caplog, monkeypatch):
    from windward.space import polytope

    monkeypatch.setattr(polytope, "SECONDS", 0.2)
    decision, constraints = market_split()
    with caplog.at_level(logging.WARNING, "windward"):
        space = ww.Space(decision, {"c": ww.Real(0, 1)}, constraints)
        space.without_context()
    assert [record.name for record in caplog.records] == ["windward"]
    assert "did not decide whether whole numbers satisfy them all" in caplog.text
    study = ww.Study(space, papers.sbo_kde())
    with pytest.raises(ww.SpaceError) as caught:
        study.ask()
    assert "no decision was found within" in str(caught.value) and "'x0', 'x1', 'x2', 'x3' and 36 more" in str(
        caught.value
    )


def test_few_whole_numbers_among_many_are_found():
    """Rounding points of the constraints' body never meets an equation of this kind."""
    decision = {"a": ww.Integer(0, 10**6), "b": ww.Integer(0, 10**6), "c": ww.Real(0, 1)}
    space = ww.Space(decision, {}, [ww.Linear({"a": 3001, "b": 7013}, lower=994_387, upper=994_387)])
    asked = ww.Study(space, papers.gp_ucb()).ask().decision
    assert 3001 * asked["a"] + 7013 * asked["b"] == 994_387


THIRDS = ww.Space(
    {"a": ww.Integer(0, 100), "b": ww.Integer(0, 100), "c": ww.Real(0, 1), "d": ww.Categorical(["x", "y"])},
    {},
    [ww.Linear({"a": 3, "b": 6}, lower=298, upper=300)],
)


@pytest.mark.parametrize(
    ("fix", "reason"),
    [
        ({"a": 1}, "because 'b' must be whole; there are fractions that would"),
        ({"a": 1, "c": 0.5, "d": "x"}, "because 'b' must be whole; there are fractions that would"),
        ({"b": 100}, "no decision satisfies the constraints [Linear({'a': 3.0, 'b': 6.0}, lower=298, upper=300)]."),
        (
            {"a": 0, "b": 0, "c": 0.5},
            "no decision satisfies the constraints [Linear({'a': 3.0, 'b': 6.0}, lower=298, upper=300)].",
        ),
    ],
)
def test_what_is_fixed_may_leave_no_decision_and_ask_says_why(fix, reason):
    study = ww.Study(THIRDS, papers.gp_ucb())
    with pytest.raises(ww.SpaceError) as caught:
        study.ask(fix=fix)
    assert str(caught.value).startswith(f"ask(fix={fix!r}): with these fixed ") and reason in str(caught.value)
    assert 298 <= 3 * study.ask(fix={"a": 98}).decision["a"] + 6 * study.trials[0].decision["b"] <= 300


def test_a_space_without_constraints_loads_no_optimizer():
    code = (
        "import sys, windward as ww; ww.Space({'a': ww.Integer(0, 9)}, {'c': ww.Real()}); "
        "assert 'scipy.optimize' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
