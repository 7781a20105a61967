"""Numbers at the edge of what is declared, or of what floats hold."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windward as ww
from windward.policy import Policy
from windward.present.plots import history

POSITIVE = st.floats(1e-140, 1e140)


@given(POSITIVE, POSITIVE, st.floats(0, 1))
def test_a_point_inside_the_bounds_is_read_inside_them(one, other, share):
    low, high = sorted((one, other))
    if low == high:
        return
    parameter = ww.Real(low, high, log=True)
    bottom, top = parameter.own_bounds()[0]
    for own in (bottom, top, min(max(bottom + share * (top - bottom), bottom), top)):
        assert low <= parameter.from_own([own]) <= high


def test_a_point_outside_the_bounds_stays_outside():
    parameter = ww.Real(1, 10, log=True)
    assert parameter.from_own([math.log(20.0)]) == pytest.approx(20.0)
    assert parameter.from_own([math.log(0.5)]) == pytest.approx(0.5)
    assert ww.Real(0, 1).from_own([1.5]) == 1.5
    assert ww.Integer(1, 10, log=True).from_own([math.log(20.0)]) == 20


def test_a_context_imagined_at_its_bound_can_be_read_again(journal):
    # exp(log(10)) is 10.000000000000002: written as a stand-in it is outside what is declared.
    space = ww.Space({"x": ww.Real(0, 1)}, {"rate": ww.Real(0.001, 10, log=True, outside="error")})
    study = ww.Study(space, ww.papers.sbo_kde(samples=8), journal=journal, name="rates")
    for place in range(12):
        suggestion = study.ask()
        study.tell(suggestion.id, float(place % 3), context={"rate": 10.0 if place % 2 else 9.0})
    stand_ins = [trial.stand_in["rate"] for trial in study.trials if trial.stand_in is not None]
    assert max(stand_ins) == 10.0  # the bound was met
    assert ww.Study.open("rates", journal=journal).trials.rows == study.trials.rows


def test_a_fragility_too_steep_for_its_target_is_finite():
    space = ww.Space({"x": ww.Real(0, 1)}, {"weather": ww.Categorical(["dry", "wet"])})
    for direction in ("maximize", "minimize"):
        objective = ww.Satisficing(ww.KullbackLeibler(), 0.0)
        study = ww.Study(space, Policy(context_model=ww.Empirical(), objective=objective), direction=direction)
        sign = 1.0 if direction == "maximize" else -1.0
        for place in range(6):
            wet = place % 2 == 1
            value = sign * (1.5e60 if wet else -1e60)
            study.add({"x": place / 5}, value, context={"weather": "wet" if wet else "dry"})
        found = study.recommend()
        assert all(math.isfinite(number) for number in (found.value, *found.interval))
        assert sign * found.value < -1e20


def test_a_figure_of_values_beyond_single_precision():
    study = ww.Study(ww.Space({"x": ww.Real(0, 1)}))
    for place in range(3):
        study.add({"x": place / 2}, 1e60 * place)
    assert max(history(study).data[0].y) == 2e60
