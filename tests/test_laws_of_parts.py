"""Windward's own parts keep the laws of their kind, and the suites find parts that do not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest
import torch

import windward as ww
from windward import beliefs, feedback, objectives, rules, search, space, surrogate
from windward.objectives.protocol import Bound
from windward.surrogate import Believed
from windward.testing import (
    check_belief,
    check_context_rule,
    check_design,
    check_feedback,
    check_objective,
    check_parameter,
    check_scaling,
)

TV = ww.TotalVariation()
DIVERGENCES = (TV, ww.ChiSquare(), ww.KullbackLeibler(), ww.Wasserstein(), ww.MMD(0.2))
# A solver's gap.
GAP = 1e-7
OBJECTIVES = [
    *(ww.Expected(), ww.Minimum(), ww.CVaR(0.3), ww.VaR(0.3), ww.MeanVariance(), ww.LipschitzRobust(0.2)),
    *(ww.Robust(divergence, 0.2) for divergence in DIVERGENCES),
    *(ww.Tradeoff(divergence, 0.2) for divergence in DIVERGENCES),
    *(ww.Robust(TV, ww.Decay(0.3)), ww.Satisficing(TV, -0.2), ww.Satisficing(ww.Wasserstein(), -0.2)),
    # The slope at 0 of an MMD has the condition of its kernel matrix, which a nugget bounds.
    *(
        kind(each)
        for kind in (ww.Sensitivity, ww.MeanRisk)
        for each in (TV, ww.Wasserstein(), ww.MMD(0.2, nugget=1e-3))
    ),
    *(ww.BocuOne(TV, 0.2), ww.BocuTwo(TV, 0.2), ww.MidpointRobust(ww.MMD(0.2, nugget=1e-3), 0.2)),
]
HEURISTICS = (ww.BocuOne, ww.BocuTwo, ww.MidpointRobust)
FEEDBACKS = [
    *(ww.Ignore(), ww.Hallucinate(), ww.Censor(-2.0, 3), ww.Censor(-2.0, timedelta(days=4))),
    *(ww.Censor(-2.0, 2, "drop"), ww.Censor(-2.0, timedelta(days=2), "drop")),
]
NOT_MONOTONE = [ww.MeanVariance(), ww.Tradeoff(TV, 0.4)]
WIDTHS = [1.5, ww.HuangWidth(2), ww.MicheliWidth(), ww.VermaWidth(), ww.Wider(0.5, 1.0, 3)]
BELIEFS = {
    ww.PosteriorMean(): [],
    ww.ExpectedImprovement(): [ww.Minimum(), *NOT_MONOTONE],
    **{ww.UpperConfidence(width): NOT_MONOTONE for width in WIDTHS},
    **{ww.Thompson(width): [] for width in WIDTHS},
    **{ww.OverallConfidence(width): [] for width in WIDTHS},
}
RULES = [ww.Nature(), ww.MostUncertain(), ww.HighestImprovement(), ww.Uniform()]
DESIGNS = [ww.Sobol(), ww.Sobol(0), ww.Sobol(3), ww.RandomDesign(), ww.Central(), ww.Central(2, 1.0)]
SCALINGS = [ww.Standardize(), ww.SoftClip(), ww.SoftClip(0.5), ww.Unscaled()]
PARAMETERS = [
    *(ww.Real(0, 1), ww.Real(-5, 7.5, outside="clip"), ww.Real(1e-3, 10, log=True), ww.Real(2, 3, outside="error")),
    *(ww.Integer(0, 20), ww.Integer(1, 5), ww.Integer(1, 1000, log=True)),
    *(ww.Categorical(["u", "v", "w"]), ww.Categorical([1, 2.5]), ww.Categorical([True, False])),
    *(ww.Cyclic(24), ww.Cyclic(1e-3), ww.Cyclic(7, whole=True), ww.Cyclic(2, whole=True)),
    *(ww.calendar("weekday"), ww.calendar("time_of_day", "Europe/Berlin"), ww.calendar("time_of_year")),
]


@pytest.mark.parametrize("part", OBJECTIVES, ids=repr)
def test_the_laws_of_objectives(part):
    check_objective(part, heuristic=isinstance(part, HEURISTICS), gap=GAP)


@pytest.mark.parametrize("part", BELIEFS, ids=repr)
def test_the_laws_of_beliefs(part):
    check_belief(part, refuses=BELIEFS[part])


def test_the_laws_of_a_width_that_reads_the_patience():
    check_belief(ww.UpperConfidence(ww.delayed_width()), refuses=NOT_MONOTONE, feedback=ww.Censor(-2.0, 3))


@pytest.mark.parametrize("part", FEEDBACKS, ids=repr)
def test_the_laws_of_feedbacks(part):
    check_feedback(part)


@pytest.mark.parametrize("part", RULES, ids=repr)
def test_the_laws_of_context_rules(part):
    check_context_rule(part)


@pytest.mark.parametrize("part", DESIGNS, ids=repr)
def test_the_laws_of_designs(part):
    check_design(part)


@pytest.mark.parametrize("part", SCALINGS, ids=repr)
def test_the_laws_of_scalings(part):
    check_scaling(part)


@pytest.mark.parametrize("part", PARAMETERS, ids=repr)
def test_the_laws_of_parameters(part):
    check_parameter(part)


@pytest.mark.parametrize(
    ("room", "tried", "member"),
    [
        (objectives, OBJECTIVES, "bind"),
        (beliefs, BELIEFS, "draws"),
        (feedback, FEEDBACKS, "fills_pending"),
        (rules, RULES, "chooses"),
        (search, DESIGNS, "rounds"),
        (surrogate, SCALINGS, "scaled"),
        (space, PARAMETERS, "own_bounds"),
    ],
)
def test_no_part_is_left_out(room, tried, member):
    assert {kind for kind in room.PARTS if member in dir(kind)} == {type(part) for part in tried}


# -- parts that break a law -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bent:
    """The expectation, changed."""

    change: Any = field(compare=False)
    title: ClassVar[str] = "average"
    unprotected: ClassVar[None] = None

    @property
    def monotone(self):
        return True

    def bind(self, situation):
        weights = situation.contexts.weights
        return Bound(lambda values: self.change(values @ weights, values), ceiling=lambda values: values.amax(-1))

    def oriented(self, sign):
        return self

    def sentence(self, value, speech):
        return f"It is {value}."

    def ambiguity(self, situation):
        return None


@dataclass(frozen=True)
class Turned:
    """An objective whose target is not turned back."""

    target: float = 1.0
    monotone: ClassVar[bool] = True

    def bind(self, situation):
        return ww.Expected().bind(situation)

    def oriented(self, sign):
        return self if sign > 0 else replace(self, target=abs(self.target) + 1.0)


@dataclass(frozen=True)
class Forgotten:
    """An objective whose JSON reads as another."""

    share: float = 0.5
    monotone: ClassVar[bool] = True

    def __post_init__(self):
        object.__setattr__(self, "share", self.share / 2)

    def bind(self, situation):
        return ww.Expected().bind(situation)


@pytest.fixture
def as_json(monkeypatch):
    """Functions do not go to JSON; what is tried here is another law."""
    from windward.testing import belief, feedback, objective, rule

    for module in (belief, feedback, objective, rule):
        monkeypatch.setattr(module, "require_json", lambda part: None)


@pytest.mark.usefixtures("as_json")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda mean, values: mean.float(), "it gave torch.float32"),
        (lambda mean, values: mean.sum(), "became"),
        (lambda mean, values: mean - 2.0 * values.std(-1, correction=0), "raised values lower it"),
        (lambda mean, values: 0.9 * mean + 0.1 * values[..., 0], "in another order"),
        (lambda mean, values: 0.5 * mean + 0.5 * mean.detach(), "the gradient is wrong"),
        (lambda mean, values: mean.detach(), "has no gradient"),
        (lambda mean, values: values.amax(-1) + 0.1, "its ceiling lies"),
        (lambda mean, values: mean / 0.0, "is not finite"),
        (lambda mean, values: mean + (0.1 if values.ndim > 1 else 0.0), "for a decision alone"),
        (lambda mean, values: mean + torch.rand(1).double()[0], "global generator"),
    ],
)
def test_a_wrong_objective_is_found(change, says):
    state = torch.get_rng_state()
    with pytest.raises(AssertionError, match=says):
        check_objective(Bent(change))
    torch.set_rng_state(state)


def test_an_objective_that_does_not_come_back_is_found():
    with pytest.raises(AssertionError, match="turned twice it is another part"):
        check_objective(Turned())
    with pytest.raises(AssertionError, match="another part after its way to JSON"):
        check_objective(Forgotten())


def test_the_words_of_an_objective_are_looked_at(as_json, monkeypatch):
    monkeypatch.setattr(Bent, "sentence", lambda self, value, speech: None)
    with pytest.raises(AssertionError, match="its sentence is None"):
        check_objective(Bent(lambda mean, values: mean))


@dataclass(frozen=True)
class BentBelief:
    """Upper confidence, its acquisition changed."""

    change: Any = field(compare=False)
    draws: ClassVar[bool] = False

    def check(self, objective, feedback):
        return None

    def __call__(self, situation, reduction, generator):
        return self.change(ww.UpperConfidence()(situation, reduction, generator), generator)


@pytest.mark.usefixtures("as_json")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda found, generator: replace(found, ceiling=lambda x: found.value(x) - 1e-3), "the ceiling lies"),
        (lambda found, generator: found.value, "give an Acquisition"),
        (lambda found, generator: replace(found, value=lambda x: found.value(x)[:, None]), "`value` gave"),
        (lambda found, generator: replace(found, rank=lambda x: found.value(x).float()), "`rank` gave"),
        (
            lambda found, generator: replace(
                found, value=lambda x: found.value(x) + torch.rand(1, generator=generator).double()
            ),
            "a decision alone and in a batch",
        ),
        (lambda found, generator: replace(found, climb=lambda x: found.value(x).detach()), "it has no gradient"),
    ],
)
def test_a_wrong_belief_is_found(change, says):
    with pytest.raises(AssertionError, match=says):
        check_belief(BentBelief(change))


@pytest.mark.usefixtures("as_json")
def test_a_belief_that_takes_too_much_or_too_little_is_found(monkeypatch):
    sound = BentBelief(lambda found, generator: found)
    check_belief(sound)
    with pytest.raises(AssertionError, match="must refuse MeanVariance"):
        check_belief(sound, refuses=[ww.MeanVariance()])
    with pytest.raises(AssertionError, match="refuses every objective"):
        check_belief(ww.ExpectedImprovement(), objectives=[ww.Minimum()])


@dataclass(frozen=True)
class BentFeedback:
    """Ignore, changed."""

    dataset_of: Any = field(default=lambda trials: trials.dataset, compare=False)
    fit: Any = field(default=lambda surrogate, data, start: Believed(surrogate.fit(data, start)), compare=False)
    fills_pending: bool = False
    patience: Any = None

    def dataset(self, trials):
        return self.dataset_of(trials)

    def __call__(self, trials, surrogate, now, start):
        return self.fit(surrogate, self.dataset_of(trials), start)


def twice(surrogate, data, start):
    surrogate.fit(data, start)
    return Believed(surrogate.fit(data, start))


@pytest.mark.usefixtures("as_json")
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"fills_pending": True}, "the pending trial 1 is missing"),
        ({"dataset_of": ww.Censor(-2.0, 3).dataset}, "the pending trial 1 is there"),
        ({"dataset_of": lambda trials: trials.dataset.first(0)}, "has arrived, and dataset lacks it"),
        ({"fit": twice}, "fitted the surrogate 2 times"),
        ({"fit": lambda surrogate, data, start: surrogate.fit(data, start)}, "give Believed"),
        (
            {"fit": lambda surrogate, data, start: Believed(surrogate.fit(replace(data, y=data.y + 1.0), start))},
            "other data than dataset",
        ),
        ({"patience": "long"}, "patience is 'long'"),
        (
            {"dataset_of": lambda trials: replace(trials.dataset, y=trials.sign * trials.dataset.y)},
            "minimizes minus f must be fitted",
        ),
    ],
)
def test_a_wrong_feedback_is_found(changes, says):
    with pytest.raises(AssertionError, match=says):
        check_feedback(BentFeedback(**changes))


@dataclass(frozen=True)
class BentRule:
    choose: Any = field(compare=False)
    chooses: bool = True

    def __call__(self, x, situation, generator):
        return self.choose(situation.contexts.points, generator)


@pytest.mark.usefixtures("as_json")
@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (BentRule(lambda points, generator: points.mean(0)), "none of the context points"),
        (BentRule(lambda points, generator: None), "chooses is True, and it gave None"),
        (BentRule(lambda points, generator: points[0], chooses=False), "chooses is False"),
        (BentRule(lambda points, generator: points[torch.randint(len(points), (1,))][0]), "global generator"),
    ],
)
def test_a_wrong_rule_is_found(rule, says):
    state = torch.get_rng_state()
    with pytest.raises(AssertionError, match=says):
        check_context_rule(rule)
    torch.set_rng_state(state)
