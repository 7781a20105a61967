"""A function that changes with time: a plain process with time in its kernel, its length by marginal likelihood, its use."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from helpers import random_dataset

import windward as ww
from windward import testing
from windward.cli.main import main
from windward.contexts import Contexts
from windward.present import records
from windward.present.report import report_html
from windward.service.shelf import Shelf
from windward.space import Space
from windward.surrogate import GaussianProcess, Hyperparameters, Start, imagining
from windward.surrogate.crowd import crowd
from windward.surrogate.drift import LENGTHS, WINDOW, chances
from windward.trials.drifts import Drift
from windward.trials.records import Trial
from windward.trials.trials import Ages, Trials

HELD = Hyperparameters(0.2, (0.4, 0.9, 0.6), 1.3, 1e-2, (0.3, 0.15), 12.0)
PLAIN = replace(HELD, shares=())


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def aged(data, ages=None):
    ages = torch.arange(len(data.y), 0, -1, dtype=torch.float64) if ages is None else ages
    return replace(data, ages=Ages(ages, ages - 1.0), changed=tuple(range(len(data.y))))


def moving(n=40, seed=2, speed=0.05):
    """A hill that goes from left to right, one step for each trial."""
    data = random_dataset(n, 1, 1, seed)
    top = 0.2 + speed * torch.arange(n, dtype=torch.float64)
    return aged(replace(data, y=-4.0 * (data.x[:, 0] - top).square() + 0.2 * data.c[:, 0]))


def places():
    drawn = torch.rand(9, 3, generator=generator(3), dtype=torch.float64)
    return drawn[:4, :2], drawn[4:, 2:]


class Brute:
    """The process written out pair by pair, time and all; `now` is round 0, observations are older."""

    def __init__(self, data, posterior, held, kernel):
        self.held, self.kernel = held, kernel
        rates = torch.cat([posterior.inputs.x_rates, posterior.inputs.c_rates])
        self.scales = rates * torch.tensor(held.length_scales, dtype=torch.float64)
        self.rows = self.joined(data.x, data.c, data.ages.trials)
        self.y = (data.y - posterior.shift) / posterior.scale - held.mean
        self.posterior = posterior

    def joined(self, x, c, ages):
        return torch.cat([x * self.scales[:2], c * self.scales[2:], torch.as_tensor(ages).expand(len(x))[:, None]], 1)

    def one(self, a, b):
        gaps = (a[:3] - b[:3]) / torch.tensor(self.held.length_scales, dtype=torch.float64)
        sx, sc = float(gaps[:2].square().sum()), float(gaps[2:].square().sum())
        if self.kernel == "matern52":
            root = math.sqrt(5 * (sx + sc))
            k = (1 + root + root**2 / 3) * math.exp(-root)
        else:
            s, t = self.held.shares or (0.0, 0.0)
            k = (s + (1 - s) * math.exp(-sx / 2)) * (t + (1 - t) * math.exp(-sc / 2))
        return self.held.amplitude * k * math.exp(-abs(float(a[3] - b[3])) / self.held.drift)

    def matrix(self, a, b):
        return torch.tensor([[self.one(one, other) for other in b] for one in a], dtype=torch.float64)

    def answer(self, x, points, more=None):
        """Mean and covariance at every pair now; `more` are rows imagined at the mean."""
        at = self.joined(x.repeat_interleave(len(points), 0), points.repeat(len(x), 1), 0.0)
        rows = self.rows if more is None else torch.cat([self.rows, more])
        seen = self.matrix(rows, rows) + self.held.noise * torch.eye(len(rows))
        solved = torch.linalg.solve(seen, self.matrix(rows, at))
        first = torch.linalg.solve(seen[: len(self.y), : len(self.y)], self.y)
        mean = (self.matrix(at, self.rows) @ first + self.held.mean) * self.posterior.scale + self.posterior.shift
        covariance = (self.matrix(at, at) - self.matrix(at, rows) @ solved) * self.posterior.scale**2
        return mean.reshape(len(x), -1), covariance


@pytest.mark.parametrize(("kernel", "held"), [("squared_exponential", HELD), ("matern52", PLAIN)])
def test_it_answers_as_a_process_with_time_in_its_kernel(kernel, held):
    ages = (torch.randperm(18, generator=generator(1)) + 1).to(torch.float64)
    rows, (x, points) = aged(random_dataset(18, 2, 1), ages), places()
    posterior = GaussianProcess(kernel).at(rows, held)
    brute = Brute(rows, posterior, held, kernel)
    mean, covariance = brute.answer(x, points)
    found = posterior.marginals(x, points)
    assert torch.allclose(found[0], mean, atol=1e-8)
    assert torch.allclose(found[1].flatten(), covariance.diagonal().sqrt(), atol=1e-8)
    assert torch.allclose(posterior.means(x, points), mean, atol=1e-8)
    weights = torch.full((1, 5), 0.2, dtype=torch.float64)
    blocks = covariance.reshape(4, 5, 4, 5).mean((1, 3))
    assert torch.allclose(posterior.averages(x, points, weights)[1][0], blocks, atol=1e-8)
    assert torch.allclose(posterior.average(x, Contexts.uniform(points))[1], blocks.diagonal().sqrt(), atol=1e-8)
    slopes, step = posterior.context_slopes(x, points), 1e-6
    above, below = (posterior.marginals(x, points + sign * step)[0] for sign in (1, -1))
    assert torch.allclose((above - below) / (2 * step), slopes.mean_gradient[..., 0], atol=1e-5)
    samples = posterior.sample(x[0], points, 4000, generator())
    assert ((samples.mean(0) - mean[0]) / found[1][0]).abs().max() < 0.1
    wanted = brute.matrix(brute.rows, brute.rows) + held.noise * torch.eye(18)
    assert posterior.log_determinant() == pytest.approx(float(torch.logdet(wanted)))


def test_paths_have_its_moments():
    rows, (x, points) = aged(random_dataset(18, 2, 1)), places()
    posterior = (
        GaussianProcess().at(rows, HELD).condition_at(x[:1], points[:1], Ages(torch.tensor([5.0]), torch.tensor([4.0])))
    )
    mean, std = posterior.marginals(x, points)
    drawn = torch.stack([posterior.path(generator(seed))(x, points) for seed in range(400)])
    assert ((drawn.mean(0) - mean) / std).abs().max() < 0.25 and (drawn.std(0) / std - 1).abs().max() < 0.2


def test_what_is_imagined_belongs_to_its_round():
    rows, (x, points) = aged(random_dataset(18, 2, 1)), places()
    posterior = GaussianProcess().at(rows, HELD)
    brute = Brute(rows, posterior, HELD, "squared_exponential")
    ages = torch.tensor([3.0, 9.0], dtype=torch.float64)
    waiting = x[:2], points[:2]
    mean, covariance = brute.answer(x, points, brute.joined(*waiting, ages))
    found = imagining(posterior, waiting, Ages(ages, ages)).marginals(x, points)
    assert torch.allclose(found[0], mean, atol=1e-8)
    assert torch.allclose(found[1].flatten(), covariance.diagonal().sqrt(), atol=1e-8)
    # Now is more telling than nine rounds ago, and what is too old tells nothing.
    assert (posterior.condition(*waiting).marginals(x, points)[1] <= found[1] + 1e-12).all()
    assert imagining(posterior, waiting, Ages(ages + 48.0, ages)).size == 18
    # An observation of an earlier round counts as one of the data.
    seen = GaussianProcess().at(aged(random_dataset(18, 2, 1)).first(17), HELD)
    y = torch.tensor([0.7], dtype=torch.float64)
    told = seen.condition_at(rows.x[17:], rows.c[17:], rows.ages.at(torch.tensor([17])), y)
    alone = Brute(replace(rows.first(17), ages=rows.ages.at(torch.arange(17))), seen, HELD, "squared_exponential")
    alone.rows = torch.cat([alone.rows, alone.joined(rows.x[17:], rows.c[17:], rows.ages.trials[17:])])
    alone.y = torch.cat([alone.y, (y - seen.shift) / seen.scale - HELD.mean])
    assert torch.allclose(told.marginals(x, points)[0], alone.answer(x, points)[0], atol=1e-8)


def test_each_result_is_predicted_in_its_own_round():
    rows = aged(random_dataset(12, 2, 1))
    posterior = GaussianProcess(fixed=HELD).fit(rows)
    brute = Brute(rows, posterior, HELD, "squared_exponential")
    seen = brute.matrix(brute.rows, brute.rows) + HELD.noise * torch.eye(12)
    precision, ones = seen.inverse(), torch.ones(12, dtype=torch.float64)
    left, held = posterior.left_out(), posterior.held
    assert held and torch.allclose(left.observed, rows.y)
    mean = brute.y - precision @ brute.y / precision.diagonal() + HELD.mean * ones
    assert torch.allclose(left.mean, mean * posterior.scale + posterior.shift)
    assert torch.allclose(left.std, precision.diagonal().rsqrt() * posterior.scale)


@pytest.mark.parametrize("kind", [{}, {"parts": True}, {"kernel": "matern52"}])
def test_the_densitys_gradient_is_right(kind):
    problem = GaussianProcess(**kind).likelihood(aged(random_dataset(25, 2, 1)), 12.0)
    width = problem.layout.width
    thetas = np.linspace(-0.4, 0.5, 2 * width).reshape(2, width) - 3.0 * np.eye(width)[-1]
    _, gradient, curvature, _ = problem.values_and_gradients(thetas)
    for entry in range(width):
        step = np.eye(width)[entry] * 1e-5
        upper, lower = (problem.values_and_gradients(thetas + sign * step)[0] for sign in (1, -1))
        assert np.allclose((upper - lower) / 2e-5, gradient[:, entry], atol=1e-6)
    assert (np.linalg.eigvalsh(curvature) > 0).all()


def test_gradients_in_the_decision_are_right():
    posterior, (x, points) = GaussianProcess(drift=12).fit(aged(random_dataset(25, 2, 1))), places()
    x = x.clone().requires_grad_()
    for at in (posterior, posterior.draft()):
        assert torch.autograd.gradcheck(lambda z, at=at: at.marginals(z, points), x, atol=1e-6)
    path = posterior.path(generator())
    assert torch.autograd.gradcheck(lambda z: path(z, points), x, atol=1e-6)


def test_the_chances_are_those_of_marginal_likelihoods():
    """Each length's density at its own best hyper-parameters, by scipy, with the priors written out."""
    from scipy import stats

    rows = moving()
    process = GaussianProcess(drift="learnt")
    found = process.fit(rows).hyperparameters
    each = [process._searched(rows, length, None) for length in (None, *LENGTHS)]
    densities = []
    for length, held in zip((None, *LENGTHS), each, strict=True):
        scaled = process.outcome.scaled(rows.y, None)
        gaps = (torch.cat([rows.x, rows.c], 1)[:, None] - torch.cat([rows.x, rows.c], 1)) / torch.tensor(
            held.length_scales
        )
        k = torch.exp(-0.5 * gaps.square().sum(-1))
        if length is not None:
            k = k * torch.exp(-(rows.ages.trials[:, None] - rows.ages.trials).abs() / length)
        covariance = (k + held.noise * torch.eye(len(k))).numpy()
        likely = stats.multivariate_normal(np.full(len(k), held.mean), covariance).logpdf(scaled.values.numpy())
        scales = stats.lognorm(math.sqrt(3), scale=math.exp(math.sqrt(2) + 0.5 * math.log(2))).logpdf(
            held.length_scales
        )
        densities.append(likely + scales.sum() + stats.lognorm(1.0, scale=math.exp(-4.0)).logpdf(held.noise))
    wanted = chances(densities)
    assert found.still == pytest.approx(wanted[0], rel=1e-3)
    best = (None, *LENGTHS)[int(np.argmax(wanted))]
    assert found.drift == best and best is not None
    odds = np.exp(np.array(densities) - max(densities)) * [0.7, *[0.075] * 4]
    assert wanted == pytest.approx(tuple(odds / odds.sum()))


def test_the_most_probable_answer_is_taken(monkeypatch):
    rows = moving()
    for each, wanted in (((0.2, 0.15, 0.3, 0.2, 0.15), 50.0), ((0.4, 0.15, 0.15, 0.15, 0.15), None)):
        monkeypatch.setattr("windward.surrogate.fit.chances", lambda densities, each=each: each)
        found = GaussianProcess(drift="learnt").fitted(rows)
        assert (found.drift, found.still) == (wanted, each[0])


def test_a_world_that_stands_still_keeps_the_plain_fit():
    rows = aged(random_dataset(40, 1, 1))
    plain, found = (GaussianProcess(drift=drift).fit(rows).hyperparameters for drift in (None, "learnt"))
    assert found == replace(plain, still=found.still) and found.still > 0.9 and plain.still is None


def test_old_rows_leave_the_data():
    rows, (x, points) = moving(130, speed=0.004), places()
    for drift, kept in ((12, 48), (25.0, 100), (50, 130), ("30 days", 121), (timedelta(days=10), 41)):
        posterior = GaussianProcess(drift=drift).fit(rows)
        assert posterior.size == kept and len(GaussianProcess(drift=drift).recent(rows, posterior)) == kept
    late = rows.at(torch.arange(82, 130))
    there, here = GaussianProcess(drift=12).fit(rows), GaussianProcess(drift=12).fit(late)
    assert there.hyperparameters == here.hyperparameters
    assert torch.equal(there.marginals(x[:, :1], points)[0], here.marginals(x[:, :1], points)[0])
    kept = GaussianProcess(drift="learnt").fit(rows, Start(replace(there.hyperparameters, drift=25.0), keep=True))
    assert kept.size == 100
    # However many came before, as many new ones call for a new search as in a window.
    many = replace(rows, changed=tuple(range(130)))
    assert GaussianProcess(drift="learnt").due(many, 120) and WINDOW == 300


def test_where_all_is_too_old_almost_nothing_is_known():
    rows, (x, points) = moving(5), places()
    rows = replace(rows, ages=Ages(rows.ages.trials + 5e4, rows.ages.days))
    posterior = GaussianProcess(drift=12).fit(rows)
    assert posterior.size == 1
    mean, std = posterior.marginals(x[:, :1], points)
    assert (std / posterior.scale).min() > 0.999 and (mean - mean.mean()).abs().max() < 1e-3 * posterior.scale


def test_other_hyperparameters_change_as_the_fit_does():
    rows, (x, points) = moving(), places()
    process = GaussianProcess(drift=25)
    some = process.nearby(rows, process.fit(rows), 6, generator())
    alone = process.at(rows, some[3].hyperparameters)
    assert {one.hyperparameters.drift for one in some} == {25.0}
    assert torch.allclose(alone.marginals(x[:, :1], points)[1], some[3].marginals(x[:, :1], points)[1])
    contexts = Contexts.uniform(points)
    means, variances = crowd(some, contexts).averages(x[:, :1])
    each = [one.average(x[:, :1], contexts) for one in some]
    assert torch.allclose(means, torch.stack([mean for mean, _ in each]))
    assert torch.allclose(variances, torch.stack([std.square() for _, std in each]))


def test_it_obeys_the_laws_of_surrogates():
    testing.check_surrogate(ww.GaussianProcess(drift=25), draws=200)


def at(day):
    return datetime(2026, 5, 1, tzinfo=UTC) + timedelta(days=day)


def test_ages_are_those_of_the_rounds():
    space = Space({"x": ww.Real(0, 1)})
    rows = (
        Trial(0, {"x": 0.1}, value=1.0, told_at=at(3), changed=4),
        Trial(1, {"x": 0.2}, value=2.0, changed=1),  # history without a date
        Trial(2, {"x": 0.3}, value=3.0, asked_at=at(1), told_at=at(9), changed=9),
        Trial(3, {"x": 0.4}, asked_at=at(5), changed=2),
    )
    trials = Trials(space, rows)
    assert [trial.id for trial in trials.arrived] == [1, 0, 2]
    assert trials.dataset.ages.trials.tolist() == [4.0, 2.0, 3.0]
    assert trials.dataset.ages.days.tolist()[1:] == [2.0, 4.0]
    assert trials.ages(trials.pending).trials.tolist() == [1.0]


SPACE = ww.Space(decision={"x": ww.Real(0, 1)}, context={"c": ww.Real(0, 1)})


def played(drift, rounds=14, speed=0.06, journal=None):
    policy = replace(ww.auto(), surrogate=GaussianProcess(drift=drift))
    more = {} if journal is None else {"journal": journal, "name": "hill"}
    study = ww.Study(SPACE, policy, seed=2, **more)
    for turn in range(rounds):
        s = study.ask()
        study.tell(s.id, -((s.decision["x"] - 0.1 - speed * turn) ** 2), context={"c": 5 * turn % 7 / 7})
    return study


def test_a_study_takes_it_replays_and_says_so(tmp_path):
    journal = f"sqlite:///{tmp_path / 'hills.db'}"
    study = played("learnt", journal=journal)
    study.lose(study.ask().id, "spoiled")
    study.ask()
    assert all(study.replay(trial.id).decision == trial.decision for trial in study.trials)
    found = study.recommend()
    assert found.drift.half is not None and found.drift.probability > 0.5
    said = found.drift.sentence
    assert said.startswith("The outcome of a decision seems to change with time (")
    assert said in report_html(study) and records.recommendation(found)["drift"]["sentence"] == said
    assert records.status(study)["drift"]["unit"] == "trials"
    assert json.loads(json.dumps(records.status(ww.Study.open("hill", journal=journal))["drift"]))["half"] > 0
    for command, words in ((["status", "hill"], "seems to change"), (["recommend", "hill"], said)):
        answer = CliRunner().invoke(main, [*command, "--journal", journal], catch_exceptions=False)
        assert words in answer.output.replace("\n", " ")
    policy = ww.to_json(study.policy)
    assert ww.from_json(policy) == study.policy and '"drift":"learnt"' in policy.replace(" ", "")


def test_a_service_serves_it(tmp_path):
    journal = f"sqlite:///{tmp_path / 'hills.db'}"
    played(timedelta(days=3), rounds=8, journal=journal)
    status = records.status(Shelf(journal).study("hill"))
    assert status["drift"] == {**status["drift"], "unit": "days", "probability": None, "oldest": 12.0}


def test_where_nothing_changes_it_says_so():
    study = played("learnt", speed=0.0)
    assert "does not seem to change with time" in study.recommend().drift.sentence
    assert played(None, 6).recommend().drift is None and records.status(played(None, 6))["drift"] is None


def test_a_check_looks_at_what_is_recent():
    study = played(3, rounds=16)
    assert len(study.check().trials) == 12 and study.check().trials[0].id == 4
    study.use(replace(study.policy, surrogate=GaussianProcess(drift=1)))
    with pytest.raises(ww.TrialError, match="of 16 results 4 are recent enough"):
        study.check()


@pytest.mark.parametrize(
    ("length", "unit", "still", "said"),
    [
        (
            12.0,
            "trials",
            0.001,
            "seems to change with time (more than 99 % probability): a result from 8 trials ago counts half",
        ),
        (
            30.0,
            "days",
            None,
            "is taken to change with time: a result from 20 days ago counts half, and results older than 120",
        ),
        (None, "trials", 0.85, "does not seem to change with time (85 % probability)."),
        (
            None,
            "trials",
            0.4,
            "may change with time (60 % probability); it is not clear how fast, so it is taken to stand still.",
        ),
    ],
)
def test_it_says_how_fast(length, unit, still, said):
    assert said in Drift.of(length, unit, still).sentence


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GaussianProcess(drift=0.5), "drift"),
        (lambda: GaussianProcess(drift="soon"), 'give a number of trials, a time such as "30 days", "learnt" or None'),
        (lambda: GaussianProcess(drift="learnt", fixed=PLAIN), "leave out fixed"),
        (lambda: GaussianProcess(fixed=replace(PLAIN, drift=-1.0)), "drift"),
        (lambda: GaussianProcess(fixed=replace(PLAIN, still=2.0)), "still"),
        (lambda: GaussianProcess(drift=12).fit(random_dataset(6, 1, 1)), "give Dataset(ages=...)"),
    ],
)
def test_wrong_settings_say_what_to_do(make, said):
    with pytest.raises(ww.ArgumentError, match=re.escape(said)):
        make()
