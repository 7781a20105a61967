"""A recommendation says how sure it is: values, intervals, comparisons, and what nobody has tried or seen."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
import torch
from helpers import FAST, SHOP, policy

import windward as ww
from windward.suggest import recommend as recommending

TV = ww.TotalVariation()
FIXED = ww.GaussianProcess(fixed=ww.Hyperparameters(0.1, (0.4, 0.6), 1.2, 0.02))
# One of each kind; a target in the middle of the values, so that some draws reach it and some do not.
OBJECTIVES = [
    *(ww.Expected(), ww.Minimum(), ww.CVaR(0.3), ww.VaR(0.3), ww.MeanVariance(), ww.LipschitzRobust(0.1)),
    *(ww.Robust(TV, 0.3), ww.Robust(ww.ChiSquare(), 0.1), ww.Robust(ww.KullbackLeibler(), 0.1)),
    *(
        ww.Robust(ww.Wasserstein(), 0.1),
        ww.Robust(ww.MMD(0.5, nugget=1e-2, tolerance=1e-6), 0.2),
        ww.Tradeoff(TV, 0.2),
        ww.MeanRisk(TV),
    ),
    *(ww.Sensitivity(TV), ww.Satisficing(TV, 0.78), ww.BocuOne(TV, 0.2), ww.BocuTwo(TV, 0.2)),
    ww.MidpointRobust(ww.MMD(0.5, nugget=1e-3), 0.2),
]


def rows(count=14, low=0.2, high=0.7):
    """History of the shop: orders in a part of what is possible, demand that varies, noise that repeats."""
    found = []
    for i in range(count):
        order, demand = low + (high - low) * ((i * 5) % count) / (count - 1), 0.2 + 0.6 * ((i * 3) % 7) / 6
        value = 1.0 - (order - demand) ** 2 - 0.4 * order + 0.03 * ((i * 7) % 5 - 2)
        found.append(ww.Past({"order": order}, value, {"demand": demand}))
    return found


def shop(sign=1.0, count=14, space=SHOP, status_quo=None, history=None, **parts):
    """A study with a history, the values times `sign`."""
    parts = {"context_model": ww.Empirical(elsewhere=8), "surrogate": FIXED, **parts}
    direction = "maximize" if sign > 0 else "minimize"
    study = ww.Study(space, policy(**parts), seed=5, direction=direction, status_quo=status_quo)
    study.add_many([replace(row, value=sign * row.value) for row in history or rows(count)])
    return study


# -- values and intervals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_a_value_lies_inside_its_interval_and_minimizing_mirrors_it(objective):
    turned = replace(objective, target=-objective.target) if isinstance(objective, ww.Satisficing) else objective
    belief = ww.PosteriorMean()
    up, down = shop(objective=objective, belief=belief), shop(-1.0, objective=turned, belief=belief)
    found, mirrored = up.assess({"order": 0.6}), down.assess({"order": 0.6})
    low, high = found.interval
    assert low < found.value < high
    near = partial(pytest.approx, rel=1e-6, abs=1e-9)
    assert mirrored.value == near(-found.value) and mirrored.interval == near((-high, -low))
    assert mirrored.between(0.5) == near(tuple(-end for end in found.between(0.5)[::-1]))
    deviations = found.unknown_function, found.unknown_contexts
    assert (mirrored.unknown_function, mirrored.unknown_contexts) == near(deviations)
    assert (mirrored.allowed_shift is None) == (found.allowed_shift is None)
    assert found.allowed_shift is None or mirrored.allowed_shift == near(found.allowed_shift)


def test_intervals_of_other_levels_are_nested():
    found = shop(surrogate=ww.GaussianProcess()).assess({"order": 0.4})
    levels = [0.0, 0.1, 0.5, 0.8, 0.9, 0.95, 0.99]
    ends = [found.between(level) for level in levels]
    assert ends[0][0] == ends[0][1] and ends[4] == pytest.approx(found.interval)
    for (low, high), (lower, higher) in itertools.pairwise(ends):
        assert lower < low and high < higher
    for level in (-0.1, 0.995, float("nan"), "0.9", True):
        with pytest.raises(ww.ArgumentError, match=r"Recommendation.between\(level="):
            found.between(level)


def test_the_parts_of_an_interval_are_those_of_the_formula():
    """With the hyper-parameters known: Var V = p'S p + E_f[Var_p f] / (A + 1), A the mass of the Dirichlet distribution."""
    study, x = shop(), torch.tensor([[0.3]], dtype=torch.float64)
    found = study.assess({"order": 0.3})
    assessed = study.snapshot().assessment("test", decision={"order": 0.3})
    contexts, posterior = assessed.base.unknowns.contexts, assessed.situation.posterior
    p, mass = contexts.weights, float(contexts.unknown.mass.sum())
    mean = posterior.means(x, contexts.points)[0]
    one_hot = torch.eye(len(p), dtype=torch.float64)
    _, joint = posterior.averages(x.expand(1, 1), contexts.points, (one_hot[:, None] + one_hot).reshape(-1, len(p)) / 2)
    _, own = posterior.averages(x, contexts.points, one_hot)
    own = own[:, 0, 0]
    covariance = 2.0 * joint[:, 0, 0].reshape(len(p), len(p)) - 0.5 * (own[:, None] + own)
    by_contexts = (p @ mean.square() - (p @ mean) ** 2) / (mass + 1.0)
    spread = (p @ (own + mean.square()) - (p @ covariance @ p + (p @ mean) ** 2)) / (mass + 1.0)
    total = p @ covariance @ p + spread
    assert found.value == pytest.approx(float(p @ mean), rel=0.01)
    assert found.unknown_contexts**2 == pytest.approx(float(by_contexts), rel=0.15)
    assert found.unknown_function**2 + found.unknown_contexts**2 == pytest.approx(float(total), rel=0.1)


@pytest.mark.parametrize("objective", [ww.Expected(), ww.CVaR(0.3)], ids=repr)
def test_the_parts_add_up_to_the_variance(objective):
    study = shop(objective=objective, surrogate=ww.GaussianProcess())
    found = study.assess({"order": 0.4})
    variance = float(study.snapshot().assessment("test", decision={"order": 0.4}).draws.var(correction=0))
    assert found.unknown_function**2 + found.unknown_contexts**2 == pytest.approx(variance, rel=1e-6)
    assert found.unknown_function > 0.0 and found.unknown_contexts > 0.0


def test_more_contexts_leave_less_unknown_of_them():
    study = shop(design=ww.Sobol(100))
    before = study.assess({"order": 0.3})
    for row in rows(28):
        study.reveal(study.ask().id, row.context)  # no values: f is as unknown as it was
    after = study.assess({"order": 0.3})
    assert after.unknown_contexts < 0.7 * before.unknown_contexts
    assert after.unknown_function == pytest.approx(before.unknown_function, rel=0.2)


def test_a_distribution_that_is_known_leaves_f_alone():
    known = ww.Known({"demand": [0.2, 0.5, 0.8]})
    found = shop(context_model=known).assess({"order": 0.4})
    assert found.unknown_contexts == 0.0 and found.unseen == {} and found.unknown_function > 0.0
    given = shop().assess({"order": 0.4}, context={"demand": 0.5})
    assert given.unknown_contexts == 0.0 and given.contexts == ({"demand": 0.5},)


def test_what_the_hyperparameters_leave_open_widens_the_interval():
    fit = ww.GaussianProcess()
    study = shop(surrogate=fit)
    held = fit.fit(study.trials.dataset).hyperparameters
    certain = shop(surrogate=ww.GaussianProcess(fixed=held)).assess({"order": 0.95})
    found = study.assess({"order": 0.95})
    assert found.interval[1] - found.interval[0] > 1.1 * (certain.interval[1] - certain.interval[0])


def test_the_shift_that_is_allowed_lies_between_the_value_and_the_average():
    plain, guarded = shop(objective=ww.Expected()), shop(objective=ww.Robust(TV, 0.3))
    found = guarded.assess({"order": 0.4})
    assert plain.assess({"order": 0.4}).allowed_shift is None
    assert found.allowed_shift > 0.01
    assert found.value + found.allowed_shift == pytest.approx(plain.assess({"order": 0.4}).value, abs=0.02)
    assert shop(objective=ww.Tradeoff(TV, 0.3), belief=ww.PosteriorMean()).assess({"order": 0.4}).allowed_shift is None


# -- every kind of study -------------------------------------------------------------------------------------------------


def sound(study, context=None):
    """A recommendation, a comparison with what was tried first and the probability of being settled all make sense."""
    found = study.recommend(context=context)
    low, high = found.interval
    assert low <= found.value <= high and low < high
    beside = study.compare(dict(study.trials.arrived[0].decision), context=context)
    assert beside.interval[0] <= beside.difference <= beside.interval[1] and 0.0 <= beside.probability <= 1.0
    assert 0.0 <= study.settled(0.1, context=context) <= study.settled(10.0, context=context) <= 1.0
    return found


def test_no_contexts_at_all():
    space = ww.Space({"x": ww.Real(0, 1)})
    study = ww.Study(space, policy(context_model=ww.NoContext()))
    study.add_many([ww.Past({"x": i / 8}, -((i / 8 - 0.4) ** 2)) for i in range(9)])
    found = sound(study)
    assert found.unknown_contexts == 0.0 and found.decision["x"] == pytest.approx(0.4, abs=0.15)


def test_contexts_that_are_ignored():
    found = sound(shop(context_model=ww.NoContext(), surrogate=ww.GaussianProcess()))
    assert found.unknown_contexts == 0.0 and found.unseen == {}


MIXED = ww.Space(
    {"order": ww.Real(0, 1), "route": ww.Categorical(["rail", "road", "sea"]), "boxes": ww.Integer(1, 5)},
    {"demand": ww.Real(0, 1), "sky": ww.Categorical(["sun", "rain", "snow"])},
)


def mixed(count=12, **parts):
    parts = {"context_model": ww.KernelDensity(16), "surrogate": ww.GaussianProcess(), **parts}
    study = ww.Study(MIXED, policy(**parts), seed=2)
    past = []
    for i in range(count):
        decision = {"order": i / (count - 1), "route": ("rail", "road")[i % 2], "boxes": 1 + i % 3}
        context = {"demand": 0.1 + 0.07 * (i % 9), "sky": ("sun", "rain")[i % 2]}
        past.append(ww.Past(decision, 1.0 - (decision["order"] - context["demand"]) ** 2 + 0.1 * (i % 2), context))
    study.add_many(past)
    return study


def test_categories():
    study = mixed()
    found = sound(study)
    assert found.unseen == {"sky": ("snow",)}
    assert study.recommend(context={"sky": "snow"}).unseen == {}  # it is given: nothing has to be said of its chance
    assert sound(study, {"sky": "rain"}).unknown_contexts > 0.0
    assert sound(study, {"sky": "rain", "demand": 0.5}).unknown_contexts == 0.0


def test_what_has_not_come_back_is_not_judged_by():
    study = shop(surrogate=ww.GaussianProcess(), design=ww.Sobol(0))
    before = sound(study)
    first, second = study.ask(), study.ask()
    assert study.recommend() == before  # pending trials move nothing
    study.reveal(first.id, {"demand": 0.9})  # a context of its own does
    assert study.recommend().reference != before.reference
    study.lose(second.id, "closed")
    sound(study)


def test_late_results_that_are_censored():
    study = shop(
        feedback=ww.Censor(-1.0, timedelta(days=2)), surrogate=ww.GaussianProcess(), belief=ww.UpperConfidence()
    )
    study.ask()
    sound(study)


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
@pytest.mark.parametrize("objective", [ww.Expected(), ww.Robust(TV, 0.3), ww.CVaR(0.3)], ids=repr)
def test_every_kernel_compares_and_settles(kernel, objective):
    sound(shop(surrogate=ww.GaussianProcess(kernel=kernel), objective=objective))


# -- comparisons ---------------------------------------------------------------------------------------------------------

PAIRS = [ww.Expected(), ww.CVaR(0.3), ww.Satisficing(TV, 0.78), ww.LipschitzRobust(0.1)]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("objective", PAIRS, ids=repr)
def test_turned_around_a_comparison_is_its_mirror(objective, sign):
    if isinstance(objective, ww.Satisficing):
        objective = replace(objective, target=sign * objective.target)
    study = shop(sign, objective=objective)
    one, other = study.compare({"order": 0.3}, {"order": 0.6}), study.compare({"order": 0.6}, {"order": 0.3})
    assert other.difference == pytest.approx(-one.difference, rel=1e-9, abs=1e-12)
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]), rel=1e-9, abs=1e-12)
    assert other.probability == pytest.approx(1.0 - one.probability)
    assert (one.first.decision, one.second.decision) == ({"order": 0.3}, {"order": 0.6})
    if isinstance(objective, ww.Satisficing):
        assert (
            one.probability < 0.01
        )  # 0.6 misses the target; the numbers shown, a fragility and a shortfall, do not say so
    else:
        assert (one.probability > 0.5) == (sign * one.difference > 0)
    assert one.between(0.0)[0] == pytest.approx(one.difference, abs=0.2 * (one.interval[1] - one.interval[0]))


@pytest.mark.parametrize("objective", PAIRS, ids=repr)
def test_a_decision_beside_itself(objective):
    found = shop(objective=objective).compare({"order": 0.3}, {"order": 0.3})
    assert (found.difference, found.interval, found.probability, found.corrected) == (0.0, (0.0, 0.0), 0.5, False)


def test_a_difference_is_that_of_the_values_and_surer_than_either():
    study = shop(surrogate=ww.GaussianProcess())
    found = study.compare({"order": 0.3}, {"order": 0.34})
    assert not found.corrected
    assert found.difference == pytest.approx(found.second.value - found.first.value, abs=1e-9)
    assert found.second.value == study.assess({"order": 0.34}).value
    width = found.interval[1] - found.interval[0]
    assert width < 0.5 * (found.first.interval[1] - found.first.interval[0])  # what moves both alike does not count
    for level in (-0.1, 1.0):
        with pytest.raises(ww.ArgumentError, match=r"Comparison.between\(level="):
            found.between(level)


def test_a_difference_of_averages_has_the_variance_of_the_formula():
    """f and the contexts together: Var = p'S p + E_f[Var_p d] / (A + 1) for d = f(x', .) - f(x, .)."""
    study = shop()
    x, other = (torch.tensor([at], dtype=torch.float64) for at in (0.3, 0.6))
    unknowns = study.snapshot().assessment("test").base.unknowns
    drawn = unknowns.differences(x, other)
    generator = torch.Generator().manual_seed(1)
    weights = unknowns.contexts.redrawn(4000, generator)
    sampled = unknowns.posteriors[0].sample(torch.stack([x, other]), unknowns.contexts.points, 4000, generator)
    wanted = ((sampled[:, 1] - sampled[:, 0]) * weights).sum(-1)
    assert float(drawn.mean()) == pytest.approx(float(wanted.mean()), abs=5 * float(wanted.std()) / 60)
    assert float(drawn.std()) == pytest.approx(float(wanted.std()), rel=0.08)
    levels = torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64)
    gap = (drawn.quantile(levels) - wanted.quantile(levels)).abs().max()
    assert float(gap) < 0.12 * float(wanted.std())


def test_what_was_chosen_because_it_looked_best_is_trusted_less():
    study = shop(surrogate=ww.GaussianProcess(), status_quo={"order": 0.65})
    best = study.recommend()
    found = study.compare()
    assert found.corrected and found.first.decision == {"order": 0.65} and found.second.decision == best.decision
    # A choice with caution is not: what is unknown was counted against it when it was made.
    study.use(replace(study.policy, report=ww.Report(caution=1.0)))
    careful = study.compare({"order": 0.65}, dict(study.recommend().decision))
    assert not careful.corrected
    study.use(replace(study.policy, report=ww.Report()))
    assert best.beside_status_quo == found
    turned = study.compare(dict(best.decision), {"order": 0.65})
    assert turned.corrected and turned.difference == pytest.approx(-found.difference)
    # Beside a decision that nobody recommends, the same pair of numbers is taken as it is.
    near = study.compare({"order": 0.65}, {"order": best.decision["order"] + 1e-4})
    assert found.difference == pytest.approx(near.difference, abs=1e-3)
    width, taken = (one.interval[1] - one.interval[0] for one in (found, near))
    assert width == pytest.approx(1.25 * taken, rel=0.01)
    assert found.probability < near.probability


def test_the_status_quo_is_beside_every_assessment_but_its_own():
    study = shop(status_quo={"order": 0.3})
    found = study.assess({"order": 0.5})
    assert found.beside_status_quo.first.decision == {"order": 0.3}
    assert study.assess({"order": 0.3}).beside_status_quo is None and shop().recommend().beside_status_quo is None


# -- wrong calls ---------------------------------------------------------------------------------------------------------


def test_wrong_comparisons_say_what_is_needed():
    study = shop()
    with pytest.raises(ww.ArgumentError, match=r"study.compare: .*no status quo.*study.declare\(status_quo"):
        study.compare()
    with pytest.raises(ww.SpaceError, match=r"study.compare: unknown decision 'prize'.*'order'"):
        study.compare({"prize": 0.3}, {"order": 0.3})
    with pytest.raises(ww.SpaceError, match=r"study.compare: .*\[0, 1\], got 1.5"):
        study.compare({"order": 0.3}, {"order": 1.5})
    with pytest.raises(ww.SpaceError, match=r"^study\.compare: "):
        study.compare({"order": 0.3}, {"order": 0.4}, context={"rain": 1.0})
    empty = ww.Study(SHOP, policy())
    for call in (lambda: empty.compare({"order": 0.3}), lambda: empty.settled(0.1)):
        with pytest.raises(ww.TrialError, match=r"study\.(compare|settled): nothing has arrived yet; tell a value"):
            call()


# -- what nobody has tried -----------------------------------------------------------------------------------------------


def rising(**changes):
    """Orders from 0.2 to 0.5 have been tried, and more looks better and better."""
    history = [ww.Past({"order": 0.2 + 0.03 * i}, 0.2 + 0.03 * i, {"demand": 0.1 * (i % 5)}) for i in range(11)]
    return shop(history=history, surrogate=ww.GaussianProcess(), **changes)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_number_beyond_all_that_was_tried(sign):
    found = rising(sign=sign).recommend()
    assert found.decision["order"] > 0.6
    assert found.beyond == (ww.Beyond("above", "order", pytest.approx(0.5)),)
    assert found.best_tried.decision == {"order": pytest.approx(0.5)} and found.best_tried.beyond == ()
    assert sign * found.best_tried.value < sign * found.value
    below = rising(sign=sign).assess({"order": 0.05})
    assert below.beyond == (ww.Beyond("below", "order", 0.2),)
    inside = rising(sign=sign).assess({"order": 0.41})
    assert inside.beyond == () and inside.best_tried is None
    assert rising(sign=sign).assess({"order": 0.501}).beyond == ()  # a hair's breadth is not beyond


def test_a_choice_that_was_not_tried():
    found = mixed().assess({"order": 0.5, "route": "sea", "boxes": 2})
    assert found.beyond == (ww.Beyond("choice", "route", "sea"),)
    assert found.best_tried.decision["route"] in ("rail", "road")
    both = mixed().assess({"order": 0.5, "route": "sea", "boxes": 5})
    assert both.beyond == (ww.Beyond("choice", "route", "sea"), ww.Beyond("above", "boxes", 3))


def test_a_combination_that_was_not_tried():
    space = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)})
    study = ww.Study(space, policy(context_model=ww.NoContext()))
    study.add_many([ww.Past({"a": i / 10, "b": i / 10}, float(i % 3)) for i in range(11)])
    assert study.assess({"a": 0.95, "b": 0.05}).beyond == (ww.Beyond("together"),)
    assert study.assess({"a": 0.55, "b": 0.45}).beyond == ()


# -- caution -------------------------------------------------------------------------------------------------------------


def test_caution_stays_near_what_was_tried():
    orders = [rising(report=ww.Report(caution=k)).recommend().decision["order"] for k in (0.0, 2.0, 8.0)]
    assert orders[0] > orders[1] >= orders[2] and orders[2] < 0.62
    robust = [
        rising(objective=ww.Robust(TV, 0.2), report=ww.Report(caution=k)).recommend().decision["order"]
        for k in (0.0, 8.0)
    ]
    assert robust[0] > robust[1]


def test_history_asks_for_caution_and_own_results_do_not():
    report = ww.Report(caution="history")
    study = rising(report=report, design=ww.Sobol(2))
    careful = study.recommend().decision["order"]
    assert careful < rising().recommend().decision["order"]
    most = report.caution_in(study.trials)
    assert most > 0.0 and ww.Report(caution=0.5).caution_in(study.trials) == 0.5
    asked = study.ask()
    study.tell(asked.id, 0.5, context={"demand": 0.2})
    assert report.caution_in(study.trials) == pytest.approx(most * 11 / 12)
    own = ww.Study(SHOP, policy(report=report))
    own.run(lambda s: ww.Result(0.5, {"demand": 0.5}), 2, progress=False)
    assert report.caution_in(own.trials) == 0.0
    assert ww.Study(SHOP).policy.report.caution == "history"
    assert {ww.papers.sbo_kde().report.caution, ww.papers.gp_ucb().report.caution} == {0.0}  # as published


@pytest.mark.parametrize("caution", [-1.0, "much", None, float("inf"), True])
def test_a_wrong_caution_is_refused(caution):
    with pytest.raises(ww.ArgumentError, match=r"Report\(caution="):
        ww.Report(caution=caution)


def test_caution_among_the_evaluated_takes_the_surest():
    history = [ww.Past({"order": o}, 1.0, {"demand": 0.5}) for o in (0.4, 0.41, 0.42, 0.4, 0.41)]
    history.append(ww.Past({"order": 0.9}, 1.02, {"demand": 0.5}))
    reports = [ww.Report(candidates="evaluated", caution=k) for k in (0.0, 3.0)]
    plain = replace(FIXED, outcome=ww.Unscaled())
    bold, careful = (
        shop(history=history, report=report, surrogate=plain).recommend().decision["order"] for report in reports
    )
    assert bold == pytest.approx(0.9) and careful < 0.45


# -- one set of draws ----------------------------------------------------------------------------------------------------


def test_one_state_is_computed_once(monkeypatch):
    made = []
    base_of = recommending.base_of
    monkeypatch.setattr(recommending, "base_of", lambda *args: made.append(1) or base_of(*args))
    study = shop(surrogate=ww.GaussianProcess(), status_quo={"order": 0.3})
    first = study.recommend()
    assert study.recommend() == first and len(made) == 1
    study.assess({"order": 0.4}), study.compare(), study.settled(0.1), study.settled(0.2)
    assert len(made) == 1
    study.recommend(context={"demand": 0.4}), study.settled(0.1, context={"demand": 0.4})
    assert len(made) == 2
    study.add({"order": 0.5}, 0.8, context={"demand": 0.5})
    assert study.recommend() != first and len(made) == 3


def test_another_process_recommends_the_same(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    study = ww.Study(SHOP, policy(maximize=FAST), journal=url, name="shop", status_quo={"order": 0.3})
    study.add_many(rows())
    again = ww.Study.open("shop", journal=url)
    assert again.recommend() == study.recommend() and again.settled(0.2) == study.settled(0.2)
    assert study.snapshot().comparison("test", None, None) == again.compare()


def test_what_was_tried_is_what_the_policy_sees():
    """Without contexts a value counts that waits for its context; where it was tried is then no unknown place."""
    study = ww.Study(SHOP, policy(context_model=ww.NoContext(), design=ww.Sobol(2)), name="waiting")
    study.add_many([ww.Past({"order": 0.1}, 1.0, {"demand": 0.5}), ww.Past({"order": 0.15}, 1.2, {"demand": 0.4})])
    late = study.ask(fix={"order": 0.9})
    study.tell(late.id, 9.0)
    found = study.assess({"order": 0.9})
    assert found.beyond == () and found.best_tried is None
    far = study.assess({"order": 0.55})
    assert far.beyond == () or far.best_tried.decision == {"order": pytest.approx(0.9)}


def test_the_recommended_decision_is_taken_to_be_better_before_there_are_results():
    """Draws in which it is better count twice: of a probability p, 2p / (1 + p) is left; the difference stays."""
    study = shop(count=6, surrogate=ww.GaussianProcess(), status_quo={"order": 0.5})
    study.use(replace(study.policy, report=ww.Report(caution=1.0)))
    best = study.recommend().decision["order"]
    found, near = study.compare({"order": 0.5}), study.compare({"order": 0.5}, {"order": best + 1e-4})
    p = near.probability
    assert 0.1 < p < 0.95
    assert found.probability == pytest.approx(2.0 * p / (1.0 + p), abs=0.01)
    assert found.difference == pytest.approx(found.second.value - found.first.value, rel=1e-6)
    assert found.difference == pytest.approx(near.difference, abs=1e-3)
    turned = study.compare({"order": best}, {"order": 0.5})
    assert turned.probability == pytest.approx(1.0 - found.probability) and not found.corrected
    assert turned.interval == pytest.approx((-found.interval[1], -found.interval[0]))
