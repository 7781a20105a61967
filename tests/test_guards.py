"""Guards: what they allow, what refuses them, that asks stay inside, and the status quo where nothing qualifies."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest
import torch
from helpers import FAST, SHOP, policy, quadratic

import windward as ww
from windward import rules
from windward.basics.codec import encode
from windward.contexts import Unknown
from windward.journal import Draft
from windward.objectives.protocol import Aim, Speech
from windward.rules import floor as floors
from windward.rules.floor import FEWEST, NEIGHBOURHOOD, REACH
from windward.rules.guards import each_of
from windward.search.limits import tightened
from windward.search.region import Region
from windward.study.declare import declared
from windward.surrogate import Believed
from windward.surrogate.crowd import crowd
from windward.testing import check_guard

MIXED = ww.Space(
    {
        "order": ww.Real(0, 10),
        "boxes": ww.Integer(0, 20),
        "route": ww.Categorical(["rail", "road", "sea"]),
        "speed": ww.Real(1, 1000, log=True),
    },
    {"demand": ww.Real(0, 1)},
)
QUO = {"order": 4.0, "boxes": 6, "route": "road", "speed": 10.0}
GUARDS = [
    ww.NoGuard(),
    ww.LargestStep(0.1),
    ww.LargestStep({"a": 0.2, "b": 0}),
    ww.LargestStep(0.3, "last"),
    ww.Floor(0.2),
    ww.Floor(slack=0.1, confidence=0.8),
    ww.Guards((ww.LargestStep(0.1), ww.Floor(0.1))),
]


@pytest.mark.parametrize("guard", GUARDS, ids=repr)
def test_the_laws_of_guards(guard):
    check_guard(guard)


def test_no_guard_is_left_out():
    assert {kind for kind in rules.PARTS if "needs_status_quo" in dir(kind)} == {type(guard) for guard in GUARDS}


def test_the_laws_find_guards_that_break_them():
    @dataclass(frozen=True)
    class Bent:
        change: str = "none"
        title: ClassVar[str] = "bent"
        needs_status_quo: ClassVar[bool] = False

        def check(self, objective, space, sign):
            pass

        def __call__(self, situation):
            found = ww.Limits.anywhere(situation.trials.space)
            if self.change == "outside":
                return replace(found, high=found.high + 0.5)
            if self.change == "empty":
                return replace(found, low=found.high, high=found.low)
            if self.change == "batch":
                return replace(found, margin=lambda x: x.sum(-1) - x.sum())
            torch.rand(1) if self.change == "chance" else None
            return replace(found, margin=(lambda x: x.sum() * x.new_ones(1)) if self.change == "shape" else None)

        def sentence(self, speech):
            return "no sentence" if self.change == "words" else "It is bent."

    check_guard(Bent())
    for change, why in {
        "outside": "unit cube",
        "empty": "is empty",
        "batch": "differs from that alone",
        "chance": "global generator",
        "shape": "its margin gives",
        "words": "its sentence is",
    }.items():
        with torch.random.fork_rng(), pytest.raises(AssertionError, match=why):
            check_guard(Bent(change))


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: ww.LargestStep(-0.1), r"step must be > 0"),
        (lambda: ww.LargestStep(0.0), r"step must be > 0"),
        (lambda: ww.LargestStep(1.5), r"step must be <= 1"),
        (lambda: ww.LargestStep({"price": -1.0}), r"must be >= 0"),
        (lambda: ww.LargestStep({}), "name at least one decision"),
        (lambda: ww.LargestStep("far"), "must be a number"),
        (lambda: ww.LargestStep(0.1, "first"), "must be one of 'status_quo', 'last'"),
        (lambda: ww.Floor(), "give either a value, or a slack"),
        (lambda: ww.Floor(1.0, 0.5), "give either a value, or a slack"),
        (lambda: ww.Floor(slack=0.0), "slack must be > 0"),
        (lambda: ww.Floor(1.0, confidence=1.0), "confidence must be < 1"),
        (lambda: ww.Floor(1.0, confidence=0.0), "confidence must be > 0"),
        (lambda: ww.Floor(float("nan")), "must be finite"),
        (lambda: ww.Guards(()), "give several guards"),
        (lambda: ww.Guards((ww.Floor(1.0), ww.Expected())), "is no guard"),
        (lambda: ww.Guards((ww.LargestStep,)), "is no guard"),
        (lambda: policy(guard=ww.Expected()), "this part goes to objective"),
        (lambda: policy(guard=ww.LargestStep), "with its parentheses"),
        (lambda: policy(objective=ww.Floor(1.0)), "this part goes to guard"),
    ],
)
def test_bad_guards_are_refused(make, why):
    with pytest.raises(ww.WindwardError, match=why):
        make()


@pytest.mark.parametrize(
    ("guard", "why"),
    [
        (ww.LargestStep({"prize": 1.0}), "unknown decision 'prize'"),
        (ww.LargestStep({"route": 1.0}), "'route' is a category and has no distances; give 'route': 0"),
        (ww.Guards((ww.Floor(1.0), ww.LargestStep({"order": 1.0, "boxs": 2.0}))), "'boxs'.*did you mean 'boxes'"),
    ],
)
def test_a_guard_that_does_not_go_with_the_space_is_refused(guard, why):
    with pytest.raises(ww.IncompatibleError, match=why):
        ww.Study(MIXED, policy(guard=guard), status_quo=QUO)
    study = ww.Study(MIXED, policy(), status_quo=QUO)
    with pytest.raises(ww.IncompatibleError, match=why):
        study.use(policy(guard=guard))


def test_a_floor_beyond_the_target_is_refused():
    missed = ww.Satisficing(ww.TotalVariation(), 5.0)
    for direction, bad, good in (("maximize", 6.0, 4.0), ("minimize", 4.0, 6.0)):
        with pytest.raises(ww.IncompatibleError, match=r"Floor\(value=.* contradicts Satisficing.*already"):
            ww.Study(
                SHOP, policy(objective=missed, guard=ww.Floor(bad)), status_quo={"order": 0.5}, direction=direction
            )
        made = ww.Study(
            SHOP, policy(objective=missed, guard=ww.Floor(good)), status_quo={"order": 0.5}, direction=direction
        )
        assert made.policy.guard == ww.Floor(good)


def test_a_guard_without_a_status_quo_is_refused_everywhere():
    guarded = policy(guard=ww.LargestStep(0.1))
    with pytest.raises(ww.IncompatibleError, match=r"Study: the guard LargestStep.* needs a status quo"):
        ww.Study(SHOP, guarded)
    study = ww.Study(SHOP, policy())
    with pytest.raises(ww.IncompatibleError, match=r"study.use: .*study.declare\(status_quo="):
        study.use(guarded)
    with pytest.raises(ww.IncompatibleError, match=r"declaration: the guard"):
        declared({"name": "s", "decision": {"order": {"part": "Real", "low": 0, "high": 1}}, "policy": _written()})
    # A log that somebody else wrote, without one: the ask refuses.
    draft = Draft("policy_set", None, datetime.now(UTC), {"v": 2, "policy": encode(guarded)})
    study.journal.append("study", lambda _: [draft], key="other", after=1)
    with pytest.raises(ww.IncompatibleError, match=r"study\.ask: the guard"):
        study.ask()
    study.declare(status_quo={"order": 0.5})
    assert study.ask().decision == {"order": 0.5}


def _written():
    return {"method": "gp_ucb", "guard": {"part": "LargestStep", "step": 0.1}}


def test_a_method_takes_a_guard_beside_its_arguments():
    data = {"name": "s", "decision": {"order": {"part": "Real", "low": 0, "high": 1}}, "policy": _written()}
    found = declared({**data, "status_quo": {"order": 0.5}})
    assert found.policy == replace(ww.papers.gp_ucb(), guard=ww.LargestStep(0.1))


def test_policies_written_before_have_no_guard():
    body = json.loads(ww.to_json(policy()))
    assert body.pop("guard") == {"part": "NoGuard"}
    assert ww.from_json(json.dumps(body)) == policy() and policy().guard == ww.NoGuard()
    assert each_of(ww.NoGuard()) == () and len(each_of(ww.Guards((ww.Guards(GUARDS[1:4]), ww.NoGuard())))) == 3


# -- largest steps -----------------------------------------------------------------------------------------------------


def limits(guard, rows=(), space=MIXED, quo=QUO):
    trials = ww.Trials(space, tuple(rows))
    situation = ww.Situation(ww.Contexts.uniform(torch.zeros(1, 1)), trials=trials, status_quo=quo)
    return guard(situation)


def test_a_share_of_every_range():
    found = limits(ww.LargestStep(0.1))
    assert found.low.tolist() == pytest.approx([0.3, 0.2, 0, 0, 0, 1 / 3 - 0.1])  # a category may change
    assert found.high.tolist() == pytest.approx([0.5, 0.4, 1, 1, 1, 1 / 3 + 0.1])
    assert limits(ww.LargestStep(1.0)).low.tolist() == [0.0] * 6


def test_steps_in_the_users_units():
    found = limits(ww.LargestStep({"order": 0.5, "boxes": 2, "route": 0, "speed": 20.0}))
    low, high = (MIXED.decode_decision(edge) for edge in (found.low, found.high))
    assert low == {"order": pytest.approx(3.5), "boxes": 4, "route": "road", "speed": 1.0}  # 10 - 20 is no log
    assert high == {"order": pytest.approx(4.5), "boxes": 8, "route": "road", "speed": pytest.approx(30.0)}
    free = limits(ww.LargestStep({"order": 0.5}))
    assert free.low.tolist()[1:] == [0.0] * 5 and free.high.tolist()[1:] == [1.0] * 5


def test_the_last_decision_is_the_last_that_was_not_lost():
    early = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        ww.Trial(0, {**QUO, "order": 1.0}, value=1.0, told_at=early + timedelta(days=9)),
        ww.Trial(1, {**QUO, "order": 2.0}, value=1.0, told_at=early),
    ]
    step = ww.LargestStep({"order": 0.5}, "last")
    assert float(limits(step).low[0]) == pytest.approx(0.35)
    assert float(limits(step, rows).low[0]) == pytest.approx(0.05)  # the latest of what was added
    rows += [ww.Trial(2, {**QUO, "order": 5.0}, asked_at=early), ww.Trial(3, {**QUO, "order": 9.0}, asked_at=early)]
    assert float(limits(step, rows).low[0]) == pytest.approx(0.85)  # also while it is pending
    rows[3] = replace(rows[3], lost="closed")
    assert float(limits(step, rows).low[0]) == pytest.approx(0.45)


def test_whole_numbers_and_choices_are_tightened():
    low, high = torch.tensor([0.0, 0.11, 0.0, 0.0, 0.0, 0.0]).double(), torch.tensor([1, 0.33, 1, 0, 1, 1]).double()
    low, high = tightened(MIXED, low, high)
    assert (20 * low[1], 20 * high[1]) == (3, 6) and high.tolist()[2:5] == [1, 0, 1] and low.tolist()[2:5] == [0, 0, 0]
    region = Region(MIXED, low=low, high=high)
    points = region.points(200, torch.Generator().manual_seed(0))
    decisions = [MIXED.decode_decision(point) for point in points]
    assert {d["boxes"] for d in decisions} == {3, 4, 5, 6} and {d["route"] for d in decisions} == {"rail", "sea"}
    assert bool(region.feasible(points).all())
    none = tightened(MIXED, torch.full_like(low, 0.26), torch.full_like(low, 0.29))
    assert bool((none[0] > none[1])[1])  # no whole number between 5.2 and 5.8


@pytest.mark.parametrize("of", ["status_quo", "last"])
@pytest.mark.parametrize("maximize", [FAST, ww.OverGrid(7)], ids=repr)
def test_asks_take_no_larger_step(of, maximize):
    steps = {"order": 0.7, "boxes": 2, "route": 0}
    study = ww.Study(MIXED, policy(guard=ww.LargestStep(steps, of), maximize=maximize), status_quo=QUO)
    before = QUO
    for turn in range(9):
        one = study.ask()
        origin = QUO if of == "status_quo" else before
        assert abs(one.decision["order"] - origin["order"]) <= 0.7 + 1e-9
        assert abs(one.decision["boxes"] - origin["boxes"]) <= 2 and one.decision["route"] == "road"
        assert [held.guard for held in one.reason.guards] == ["largest step"]
        study.tell(one.id, one.decision["order"] + one.decision["boxes"], context={"demand": 0.1 * turn})
        before = one.decision
    assert study.trials[0].decision == QUO and study.ask().reason.guards[0].bound
    assert study.replay(8).decision == study.trials[8].decision
    reach = max(trial.decision["order"] for trial in study.trials)
    assert reach > 4.8 if of == "last" else reach == pytest.approx(4.7)


def test_constraints_and_steps_hold_together():
    space = ww.Space(
        {"a": ww.Real(0, 1), "b": ww.Real(0, 1), "c": ww.Real(0, 1)},
        {"demand": ww.Real(0, 1)},
        [ww.Linear({"a": 1, "b": 1, "c": 1}, lower=1, upper=1)],
    )
    quo = {"a": 0.2, "b": 0.3, "c": 0.5}
    study = ww.Study(space, policy(guard=ww.LargestStep(0.1)), status_quo=quo)
    for turn in range(7):
        one = study.ask()
        assert sum(one.decision.values()) == pytest.approx(1.0, abs=1e-6)
        assert max(abs(one.decision[name] - quo[name]) for name in quo) <= 0.1 + 1e-6
        study.tell(one.id, one.decision["a"] - one.decision["b"], context={"demand": 0.1 * turn})
    assert study.trials[6].decision["a"] == pytest.approx(0.3, abs=1e-3)


def test_what_is_fixed_must_be_within_the_limits():
    study = ww.Study(MIXED, policy(guard=ww.LargestStep({"order": 1.0})), status_quo=QUO)
    assert study.ask(fix={"order": 4.5}).decision["order"] == 4.5
    with pytest.raises(ww.SpaceError, match=r"ask\(fix=.*no decision satisfies the guard LargestStep"):
        study.ask(fix={"order": 9.0})
    assert len(study.trials) == 1


# -- floors ------------------------------------------------------------------------------------------------------------


def valley(suggestion):
    """Good near 0.3, far below the floor beyond 0.6."""
    x, demand = float(suggestion.decision["order"]), 0.3 + 0.05 * (suggestion.id % 7)
    return ww.Result(1.0 - 6.0 * (x - 0.35) ** 2 + 0.1 * demand, context={"demand": demand})


def floored(guard, rounds=14, direction="maximize", sign=1.0, **parts):
    study = ww.Study(
        SHOP, policy(guard=guard, context_model=ww.Empirical(), **parts), status_quo={"order": 0.3}, direction=direction
    )
    for _ in range(rounds):
        one = study.ask()
        came = valley(one)
        study.tell(one.id, sign * came.value, context=came.context)
    return study


@pytest.fixture(scope="module")
def above():
    """A study that was played above a floor; only looked at."""
    torch.set_num_threads(1)
    return floored(ww.Floor(0.6))


@pytest.fixture(scope="module")
def free():
    """The same without a guard."""
    torch.set_num_threads(1)
    study = ww.Study(SHOP, policy(context_model=ww.Empirical()), status_quo={"order": 0.3})
    study.run(valley, 14, progress=False)
    return study


@pytest.mark.parametrize("guard", [ww.Floor(0.6), ww.Floor(slack=0.4)], ids=repr)
def test_no_ask_falls_below_the_floor(guard, above, free):
    study = above if guard == above.policy.guard else floored(guard)
    assert study.trials[0].decision == {"order": 0.3}
    first = [float(trial.decision["order"]) for trial in study.trials.rows[:4]]
    assert max(abs(x - 0.3) for x in first) <= NEIGHBOURHOOD + 1e-9 and len(set(first)) == 4
    assert min(1.0 - 6.0 * (float(t.decision["order"]) - 0.35) ** 2 for t in study.trials) > 0.55
    assert min(1.0 - 6.0 * (float(t.decision["order"]) - 0.35) ** 2 for t in free.trials) < 0.0
    again = study.replay(12)
    assert again.decision == study.trials[12].decision
    assert {trial_reason(study, turn).kind for turn in range(6, 14)} <= {"best", "learn"}


def trial_reason(study, id):
    return study.replay(id).reason


def test_a_ceiling_where_the_study_minimizes(above):
    up, down = above, floored(ww.Floor(-0.6), direction="minimize", sign=-1.0)
    assert [t.decision for t in up.trials] == [t.decision for t in down.trials]
    said = ww.Floor(-0.6).sentence(Speech(ww.Situation(ww.Contexts.uniform(torch.zeros(1, 1))), -1.0))
    assert said == "A decision is asked only if with 90 % probability it brings -0.6 or less."


def test_where_nothing_qualifies_the_status_quo_is_asked():
    study = floored(ww.Floor(5.0), rounds=8)  # far above what anything brings
    assert all(t.decision == {"order": 0.3} for t in study.trials.rows[max(4, FEWEST) :])
    one = study.ask()
    assert one.decision == {"order": 0.3} and one.reason.kind == "status_quo" and one.reason.guards[0].bound
    assert study.replay(one.id).decision == {"order": 0.3}
    with pytest.raises(ww.SpaceError, match="with these fixed no decision satisfies the guard Floor"):
        study.ask(fix={"order": 0.4})


def test_the_status_quo_always_qualifies_under_a_slack():
    study = floored(ww.Floor(slack=1e-6), rounds=9)
    one = study.ask()
    assert one.reason.kind in ("best", "learn") and float(one.decision["order"]) == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize(
    "parts",
    [
        {"objective": ww.CVaR(0.4)},
        {"objective": ww.Robust(ww.TotalVariation(), 0.3)},
        {"objective": ww.Satisficing(ww.TotalVariation(), 0.9)},
        {"surrogate": ww.GaussianProcess(kernel="matern52")},
        {"surrogate": ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (0.3,), 1.0, 0.01))},
        {"belief": ww.Thompson()},
        {"maximize": ww.OverGrid(5)},
        {"feedback": ww.Censor(-4.0, 3)},
        {"context_rule": ww.MostUncertain()},
    ],
    ids=repr,
)
@pytest.mark.parametrize("guard", [ww.Floor(0.5), ww.Floor(slack=0.5)], ids=repr)
def test_a_floor_with_every_kind_of_part(guard, parts):
    study = floored(guard, rounds=7, **parts)  # three after the design
    assert study.replay(6).decision == study.trials[6].decision
    assert min(1.0 - 6.0 * (float(t.decision["order"]) - 0.35) ** 2 for t in study.trials) > 0.2


def fitted(study):
    trials, contexts = study.trials, ww.Contexts.uniform(study.trials.seen_contexts)
    posterior, expected = study.policy.surrogate.fit(trials.dataset), ww.Expected()
    situation = ww.Situation(contexts, trials=trials, believed=Believed(posterior), status_quo={"order": 0.3})
    return replace(situation, aim=Aim(expected, expected.bind(situation))), posterior


def test_the_margin_is_the_probability_less_the_confidence(monkeypatch, above):
    monkeypatch.setattr(floors, "REACH", 9.0)
    situation, posterior = fitted(above)
    x = torch.tensor([[0.05], [0.31], [0.36], [0.62]]).double()
    mean, deviation = posterior.average(x, situation.contexts)
    for least in mean.tolist():
        chance = torch.special.ndtr((mean - least - 0.001) / deviation)
        found = ww.Floor(least + 0.001, confidence=0.7)(situation).margin(x)
        assert torch.allclose(found, chance - 0.7, atol=1e-9)
    pair = torch.cat([x[3:], x.new_tensor([[0.3]])])
    drawn = posterior.sample(pair, situation.contexts.points, 100_000, torch.Generator().manual_seed(0))
    gaps = drawn[:, 0].mean(-1) - drawn[:, 1].mean(-1)
    slack = -float(gaps.mean()) + 0.5 * float(gaps.std())
    found = ww.Floor(slack=slack, confidence=0.5)(situation).margin(x[3:])
    assert float(found) == pytest.approx(float((gaps >= -slack).double().mean()) - 0.5, abs=0.01)
    unsure = replace(situation.contexts, unknown=Unknown(torch.ones(14).double(), torch.arange(14)))
    careful = ww.Floor(0.6, confidence=0.7)(replace(situation, judged=unsure)).margin(x)
    assert bool((careful <= ww.Floor(0.6, confidence=0.7)(situation).margin(x) + 1e-12).all())


def test_a_crowd_says_what_each_posterior_says():
    situation, _ = fitted(floored(ww.Floor(0.6)))
    x, other = (
        torch.rand(5, 1, generator=torch.Generator().manual_seed(3), dtype=torch.float64),
        torch.tensor([0.3]).double(),
    )
    for kernel in ("squared_exponential", "matern52"):
        process = ww.GaussianProcess(kernel)
        near = process.nearby(situation.trials.dataset, process.fit(situation.trials.dataset), 8, torch.Generator())
        contexts, step = situation.contexts.fewer(12), 1 if kernel == "squared_exponential" else 4
        stacked = crowd(near, contexts)
        for (means, variances), base in ((stacked.averages(x), None), (stacked.averages(x, other), other)):
            for place, one in enumerate(near[::step]):
                weights = contexts.weights[None]
                cov = [
                    one.averages_covary(contexts.points, (a, weights), (b, weights))
                    for a, b in ((x, x), (x, other[None]), (other[None], other[None]))
                ]
                mean, quo = one.average(x, contexts)[0], one.average(other[None], contexts)[0]
                expected = (mean, cov[0]) if base is None else (mean - quo, cov[0] - 2 * cov[1] + cov[2])
                assert torch.allclose(means[place], expected[0], atol=1e-9)
                assert torch.allclose(variances[place], expected[1].clamp_min(0.0), atol=1e-9)
    assert crowd([object()], situation.contexts) is None


def test_doubts_make_a_floor_more_careful():
    situation, posterior = fitted(floored(ww.Floor(0.6), rounds=7))
    near = ww.GaussianProcess().nearby(situation.trials.dataset, posterior, 32, torch.Generator().manual_seed(0))
    x = torch.linspace(0.0, 1.0, 41).double()[:, None]
    floor = ww.Floor(0.6)
    sure, doubting = floor(situation).margin(x) >= 0, floor(replace(situation, plausible=near)).margin(x) >= 0
    assert int(doubting.sum()) <= int(sure.sum()) and bool(doubting[12])
    far = (x[:, 0] - 0.3).abs() > NEIGHBOURHOOD + REACH + 1e-9
    assert not bool(doubting[far & (x[:, 0] > 0.6)].any())


def test_several_guards_say_which_bound():
    both = ww.Guards((ww.LargestStep({"order": 0.05}), ww.Floor(slack=5.0)))
    study = floored(both, rounds=8)
    reason = study.ask().reason
    assert [held.guard for held in reason.guards] == ["largest step", "floor"]
    assert all(abs(float(t.decision["order"]) - 0.3) <= 0.05 + 1e-9 for t in study.trials)
    assert reason.guards[0].bound


@dataclass(frozen=True)
class Stubborn:
    """A maximizer that looks at nothing."""

    def most_decisions(self, space):
        return 1

    def __call__(self, acquisition, region, generator):
        return torch.ones(1, dtype=torch.float64)


def test_a_maximizer_that_ignores_the_guard_is_refused():
    study = ww.Study(
        SHOP, policy(guard=ww.LargestStep(0.1), maximize=Stubborn()), status_quo={"order": 0.3}, parts=[Stubborn]
    )
    study.run(quadratic, 4, progress=False)
    with pytest.raises(ww.IncompatibleError, match=r"Stubborn.* returned a decision that the guard does not allow"):
        study.ask()


def test_the_sentences_of_guards():
    speech = Speech(ww.Situation(ww.Contexts.uniform(torch.zeros(1, 1))))
    assert ww.LargestStep(0.1).sentence(speech) == "No number moves by more than 10 % of its range from the status quo."
    assert ww.LargestStep({"price": 0.5, "route": 0}, "last").sentence(speech) == (
        "No step from the last decision moves price by more than 0.5. Route stays as in the last decision."
    )
    assert ww.Floor(slack=2.0).sentence(speech) == (
        "A decision is asked only if with 90 % probability it brings at most 2 less than the status quo."
    )
    assert ww.NoGuard().sentence(speech) == "Every decision may be asked."


def test_a_step_of_nothing_in_a_range_of_millions():
    """Only some of 2e12 whole numbers are listed; if none of those is allowed, another one still may be."""
    space = ww.Space({"order": ww.Integer(-(10**12), 10**12)}, {"demand": ww.Real(0, 1)})
    guarded = replace(ww.papers.erbo(), design=ww.Sobol(1), guard=ww.LargestStep({"order": 0.0}))
    study = ww.Study(space, guarded, status_quo={"order": -639424921077})
    study.add({"order": 5}, 1.0, context={"demand": 0.2})
    study.add({"order": 7}, 2.0, context={"demand": 0.4})
    assert study.ask().decision == {"order": -639424921077}
    assert abs(study.ask().decision["order"] + 639424921077) <= 2000  # a billionth of the range is rounding
