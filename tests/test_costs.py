"""What one suggestion costs, in counts: factorisations, solves, posterior evaluations. Seconds are in `benchmarks/`."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch

import windward as ww
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.surrogate import Start, fit, posterior

SPACE = ww.Space(decision={"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, context={"c": ww.Real(0, 1)})
N, SAMPLES = 60, 128


@dataclass
class Counts:
    """Sizes of the expensive operations, in order."""

    factorised: list[int] = field(default_factory=list)  # rows of each Cholesky factorisation
    likelihoods: list[int] = field(default_factory=list)  # rows of each likelihood with its gradient
    evaluated: list[int] = field(default_factory=list)  # decisions of each call of the posterior
    solves: list[int] = field(default_factory=list)  # triangular solves of n rows each of these calls made
    added: list[int] = field(default_factory=list)  # rows by which a factor was extended


@pytest.fixture
def counts(monkeypatch):
    made = Counts()
    factorise, extend = torch.linalg.cholesky_ex, posterior.extend_factor
    evaluate, likelihood = posterior.product_marginals, fit.Likelihood.values_and_gradients

    def counted_factor(a, **options):
        if a.ndim == 2:  # those of likelihoods come in batches and are counted below
            made.factorised.append(len(a))
        return factorise(a, **options)

    def counted_extension(factor, inverse, between, within):
        made.added.append(len(within))
        return extend(factor, inverse, between, within)

    def counted_evaluation(x, observations, parts):
        made.evaluated.append(len(x))
        made.solves.append(len(x) * parts.rank)
        return evaluate(x, observations, parts)

    def counted_likelihood(self, thetas):
        made.likelihoods.extend([len(self.y)] * len(thetas))
        return likelihood(self, thetas)

    monkeypatch.setattr(torch.linalg, "cholesky_ex", counted_factor)
    monkeypatch.setattr(posterior, "extend_factor", counted_extension)
    monkeypatch.setattr(posterior, "product_marginals", counted_evaluation)
    monkeypatch.setattr(fit.Likelihood, "values_and_gradients", counted_likelihood)
    return made


def observed(n):
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(n, 3, generator=generator, dtype=torch.float64)
    values = torch.sin(6 * points[:, 0] + 3 * points[:, 2]) + points[:, 1]
    rows = [
        ww.Trial(i, {"a": a, "b": b}, context={"c": c}, context_source="revealed", value=v, changed=i)
        for i, ((a, b, c), v) in enumerate(zip(points.tolist(), values.tolist(), strict=True))
    ]
    return ww.Trials(SPACE, rows)


def test_a_suggestion_between_searches(counts):
    trials = observed(N)
    hyperparameters = ww.GaussianProcess().fitted(trials.dataset)
    counts.likelihoods.clear()
    start = Start(hyperparameters, keep=True, fitted=N)
    proposal = suggest(ww.papers.sbo_kde(), trials, Request(start=start), torch.Generator().manual_seed(0))
    search = ww.MultiStart()
    assert counts.factorised == [N] and counts.added == [] and counts.likelihoods == []
    # One call for the screen and the hints, then one for each step of all starts together.
    assert counts.evaluated[0] == search.screen + 32
    steps = 24  # with two columns
    assert len(counts.evaluated) <= 1 + steps + 4 and counts.evaluated[-1] == 2  # then the finalists, two at a time
    assert sum(counts.evaluated) <= search.screen + 32 + search.starts * steps + 16
    # One smooth context: its kernel on 128 points has a small numerical rank, so few solves per decision.
    assert sum(counts.solves) <= 25 * sum(counts.evaluated) < SAMPLES * sum(counts.evaluated) / 5

    # The next observation adds a row and factorises nothing but its corner.
    counts.factorised.clear()
    more = observed(N + 1)
    start = Start(hyperparameters, keep=True, fitted=N - 1, previous=proposal.posterior)
    suggest(ww.papers.sbo_kde(), more, Request(start=start), torch.Generator().manual_seed(0))
    assert counts.factorised == [1] and counts.added == [1]


def test_with_two_contexts_the_search_stays_on_its_draft(counts):
    space = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, {"c": ww.Real(0, 1), "d": ww.Real(0, 1)})
    points = torch.rand(N, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = torch.sin(6 * points[:, 0] + 3 * points[:, 2]) + points[:, 1] * points[:, 3]
    rows = [
        ww.Trial(i, {"a": a, "b": b}, context={"c": c, "d": d}, context_source="revealed", value=v, changed=i)
        for i, ((a, b, c, d), v) in enumerate(zip(points.tolist(), values.tolist(), strict=True))
    ]
    start = Start(ww.Hyperparameters(0.0, (0.4,) * 4, 1.0, 1e-3), keep=True, fitted=N)
    for policy in (ww.papers.sbo_kde(), ww.papers.stable_opt()):
        counts.evaluated.clear(), counts.solves.clear()
        suggest(policy, ww.Trials(space, rows), Request(start=start), torch.Generator().manual_seed(0))
        per_decision = [solves / decisions for solves, decisions in zip(counts.solves, counts.evaluated, strict=True)]
        finals = [solves for solves in per_decision if solves > 40]  # without a split: one for each context point
        assert len(finals) <= 4 and max(per_decision[: -len(finals)]) <= 40
        assert sum(counts.evaluated) <= 512 + 32 + 8 * 24 + 16


def test_a_search_for_hyperparameters(counts):
    data = observed(N).dataset
    first = ww.GaussianProcess().fitted(data)
    cold = len(counts.likelihoods)
    ww.GaussianProcess().fitted(data, first)
    warm = len(counts.likelihoods) - cold
    assert 3 <= cold <= 3 * 20 and 2 <= warm <= 2 * 10
    assert counts.factorised == []  # the likelihood has its own; the posterior is not made here


def test_kernel_entries_of_a_grid_are_those_of_its_factors(monkeypatch):
    # 400 decisions and 64 contexts: k factorises, so 400 + 64 rows of exponentials, never 400 * 64.
    entries = []
    value = posterior.kernel_value
    monkeypatch.setattr(posterior, "kernel_value", lambda name, s: entries.append(s.numel()) or value(name, s))
    known = ww.Known({"c": [i / 63 for i in range(64)]})
    policy = ww.papers.ts_bocu(known, ww.Robust(ww.TotalVariation(), 0.2), maximize=ww.OverGrid(20))
    hyperparameters = ww.Hyperparameters(0.0, (0.3, 0.3, 0.3), 1.0, 1e-3)
    start = Start(hyperparameters, keep=True, fitted=N)
    suggest(policy, observed(N), Request(start=start), torch.Generator().manual_seed(0))
    assert sum(entries) <= (400 + 64) * N + N * N


def test_a_dear_objective_is_solved_for_few_of_a_grid(monkeypatch):
    from windward.divergences import mmd

    solved = []
    solve = mmd.solve
    monkeypatch.setattr(mmd, "solve", lambda cone, f, *rest: solved.append(len(f)) or solve(cone, f, *rest))
    known = ww.Known({"c": [i / 31 for i in range(32)]})
    objective = ww.Robust(ww.MMD(0.1, nugget=1e-6), 0.07)
    policy = ww.papers.ts_bocu(known, objective, maximize=ww.OverGrid(32))
    start = Start(ww.Hyperparameters(0.0, (0.3, 0.3, 0.3), 1.0, 1e-3), keep=True, fitted=N)
    suggest(policy, observed(N), Request(start=start), torch.Generator().manual_seed(0))
    assert 0 < sum(solved) <= 1024 / 4
