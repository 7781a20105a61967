"""Forecasts of a coming context: judged against sums by hand, pooled, coupled, kept in the log, refused where wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers import SHOP, policy, seen

import windward as ww
from windward.basics import budget
from windward.contexts import coupled
from windward.contexts import forecast as judging
from windward.suggest.prepare import Request, check_memory, prepare
from windward.trials.coming import known_of, read_coming, said_forecasts
from windward.trials.records import Trial
from windward.trials.trials import Trials

SPACE = ww.Space(
    {"order": ww.Real(0, 100)},
    {"demand": ww.Real(0, 120), "heat": ww.Real(), "sky": ww.Categorical(["dry", "wet", "snow"])},
)
NUMBER, SKY = SPACE.context["demand"], SPACE.context["sky"]


def stream(seed=0):
    return torch.Generator().manual_seed(seed)


def numbers(seed, *shape):
    return torch.randn(*shape, generator=stream(seed), dtype=torch.float64)


def past(tables, came, **rest):
    return judging.PastForecasts(NUMBER, rest.pop("pointed", False), tables, came, rest.pop("seen", came))


def course(kind, seed, count=80):
    """Tables of forecasts of one kind, and what came: levels of deviation 12, outcomes of deviation 4 around them."""
    level, bias, spread = (
        50.0 + 12.0 * numbers(seed, count),
        {"biased": 10.0}.get(kind, 0.0),
        {"biased": 2.0}.get(kind, 4.0),
    )
    came = (
        50.0 + math.hypot(12.0, 4.0) * numbers(seed + 99, count)
        if kind == "useless"
        else level + 4.0 * numbers(seed + 9, count)
    )
    return level[:, None] + bias + spread * torch.special.ndtri(judging.levels()), came


# -- scores ------------------------------------------------------------------------------------------------------------


def test_the_score_is_the_mean_distance_less_half_of_that_among_the_quantiles():
    tables, came = numbers(0, 5, 17).sort(-1).values, numbers(1, 5)
    plain = [(q - y).abs().mean() - 0.5 * (q[:, None] - q).abs().mean() for q, y in zip(tables, came, strict=True)]
    assert judging.crps(tables, came).tolist() == pytest.approx([float(each) for each in plain])


def test_climatology_is_scored_without_the_outcome_itself():
    came = 50.0 + 9.0 * numbers(2, 12)
    rest = torch.stack([torch.cat([came[:i], came[i + 1 :]]).sort().values for i in range(12)])
    one = past(came[:, None].expand(-1, 128), came)
    assert judging.usual_scores(one).tolist() == pytest.approx(judging.crps(rest, came).tolist())


def test_past_scores_of_the_corrected_copy_do_not_know_their_outcome():
    tables, came = course("biased", 3, 9)
    found = judging.scores(past(tables, came))[1]
    for i in range(9):
        keep = [j for j in range(9) if j != i]
        others = judging.correction(past(tables[keep], came[keep]))
        assert float(judging.crps(others.of(tables[i : i + 1], NUMBER), came[i : i + 1])[0]) == pytest.approx(
            float(found[i])
        )


@pytest.mark.parametrize(("kind", "most"), [("good", 1.03), ("biased", 0.4), ("useless", 0.75)])
def test_the_pool_beats_a_bad_forecaster_and_costs_a_good_one_little(kind, most):
    raw, used = 0.0, 0.0
    for seed in range(4):
        tables, came = course(kind, seed)
        for t in range(5, 80, 5):
            usual = judging.weighted_quantiles(came[:t], torch.full((t,), 1.0 / t).double(), judging.levels())
            forecast = ww.Forecast(samples=tables[t].tolist())
            made = judging.pooled(forecast, past(tables[:t], came[:t]), usual)
            raw += float(judging.crps(tables[t : t + 1], came[t : t + 1]))
            used += float(judging.crps(made.table[None], came[t : t + 1]))
            assert made.judged == t and float(made.shares.sum()) == pytest.approx(1.0)
    assert used < most * raw


def test_before_five_were_judged_a_forecast_is_used_as_it_was_given():
    tables, came = course("biased", 1)
    usual, forecast = judging.levels() * 100.0, ww.Forecast(quantiles={0.1: 20, 0.5: 35, 0.9: 60})
    made = judging.pooled(forecast, past(tables[:4], came[:4]), usual)
    assert made.shares.tolist() == [1.0, 0.0, 0.0] and torch.equal(made.table, judging.table(NUMBER, forecast))
    assert float(judging.pooled(forecast, past(tables[:40], came[:40]), usual).shares[0]) == 0.0


def test_quantiles_are_met_and_clipped_to_the_bounds():
    made = judging.table(NUMBER, ww.Forecast(quantiles={0.1: 2, 0.5: 35, 0.9: 60}))
    at = judging.levels()
    for level, value in ((0.1, 2.0), (0.5, 35.0), (0.9, 60.0)):
        assert float(np.interp(level, at.numpy(), made.numpy())) == pytest.approx(value, abs=0.5)
    assert bool((made.diff() >= 0).all()) and float(made[0]) == 0.0
    normal = judging.table(NUMBER, ww.Forecast(distribution=ww.Distribution("norm", {"loc": 60, "scale": 5})))
    same = judging.table(NUMBER, ww.Forecast(quantiles={0.1: 60 - 5 * 1.2815515655, 0.9: 60 + 5 * 1.2815515655}))
    assert torch.allclose(normal, same)


def test_the_error_of_points_is_learnt():
    came = 50.0 + 3.0 * numbers(4, 40)
    points = came - 8.0 + 1.0 * numbers(5, 40)
    usual, forecast = judging.levels() * 120.0, ww.Forecast(point=30)
    early = judging.pooled(forecast, past(points[:4], came[:4], pointed=True), usual).table
    late = judging.pooled(forecast, past(points, came, pointed=True), usual).table
    assert float(early.mean()) == pytest.approx(33.0, abs=3.0) and float(early.std()) > 25.0  # clipped at zero
    assert float(late.mean()) == pytest.approx(38.0, abs=0.5) and 0.7 < float(late.std()) < 1.5


def test_chances_are_sharpened_or_flattened_by_what_came():
    came = torch.eye(3, dtype=torch.float64)[torch.tensor([0, 1] * 30)]
    sure = torch.tensor([[0.95, 0.04, 0.01]], dtype=torch.float64).expand(60, -1)
    timid = torch.tensor([[0.4, 0.35, 0.25]], dtype=torch.float64)[:, [0, 1, 2]].expand(60, -1)
    timid = torch.where(came[:, :1] > 0, timid, timid[:, [1, 0, 2]])
    one, other = (judging.PastForecasts(SKY, False, said, came, came) for said in (sure, timid))
    assert judging.exponent(one) < 0.5 and judging.exponent(other) > 2.0
    assert judging.exponent(judging.PastForecasts(SKY, False, sure[:0], came[:0], came)) == 1.0
    made = judging.pooled(ww.Forecast(chances={"dry": 0.95, "wet": 0.04, "snow": 0.01}), one, came.mean(0))
    assert float(made.table[0]) < 0.7 and float(made.table.sum()) == pytest.approx(1.0)
    named = judging.pooled(ww.Forecast(point="wet"), judging.PastForecasts(SKY, True, came, came, came), came.mean(0))
    assert float(named.table[1]) > 0.9


# -- several contexts --------------------------------------------------------------------------------------------------


def trials_with(count, *, forecasts=lambda i: {}, seed=0):
    """Trials whose demand and heat go together, and snow comes where demand is low."""
    rows = []
    for i, (a, b) in enumerate(numbers(seed, count, 2).tolist()):
        demand, heat = 60.0 + 15.0 * a, 20.0 + 5.0 * (0.95 * a + 0.3 * b)
        context = {"demand": demand, "heat": heat, "sky": "snow" if a < -0.5 else "dry"}
        rows.append(
            Trial(i, {"order": 50.0}, context=context, context_source="revealed", value=0.0, forecast=forecasts(i))
        )
    return Trials(SPACE, tuple(rows))


def contexts_of(model, trials, context, seed=0):
    made = prepare(policy(context_model=model), trials, request(trials.space, context), stream(seed))
    return made.contexts


def request(space, context, **rest):
    known = known_of("study.ask", space, context)
    return Request(known.given, forecasts=known.forecasts, **rest)


def correlation(contexts, one=0, other=1):
    return float(torch.corrcoef(contexts.points[:, [one, other]].T)[0, 1])


def test_samples_of_several_contexts_keep_their_dependence():
    drawn = [{"demand": 40.0 + i, "heat": 30.0 - 0.1 * i, "sky": "wet" if i > 20 else "dry"} for i in range(40)]
    trials = trials_with(30)
    made = contexts_of(ww.KernelDensity(32), trials, ww.Forecast(samples=drawn))
    assert correlation(made) == pytest.approx(-1.0) and len(made) == 40
    assert torch.equal(made.points, torch.unique(SPACE.encode_contexts(drawn), dim=0))

    def earlier(i):  # too low by ten: the pool moves them, and their ranks stay
        rows = [{**one, "demand": 50.0} for one in drawn]
        return dict.fromkeys(SPACE.context, ww.Forecast(samples=rows))

    moved = contexts_of(ww.KernelDensity(32), trials_with(30, forecasts=earlier), ww.Forecast(samples=drawn))
    assert correlation(moved) < -0.9 and abs(float(moved.weights @ moved.points[:, 0]) - 59.5) > 1.0


def test_separate_forecasts_depend_as_contexts_did_and_later_as_errors_did():
    alone = {
        "demand": ww.Forecast(quantiles={0.1: 40, 0.9: 60}),
        "heat": ww.Distribution("norm", {"loc": 20, "scale": 2}),
    }
    context = alone | {"sky": "dry"}
    assert correlation(contexts_of(ww.KernelDensity(32), trials_with(30), context)) > 0.8

    def against(i):  # the errors of the two go against each other
        one, other = trials_with(30)[i].context["demand"], trials_with(30)[i].context["heat"]
        off = float(numbers(7, 30)[i])
        return {
            "demand": ww.Forecast(quantiles={0.1: one + 4 * off - 5, 0.9: one + 4 * off + 5}),
            "heat": ww.Forecast(quantiles={0.1: other - off - 2, 0.9: other - off + 2}),
        }

    assert correlation(contexts_of(ww.KernelDensity(32), trials_with(30, forecasts=against), context)) < -0.8
    assert abs(correlation(contexts_of(ww.KernelDensity(32), Trials(SPACE), {**context, "heat": alone["heat"]}))) < 0.3


@pytest.mark.parametrize(
    "model", [ww.KernelDensity(64), ww.Empirical(), ww.Box(), ww.KernelDensity(32, elsewhere=8)], ids=str
)
def test_what_is_not_forecast_comes_given_the_forecast(model):
    trials = trials_with(200)
    high, low = (
        contexts_of(model, trials, {"demand": ww.Forecast(samples=[at - 1, at, at + 1])}) for at in (85.0, 40.0)
    )
    heat = [float(one.weights @ one.points[:, 1]) for one in (high, low)]
    assert heat[0] > heat[1] + 5.0
    assert {30.0 < float(c) < 50.0 for c in low.points[low.weights > 0][:, 0]} == {True}
    snow = [float(one.weights @ one.points[:, 4]) for one in (high, low)]
    assert isinstance(model, ww.Box) or (snow[0] < 0.1 and snow[1] > 0.6)
    assert len(high) <= 300 and int((high.weights == 0).sum()) == getattr(model, "elsewhere", 0)


def test_every_context_model_takes_a_forecast():
    space = ww.Space({"order": ww.Real(0, 1)}, {"demand": ww.Real(0, 1), "size": ww.Integer(1, 9, log=True)})
    trials = seen(space, [{"demand": 0.1 * i, "size": 1 + i} for i in range(1, 8)])
    known = ww.Known({"demand": [0.2, 0.8], "size": [2, 5]}, weights=[0.5, 0.5])
    for model in (ww.Empirical(), ww.KernelDensity(16), ww.Box(count=32), ww.Grid(16), known):
        made = contexts_of(model, trials, {"demand": ww.Forecast(quantiles={0.2: 0.4, 0.8: 0.6}), "size": 3})
        assert bool((made.points[:, 1] == math.log(3)).all())
        assert float(made.weights @ made.points[:, 0]) == pytest.approx(0.5, abs=0.02)
        part = contexts_of(model, trials, {"size": ww.Forecast(samples=[2, 3, 3])})
        assert {round(math.exp(c)) for c in part.points[part.weights > 0][:, 1].tolist()} == {2, 3}
    blank = contexts_of(
        ww.KernelDensity(16), Trials(ww.Space(space.decision, {"c": ww.Real()})), {"c": ww.Forecast(point=4)}
    )
    assert blank.points.tolist() == [[4.0]]


# -- in a study --------------------------------------------------------------------------------------------------------


def evaluated(study, suggestion, demand):
    study.tell(suggestion.id, 1.0 - (float(suggestion.decision["order"]) - demand) ** 2, context={"demand": demand})


def played(rounds=9, **changes):
    study = ww.Study(SHOP, policy(), seed=3, **changes)
    for turn in range(rounds):
        demand = 0.2 + 0.07 * (turn % 8)
        samples = [demand + 0.02 * z for z in numbers(turn, 12).tolist()]
        evaluated(study, study.ask(context={"demand": ww.Forecast(samples=samples)}), demand)
    return study


def test_a_suggestion_follows_its_forecast_and_replays(tmp_path):
    url = f"sqlite:///{tmp_path}/f.db"
    study = played(journal=url, name="f")
    low, high = (
        study.ask(context={"demand": ww.Forecast(quantiles={0.1: c - 0.02, 0.9: c + 0.02})}) for c in (0.25, 0.65)
    )
    assert low.decision["order"] < 0.4 < 0.5 < high.decision["order"]
    again = ww.Study.open("f", journal=url)
    for trial in again.trials:
        assert dict(again.replay(trial.id).decision) == dict(trial.decision)
    one, other = study.trials[10], again.trials[10]
    assert one.forecast == other.forecast and one.forecast["demand"].quantiles == {0.1: 0.63, 0.9: 0.67}
    assert one.context == {} and one.context_planned is None and again.trials[2].context == {"demand": 0.2 + 0.14}
    body = study.journal.read("f")[-1].body["forecast"]
    assert body["said"] == [{"names": ["demand"], "quantiles": [[0.1, 0.63], [0.9, 0.67]]}]
    assert 1 <= len(body["points"]) == len(body["weights"]) <= 256 and sum(body["weights"]) == pytest.approx(1.0)
    assert all(0.4 < point["demand"] < 0.9 for point in body["points"])


def test_an_ask_with_a_key_comes_again_with_the_same_forecast_alone():
    study = played(2)
    forecast = {"demand": ww.Forecast(samples=[0.1, 0.2])}
    first = study.ask(context=forecast, key="a")
    assert study.ask(context=forecast, key="a") == first
    with pytest.raises(ww.TrialError, match="used for another call"):
        study.ask(context={"demand": ww.Forecast(samples=[0.1, 0.3])}, key="a")
    with pytest.raises(ww.TrialError, match="used for another call"):
        study.ask(key="a")


def test_the_log_keeps_at_most_256_samples():
    study = played(0)
    study.ask(context={"demand": ww.Forecast(samples=numbers(0, 5000).sigmoid())})
    study.ask(context={"demand": ww.Forecast(samples=[0.1, 0.9], weights=[3, 1])})
    kept = [trial.forecast["demand"] for trial in study.trials]
    assert len(kept[0].samples) == 256 and float(np.mean(kept[0].samples)) == pytest.approx(0.5, abs=0.02)
    assert kept[1].weights == (0.75, 0.25)


def test_what_every_way_says_is_read_back_from_the_log():
    ways = {
        "demand": ww.Forecast(quantiles={0.1: 20, 0.9: 60}),
        "heat": ww.Distribution("norm", {"loc": 20.0, "scale": 2.0}),
        "sky": ww.Forecast(chances={"dry": 0.7, "wet": 0.3}),
    }
    joint = {
        ("demand", "sky"): ww.Forecast(
            samples=[{"sky": "wet", "demand": 3}, {"demand": 4, "sky": "dry"}], weights=[1, 3]
        )
    }
    for context in (
        ways,
        joint | {"heat": ww.Forecast(point=5)},
        {"demand": ww.Forecast(samples=np.array([1.0, 2.0]))},
    ):
        known = known_of("study.ask", SPACE, context)
        assert known_of("study.ask", SPACE, {}).said is None
        read = said_forecasts(SPACE, known.said)
        assert {name: one.data() for name, one in read.items()} == {n: one.data() for n, one in known.forecasts.items()}
    typed = {"demand": {"quantiles": {"0.1": 20, "0.9": 60}}, "sky": {"chances": {"dry": 0.7, "wet": 0.3}}, "heat": 4}
    found = read_coming("ask", SPACE, typed)
    assert found.given == {"heat": 4.0} and found.forecasts["demand"] == ways["demand"]
    both = read_coming("ask", SPACE, {"heat": 4}, {"samples": [{"demand": 3, "sky": "wet"}]})
    assert set(both.forecasts) == {"demand", "sky"} and both.forecasts["sky"].names == ("demand", "sky")


def test_a_radius_given_with_the_ask_replaces_the_objectives():
    robust = policy(objective=ww.Robust(ww.TotalVariation(), 0.1))
    found = []
    for radius in (None, 0.1, 1.5):
        study = ww.Study(SHOP, policy(), seed=3)
        for turn in range(8):
            demand = 0.2 + 0.07 * turn
            evaluated(study, study.ask(), demand)
        study.use(robust)
        one = study.ask(radius=radius, context={"demand": ww.Forecast(samples=[0.2, 0.3, 0.7])})
        assert study.replay(one.id) == one and study.journal.read("study")[-1].body["radius"] == radius
        found.append(one.decision["order"])
    assert found[0] == found[1] != found[2]
    with pytest.raises(ww.IncompatibleError, match=r"ask\(radius=0.2\): the objective Expected\(\) has no radius"):
        played(0).ask(radius=0.2)
    with pytest.raises(ww.ArgumentError, match="radius must be >= 0"):
        played(0).ask(radius=-1)


def test_advice_is_judged_under_the_forecast():
    study = played(12)
    low = study.recommend(context={"demand": ww.Forecast(samples=[0.24, 0.25, 0.26])})
    high = study.recommend(context={"demand": ww.Forecast(samples=[0.64, 0.65, 0.66])})
    assert low.decision["order"] < 0.35 < 0.5 < high.decision["order"]
    assert low.unknown_contexts > 0.0 and low.interval[0] < low.value < low.interval[1]
    assert study.recommend(context={"demand": ww.Forecast(samples=[0.24, 0.25, 0.26])}) == low  # the very same, kept
    kept = study.assess({"order": 0.3}, context={"demand": ww.Forecast(samples=[0.24, 0.25, 0.26])})
    assert kept.value > study.assess({"order": 0.3}, context={"demand": ww.Forecast(samples=[0.64, 0.66])}).value


def test_what_a_forecast_is_worth_grows_with_those_judged():
    trials = trials_with(40)
    known = known_of("study.ask", SPACE, {"demand": ww.Forecast(quantiles={0.1: 20, 0.9: 60}), "heat": 3, "sky": "dry"})

    def made(trials):
        given = SPACE.encode_given(known.given)
        return coupled.made_of(ww.Empirical(), SPACE, trials, given, known.forecasts, stream())

    before = made(trials)
    after = made(trials_with(40, forecasts=lambda i: {"demand": ww.Forecast(quantiles={0.1: 40, 0.9: 80})}))
    assert before.worth == coupled.WORTH and after.worth == coupled.WORTH + 40
    for one in (before, after):
        judged = one.judged(ww.Empirical().judged(SPACE, trials, SPACE.encode_given(known.given)))
        assert float(judged.unknown.mass.sum()) == pytest.approx(one.worth + 1.0)
        assert torch.allclose(judged.redrawn(400, stream(1)).mean(0), judged.weights, atol=0.02)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_forecast_is_shown_as_it_was_given():
    assert repr(ww.Forecast(point=3)) == "Forecast(point=3)"
    assert repr(ww.Forecast([1, 2], [0.5, 0.5])) == "Forecast(samples=(1, 2), weights=(0.5, 0.5))"


UNFIT = [
    ({"demnd": ww.Forecast(point=1)}, "unknown context 'demnd' (did you mean 'demand'?)"),
    ({"demand": ww.Forecast(point="high")}, "the forecast of 'demand': the point"),
    ({"demand": ww.Forecast(chances={"dry": 1})}, "chances are for categories"),
    ({"demand": ww.Forecast(samples=["a"])}, "the forecast of 'demand': sample 0"),
    ({"sky": ww.Forecast(chances={"fog": 1})}, "'fog' is none of its choices: dry, wet, snow"),
    ({"sky": ww.Forecast(samples=["fog"])}, "must be one of ['dry', 'wet', 'snow'], got 'fog'"),
    ({"sky": ww.Forecast(quantiles={0.1: 1, 0.9: 2})}, "it is a category and has no quantiles"),
    ({"sky": ww.Distribution("norm")}, "it is a category and has no distribution"),
    ({"demand": ww.Forecast(samples=[{"demand": 1, "heat": 2}])}, "has samples that name 'demand' and 'heat'"),
    ({("demand", "heat"): ww.Forecast(samples=[1, 2])}, "needs samples that are dicts"),
    (
        {"demand": ww.Forecast(point=1), ("demand", "heat"): ww.Forecast(samples=[{"demand": 1, "heat": 2}])},
        "two forecasts of",
    ),
    ({"demand": 1, ("demand", "heat"): ww.Forecast(samples=[{"demand": 1, "heat": 2}])}, "has a value and a forecast"),
    (ww.Forecast(samples=[1, 2]), "names no context"),
]


@pytest.mark.parametrize(("context", "says"), UNFIT, ids=[says[:24] for _, says in UNFIT])
def test_a_forecast_that_does_not_fit_the_space_is_refused(context, says):
    study = ww.Study(SPACE, policy(), seed=0)
    for call in (study.ask, study.recommend):
        with pytest.raises(ww.SpaceError) as caught:
            call(context=context)
        assert says in str(caught.value)
    assert len(study.trials) == 0


def test_a_forecast_of_what_the_policy_ignores_or_chooses_is_refused():
    forecast = {"demand": ww.Forecast(samples=[0.1, 0.2])}
    for parts, says in (({"context_model": ww.NoContext()}, "ignores"), ({"context_rule": ww.Uniform()}, "chooses")):
        study = ww.Study(SHOP, policy(**parts))
        with pytest.raises(ww.IncompatibleError, match=f"the forecast of 'demand': this study's policy {says}"):
            study.ask(context=forecast)
    with pytest.raises(ww.ArgumentError, match="no distribution of that name"):
        played(0).ask(context={"demand": ww.Forecast(distribution=type("D", (), {"name": "nrm", "parameters": {}})())})
    log = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(log=True)})
    with pytest.raises(ww.IncompatibleError, match="a log of zero"):
        ww.Study(log, policy()).ask(context={"c": ww.Distribution("norm")})
    round_and_round = ww.Space({"x": ww.Real(0, 1)}, {"wind": ww.Cyclic(360)})
    with pytest.raises(ww.SpaceError, match="'wind' comes round, and such contexts cannot be forecast yet"):
        ww.Study(round_and_round, policy()).ask(context={"wind": ww.Forecast(point=90)})
    with pytest.raises(ww.SpaceError, match="on a log scale"):
        ww.Study(log, policy()).ask(context={"c": ww.Forecast(quantiles={0.1: 0, 0.9: 5})})


def test_the_memory_of_a_forecasts_contexts_is_counted():
    one, trials = policy(context_model=ww.Empirical()), Trials(SHOP)
    enough = budget.total(budget.needs_of(one, one.sizes(trials)))
    check_memory(one, trials, Request(memory=enough))
    with pytest.raises(ww.ArgumentError, match="of memory"):
        check_memory(one, trials, request(SHOP, {"demand": ww.Forecast(point=0.4)}, memory=enough))
