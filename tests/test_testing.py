"""The suites of laws find parts that break a law, and say which; sound parts are held to them in the tests of each kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

import windward as ww
from windward.contexts import Contexts
from windward.divergences import WorstCase
from windward.surrogate.protocol import NO_START
from windward.surrogate.scaling import ScaledOutcomes
from windward.testing import (
    check_context_model,
    check_design,
    check_divergence,
    check_journal,
    check_maximizer,
    check_parameter,
    check_scaling,
    check_surrogate,
)

SPACE = ww.Space(
    {"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1), "n": ww.Integer(0, 5), "sky": ww.Categorical(["sun", "rain"])}
)


@dataclass(frozen=True)
class Wrong:
    """Total variation whose worst case is changed."""

    change: Any
    steep: bool = False

    def distance(self, weights, contexts):
        return ww.TotalVariation().distance(weights, contexts)

    def on(self, contexts):
        return lambda values, radius: self.worst_case(values, contexts, radius)

    def worst_case(self, values, contexts, radius):
        return self.change(ww.TotalVariation().worst_case(values, contexts, radius), values, contexts, radius)


def halfway(worst, values, contexts, radius):
    """Less than the adversary could do, by a share that changes with the radius."""
    radius = torch.as_tensor(radius, dtype=torch.float64)[..., None]
    share = radius / (1.0 + radius)
    weights = share * worst.weights + (1.0 - share) * contexts.weights
    return WorstCase((weights * values).sum(-1), weights, worst.multiplier)


WRONG_DIVERGENCES = {
    "the worst weights sum to": lambda worst, *rest: worst._replace(weights=0.9 * worst.weights),
    "a worst weight is negative": lambda worst, *rest: worst._replace(
        weights=9.0 * worst.weights - 8.0 / worst.weights.shape[-1]
    ),
    "outside the ball": lambda worst, values, contexts, radius: ww.TotalVariation().worst_case(
        values, contexts, 1.5 * radius
    ),
    "the value is": lambda worst, *rest: worst._replace(value=worst.value - 1e-6),
    "is not between the differences": lambda worst, *rest: worst._replace(multiplier=1.2 * worst.multiplier + 0.1),
    "the gradient": lambda worst, values, contexts, radius: worst._replace(
        value=worst.value.detach() + 0.0 * values.sum(-1)
    ),
    "has the shapes": lambda worst, *rest: worst._replace(multiplier=worst.multiplier.sum()),
}


@pytest.mark.parametrize("says", WRONG_DIVERGENCES)
def test_a_wrong_divergence_is_found(says):
    with pytest.raises(AssertionError, match=says):
        check_divergence(Wrong(WRONG_DIVERGENCES[says]), 1.1)


def test_an_adversary_that_does_too_little_is_found():
    with pytest.raises(AssertionError, match=r"Wrong\(.*: the value is not convex in the radius"):
        check_divergence(Wrong(halfway), 1.1)


class Forgetful(ww.MemoryJournal):
    """A journal with one fault: what is wrong, by the name of the fault."""

    fault = ""

    def append(self, study, decide, *, key, after, birth=None, expected_asks=None):
        if self.fault == "keys" and expected_asks is None:
            key = f"{key} {len(self._logs[study].events)}"
        if self.fault == "asks":
            expected_asks = None
        if self.fault == "births":
            birth = None
        return super().append(study, decide, key=key, after=after, birth=birth, expected_asks=expected_asks)

    def read(self, study, after=0, *, birth=None):
        found = super().read(study, after, birth=birth)
        return found[::-1] if self.fault == "order" else found

    def lease(self, study, holder, seconds):
        return 0 if self.fault == "line" else super().lease(study, holder, seconds)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("keys", "read returned|written again|the same key again"),
        ("asks", "expected_asks=0 was taken though there was a trial"),
        ("births", "was taken for the first"),
        ("order", "give every event in order"),
        ("line", "three who came one after another"),
    ],
)
def test_a_wrong_journal_is_found(fault, says, monkeypatch):
    monkeypatch.setattr(Forgetful, "fault", fault)
    with pytest.raises(AssertionError, match=says):
        check_journal(Forgetful)


def test_a_sound_journal_passes_with_the_same_class():
    check_journal(Forgetful)


@dataclass(frozen=True)
class Changed:
    """Empirical contexts, changed."""

    change: Any
    most: int = 1000
    blind: bool = False

    def most_points(self, space, seen):
        return self.most

    def __call__(self, space, trials, given, generator):
        return self.change(ww.Empirical()(space, trials, given, generator), space, trials, given, generator)


def drawing(found, *rest):
    torch.rand(1)
    return found


WRONG_MODELS = {
    "another value": lambda found, space, trials, given, generator: (
        found if given.complete else ww.Empirical()(space, trials, space.encode_given(None), generator)
    ),
    "outside the declared bounds": lambda found, *rest: replace(found, points=found.points + 2.0),
    "not a whole number|not one choice": lambda found, *rest: replace(found, points=0.9 * found.points),
    "global generator": drawing,
    "gave None after": lambda *rest: None,
    "one point of weight one": lambda found, *rest: Contexts.uniform(torch.cat([found.points, found.points])),
}


@pytest.mark.parametrize("says", WRONG_MODELS)
def test_a_wrong_context_model_is_found(says):
    state = torch.get_rng_state()
    with pytest.raises(AssertionError, match=says):
        check_context_model(Changed(WRONG_MODELS[says]), SPACE)
    torch.set_rng_state(state)


def test_more_points_than_a_model_says_are_found():
    with pytest.raises(AssertionError, match="made 128 points, and most_points says 20"):
        check_context_model(Changed(lambda found, *rest: found, most=20), ONE)


def test_a_context_model_that_depends_on_more_than_its_generator_is_found():
    calls = iter(range(100))
    with pytest.raises(AssertionError, match="other points for the same generator"):
        check_context_model(Changed(lambda found, *rest: replace(found, points=found.points / (2 + next(calls)))), ONE)


ONE = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1)})


@dataclass(frozen=True)
class Bent:
    """A posterior of which one answer is changed."""

    posterior: Any
    name: str
    change: Any

    def __getattr__(self, name):
        answer = getattr(self.posterior, name)
        if name != self.name:
            return answer
        return lambda *given, **named: self.change(answer(*given, **named))


@dataclass(frozen=True)
class Wrongly:
    """The Gaussian process with a bent posterior."""

    name: str
    change: Any

    def fit(self, data, start=NO_START):
        return Bent(ww.GaussianProcess().fit(data, start), self.name, self.change)

    def due(self, data, fitted):
        return False

    def check(self, roles):
        pass


def halved(values):
    """The same values with half of their gradient."""
    return 0.5 * values + 0.5 * values.detach()


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("means", lambda found: found + 0.01, "means.. are not those of the marginals"),
        ("marginals", lambda found: (found[0], 1.3 * found[1]), "the deviation of 200 samples"),
        ("sample", lambda found: found + 1.0, "the mean of 200 samples"),
        ("average", lambda found: (found[0], 2.0 * found[1]), "the deviation of 200 averaged samples"),
        ("average", lambda found: (found[0] + 0.01, found[1]), "an average has another mean"),
        ("marginals", lambda found: (halved(found[0]), found[1]), "the gradient of the mean in the decision"),
        ("context_slopes", lambda found: found._replace(mean_gradient=1.1 * found.mean_gradient), "slope of the mean"),
        ("averages", lambda found: (found[0] + 0.01, found[1]), r"averages\(\) differ from average"),
        ("averages", lambda found: (found[0], 1.1 * found[1]), r"averages\(\) differ from average"),
        ("averages", lambda found: (found[0], found[1] + found[1].triu(1)), "a covariance of averages is lopsided"),
        ("average_marginals", lambda found: (found[0], 1.1 * found[1]), r"average_marginals\(\) differ"),
        ("weighted_deviation", lambda found: found / 2.0, r"weighted_deviation\(\) is not that of the average"),
        ("condition", lambda found: Bent(found, "marginals", lambda m: (m[0] + 0.1, m[1])), "moves a mean"),
        ("condition", lambda found: Bent(found, "marginals", lambda m: (m[0], m[1] + 0.1)), "raises a deviation"),
    ],
)
def test_a_wrong_surrogate_is_found(name, change, says):
    with pytest.raises((AssertionError, RuntimeError), match=says):
        check_surrogate(Wrongly(name, change), draws=200)


@dataclass(frozen=True)
class Doubtful(ww.GaussianProcess):
    """The Gaussian process with other nearby posteriors."""

    change: Any = None

    def nearby(self, data, posterior, count, generator):
        return self.change(super().nearby(data, posterior, count, generator), data, posterior)


def shaken(found, data, posterior):
    torch.rand(1)
    return found


def scaled_by_chance(found, data, posterior):
    return tuple(replace(one, scale=one.scale * (1.0 + next(CHANCE))) for one in found)


CHANCE = iter(range(10_000))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda found, data, posterior: found * 2, "16 posteriors where 8 were asked for"),
        (lambda found, data, posterior: (), "0 posteriors"),
        (lambda found, data, posterior: (ww.GaussianProcess().fit(data.first(9)),), "other data than the fit"),
        (lambda found, data, posterior: (replace(posterior, shift=float("nan")),), "a mean that is not finite"),
        (shaken, "global generator"),
        (scaled_by_chance, "other posteriors for the same generator"),
    ],
)
def test_wrong_nearby_posteriors_are_found(change, says):
    state = torch.get_rng_state()
    with pytest.raises(AssertionError, match=says):
        check_surrogate(Doubtful(change=change), draws=200)
    torch.set_rng_state(state)


@dataclass(frozen=True)
class Judged(ww.Empirical):
    """Empirical contexts that are judged otherwise."""

    change: Any = None

    def judged(self, space, trials, given):
        return self.change(super().judged(space, trials, given), space, trials, given)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda found, *rest: None, r"judged\(\) gave None"),
        (
            lambda found, space, trials, given: ww.Empirical().judged(space, trials, space.encode_given(None)),
            "was given, and a point has another value",
        ),
        (lambda found, *rest: replace(found, points=found.points + 9.0), "outside the declared bounds"),
        (
            lambda found, *rest: (
                found if found.unknown else replace(found, unknown=ww.Unknown(torch.ones(1), torch.zeros(1).long()))
            ),
            "one certain point",
        ),
        (
            lambda found, *rest: (
                found
                if found.unknown is None
                else replace(found, unknown=ww.Unknown(torch.ones(1), torch.zeros(1, dtype=torch.int64)))
            ),
            "are not the mean of what is drawn",
        ),
    ],
)
def test_contexts_that_are_wrongly_judged_are_found(change, says):
    check_context_model(Judged(change=lambda found, *rest: found), SPACE)
    with pytest.raises(AssertionError, match=says):
        check_context_model(Judged(change=change), SPACE)


@dataclass(frozen=True)
class Found:
    """A maximizer that returns what a function says."""

    call: Any

    def most_decisions(self, space):
        return 1

    def __call__(self, acquisition, region, generator):
        return self.call(acquisition, region, generator)


BEST = ww.MultiStart()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda acquisition, region, generator: 2.0 * BEST(acquisition, region, generator), "outside the unit"),
        (lambda acquisition, region, generator: region.points(1, generator)[0], "others has"),
        (lambda acquisition, region, generator: torch.rand(region.space.decision_width).double(), "global generator"),
        (lambda acquisition, region, generator: torch.zeros(7).double(), "has the shape"),
        (lambda a, region, generator: BEST(a, replace(region, avoid=None), generator), "too near a pending one"),
        (lambda a, region, generator: BEST(a, replace(region, fixed={}), generator), "breaks what is fixed"),
        (lambda a, region, generator: BEST(replace(a, margin=None), region, generator), "where the margin is below 0"),
    ],
    ids=["outside", "any", "global", "shape", "near", "loose", "margin"],
)
def test_a_wrong_maximizer_is_found(call, says):
    state = torch.get_rng_state()
    with pytest.raises(AssertionError, match=says):
        check_maximizer(Found(call))
    torch.set_rng_state(state)


@dataclass(frozen=True)
class Designed:
    """The Sobol design, changed by the name of its fault."""

    fault: str

    def rounds(self, space):
        return -1 if self.fault == "rounds" else 5

    def __call__(self, round, region, seed):
        found = ww.Sobol()(round, region, seed)
        if self.fault == "outside":
            return found + 1.0
        if self.fault == "global":
            return region.valid(torch.rand(1, len(found)).double())[0]
        if self.fault == "loose":
            return ww.Sobol()(round, replace(region, fixed={}), seed)
        return found.mean() if self.fault == "shape" else found


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("rounds", "rounds says -1"),
        ("outside", "outside the unit cube"),
        ("global", "global generator"),
        ("loose", "breaks what is fixed"),
        ("shape", "has the shape"),
    ],
)
def test_a_wrong_design_is_found(fault, says):
    state = torch.get_rng_state()
    with pytest.raises(AssertionError, match=says):
        check_design(Designed(fault))
    torch.set_rng_state(state)


def test_a_sound_design_passes_with_the_same_class():
    check_design(Designed(""))


@dataclass(frozen=True)
class Scaled:
    """Standardized outcomes, changed by the name of the fault."""

    fault: str

    def scaled(self, y, floor=None):
        found = ww.Standardize().scaled(y, floor)
        if self.fault == "order":
            return replace(found, values=-found.values)
        if self.fault == "scale":
            return replace(found, scale=0.0)
        if self.fault == "back":
            return replace(found, shift=found.shift + 1.0)
        if self.fault == "floor":
            return ww.Standardize().scaled(y)
        if self.fault == "finite":
            return ScaledOutcomes(y / 0.0 if len(y) else y, found.shift, found.scale)
        return replace(found, values=found.values[:-1]) if self.fault == "shape" else found


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("order", "a larger outcome has a smaller value"),
        ("scale", "the scale above 0"),
        ("back", "in the middle is .* comes back as"),
        ("floor", "an outcome at the floor"),
        ("finite", "a value is not finite"),
        ("shape", "the values have the shape"),
    ],
)
def test_a_wrong_scaling_is_found(fault, says):
    with pytest.raises(AssertionError, match=says):
        check_scaling(Scaled(fault))


@dataclass(frozen=True)
class Odd:
    """Whole numbers from 0 to 9, with one answer changed."""

    name: str = ""
    change: Any = None

    def __getattr__(self, name):
        answer = getattr(ww.Integer(0, 9), name)
        if name != self.name:
            return answer
        return (lambda *given, **named: self.change(answer(*given, **named))) if callable(answer) else self.change


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("width", 2, "has width 2"),
        ("in_words", lambda said: "", "in_words says nothing"),
        ("own_bounds", lambda found: 2 * found, "has 2 own_bounds"),
        ("options", lambda found: found[:, 0], "options have the shape"),
        ("options", lambda found: np.vstack([found, found]), "7 options were asked for"),
        ("accepted", lambda found: 3, "is accepted as another one|must be refused"),
        ("to_unit", lambda found: found / 2, "and to_unit says"),
        ("to_own", lambda found: found + 100, "outside own_bounds"),
        ("from_own", lambda found: float(found), "from its own units"),
        ("snap", lambda found: found + 2.0, "snap leaves the unit cube"),
        ("snap", lambda found: 0.0 * found, "snap does not move a point to the value"),
        ("continuous", True, "snap moves a point inside the cube"),
    ],
)
def test_a_wrong_parameter_is_found(name, change, says, monkeypatch):
    monkeypatch.setattr("windward.testing.parameter.require_json", lambda part: None)  # a function is no JSON
    monkeypatch.setattr("windward.testing.parameter.Space", lambda *given: None)
    with pytest.raises(AssertionError, match=says):
        check_parameter(Odd(name, change))
    check_parameter(Odd())
