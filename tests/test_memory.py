"""Half-lives, given and learnt: how much older contexts count."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import scipy.stats
import torch
from helpers import FAST, seen

import windward as ww
from windward.contexts import mixture_quantiles
from windward.contexts.memory import LEARNT, _log_kernel, half_life_shares, learnt_shares, recall, scores
from windward.testing import check_context_model

SHOP = ww.Space({"order": ww.Real(0, 100)}, {"demand": ww.Real(0, 200)})
OPEN = ww.Space({"order": ww.Real(0, 100)}, {"demand": ww.Real(0, None)})
DAYS = ww.Space({"order": ww.Real(0, 1)}, {"demand": ww.Real(0, 200), "sky": ww.Categorical(["sun", "rain", "snow"])})
PLAIN = torch.Generator


def rows(*demands):
    return [{"demand": float(demand)} for demand in demands]


def made(model, contexts, given=None, space=SHOP):
    trials = seen(space, contexts)
    return model(space, trials, space.encode_given(given), PLAIN().manual_seed(0))


def normal(mean, count, seed=0, spread=8.0):
    return np.random.default_rng(seed).normal(mean, spread, count).clip(0.0)


def average(contexts):
    return float(contexts.weights @ contexts.points[:, 0])


def test_a_half_life_in_contexts():
    found = made(ww.Empirical(half_life=2), rows(10, 20, 30, 20))
    weights = np.array([2**-1.5, 2**-1.0, 2**-0.5, 1.0])
    expected = {10.0: weights[0], 20.0: weights[1] + weights[3], 30.0: weights[2]}
    assert dict(zip(found.points[:, 0].tolist(), found.weights.tolist(), strict=True)) == pytest.approx(
        {point: weight / weights.sum() for point, weight in expected.items()}
    )


def test_what_is_old_enough_does_not_count_at_all():
    found = made(ww.Empirical(half_life=1), rows(*range(100)))
    assert len(found) == 40 and float(found.points.min()) == 60.0  # 2^-40 is 1e-12


def dated(days, space=SHOP):
    """Return trials of these days in order of id, each day its own demand."""
    start = datetime(2026, 5, 1, tzinfo=UTC)
    trials = seen(space, rows(*days))
    moved = [replace(t, context_at=start + timedelta(days=day)) for t, day in zip(trials, days, strict=True)]
    return ww.Trials(space, tuple(moved))


def test_a_half_life_in_time_and_the_order_of_rounds():
    trials = dated([30, 0, 20])  # history that was added late is as old as its date
    assert trials.seen_ages.tolist() == [0.0, 2.0, 1.0] and trials.seen_days.tolist() == [0.0, 30.0, 10.0]
    given, generator = SHOP.encode_given(None), PLAIN()
    for model, weights in (
        (ww.Empirical(half_life="10 days"), [1.0, 1 / 8, 1 / 2]),
        (ww.Empirical(half_life=timedelta(weeks=10 / 7)), [1.0, 1 / 8, 1 / 2]),
        (ww.Empirical(half_life=1), [1.0, 1 / 4, 1 / 2]),
    ):
        found = model(SHOP, trials, given, generator)
        expected = {day: weight / sum(weights) for day, weight in zip([30.0, 0.0, 20.0], weights, strict=True)}
        assert dict(zip(found.points[:, 0].tolist(), found.weights.tolist(), strict=True)) == pytest.approx(expected)


def test_texts_are_times():
    assert ww.KernelDensity(half_life="30 days") == ww.KernelDensity(half_life=timedelta(days=30))
    assert ww.Empirical(half_life="1.5 hours").half_life == timedelta(minutes=90)
    for half_life in ("30 days", 20, "learnt", None):
        part = ww.KernelDensity(half_life=half_life)
        assert ww.from_json(ww.to_json(part)) == part and hash(part) == hash(replace(part))
    assert ww.from_json('{"part": "KernelDensity", "count": 16}').half_life is None  # as in logs of before


def test_a_density_that_forgets_is_the_mixture_it_says():
    demands = [*normal(40, 30), *normal(80, 12, seed=1)]
    found = made(ww.KernelDensity(64, half_life=6), rows(*demands)).points[:, 0].numpy()
    weights = 2.0 ** (-np.arange(41, -1, -1) / 6.0)
    weights /= weights.sum()
    mean = weights @ demands
    deviation = math.sqrt(weights @ (demands - mean) ** 2)
    worth = 1.0 / (weights**2).sum()
    width = (4.0 / 3.0) ** 0.2 * deviation * worth**-0.2
    below = scipy.stats.norm.cdf((np.sort(found)[:, None] - np.array(demands)) / width) @ weights
    inside = (np.sort(found) > 0) & (np.sort(found) < 200)
    np.testing.assert_allclose(below[inside], ((np.arange(64) + 0.5) / 64)[inside], atol=1e-9)


def test_quantiles_of_a_mixture_with_a_width_each():
    centres = torch.tensor([0.0, 1.0, 5.0], dtype=torch.float64)
    weights, widths = torch.tensor([0.5, 0.2, 0.3]).double(), torch.tensor([0.1, 1.0, 2.0]).double()
    found = mixture_quantiles(centres, weights, widths, 33)
    below = (torch.special.ndtr((found[:, None] - centres) / widths) * weights).sum(-1)
    torch.testing.assert_close(below, (torch.arange(33).double() + 0.5) / 33, rtol=0.0, atol=1e-11)
    alike = mixture_quantiles(centres, weights, torch.full((3,), 0.7, dtype=torch.float64), 33)
    torch.testing.assert_close(alike, mixture_quantiles(centres, weights, 0.7, 33), rtol=0.0, atol=1e-9)


def brute_score(space, past, new, ages, life, given=()):
    """Return a half-life's score of one context, written out."""
    weights = 2.0 ** (-ages / life)
    weights = weights / weights.sum()
    worth = 1.0 / (weights**2).sum()
    k = sum(not p.choices for p in space.context.values())
    kernels, broad = {}, 0.05
    for name, parameter in space.context.items():
        if parameter.choices:
            same = np.array([row[name] == new[name] for row in past])
            kernels[name] = (worth * same + 1 / len(parameter.choices)) / (worth + 1)
            broad *= 1.0 if name in given else 1 / len(parameter.choices)
            continue
        column = np.array([row[name] for row in past])
        deviation = math.sqrt(weights @ (column - weights @ column) ** 2)
        history = column.std()
        if parameter.high is None:
            order = np.argsort(column)

            def apart(w, order=order, column=column):
                low, high = (column[order][np.searchsorted(np.cumsum(w[order]), q)] for q in (0.25, 0.75))
                return (high - low) / 1.349

            deviation, history = min(deviation, apart(weights)), min(history, apart(np.full(len(past), 1 / len(past))))
        deviation = max(deviation, 0.05 * history)
        width = (4 / (k + 2)) ** (1 / (k + 4)) * deviation * worth ** (-1 / (k + 4))
        kernels[name] = scipy.stats.norm.pdf(new[name], column, width)
        broad *= 1.0 if name in given else scipy.stats.norm.pdf(new[name], column.mean(), 2 * history)
    whole = sum(weights * np.prod([kernels[name] for name in kernels], axis=0))
    part = sum(weights * np.prod([np.ones(len(past)), *(kernels[name] for name in given)], axis=0))
    return math.log(0.95 * whole / part + broad)


@pytest.mark.parametrize("space", [SHOP, OPEN, DAYS], ids=["bounded", "open", "two"])
def test_scores_written_out(space):
    rng = np.random.default_rng(3)
    past = rows(*normal(40, 9), *normal(70, 5, seed=1))
    if space is DAYS:
        past = [{**row, "sky": str(rng.choice(["sun", "rain"]))} for row in past]
    points = space.encode_contexts(past)
    for given in ((), ("sky",)) if space is DAYS else ((),):
        told = torch.zeros_like(points, dtype=torch.bool)
        for name in given:
            told[:, space.context_columns[name]] = True
        found = scores(space, points, told)
        assert found.shape == (10, 5)
        for row, new in enumerate(range(4, 14)):
            ages = np.arange(new - 1, -1, -1.0)
            expected = [brute_score(space, past[:new], past[new], ages, life, given) for life in LEARNT]
            np.testing.assert_allclose(found[row].numpy(), expected, rtol=1e-9)


def test_what_comes_round_is_expected_across_midnight():
    clock = ww.Space({"x": ww.Real(0, 1)}, {"hour": ww.Cyclic(24)})
    late = [{"hour": float(hour % 24)} for hour in np.random.default_rng(0).normal(0.0, 1.0, 30)]
    moved = [*late, *({"hour": float(hour)} for hour in np.random.default_rng(1).normal(12.0, 1.0, 10))]
    for model in (
        ww.KernelDensity(half_life="learnt"),
        ww.Empirical(half_life="learnt"),
        ww.KernelDensity(half_life=3),
    ):
        check_context_model(model, clock)
        hours = [clock.decode_context(point)["hour"] for point in made(model, moved, space=clock).points]
        weights = made(model, moved, space=clock).weights.tolist()
        assert sum(w for w, hour in zip(weights, hours, strict=True) if 6 < hour < 18) > 0.6
    points = clock.encode_contexts(late)
    share = half_life_shares(clock, seen(clock, late), points)
    assert float(share[0]) > 0.6  # 23 and 1 o'clock are neighbours: nothing moves
    found = recall(clock, seen(clock, late), points, clock.encode_given(None), 5.0)
    hours = torch.linspace(0, 24, 2401, dtype=torch.float64)[:-1]
    on = clock.encode_contexts([{"hour": float(hour)} for hour in hours])
    density = _log_kernel(clock, "hour", on, points, found.widths[0, :1]).exp()
    torch.testing.assert_close(density.mean(0) * 24, torch.ones(30).double(), rtol=0.0, atol=1e-9)


def test_shares_start_at_the_prior_and_never_leave_it_altogether():
    prior = torch.tensor([0.7, 0.075, 0.075, 0.075, 0.075], dtype=torch.float64)
    found = torch.zeros(30, 5, dtype=torch.float64)
    found[:, 3] = 2.0
    shares = learnt_shares(found)
    torch.testing.assert_close(shares[0], prior)
    torch.testing.assert_close(shares.sum(-1), torch.ones(31).double())
    assert float(shares[-1, 3]) > 0.98 and bool((shares[-1] >= 0.01 * prior).all())


def test_learnt_keeps_what_stands_still_and_follows_what_jumps():
    still, jumped = normal(40, 60), np.concatenate([normal(40, 40), normal(72, 12, seed=1)])
    learnt = ww.KernelDensity(half_life="learnt")
    plain = made(ww.KernelDensity(), rows(*still))
    assert average(made(learnt, rows(*still))) == pytest.approx(average(plain), abs=1.0)
    assert average(made(ww.KernelDensity(), rows(*jumped))) < 50.0 < 65.0 < average(made(learnt, rows(*jumped))) < 76.0
    empirical = made(ww.Empirical(half_life="learnt"), rows(*jumped))
    assert average(empirical) == pytest.approx(average(made(learnt, rows(*jumped))), abs=1.0)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [(ww.Real(0, 1), 0.1), (ww.Real(), 77.7), (ww.Real(1, 9, log=True), 7.0), (ww.Cyclic(24), 3.0)],
)
def test_a_context_that_never_varies_says_nothing_of_half_lives(parameter, value):
    """The mean of equal numbers is another number in the last bit, so that they seem to deviate: 0.1 does, 5.0 does not."""
    space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(0, 200), "same": parameter})
    again = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(0, 200), "same": ww.Real(0, 10)})
    demands = normal(40, 60)
    with_it = seen(space, [{"demand": float(d), "same": value} for d in demands])
    beside = seen(again, [{"demand": float(d), "same": 5.0} for d in demands])
    found = half_life_shares(space, with_it, with_it.seen_contexts)
    assert torch.allclose(found, half_life_shares(again, beside, beside.seen_contexts), atol=0.02)


def test_what_was_given_is_not_predicted():
    """The number of the round moves as far as a context can; it is told before each decision, so nothing is to be learnt."""
    space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(0, 200), "round": ww.Real(0, None)})
    contexts = [{"demand": float(d), "round": float(i)} for i, d in enumerate(normal(40, 40))]
    known = seen(space, contexts)
    told = ww.Trials(space, tuple(replace(t, context_planned={"round": t.context["round"]}) for t in known))
    assert told.seen_given.sum(0).tolist() == [0, 40]
    assert float(half_life_shares(space, known, known.seen_contexts)[0]) < 0.2
    assert float(half_life_shares(space, told, told.seen_contexts)[0]) > 0.6
    otherwise = [replace(t, context_planned={"demand": -1.0}) for t in known]  # it came otherwise: it was news
    assert not bool(ww.Trials(space, tuple(otherwise)).seen_given.any())


def test_a_part_that_is_given_weighs_each_half_life_by_its_own_density():
    space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(0, 200), "wind": ww.Real(0, 20)})
    rng = np.random.default_rng(0)
    wind = rng.uniform(0, 20, 40)
    contexts = [{"demand": float(d + 3 * w), "wind": float(w)} for d, w in zip(normal(40, 40), wind, strict=True)]
    low, high = (average(made(ww.KernelDensity(half_life="learnt"), contexts, {"wind": w}, space)) for w in (3.0, 17.0))
    assert low < 60.0 and high > 75.0
    found = recall(
        space, seen(space, contexts), space.encode_contexts(contexts), space.encode_given({"wind": 3.0}), 5.0
    )
    assert float(found.mixed.sum()) == pytest.approx(1.0)


def test_a_forgotten_past_leaves_less_to_go_by():
    trials, given = seen(SHOP, rows(*normal(40, 60))), SHOP.encode_given(None)
    masses = [
        float(model.judged(SHOP, trials, given).unknown.mass.sum())
        for model in (ww.KernelDensity(), ww.KernelDensity(half_life=20), ww.KernelDensity(half_life=5))
    ]
    assert masses[0] == pytest.approx(57.0) and masses[0] > 1.2 * masses[1] > 2 * masses[2]


def test_a_study_that_forgets_replays_and_recommends_for_now():
    policy = replace(ww.auto(), context_model=ww.KernelDensity(32, half_life="learnt"), maximize=FAST)
    study = ww.Study(SHOP, policy, seed=2)
    for turn, demand in enumerate([*normal(30, 12), *normal(75, 10, seed=1)]):
        suggestion = study.ask(context={"demand": 50.0} if turn == 3 else None)
        study.reveal(suggestion.id, {"demand": demand})
        order = float(suggestion.decision["order"])
        study.tell(suggestion.id, 9.0 * min(order, demand) - 4.0 * order)
    for id in (8, 21):
        assert study.replay(id).decision == study.trials[id].decision
    now = study.recommend()
    study.use(replace(policy, context_model=ww.KernelDensity(32)))
    before = study.recommend()
    assert now.decision["order"] > before.decision["order"] + 5.0
    assert study.assess(now.decision).value < now.value  # the same decision, judged on all that was seen
