"""Whether the model deserves belief: predictions of what was left out against brute force, and what is said of them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.stats
import torch
from click.testing import CliRunner
from helpers import SHOP, random_dataset, told

import windward as ww
from windward import plots
from windward.cli.main import main
from windward.present import records
from windward.present.report import report_html
from windward.suggest.baselines import RATIOS, constant_left_out, plane_left_out
from windward.suggest.checked import CheckedTrial, Coverage, ModelCheck
from windward.suggest.model_check import model_check
from windward.suggest.outliers import outliers
from windward.suggest.predictions import Predictions, studentized
from windward.suggest.rank_tests import by_group, by_number
from windward.surrogate import GaussianProcess, Hyperparameters, LeftOut

FIXED = Hyperparameters(0.3, (0.4, 0.7, 0.5), 1.3, 2e-2)
TWO = ww.Space({"price": ww.Real(0, 1), "way": ww.Categorical(["rail", "road"])}, {"demand": ww.Real(0, 1)})
POLICY = ww.Policy(context_model=ww.Empirical())


def draw(n, seed=0, noise=0.1, space=SHOP, spread=None):
    """Results of a smooth function at random places, as trials."""
    chance = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        order, demand = chance.random(2)
        decision = {"order": order} if space is SHOP else {"price": order, "way": ["rail", "road"][chance.integers(2)]}
        deviation = noise if spread is None else spread(decision)
        rows.append((decision, {"demand": demand}, math.sin(4 * order) + demand + deviation * chance.normal()))
    return rows


def checked(rows, space=SHOP, policy=POLICY, sign=1.0, seed=0):
    trials = told(space, rows, sign=sign)
    posterior = policy.surrogate.fit(trials.dataset)
    return model_check(policy, trials, posterior, torch.Generator().manual_seed(seed))


def study_of(rows, **options):
    study = ww.Study(SHOP, POLICY, name="shop", **options)
    study.add_many([ww.Past(decision, value, context) for decision, context, value in rows])
    return study


# -- left out, in closed form -------------------------------------------------------------------------------------------


def by_hand(data, surrogate, hyperparameters, row, *, held):
    """The prediction of one row by the rows that are left: the covariance written out, the mean by least squares."""
    posterior = surrogate.at(data, hyperparameters)
    covariance = posterior.covariance(posterior.zx, posterior.zc, posterior.zx, posterior.zc) + posterior.noise.diag()
    y = (data.y - posterior.shift) / posterior.scale
    kept = [other for other in range(len(y)) if other != row]
    a, k = covariance[kept][:, kept], covariance[kept, row]
    ones = torch.ones(len(kept), dtype=torch.float64)
    solve = torch.linalg.solve
    mean = hyperparameters.mean if held else float(ones @ solve(a, y[kept]) / (ones @ solve(a, ones)))
    predicted = mean + k @ solve(a, y[kept] - mean)
    variance = covariance[row, row] - k @ solve(a, k)
    if not held:
        variance = variance + (1.0 - k @ solve(a, ones)) ** 2 / (ones @ solve(a, ones))
    return float(predicted * posterior.scale + posterior.shift), float(variance.sqrt() * posterior.scale)


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("held", [False, True])
def test_left_out_is_a_fit_without_the_row(kernel, given, held):
    data = random_dataset(14, 2, 1)
    if given:
        data = replace(data, noise=torch.where(torch.arange(14) % 3 == 0, 0.3, torch.nan).double())
    surrogate = GaussianProcess(kernel, fixed=FIXED) if held else GaussianProcess(kernel)
    left = surrogate.at(data, FIXED).left_out()
    want = [by_hand(data, surrogate, FIXED, row, held=held) for row in range(14)]
    assert torch.allclose(
        left.mean, torch.tensor([mean for mean, _ in want], dtype=torch.float64), atol=1e-8, rtol=1e-8
    )
    assert torch.allclose(left.std, torch.tensor([std for _, std in want], dtype=torch.float64), atol=1e-8, rtol=1e-8)
    assert torch.allclose(left.observed, data.y, atol=1e-10)
    assert left.degrees == (14 if held else 13)


def test_left_out_by_refitting_with_the_same_hyperparameters():
    """Where nothing is scaled and the mean is held, it is the posterior of the others, its noise added."""
    data = random_dataset(12, 2, 1)
    surrogate = GaussianProcess(outcome=ww.Unscaled(), fixed=FIXED)
    left = surrogate.fit(data).left_out()
    for row in range(12):
        kept = torch.tensor([other for other in range(12) if other != row])
        rest = replace(data, x=data.x[kept], c=data.c[kept], y=data.y[kept], noise=data.noise[kept])
        mean, std = surrogate.fit(rest).marginals(data.x[row : row + 1], data.c[row : row + 1])
        assert float(left.mean[row]) == pytest.approx(float(mean), abs=1e-8)
        assert float(left.std[row]) == pytest.approx(math.sqrt(float(std) ** 2 + FIXED.noise), abs=1e-8)


def test_left_out_of_censored_outcomes_holds_the_floor():
    data = replace(random_dataset(10, 2, 1), floor=-3.0)
    posterior = GaussianProcess().at(data, FIXED)
    assert posterior.held and posterior.left_out().degrees == 10


def test_left_out_of_a_posterior_that_grew_is_that_of_one_made_at_once():
    data = random_dataset(12, 2, 1)
    surrogate = GaussianProcess(outcome=ww.Unscaled())
    few = replace(data, x=data.x[:9], c=data.c[:9], y=data.y[:9], noise=data.noise[:9])
    origin = replace(few, c=data.c)  # the median of the contexts, which is taken off, is that of all
    grown = surrogate.at(few, FIXED).condition(data.x[9:], data.c[9:], data.y[9:])
    assert origin.c.shape[0] == 12
    for here, there in zip(grown.left_out()[:3], surrogate.at(data, FIXED).left_out()[:3], strict=True):
        assert torch.allclose(here, there, atol=1e-9)


def test_the_total_is_that_of_the_residuals():
    data = random_dataset(12, 2, 1)
    posterior = GaussianProcess().at(data, FIXED)
    left = posterior.left_out()
    precision = posterior.inverse.T @ posterior.inverse
    sums = precision.sum(1)
    projected = precision - torch.outer(sums, sums) / sums.sum()
    y = data.y / posterior.scale
    assert left.total == pytest.approx(float(y @ projected @ y), rel=1e-9)


# -- mixtures -----------------------------------------------------------------------------------------------------------


def parts(count=5, n=7, seed=0):
    generator = torch.Generator().manual_seed(seed)
    y = torch.randn(n, generator=generator, dtype=torch.float64)
    return [
        LeftOut(
            y,
            0.3 * torch.randn(n, generator=generator, dtype=torch.float64),
            0.5 + torch.rand(n, generator=generator, dtype=torch.float64),
            1.0,
            n,
        )
        for _ in range(count)
    ]


def test_one_prediction_is_a_normal():
    (one,) = parts(1)
    found = Predictions.of([one])
    assert torch.allclose(found.mean, one.mean) and torch.allclose(
        found.residuals, (one.observed - one.mean) / one.std, atol=1e-9
    )
    want = torch.distributions.Normal(one.mean, one.std)
    assert torch.allclose(found.log_scores, want.log_prob(one.observed))
    assert torch.allclose(found.quantile(0.95), want.icdf(torch.tensor(0.95, dtype=torch.float64)))


def test_a_mixture_weighs_by_one_over_the_density():
    """With p(theta | y) even, p(theta | others) is proportional to 1 / p(y_i | others, theta): Bayes' rule."""
    several = parts()
    density = torch.stack([torch.distributions.Normal(p.mean, p.std).log_prob(p.observed).exp() for p in several])
    weights = (1.0 / density) / (1.0 / density).sum(0)
    found = Predictions.of(several)
    assert torch.allclose(found.log_scores.exp(), (weights * density).sum(0))
    assert torch.allclose(found.log_scores, -(1.0 / density).mean(0).log())
    below = sum(
        w * torch.distributions.Normal(p.mean, p.std).cdf(found.quantile(0.3))
        for w, p in zip(weights, several, strict=True)
    )
    assert torch.allclose(below, torch.full_like(below, 0.3), atol=1e-9)


def test_residuals_far_out_are_finite():
    (one,) = parts(1)
    far = one._replace(observed=one.mean + 300.0 * one.std)
    assert torch.allclose(Predictions.of([far]).residuals, torch.full((7,), 300.0).double(), rtol=1e-6)


def test_a_scale_of_the_others_is_that_of_a_fit_without_the_row():
    """The classical identity: with a constant alone, the residual over the deviation that the others have, Student."""
    y = torch.tensor([1.0, 2.0, 4.0, 7.0, 30.0], dtype=torch.float64)
    found = Predictions.of([constant_left_out(y)], scaled=True)
    for row in range(5):
        others = torch.cat([y[:row], y[row + 1 :]])
        scale = float(others.std() * math.sqrt(1.0 + 1.0 / 4.0))
        want = scipy.stats.t(3, float(others.mean()), scale)
        assert float(found.scales[0, row]) == pytest.approx(scale)
        assert float(found.log_scores[row]) == pytest.approx(want.logpdf(float(y[row])))
        assert float(found.residuals[row]) == pytest.approx(scipy.stats.norm.ppf(want.cdf(float(y[row]))), abs=1e-9)
        assert float(found.quantile(0.95)[row]) == pytest.approx(want.ppf(0.95))


def test_studentized_residuals_take_the_models_scale_where_the_others_fit_better():
    close = LeftOut(torch.tensor([0.1, 0.2, 2.0]), torch.zeros(3), torch.ones(3), 4.05, 3)
    found, freedom = studentized(close)
    assert freedom == 2 and float(found[2]) == pytest.approx(2.0)  # the scale of the others alone would be a sixth
    wide = close._replace(total=4.0 + 18.0)
    assert float(studentized(wide)[0][2]) == pytest.approx(2.0 / 3.0)


# -- a constant, a plane, ranks ----------------------------------------------------------------------------------------


def test_a_plane_by_hand():
    generator = torch.Generator().manual_seed(3)
    columns = torch.rand(9, 4, generator=generator, dtype=torch.float64)
    y = columns @ torch.tensor([2.0, -1.0, 0.0, 0.5]).double() + 0.1 * torch.randn(9, generator=generator).double()
    found = plane_left_out(columns, y)
    scaled = (columns - columns.mean(0)) / columns.std(0)
    nearest = []
    for ratio in RATIOS:
        a = ratio * scaled @ scaled.T + torch.eye(9).double()
        ones = torch.ones(9).double()
        inner = torch.linalg.inv(a)
        p = inner - torch.outer(inner @ ones, inner @ ones) / (ones @ inner @ ones)
        variance = float(y @ p @ y) / 8
        density = -0.5 * (8 * math.log(variance) + float(torch.logdet(a)))
        nearest.append((density, (y - (p @ y) / p.diagonal()), (variance / p.diagonal()).sqrt()))
    _, mean, std = max(nearest, key=lambda each: each[0])
    assert torch.allclose(found.mean, mean, atol=1e-8) and torch.allclose(found.std, std, atol=1e-8)


def test_a_plane_with_more_columns_than_rows_is_defined():
    columns = torch.eye(9, dtype=torch.float64)
    found = plane_left_out(torch.cat([columns, columns], 1), torch.arange(9.0).double())
    assert torch.isfinite(found.mean).all() and (found.std > 0).all()


def test_ranks_as_scipy_has_them():
    chance = np.random.default_rng(1)
    values, numbers = chance.random(25), chance.integers(0, 6, 25).astype(float)
    rho, p = by_number(values, numbers)
    want = scipy.stats.spearmanr(values, numbers)
    assert (rho, p) == pytest.approx((want.statistic, want.pvalue))
    groups = chance.integers(0, 3, 25)
    group, p = by_group(values, groups)
    want = scipy.stats.kruskal(*(values[groups == each] for each in range(3)))
    assert p == pytest.approx(want.pvalue)
    assert group == int(np.argmax([scipy.stats.rankdata(values)[groups == each].mean() for each in range(3)]))
    assert by_number(values, np.ones(25)) == (0.0, 1.0) and by_group(values, np.zeros(25, dtype=int)) == (None, 1.0)
    assert by_group(np.arange(6.0), np.array([0, 0, 0, 1, 1, 2])) == (None, 1.0)  # groups of one and two say nothing


# -- what is found ------------------------------------------------------------------------------------------------------


def test_a_good_model_is_believed():
    found = checked(draw(40, noise=0.05))
    assert found.explained > 0.9 and found.surely and not found.warnings
    assert found.log_score > found.log_score_linear > found.log_score_constant
    assert 0.0 < found.explained_linear < found.explained
    for each in found.coverage:
        inside = sum(abs(row.residual) <= scipy.stats.norm.ppf(0.5 + each.level / 2) for row in found.trials)
        assert each.inside == inside and each.expected == pytest.approx(40 * each.level)
    for row in found.trials:
        assert row.low < row.predicted < row.high and row.inside == (row.low <= row.observed <= row.high)
        assert (row.residual > 0) == (row.observed > row.predicted) or abs(row.residual) < 0.3


def test_what_is_said_to_be_explained_is_what_is_explained():
    """Over several sets with much noise, beside fresh results: fitted hyper-parameters alone would claim far more."""
    said, plain, true = [], [], []
    for seed in range(12):
        rows, fresh = draw(30, seed, noise=1.2), draw(300, 100 + seed, noise=1.2)
        found, trials = checked(rows), told(SHOP, rows)
        posterior = POLICY.surrogate.fit(trials.dataset)
        new = told(SHOP, fresh).dataset
        mean = posterior.means(new.x, new.c).diagonal()
        true.append(1.0 - float((new.y - mean).square().sum() / (new.y - trials.dataset.y.mean()).square().sum()))
        left, constant = posterior.left_out(), constant_left_out(trials.dataset.y)
        errors = [(each.observed - each.mean).square().sum() for each in (left, constant)]
        said.append(found.explained)
        plain.append(1.0 - float(errors[0] / errors[1]))
    assert abs(np.mean(said) - np.mean(true)) < 0.15 and np.mean(plain) > np.mean(said) + 0.03


def test_noise_explains_nothing():
    doubted = 0
    for seed in range(6):
        chance = np.random.default_rng(seed)
        rows = [(d, c, float(chance.normal())) for d, c, _ in draw(30, seed)]
        found = checked(rows)
        doubted += any("Do not trust the advice yet" in text or "may be chance" in text for text in found.warnings)
    assert doubted >= 5


@pytest.mark.parametrize(
    "surrogate", [GaussianProcess(), GaussianProcess(fixed=Hyperparameters(0.0, (0.5,), 1.0, 0.02))]
)
def test_a_planted_mistake_is_found_and_named(surrogate):
    policy = replace(POLICY, surrogate=surrogate)
    rows = draw(30, 4, noise=0.1)
    assert checked(rows, policy=policy).outliers == ()
    decision, context, value = rows[17]
    rows[17] = (decision, context, value + 5.0)
    found = checked(rows, policy=policy)
    assert found.outliers == (17,)
    (text,) = [text for text in found.warnings if text.startswith("Trial 17")]
    row = found.trials[17]
    assert row.observed == value + 5.0 and row.high < row.observed and "correct it with amend" in text
    assert "trial 17" in found.sentences[0]


def test_two_mistakes_are_found():
    rows = draw(50, 2)
    for place, by in ((5, 4.0), (31, -6.0)):
        rows[place] = (*rows[place][:2], rows[place][2] + by)
    assert checked(rows).outliers == (5, 31)


def test_a_mistake_among_values_of_known_noise_is_found():
    trials = told(SHOP, [(d, c, v + 6.0 * (place == 3)) for place, (d, c, v) in enumerate(draw(30))])
    rows = tuple(replace(trial, noise=0.1) for trial in trials.rows)
    found = model_check(
        POLICY, replace(trials, rows=rows), POLICY.surrogate.fit(replace(trials, rows=rows).dataset), torch.Generator()
    )
    assert found.outliers == (3,)
    loud = tuple(replace(trial, noise=10.0 if trial.id == 3 else 0.1) for trial in trials.rows)
    quiet = replace(trials, rows=loud)
    assert model_check(POLICY, quiet, POLICY.surrogate.fit(quiet.dataset), torch.Generator()).outliers == ()


def test_small_misses_of_an_exact_function_are_no_outliers():
    """A kink: predictions beside it are many deviations off, and right for every purpose."""
    chance = np.random.default_rng(0)
    rows = [({"order": o}, {"demand": d}, 9 * min(o, d) - 5 * o) for o, d in chance.random((40, 2))]
    data = told(SHOP, rows).dataset
    surrogate = GaussianProcess()
    assert not bool(outliers(surrogate, data, surrogate.fit(data), 0.01, torch.Generator()).any())


def test_noise_that_depends_on_a_decision_is_found():
    rising = draw(80, 1, space=TWO, spread=lambda decision: 0.02 * 40.0 ** decision["price"])
    found = checked(rising, TWO)
    assert dict(found.noise_depends_on) == {"price": "high"}
    assert any(text.startswith("Results are harder to predict where price is high") for text in found.warnings)
    by_way = draw(80, 1, space=TWO, spread=lambda decision: 1.0 if decision["way"] == "road" else 0.03)
    assert dict(checked(by_way, TWO).noise_depends_on) == {"way": "road"}
    assert not checked(draw(80, 1, space=TWO), TWO).noise_depends_on


def test_a_model_that_is_too_sure_is_said_to_be():
    sure = replace(POLICY, surrogate=GaussianProcess(fixed=Hyperparameters(0.0, (0.5,), 1.0, 1e-4)))
    found = checked(draw(40, noise=0.5), policy=sure)
    assert any("only" in text and "too sure of itself" in text for text in found.warnings)
    timid = replace(POLICY, surrogate=GaussianProcess(fixed=Hyperparameters(0.0, (0.5,), 1.0, 2.0)))
    found = checked(draw(60, noise=0.05), policy=timid)
    assert any("surer than it says" in text for text in found.sentences) and not found.warnings


def test_the_direction_turns_and_units_do_not_matter():
    rows = draw(24, 3)
    up = checked(rows)
    down = checked([(d, c, -v) for d, c, v in rows], sign=-1.0)
    for here, there in zip(up.trials, down.trials, strict=True):
        assert (here.observed, here.predicted, here.residual) == pytest.approx(
            (-there.observed, -there.predicted, -there.residual), abs=1e-9
        )
        assert (here.low, here.high) == pytest.approx((-there.high, -there.low), abs=1e-9)
    scaled = checked([(d, c, 1000.0 * v + 5e4) for d, c, v in rows])
    assert scaled.explained == pytest.approx(up.explained, abs=1e-6)
    assert scaled.log_score == pytest.approx(up.log_score - math.log(1000.0), abs=1e-6)
    assert scaled.log_score_linear == pytest.approx(up.log_score_linear - math.log(1000.0), abs=1e-6)


def test_results_that_are_bent_are_judged_as_the_model_sees_them():
    tough = replace(POLICY, surrogate=GaussianProcess(outcome=ww.SoftClip(3.0)))
    rows = draw(40, 1, noise=0.05)
    rows[9] = (*rows[9][:2], -1e6)
    found = checked(rows, policy=tough)
    assert found.trials[9].observed == -1e6 and 9 in found.outliers
    assert abs(found.trials[9].residual) < 20 and found.trials[3].high < 100


# -- in words -----------------------------------------------------------------------------------------------------------


def made(**changes):
    rows = tuple(CheckedTrial(id, 10.0 + id, 10.0, 5.0, 15.0, 0.1) for id in range(30))
    cover = tuple(Coverage(level, round(level * 30), level * 30) for level in (0.5, 0.8, 0.9))
    plain = {"trials": rows, "coverage": cover, "explained": 0.824, "explained_linear": 0.4, "surely": True}
    scores = {"log_score": -1.0, "log_score_constant": -2.0, "log_score_linear": -1.5}
    return ModelCheck(**{**plain, **scores, "outliers": (), "noise_depends_on": {}, **changes})


def test_sentences():
    assert made().sentences == (
        "The model explains 82 % of the variation of the results.",
        "Left out one at a time, 27 of 30 results fell into their 90 % range; 27 were expected.",
    )
    assert made().warnings == ()
    (little,) = made(explained=-0.2).warnings
    assert little.startswith("The model explains little:") and "Do not trust the advice yet." in little
    (perhaps,) = made(explained=0.25, surely=False).warnings
    assert perhaps.startswith("The model seems to explain 25 %") and "may be chance" in perhaps
    first, *_ = made(explained=0.0, outliers=(7,)).warnings
    assert first.endswith("Do not trust the advice before you have checked trial 7.")
    assert made(outliers=(7, 9)).sentences[0].endswith("of the results, trials 7 and 9 aside.")
    told_of = made(outliers=(1, 2, 3, 4, 5)).warnings
    assert told_of[0].startswith("Trial 1 is far from what the others suggest (11; 5 to 15 was expected).")
    assert told_of[3] == "So are trials 4 and 5." and len(told_of) == 4
    assert made(trials=made().trials[:9]).sentences[-1] == "With 9 results this check is rough. Look again at 20."


@pytest.mark.parametrize(("inside", "said"), [(27, None), (23, None), (21, None), (20, "too sure"), (30, None)])
def test_only_a_count_beyond_chance_is_doubted(inside, said):
    cover = (Coverage(0.5, 15, 15.0), Coverage(0.8, 24, 24.0), Coverage(0.9, inside, 27.0))
    texts = made(coverage=cover).warnings
    assert bool(texts) == (said is not None) and all(said in text for text in texts)
    low, high = cover[-1].chances
    assert low == pytest.approx(scipy.stats.binom.cdf(inside, 30, 0.9))
    assert high == pytest.approx(scipy.stats.binom.sf(inside - 1, 30, 0.9))


# -- on every surface ---------------------------------------------------------------------------------------------------


def test_too_few_results_are_refused_with_what_is_needed():
    study = study_of(draw(5))
    with pytest.raises(
        ww.TrialError,
        match=r"^study.check: 5 results have arrived; a check of the model needs at least 8. Tell 3 more.$",
    ):
        study.check()
    study.tell(study.ask().id, 1.0)
    with pytest.raises(ww.TrialError, match=r"5 results have arrived \(1 more lacks a part of the context\)"):
        study.check()
    with pytest.raises(ww.TrialError, match="1 result has arrived"):
        study_of(draw(1)).check()
    same = study_of([(d, c, 3.5) for d, c, _ in draw(9)])
    with pytest.raises(ww.TrialError, match=r"all 9 results are 3.5; .* results that differ"):
        same.check()


def test_one_value_that_differs_is_no_accident_of_numbers():
    rows = [(d, c, 3.5) for d, c, _ in draw(12)]
    found = checked([*rows, ({"order": 0.5}, {"demand": 0.5}, 9.0)])
    assert math.isfinite(found.explained) and math.isfinite(found.log_score_constant)


@pytest.mark.parametrize("size", [1e-200, 1e148])
def test_results_of_any_size(size):
    rows = draw(20)
    found, usual = checked([(d, c, size * v) for d, c, v in rows]), checked(rows)
    json.dumps(records.check(found), allow_nan=False)
    assert found.explained == pytest.approx(usual.explained, abs=1e-6)
    assert found.log_score_linear == pytest.approx(usual.log_score_linear - math.log(size), abs=1e-6)


@dataclass(frozen=True)
class Stubborn:
    """A surrogate whose posterior predicts nothing that it has seen."""

    def fit(self, data, start=None):
        return object()

    def due(self, data, fitted):
        return True

    def check(self, roles):
        """Take any columns."""


def test_a_posterior_that_cannot_is_refused():
    policy = replace(POLICY, surrogate=Stubborn())
    study = ww.Study(SHOP, policy, parts=[Stubborn])
    study.add_many([ww.Past(decision, value, context) for decision, context, value in draw(9)])
    with pytest.raises(ww.IncompatibleError, match=r"Stubborn\(\) has no left_out\(\).* use GaussianProcess\(\)"):
        study.check()


def test_it_costs_no_second_fit_and_is_kept(monkeypatch):
    searched, fitted = [], GaussianProcess.fitted

    def counted(self, data, start=None):
        searched.append(len(data.y))
        return fitted(self, data, start)

    monkeypatch.setattr(GaussianProcess, "fitted", counted)
    study = study_of(draw(20))
    found = study.check()
    assert study.check() is found and [count for count in searched if count] == [20]
    study.recommend()
    report_html(study)
    assert [count for count in searched if count] == [20]
    study.add({"order": 0.5}, 40.0, context={"demand": 0.5})
    assert study.check().outliers == (20,) and found.outliers == () and searched[-1] == 21
    again = study_of(draw(20))
    again.recommend()
    assert again.check() == found


def test_a_check_moves_no_suggestion_and_no_recommendation():
    one, other = study_of(draw(15)), study_of(draw(15))
    one.check()
    assert one.recommend() == other.recommend() and one.ask().decision == other.ask().decision


def test_a_policy_that_looks_at_no_contexts():
    study = ww.Study(SHOP, ww.papers.gp_ucb(), name="blind")
    study.add_many([ww.Past(d, v, c) for d, c, v in draw(30, noise=0.02)])
    found = study.check()
    assert len(found.trials) == 30 and found.explained < 0.95 and "demand" not in found.noise_depends_on


def test_the_record_is_json():
    found = study_of(draw(12)).check()
    data = json.loads(json.dumps(records.check(found), allow_nan=False))
    assert data["sentences"] == list(found.sentences) and len(data["trials"]) == 12
    assert data["trials"][3]["range"] == [found.trials[3].low, found.trials[3].high]
    assert data["coverage"][2] == {"level": 0.9, "inside": found.coverage[2].inside, "expected": pytest.approx(10.8)}


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("WINDWARD_JOURNAL", f"sqlite:///{tmp_path}/shop.db")
    study = study_of(draw(7), journal=f"sqlite:///{tmp_path}/shop.db")
    answer = CliRunner().invoke(main, ["check", "shop"])
    assert answer.exit_code == 1 and "check: 7 results have arrived" in answer.output
    study.add_many([ww.Past(d, v, c) for d, c, v in draw(14, 1)])
    answer = CliRunner().invoke(main, ["check", "shop"])
    assert answer.output.splitlines() == list(study.check().sentences) and answer.exit_code == 0
    data = json.loads(CliRunner().invoke(main, ["check", "shop", "--json"]).output)
    assert data == records.check(study.check())


def test_the_figure_has_every_result_once():
    rows = draw(30, 4)
    rows[17] = (*rows[17][:2], rows[17][2] + 6.0)
    study = study_of(rows)
    found, figure = study.check(), plots.check(study)
    shown = [each for each in figure.data if each.name is not None]
    assert sum(len(each.x) for each in shown) == 30
    far = shown[-1]
    assert list(far.text) == ["trial 17"] and far.name == "far from what the others suggest (1)"
    row = found.trials[17]
    assert far.x[0] == row.observed and far.y[0] == row.predicted
    assert far.y[0] + far.error_y.array[0] == pytest.approx(row.high)
    assert far.y[0] - far.error_y.arrayminus[0] == pytest.approx(row.low)
    inside = sum(each.inside for each in found.trials)
    assert f"in its 90 % range ({inside})" in [each.name for each in shown]
    with pytest.raises(ww.TrialError, match="needs at least 8"):
        plots.check(study_of(draw(3)))


def test_the_report_says_it():
    study = study_of([(d, c, float(np.random.default_rng(i).normal())) for i, (d, c, _) in enumerate(draw(30))])
    page = report_html(study)
    assert "Can this be trusted?" in page and study.check().warnings
    for text in study.check().warnings:
        assert f'<p class="warning">{text}</p>' in page.replace("&#x27;", "'")
    assert "A check of the model found something" in page
    assert "Not checked: study.check: 3 results have arrived" in report_html(study_of(draw(3)))
