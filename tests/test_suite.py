"""The suite by which policies are compared: its split, its truths against draws, its optima, and the search behind them."""

from __future__ import annotations

import hashlib
import math

import pytest
import suite_optima
import torch

import windward as ww
from windward.bench import laws, suite
from windward.bench.optima import searched
from windward.bench.play import play
from windward.bench.problem import Problem
from windward.bench.problems import drawn, problem

EXPECTED = ww.Expected()
DRAWN = 2000


def test_the_split_is_that_of_the_hash():
    for part in ("choose", "held"):
        for name in suite.names(part):
            even = int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 0
            assert suite.half(name) == part == ("choose" if even else "held")
    assert all(name.startswith("third-") and suite.half(name) == "third" for name in suite.names("third"))
    assert min(map(len, (suite.CHOOSE, suite.HELD, suite.THIRD))) >= 14
    assert suite.names() == tuple(sorted({*suite.CHOOSE, *suite.HELD, *suite.THIRD}))


@pytest.mark.parametrize("name", suite.names())
def test_truth_agrees_with_what_is_drawn(name):
    task, generator = problem(name, 3), torch.Generator().manual_seed(0)
    contexts = torch.stack([task.draw(turn, generator) for turn in range(DRAWN)])
    x = suite.decisions(task, 3, seed=1)
    values = task.value(x[:, None, :], contexts)
    error = values.std(1) / math.sqrt(DRAWN)
    gap = (values.mean(1) - task.worth(EXPECTED, x)).abs()
    # Four and a half errors: some 120 numbers are compared. Values without contexts agree to rounding.
    assert bool((gap <= 4.5 * error + 1e-9 * values.abs().amax()).all())


RECORDED = suite_optima.recorded()


def test_every_problem_has_a_kept_optimum():
    assert tuple(RECORDED) == suite.names(), "python tests/suite_optima.py"


@pytest.mark.parametrize("name", suite.names())
def test_no_decision_beats_the_optimum(name):
    task, best = problem(name, 0), RECORDED[name]
    others = task.worth(EXPECTED, suite.decisions(task, 512, seed=5))
    assert best.value >= float(others.max()) - 1e-9 * abs(best.value)
    assert float(task.worth(EXPECTED, best.decision)) == pytest.approx(best.value, rel=1e-9)
    decision = dict(zip(task.space.decision, best.decision.tolist(), strict=True))
    for each, parameter in task.space.decision.items():
        if parameter.choices:
            decision[each] = parameter.choices[round(decision[each])]
    task.space.check_decision("study.ask", decision)
    assert best.value > float(others.mean())


@pytest.mark.parametrize("name", suite.names()[::5])
def test_the_search_finds_the_kept_optimum(name):
    assert problem(name, 0).optimum(EXPECTED).value == pytest.approx(RECORDED[name].value, rel=1e-9)


@pytest.mark.parametrize(
    "name", ["ten-dials", "gp-wide-8-1", "hartmann-6-0", "greenhouse", "third-gp-unequal-6-1", "third-nine-valves"]
)
def test_the_search_of_many_decisions_finds_what_a_far_wider_one_does(name, monkeypatch):
    task = problem(name, 1)
    for setting, wide in {"SCREEN": 16384, "STARTS": 256, "EVALUATIONS": 80}.items():
        monkeypatch.setattr(f"windward.bench.optima.{setting}", wide)
    wide = searched(name, lambda x: task.worth(EXPECTED, x), task.space)
    monkeypatch.undo()
    assert task.optimum(EXPECTED).value >= wide.value - 1e-6 * suite.spread(task, EXPECTED)


def test_categories_and_whole_numbers_are_searched_together_with_reals():
    space = ww.Space({"kind": ww.Categorical(["a", "b"]), "x": ww.Real(0, 1), "n": ww.Integer(2, 9)})
    truth, come = laws.no_context()

    def value(x, c):
        kind, real, whole = x.unbind(-1)
        return kind - (real - 0.1 * whole).square() - 0.01 * (whole - 6.0).square() + 0.0 * c.sum(-1)

    found = Problem(name="mixed", space=space, value=value, truth=truth, draw=come).optimum(EXPECTED)
    assert found.value == pytest.approx(1.0, abs=1e-12)
    assert found.decision.tolist() == pytest.approx([1.0, 0.6, 6.0], abs=1e-6)


def test_seeded_draws_differ_and_look_like_the_kernel():
    assert not torch.equal(problem("gp-smooth-1-1", 0).value.heights, problem("gp-smooth-1-1", 1).value.heights)
    x = torch.tensor([[[0.2]], [[0.5]]], dtype=torch.float64)
    c = torch.tensor([[0.5]], dtype=torch.float64)
    for rough, expected in ((False, math.exp(-0.5)), (True, (1 + math.sqrt(3)) * math.exp(-math.sqrt(3)))):
        values = torch.stack([drawn.draw(seed, [0.3], [1.0], rough=rough)(x, c)[:, 0] for seed in range(1200)])
        covariance = torch.cov(values.T)
        assert float(covariance[0, 0]) == pytest.approx(1.0, abs=0.12)
        assert float(covariance[0, 1]) == pytest.approx(expected, abs=0.1)


def test_students_noise_has_the_deviation_it_says(monkeypatch):
    task = problem("newsvendor-outliers")
    trace, _ = play(task, ww.papers.random(), 200, world="test", case="noise", seed=0)
    noise = trace.received - trace.values
    # The median of |Student 3| is 0.765; the deviation itself, with so far a tail, needs many more draws.
    assert float(noise.abs().median()) == pytest.approx(0.765 * task.noise / math.sqrt(3.0), rel=0.15)


def test_laws_of_the_suite_agree_with_their_draws():
    for law in (laws.student(-0.7, 0.45), laws.now_and_then(laws.normal(0.0, 1.0), laws.normal(4.0, 0.5), 0.2)):
        generator = torch.Generator().manual_seed(0)
        rows = torch.stack([law.draw(generator) for _ in range(4000)])
        for place in (-1.0, 0.0, 1.0, 3.9):
            at = torch.tensor(place, dtype=torch.float64)
            share = float(law.cumulative(at))
            assert float((rows <= at).double().mean()) == pytest.approx(share, abs=4 * math.sqrt(0.25 / 4000))
            step = (law.cumulative(at + 1e-5) - law.cumulative(at - 1e-5)) / 2e-5
            assert float(law.density(at)) == pytest.approx(float(step), rel=1e-6)


def test_stuck_is_a_bad_advice_after_twenty_bad_rounds():
    bad = [0.1] * 40 + [0.5] * 20
    assert suite.stuck(bad, 0.3, 1.0) and not suite.stuck(bad, 0.1, 1.0)
    assert not suite.stuck([*bad[:-1], 0.1], 0.3, 1.0) and not suite.stuck(bad, 0.3, 10.0)


def test_play_tells_the_horizon_and_calls_after_every_round():
    seen = []
    play(
        problem("newsvendor"),
        ww.papers.random(),
        3,
        world="test",
        case="after",
        seed=0,
        horizon=7,
        after=lambda turn, study: seen.append((turn, study.horizon, len(study.trials.arrived))),
    )
    assert seen == [(0, 7, 1), (1, 7, 2), (2, 7, 3)]
