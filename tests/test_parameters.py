"""What parameters answer for themselves, and that a space takes whatever answers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windward as ww
from windward.space.parameters import Parameter

KINDS = [
    ww.Real(-2, 3),
    ww.Real(0.1, 10, log=True),
    ww.Integer(0, 5),
    ww.Integer(1, 1000, log=True),
    ww.Integer(-(10**9), 10**9),
    ww.Categorical(["rail", "road", 3, True]),
]


@pytest.mark.parametrize("parameter", KINDS, ids=str)
def test_kinds_answer_everything(parameter):
    assert isinstance(parameter, Parameter)
    assert bool(parameter.choices) == (parameter.low is None)
    assert not (parameter.continuous and (parameter.step or parameter.choices))
    assert parameter.to_unit([parameter.from_unit(row) for row in parameter.options(7)]).shape[1] == parameter.width


@pytest.mark.parametrize("parameter", KINDS, ids=str)
@given(units=st.lists(st.floats(-0.5, 1.5), min_size=4, max_size=4))
def test_snap_is_the_encoding_of_what_is_decoded(parameter, units):
    row = np.array(units[: parameter.width])
    snapped = parameter.snap(row[None, :])
    assert snapped.shape == (1, parameter.width)
    assert snapped[0] == pytest.approx(parameter.to_unit([parameter.from_unit(row)])[0], abs=1e-12)
    assert parameter.snap(snapped) == pytest.approx(snapped, abs=1e-12)


@pytest.mark.parametrize("parameter", KINDS, ids=str)
@pytest.mark.parametrize("limit", [2, 6, 7, 64])
def test_options_are_valid_different_and_few(parameter, limit):
    options = parameter.options(limit)
    assert len(options) <= (len(parameter.choices) or limit)
    assert len(np.unique(options, axis=0)) == len(options)
    assert parameter.snap(options) == pytest.approx(options, abs=1e-12)


def test_every_option_where_they_are_few():
    assert [ww.Integer(1, 8, log=True).from_unit(row) for row in ww.Integer(1, 8, log=True).options(8)] == list(
        range(1, 9)
    )
    colours = ww.Categorical(["red", "green", "blue"])
    assert [colours.from_unit(row) for row in colours.options(2)] == ["red", "green", "blue"]


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        (ww.Real(0, 1.5), "0 to 1.5"),
        (ww.Real(1, log=True), "1 or more, on a log scale"),
        (ww.Real(high=2), "2 or less"),
        (ww.Real(), "any number"),
        (ww.Integer(1, 5), "whole numbers, 1 to 5"),
        (ww.Categorical(["rail", 3]), "one of rail, 3"),
    ],
)
def test_in_words(parameter, words):
    assert parameter.in_words() == words


def test_read_takes_what_is_typed():
    route = ww.Categorical(["rail", True, 2.5])
    assert [route.read("decision 'route'", text) for text in ("rail", '"rail"', "true", "True", "2.5")] == [
        "rail",
        "rail",
        True,
        True,
        2.5,
    ]
    with pytest.raises(ww.SpaceError, match=r"^decision 'route': 'air' is none of its choices: rail, True, 2\.5\.$"):
        route.read("decision 'route'", "air")
    assert ww.Integer(0, 5).read("decision 'beds'", "3") == 3
    with pytest.raises(ww.SpaceError, match=r"^decision 'beds' must be a number, got 'three'\.$"):
        ww.Integer(0, 5).read("decision 'beds'", "three")


@dataclass(frozen=True)
class Even:
    """A stranger's parameter: even numbers, by answers of its own."""

    half: ww.Integer = field(default_factory=lambda: ww.Integer(0, 5))

    width, continuous, step, choices, low, high, log = 1, False, 2, (), 0, 10, False

    def own_bounds(self):
        return [(0.0, 10.0)]

    def kept_outside(self):
        return self

    def accepted(self, where, value, *, strict):
        if value not in range(0, 11, 2):
            raise ww.SpaceError(f"{where} must be even, got {value!r}.")
        return value

    def read(self, where, text):
        return self.half.read(where, text)

    def in_words(self):
        return "even numbers, 0 to 10"

    def to_own(self, values):
        return np.asarray(values, dtype=np.float64).reshape(-1, 1)

    def from_own(self, row):
        return round(float(row[0]))

    def to_unit(self, values):
        return self.to_own(values) / 10.0

    def from_unit(self, row):
        return 2 * self.half.from_unit(row)

    def snap(self, unit):
        return self.half.snap(unit)

    def options(self, limit):
        return self.half.options(limit)


def test_a_space_takes_whatever_answers():
    space = ww.Space({"even": Even(), "share": ww.Real(0, 1)})
    study = ww.Study(space, ww.papers.gp_ucb(), seed=3, parts=[Even])
    for _ in range(4):
        asked = study.ask()
        assert asked.decision["even"] in range(0, 11, 2)
        study.tell(asked.id, -abs(asked.decision["even"] - 6) - asked.decision["share"])
    with pytest.raises(ww.SpaceError, match="decision 'even' must be even, got 3"):
        space.check_decision("study.tell", {"even": 3, "share": 0.5})


class Silent:
    """It knows its columns and nothing else."""

    width = 1

    def own_bounds(self):
        return [(0.0, 1.0)]


@pytest.mark.parametrize("wrong", [Silent(), Even, ww.Real, ww.Integer, 3, None, "Real"], ids=range(7))
def test_what_lacks_an_answer_is_refused(wrong):
    with pytest.raises(ww.SpaceError, match=r"give a Real, an Integer or a Categorical\.$"):
        ww.Space({"a": wrong})
