"""Cheaper stand-ins in the search: drafts of posteriors and worst cases, ceilings, early finishes; what they may change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import windward as ww
from windward.beliefs.scores import MANY, ConfidenceScore, PathScore, acquisition
from windward.contexts import Contexts
from windward.divergences.wasserstein import DRAFT_TOLERANCE
from windward.search.acquisition import Acquisition
from windward.search.bfgs import minimize_rows
from windward.search.choice import best_of
from windward.search.grid import OverGrid
from windward.search.multistart import MultiStart
from windward.search.region import Region
from windward.space.space import Roles
from windward.suggest.prepare import Request
from windward.surrogate import GaussianPosterior, GaussianProcess
from windward.surrogate.splits import Pairs, Rows, split
from windward.trials.trials import Dataset

SQUARE = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)})


def posterior_of(n: int, noise: float, kernel: str = "squared_exponential") -> GaussianPosterior:
    generator = torch.Generator().manual_seed(n)
    x, c = (torch.rand(n, 2, generator=generator, dtype=torch.float64) for _ in range(2))
    y = torch.sin(5 * x[:, 0] + 3 * c[:, 0]) * torch.cos(2 * x[:, 1] - 4 * c[:, 1])
    data = Dataset(x, c, y, torch.full((n,), torch.nan).double(), Roles((0, 1), (1.0, 1.0), (2, 3), (1.0, 1.0)))
    surrogate = GaussianProcess(kernel=kernel)
    return surrogate.at(data, ww.Hyperparameters(0.0, (0.3, 0.4, 0.4, 0.3), 1.0, noise))


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 5), st.booleans(), st.integers(0, 5))
def test_pairs_and_rows_are_the_quadratic_form(m, rank, count, same, seed):
    generator = torch.Generator().manual_seed(seed)
    left, right = torch.randn(2, m, rank, generator=generator, dtype=torch.float64)
    right = left if same else right
    half = torch.randn(count, rank, rank, generator=generator, dtype=torch.float64)
    gram, weights = half @ half.mT, torch.randn(count, m, generator=generator, dtype=torch.float64)
    expected = torch.einsum("mr,brs,ms->bm", left, gram, right)
    spread = torch.einsum("bm,mr,ms->brs", weights, left, right)
    spread = 0.5 * (spread + spread.mT)
    for forms in (Pairs.of(left, right), Rows(left, right)):
        out = torch.empty_like(expected)
        forms.put(out, torch.tensor(0.75).double(), -2.0, gram)
        assert torch.allclose(out, 0.75 - 2.0 * expected, atol=1e-10)
        assert torch.allclose(forms.spread(weights), spread, atol=1e-10)


@pytest.mark.parametrize("noise", [1e-4, 1e-2])
def test_a_draft_keeps_its_bound_and_has_fewer_solves(noise):
    posterior, generator = posterior_of(80, noise), torch.Generator().manual_seed(1)
    x, points = torch.rand(2, 200, 2, generator=generator, dtype=torch.float64)
    mean, std = posterior.marginals(x, points)
    draft = posterior.draft()
    rough_mean, rough_std = draft.marginals(x, points)
    assert torch.allclose(mean, rough_mean, atol=1e-12)
    error = float((std.square() - rough_std.square()).abs().max()) / posterior.scale**2
    assert 0.0 < error <= 2.0 * 80**0.5 * 1e-3
    assert draft._split(points, 200).rank < 0.6 * posterior._split(points, 200).rank


def test_a_draft_of_slopes_is_near():
    posterior, generator = posterior_of(80, 1e-2), torch.Generator().manual_seed(2)
    x, points = torch.rand(2, 50, 2, generator=generator, dtype=torch.float64)
    exact, rough = posterior.context_slopes(x, points), posterior.draft().context_slopes(x, points)
    for mine, its in zip(exact, rough, strict=True):
        assert float((mine - its).abs().max()) <= 0.02 * float(mine.abs().max())


def test_kernels_that_do_not_split_have_no_draft():
    posterior = posterior_of(20, 1e-2, "matern52")
    assert posterior.draft() is posterior


def test_large_tables_of_pairs_are_not_made(monkeypatch):
    from windward.surrogate import splits

    kernel = torch.exp(
        -0.5 * torch.linspace(-1, 1, 40).double()[:, None].sub(torch.linspace(0, 1, 30).double()).square()
    )
    assert isinstance(split(kernel).recombined, Pairs)
    monkeypatch.setattr(splits, "PAIRS", 10)
    assert isinstance(split(kernel).recombined, Rows)


@pytest.mark.parametrize("k", [1, 2])
@given(seed=st.integers(0, 20), radius=st.floats(0.0, 1.5))
def test_wasserstein_ceiling_and_draft_are_above_and_near(k, seed, radius):
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(12, k, generator=generator, dtype=torch.float64)
    weights = torch.rand(12, generator=generator, dtype=torch.float64) * (torch.arange(12) < 9)
    ball = ww.Wasserstein().on(Contexts(points, weights / weights.sum()))
    f = torch.randn(5, 12, generator=generator, dtype=torch.float64)
    exact, span = ball(f, radius), f.amax(-1) - f.amin(-1)
    assert bool((exact.value <= ball.ceiling(f, radius, 1.0, 0.0) + 1e-9).all())
    tradeoff = 0.7 * exact.value - 0.2 * exact.multiplier
    assert bool((tradeoff <= ball.ceiling(f, radius, 0.7, 0.2) + 1e-9).all())
    rough = ball.draft()(f, radius).value
    assert bool((rough >= exact.value - 1e-9).all())
    assert bool((rough - exact.value <= DRAFT_TOLERANCE * torch.maximum(span, exact.multiplier * 2.0)).all())


def test_the_acquisition_decides_between_what_the_draft_found():
    calls = []

    def hills(x):  # two equal hills by the draft; the acquisition prefers the right one by a little
        return sum(torch.exp(-30 * (x - torch.tensor([at, 0.5]).double()).square().sum(-1)) for at in (0.2, 0.8))

    def exact(x):
        calls.append(len(x))
        return hills(x) + 1e-3 * x[:, 0]

    for seed in range(5):
        x = MultiStart()(Acquisition(exact, hills), Region(SQUARE), torch.Generator().manual_seed(seed))
        assert float((x - torch.tensor([0.8, 0.5]).double()).norm()) < 0.01
    assert sum(calls) <= 5 * 16


def test_starts_that_end_on_one_top_are_one_finalist():
    tops = torch.tensor([[0.2, 0.2], [0.8, 0.8]]).double()

    def hills(x, second):
        heights = torch.tensor([1.0, second]).double()
        return (heights * torch.exp(-20 * torch.cdist(x, tops).square())).amax(-1)

    # The draft has the lower hill a little higher: many starts end on it, and the other must still be looked at.
    for seed in range(4):
        drafted = Acquisition(lambda x: hills(x, 1.0004), lambda x: hills(x, 0.9996))
        x = MultiStart()(drafted, Region(SQUARE), torch.Generator().manual_seed(seed))
        assert float((x - tops[1]).norm()) < 0.01


def test_a_drafted_acquisition_is_enumerated_by_itself():
    space = ww.Space({"a": ww.Integer(0, 9)})
    drafted = Acquisition(lambda x: -(x[:, 0] - 1 / 3).square(), lambda x: x[:, 0])
    x = MultiStart()(drafted, Region(space), torch.Generator().manual_seed(0))
    assert space.decode_decision(x) == {"a": 3}
    points = torch.linspace(0, 1, 10, dtype=torch.float64)[:, None]
    assert best_of(drafted, points, Region(space)).tolist() == [float(points[3, 0])]


@pytest.mark.parametrize("kind", ["ceiling", "draft", "sketch"])
def test_a_ceiling_a_draft_or_a_sketch_ranks_the_screen(kind):
    evaluated, ranked = [], []

    def function(x):
        evaluated.append(len(x))
        return -(x - 0.3).square().sum(-1)

    def cheap(x):
        ranked.append(len(x))
        return 0.1 - (x - 0.32).square().sum(-1)

    acquisition = {
        "ceiling": Acquisition(function, rank=cheap, ceiling=cheap),
        "draft": Acquisition(function, function, cheap),
        "sketch": Acquisition(function, rank=cheap),
    }[kind]
    x = MultiStart()(acquisition, Region(SQUARE), torch.Generator().manual_seed(0))
    assert ranked == [512] and max(evaluated) <= 8 and torch.allclose(x, torch.tensor(0.3).double(), atol=1e-4)
    # A pending decision on the top: places apart from it are evaluated too.
    evaluated.clear()
    crowded = Region(SQUARE, avoid=torch.full((1, 2), 0.3, dtype=torch.float64))
    x = MultiStart()(acquisition, crowded, torch.Generator().manual_seed(0))
    assert (
        any(16 < rows <= 32 for rows in evaluated)
        and bool(crowded.clear(x[None]).all())
        and float((x - 0.3).norm()) < 0.05
    )


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
@pytest.mark.parametrize("noise", [1e-6, 1e-2])
def test_a_sketch_of_a_path_is_near_it(kernel, noise):
    posterior, generator = posterior_of(60, noise, kernel), torch.Generator().manual_seed(1)
    path = posterior.path(generator)
    x, points = (
        torch.rand(900, 2, generator=generator, dtype=torch.float64),
        torch.rand(7, 2, generator=generator).double(),
    )
    values, rough = path(x, points), path.sketch()(x, points)
    assert 0.0 < float((values - rough).abs().max()) <= 1e-4 * posterior.scale
    assert torch.allclose(path.sketch()(x[0], points), rough[0], atol=1e-4 * posterior.scale)
    assert path.sketch()(x[:0], points).shape == (0, 7)
    assert torch.equal(path.sketch().context_gradient(x[:3], points), path.context_gradient(x[:3], points))


def test_a_sample_is_screened_by_its_sketch_and_climbed_by_itself():
    posterior = posterior_of(60, 1e-3)
    contexts = Contexts.uniform(torch.rand(20, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    reduction = ww.Robust(ww.TotalVariation(), 0.2).bind(ww.Situation(contexts, 20))
    for seed in range(4):
        path = posterior.path(torch.Generator().manual_seed(seed))
        score = PathScore(posterior, path, contexts, 1.5)
        sketched = acquisition(score, reduction, torch.device("cpu"))
        assert sketched.rank is not None and sketched.climb is None
        found, plainly = (
            MultiStart()(each, Region(SQUARE), torch.Generator().manual_seed(seed))
            for each in (sketched, sketched.value)
        )
        assert torch.allclose(found, plainly, atol=1e-6)
        mean, sample = posterior.means(plainly[None], contexts.points), path(plainly[None], contexts.points)
        assert torch.allclose(score(reduction, plainly[None]), reduction(mean + 1.5 * (sample - mean)), atol=1e-12)
        # A grid is evaluated exactly, and so is a sample that has no sketch.
        grid = OverGrid(9).points(Region(SQUARE))
        highest = grid[score(reduction, grid).argmax()]
        assert torch.equal(OverGrid(9)(sketched, Region(SQUARE), torch.Generator()), highest)
        plain = replace(score, path=path.sketch())
        assert acquisition(plain, reduction, torch.device("cpu")).rank is None


def test_where_no_start_is_finite_all_are_evaluated():
    def function(x):
        return torch.where(x[:, 0] > 0.97, x[:, 1], torch.nan)

    acquisition = Acquisition(function, rank=lambda x: 2.0 - x[:, 0])
    x = MultiStart()(acquisition, Region(SQUARE), torch.Generator().manual_seed(0))
    assert float(x[0]) > 0.97


def test_a_drafts_draft_is_coarser_still():
    posterior = posterior_of(60, 1e-3)
    points = torch.rand(200, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    draft = posterior.draft()
    ranks = [each._split(points, 512).rank for each in (posterior, draft, draft.draft())]
    assert ranks[0] > ranks[1] > ranks[2]


def test_only_the_lowest_rows_finish():
    evaluated = []

    def function(x):
        evaluated.append(len(x))
        wave = np.sin(9 * x).sum(-1)
        return (x**4).sum(-1) + 0.1 * wave, 4 * x**3 + 0.9 * np.cos(9 * x)

    start = np.random.default_rng(0).uniform(-1, 1, (8, 3))
    low, high = np.full((8, 3), -1.0), np.full((8, 3), 1.0)
    _, values = minimize_rows(function, start, low, high, evaluations=40, tolerance=1e-12, finish=(5, 2))
    assert evaluated[:5] == [8] * 5 and max(evaluated[5:]) <= 2
    _, all_values = minimize_rows(function, start, low, high, evaluations=5, tolerance=1e-12)
    assert values.min() <= all_values.min()


def test_decisions_may_repeat_where_nothing_keeps_them_apart():
    peak = torch.tensor([[0.5, 0.5]]).double()
    region = Region(SQUARE, avoid=peak)

    def bump(x):
        return -(x - peak).square().sum(-1)

    generator = torch.Generator().manual_seed(0)
    assert float((MultiStart(apart=0.0)(bump, region, generator) - peak).norm()) < 1e-3
    assert float((MultiStart(apart=0.1)(bump, region, generator) - peak).norm()) >= 0.1 * 2**0.5
    assert torch.equal(ww.OverGrid(3, apart=0.0)(bump, region, generator), peak[0])
    assert not torch.equal(ww.OverGrid(3)(bump, region, generator), peak[0])
    for part in (MultiStart, ww.OverGrid):
        with pytest.raises(ww.ArgumentError, match="apart"):
            part(apart=-0.1)


def test_suggestions_by_drafts_score_like_those_without(monkeypatch):
    from windward.beliefs import beliefs as policies
    from windward.suggest.suggest import suggest

    space = ww.Space(SQUARE.decision, {"c": ww.Real(0, 1), "d": ww.Real(0, 1)})
    generator = torch.Generator().manual_seed(3)
    rows = torch.rand(30, 4, generator=generator, dtype=torch.float64)
    y = torch.sin(5 * rows[:, 0] + 3 * rows[:, 2]) * torch.cos(2 * rows[:, 1] - 4 * rows[:, 3])
    trials = ww.Trials(
        space,
        [
            ww.Trial(i, {"a": a, "b": b}, context={"c": c, "d": d}, context_source="revealed", value=v, changed=i)
            for i, ((a, b, c, d), v) in enumerate(zip(rows.tolist(), y.tolist(), strict=True))
        ],
    )
    made = policies.acquisition
    for policy in (ww.papers.sbo_kde(), ww.papers.wdrbo(), ww.papers.wdrbo_exact(), ww.papers.stable_opt()):
        whole = []

        def kept(*arguments, whole=whole):
            whole.append(made(*arguments))
            assert whole[-1].climb is not None
            return whole[-1]

        monkeypatch.setattr(policies, "acquisition", kept)
        drafted = suggest(policy, trials, Request(), torch.Generator().manual_seed(0)).x
        monkeypatch.setattr(policies, "acquisition", lambda *arguments: Acquisition(made(*arguments).value))
        plain = suggest(policy, trials, Request(), torch.Generator().manual_seed(0)).x
        grid = torch.rand(200, 2, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            one, other, *rest = whole[0](torch.cat([drafted[None], plain[None], grid])).tolist()
        assert one >= other - 2e-3 * (other - float(np.quantile(rest, 0.75)))


def test_a_draft_goes_by_the_least_noise_of_any_row():
    posterior = posterior_of(40, 1.0)
    quiet = replace(posterior, noise=torch.where(torch.arange(40) == 3, 1e-6, posterior.noise))
    assert quiet.draft().residual == pytest.approx(1e-3 * posterior.draft().residual)


@pytest.mark.parametrize("broken", ["draft", "acquisition"])
def test_where_a_draft_leads_nowhere_the_acquisition_is_climbed(broken):
    def hill(x):
        return -(x - 0.5).square().sum(-1)

    def torn(x):  # not finite where the hill is highest
        return torch.where((x - 0.5).norm(dim=-1) < 0.1, torch.nan, 1.0) * hill(x)

    def nowhere(x):
        return x[:, 0] * torch.nan

    drafted = Acquisition(hill, nowhere) if broken == "draft" else Acquisition(torn, hill)
    x = MultiStart()(drafted, Region(SQUARE), torch.Generator().manual_seed(0))
    reached = float((x - 0.5).norm())
    assert reached < 1e-3 if broken == "draft" else 0.1 <= reached < 0.2


def test_a_large_discrete_space_steps_aside_from_what_is_pending():
    space = ww.Space({"a": ww.Integer(0, 99), "b": ww.Integer(0, 99)})
    pending = space.encode_decisions([{"a": 50, "b": 50}])
    x = MultiStart()(
        lambda x: -(x - pending).square().sum(-1), Region(space, avoid=pending), torch.Generator().manual_seed(0)
    )
    found = space.decode_decision(x)
    # 1.25 % of the diagonal is 1.75 steps of 1/99.
    assert abs(found["a"] - 50) + abs(found["b"] - 50) == 2


def test_what_is_pending_is_not_asked_again_unless_it_is_for_another_context():
    space = ww.Space({"a": ww.Real(0, 1)}, context={"c": ww.Real(0, 1)})
    for model in (ww.NoContext(), ww.Empirical()):
        study = ww.Study(space, ww.Policy(context_model=model, feedback=ww.Ignore()), seed=0)
        for i in range(10):
            study.add({"a": (i + 0.5) / 10}, -(((i + 0.5) / 10 - 0.37) ** 2), context={"c": 0.5})
        first = study.ask().decision["a"]  # its context is not known: it may be the same
        second, third = (study.ask(context={"c": 0.5}).decision["a"] for _ in range(2))
        assert min(abs(first - second), abs(first - third), abs(second - third)) >= 0.0125
        if isinstance(model, ww.Empirical):
            study.reveal(10, {"c": 0.9})
            other = [study.ask(context={"c": c}).decision["a"] for c in (0.5 + 1e-6, 0.5 + 2e-6)]
            assert abs(other[0] - other[1]) < 0.0125  # two contexts, two cases


def test_under_censoring_nothing_is_kept_away_from():
    from windward.suggest import suggest as suggesting

    space = ww.Space({"a": ww.Real(0, 1)})
    trials = ww.Trials(space, [ww.Trial(0, {"a": 0.5}, asked_at=datetime(2026, 1, 1, tzinfo=UTC))])
    kept = {
        type(feedback): len(suggesting._avoided(replace(ww.papers.gp_ucb(), feedback=feedback), trials, Request()))
        for feedback in (ww.Hallucinate(), ww.Ignore(), ww.Censor(worst=0.0, patience=3))
    }
    assert kept == {ww.Hallucinate: 1, ww.Ignore: 1, ww.Censor: 0}


def test_an_equality_with_something_pending_still_answers():
    space = ww.Space(
        {"a": ww.Real(0, 1), "b": ww.Real(0, 1)},
        context={"c": ww.Real(0, 1)},
        constraints=[ww.Linear({"a": 1.0, "b": 1.0}, lower=1.0, upper=1.0)],
    )
    study = ww.Study(space, ww.Policy(context_model=ww.Empirical(), surrogate=ww.GaussianProcess("matern52")), seed=0)
    generator = torch.Generator().manual_seed(0)
    for i in range(10):
        suggestion = study.ask()
        context = {"c": float(torch.rand(1, generator=generator))}
        study.tell(suggestion.id, -((suggestion.decision["a"] - 0.6) ** 2) + 0.01 * i, context=context)
    first, second = study.ask().decision, study.ask().decision
    assert first["a"] + first["b"] == pytest.approx(1.0) and second["a"] + second["b"] == pytest.approx(1.0)


def test_a_few_decisions_are_not_worth_a_split():
    posterior, generator = posterior_of(80, 1e-2), torch.Generator().manual_seed(2)
    x = torch.rand(150, 2, generator=generator, dtype=torch.float64)
    points = torch.rand(50, 2, generator=generator, dtype=torch.float64)
    few, slopes = posterior.marginals(x[:3], points), posterior.context_slopes(x[:3], points)
    assert set(posterior._prepared) == {"asked split", "asked slopes"}
    many, all_slopes = posterior.marginals(x, points), posterior.context_slopes(x, points)
    assert set(posterior._prepared) == {"asked split", "asked slopes", "split", "slopes"}
    for mine, its in zip((*few, *slopes), (*many, *all_slopes), strict=True):
        assert torch.allclose(mine, its[:3], rtol=0, atol=1e-8)
    draft = posterior.draft()  # made for a search: the few it begins with are not the last
    draft.marginals(x[:3], points)
    assert set(draft._prepared) == {"split"}


def test_few_decisions_again_and_again_are_worth_a_split():
    posterior, points = posterior_of(80, 1e-2), torch.rand(50, 2, generator=torch.Generator().manual_seed(2)).double()
    x = torch.rand(8, 2, generator=torch.Generator().manual_seed(3)).double()
    calls = 0
    while "split" not in posterior._prepared:
        posterior.marginals(x, points)
        calls += 1
    assert calls * 8 * 80 > 8192 >= (calls - 1) * 8 * 80


def test_a_minimum_over_many_points_is_screened_on_scattered_ones():
    """Of a grid every level of every axis is seen; what is bound to weights is not thinned."""
    axis = torch.linspace(0, 1, 8, dtype=torch.float64)
    points = torch.cartesian_prod(axis, axis, axis, axis)
    score = ConfidenceScore(posterior_of(20, 1e-2), Contexts.uniform(points), 1.5)
    some = score.thinned().contexts.points
    assert len(some) == MANY and all(len(some[:, column].unique()) == 8 for column in range(4))
    assert torch.equal(some, score.thinned().contexts.points)
    small = replace(score, contexts=Contexts.uniform(points[:200]))
    assert small.thinned() is small
    assert ww.Minimum().bind(ww.Situation(score.contexts)).fewer
    assert not ww.Expected().bind(ww.Situation(score.contexts)).fewer
