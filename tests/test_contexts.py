"""Context models: what they put where, and how they condition on what is given."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import torch
from helpers import seen

import windward as ww
from windward import contexts as room
from windward.contexts import Contexts, bandwidths, conditional_weights, mixture_quantiles
from windward.testing import check_context_model

ONE = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1)})
TWO = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1), "e": ww.Real(-5, 5)})
DAYS = ww.Space({"x": ww.Real(0, 1)}, {"day": ww.Categorical(["mon", "sat"]), "load": ww.Real(0, 10)})
FREE = ww.Space({"x": ww.Real(0, 1)}, {"load": ww.Real(), "tail": ww.Real(0, None)})
COUNTS = ww.Space({"x": ww.Real(0, 1)}, {"visits": ww.Integer(0, 20)})
NONE = ww.Space({"x": ww.Real(0, 1)})

MODELS = [ww.Empirical(), ww.KernelDensity(), ww.KernelDensity(64), ww.Box(), ww.Box(2.0, 100), ww.Grid(), ww.Grid(9)]
MODELS += [ww.Empirical(half_life=3), ww.KernelDensity(half_life="learnt"), ww.KernelDensity(64, half_life="2 days")]

# Of one context, and of none.
OTHERS = [
    ww.Known({"c": [0.1, 0.2, 0.7]}, weights=[0.2, 0.3, 0.5]),
    ww.Known(distributions={"c": ww.Distribution("burr12", {"c": 2, "d": 20})}, count=64),
    ww.NoContext(),
]


@pytest.mark.parametrize("model", OTHERS, ids=["points", "distributions", "none"])
def test_the_laws_of_models_that_learn_no_distribution(model):
    check_context_model(model, ONE)


def test_no_model_is_left_out():
    assert {kind for kind in room.PARTS if "blind" in dir(kind)} == {type(model) for model in [*MODELS, *OTHERS]}


def contexts_of(model, space, contexts, given=None, seed=0):
    trials = seen(space, contexts)
    return model(space, trials, space.encode_given(given), torch.Generator().manual_seed(seed))


def drawn(space, count, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        row = {}
        for name, parameter in space.context.items():
            if isinstance(parameter, ww.Categorical):
                row[name] = parameter.choices[rng.integers(len(parameter.choices))]
            elif isinstance(parameter, ww.Integer):
                row[name] = int(rng.integers(5, 15))
            else:
                low, high = parameter.own_bounds()[0]
                low, high = (low if math.isfinite(low) else 0.0), (high if math.isfinite(high) else 10.0)
                row[name] = float(low + (high - low) * rng.beta(2, 3))
        rows.append(row)
    return rows


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize(
    "space", [ONE, TWO, DAYS, FREE, COUNTS, NONE], ids=["one", "two", "days", "free", "counts", "none"]
)
def test_every_model_gives_weighted_points_in_reach(model, space):
    if space is FREE and isinstance(model, ww.Grid):
        with pytest.raises(ww.IncompatibleError, match="'load' has no bounds"):
            contexts_of(model, space, [])
        return
    check_context_model(model, space)
    if space is FREE:
        assert contexts_of(model, space, []) is None  # nowhere to put a point: the study stays in the design


@pytest.mark.parametrize("model", [*MODELS, ww.Known({"c": [0.1, 0.4], "e": [1.0, 2.0]})], ids=repr)
def test_given_contexts_are_agreed_with(model):
    rows = drawn(TWO, 15)
    part = contexts_of(model, TWO, rows, {"e": 1.5})
    assert (part.points[:, 1] == 1.5).all()
    whole = contexts_of(model, TWO, rows, {"e": 1.5, "c": 0.25})
    assert whole.points.tolist() == [[0.25, 1.5]] and whole.weights.tolist() == [1.0]


def test_empirical_merges_equal_contexts():
    contexts = contexts_of(ww.Empirical(), ONE, [{"c": 0.2}, {"c": 0.7}, {"c": 0.2}, {"c": 0.2}])
    assert contexts.points[:, 0].tolist() == [0.2, 0.7]
    assert contexts.weights.tolist() == pytest.approx([0.75, 0.25])


def test_chosen_contexts_do_not_train_the_model():
    from dataclasses import replace

    trials = seen(ONE, [{"c": 0.2}, {"c": 0.7}, {"c": 0.9}])
    rows = (*trials.rows[:2], replace(trials.rows[2], context_source="chosen"))
    trials = replace(trials, rows=rows)
    contexts = ww.Empirical()(ONE, trials, ONE.encode_given(None), torch.Generator().manual_seed(0))
    assert contexts.points[:, 0].tolist() == [0.2, 0.7] and trials.contexts_seen == 2


def test_a_context_outside_its_bounds_is_kept():
    contexts = contexts_of(ww.Empirical(), ONE, [{"c": 0.2}, {"c": 1.7}])
    assert contexts.points[:, 0].tolist() == [0.2, 1.7]
    density = contexts_of(ww.KernelDensity(), ONE, [{"c": 0.2}, {"c": 1.7}])
    assert float(density.points.max()) == 1.0 and float(density.points.min()) == 0.0  # C clips the density


def test_bandwidth_is_silverman():
    """h = (4 / (k + 2))^(1 / (k + 4)) * std (ddof 0) * t^(-1 / (k + 4)), by hand."""
    values = np.array([[0.1, -2.0], [0.4, 3.0], [0.5, 1.0], [0.9, 0.0]])
    t, k = values.shape
    want = (4 / (k + 2)) ** (1 / (k + 4)) * values.std(0) * t ** (-1 / (k + 4))
    assert bandwidths(TWO, torch.from_numpy(values)).tolist() == pytest.approx(want.tolist(), rel=1e-12)


def test_quantiles_of_the_mixture():
    rng = np.random.default_rng(0)
    centres, weights = rng.normal(size=30), rng.dirichlet(np.ones(30))
    points = mixture_quantiles(torch.from_numpy(centres), torch.from_numpy(weights), 0.3, 200).numpy()
    below = scipy.stats.norm.cdf((points[:, None] - centres) / 0.3) @ weights
    assert np.abs(below - (np.arange(200) + 0.5) / 200).max() < 1e-10


@pytest.mark.parametrize("space", [ONE, TWO], ids=["one", "two"])
def test_even_points_do_the_work_of_many_independent_ones(space):
    """128 of ours against 1024 independent draws from the same density: no larger error of smooth expectations."""
    rows = drawn(space, 40)
    trials = seen(space, rows)
    centres, width = trials.seen_contexts, bandwidths(space, trials.seen_contexts)

    def functions(points):
        z = (points - centres.mean(0)) / centres.std(0)
        return torch.stack(
            [torch.sin(z.sum(-1)), z.square().sum(-1), torch.exp(-(z[:, 0] ** 2)), (z[:, -1] - 0.3).abs()]
        )

    rng = np.random.default_rng(1)

    def independent(count):
        picked = centres[torch.from_numpy(rng.integers(len(centres), size=count))]
        steps = torch.from_numpy(rng.normal(size=(count, centres.shape[1]))) * width
        low, high = space.context_bounds
        return functions((picked + steps).clamp(low, high)).mean(-1)

    truth = torch.stack([independent(200_000) for _ in range(10)]).mean(0)
    ours = torch.stack(
        [
            functions(
                ww.KernelDensity()(space, trials, space.encode_given(None), torch.Generator().manual_seed(s)).points
            )
            .mean(-1)
            .sub(truth)
            for s in range(20)
        ]
    )
    theirs = torch.stack([independent(1024) - truth for _ in range(20)])
    ratios = ours.square().mean(0).sqrt() / theirs.square().mean(0).sqrt()
    assert float(ratios.log().mean().exp()) <= 1.0, ratios


def test_conditional_density_by_brute_force():
    """Given e, the estimate of c is the mixture with weights from the kernel in e."""
    rows = drawn(TWO, 25)
    trials = seen(TWO, rows)
    centres, width = trials.seen_contexts.numpy(), bandwidths(TWO, trials.seen_contexts).numpy()
    given = TWO.encode_given({"e": 0.5})
    weights = scipy.stats.norm.pdf(0.5, centres[:, 1], width[1])
    weights /= weights.sum()
    assert conditional_weights(TWO, trials.seen_contexts, given).tolist() == pytest.approx(weights.tolist(), rel=1e-9)
    points = contexts_of(ww.KernelDensity(512), TWO, rows, {"e": 0.5}).points[:, 0].numpy()
    assert points.mean() == pytest.approx(weights @ centres[:, 0], abs=1e-3)


def test_given_category_selects_its_own():
    rows = [{"day": "mon", "load": 1.0}, {"day": "mon", "load": 2.0}, {"day": "sat", "load": 8.0}]
    contexts = contexts_of(ww.Empirical(), DAYS, rows, {"day": "sat"})
    assert contexts.points[contexts.weights > 0].tolist() == [[0.0, 1.0, 8.0]]
    days = [contexts_of(ww.KernelDensity(), DAYS, rows, {"day": day}).points[:, 2].mean() for day in ("mon", "sat")]
    assert float(days[0]) < 3.5 and float(days[1]) > 6.5


def test_density_resamples_categories():
    rows = [{"day": "mon", "load": float(i)} for i in range(6)] + [{"day": "sat", "load": 9.0}] * 2
    points = contexts_of(ww.KernelDensity(256), DAYS, rows).points
    assert set(map(tuple, points[:, :2].tolist())) == {(1.0, 0.0), (0.0, 1.0)}
    assert float(points[:, 1].mean()) == pytest.approx(0.25, abs=0.02)


def test_box_is_mean_and_deviation_inside_the_bounds():
    rows = [{"c": 0.1}, {"c": 0.2}, {"c": 0.6}]
    values = np.array([0.1, 0.2, 0.6])
    points = contexts_of(ww.Box(1.0, 512), ONE, rows).points[:, 0]
    low, high = values.mean() - values.std(ddof=1), values.mean() + values.std(ddof=1)
    assert float(points.min()) == pytest.approx(low, abs=0.01) and float(points.max()) == pytest.approx(high, abs=0.01)
    clipped = contexts_of(ww.Box(5.0, 512), ONE, rows).points[:, 0]
    assert float(clipped.min()) >= 0.0 and float(clipped.max()) <= 1.0


def test_grid_and_its_nearest_weights():
    contexts = contexts_of(ww.Grid(5), ONE, [{"c": 0.0}, {"c": 0.26}, {"c": 0.24}, {"c": 0.99}])
    assert contexts.points[:, 0].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert contexts.weights.tolist() == pytest.approx([0.25, 0.5, 0.0, 0.0, 0.25])
    assert len(contexts_of(ww.Grid(100), TWO, drawn(TWO, 5)).points) == 100
    assert len(contexts_of(ww.Grid(1024), TWO, drawn(TWO, 5)).points) == 32 * 32
    assert len(contexts_of(ww.Grid(101), TWO, drawn(TWO, 5)).points) == 11 * 11


def test_unbounded_contexts_reach_the_seen_range_and_a_tenth():
    from windward.contexts import reach

    low, high = reach(FREE, torch.tensor([[2.0, 1.0], [4.0, 3.0]]).double())
    assert low.tolist() == pytest.approx([1.8, 0.0]) and high.tolist() == pytest.approx([4.2, 3.2])


@pytest.mark.parametrize("make", [list, tuple, np.array, torch.tensor, lambda values: [np.float64(v) for v in values]])
def test_known_takes_lists_arrays_and_numpy_numbers(make):
    listed = ww.Known({"demand": make([0.25, 0.5])}, make([0.75, 0.25]))
    assert listed == ww.Known({"demand": [0.25, 0.5]}, [0.75, 0.25])
    assert all(type(value) is float for value in (*listed.points["demand"], *listed.weights))
    assert ww.Known(distributions={"sky": make([0.75, 0.25])}) == ww.Known(distributions={"sky": [0.75, 0.25]})


def test_known_points_and_weights():
    model = ww.Known({"day": ["mon", "sat", "sat"], "load": [1.0, 2.0, 3.0]}, weights=[0.5, 0.2, 0.3])
    contexts = contexts_of(model, DAYS, [])
    assert contexts.weights.tolist() == [0.5, 0.2, 0.3] and contexts.points[:, 2].tolist() == [1.0, 2.0, 3.0]
    saturday = contexts_of(model, DAYS, [], {"day": "sat"})
    assert dict(zip(saturday.points[:, 2].tolist(), saturday.weights.tolist(), strict=True)) == {
        2.0: pytest.approx(0.4),
        3.0: pytest.approx(0.6),
    }


def test_known_distributions():
    model = ww.Known(
        distributions={"day": [0.25, 0.75], "load": ww.Distribution("gamma", {"a": 2.0, "scale": 1.5})}, count=512
    )
    points = contexts_of(model, DAYS, []).points
    weights = contexts_of(model, DAYS, []).weights
    truth = scipy.stats.gamma(a=2.0, scale=1.5)
    assert float(weights @ points[:, 1]) == pytest.approx(0.75, abs=0.01)
    assert float(weights @ points[:, 2]) == pytest.approx(truth.expect(lambda c: min(c, 10.0)), abs=0.01)


def test_known_must_describe_the_space():
    with pytest.raises(ww.IncompatibleError, match=r"describes the contexts \['demand'\], the space has \['c'\]"):
        contexts_of(ww.Known({"demand": [0.1]}), ONE, [])


def test_no_context_is_one_empty_point():
    contexts = contexts_of(ww.NoContext(), NONE, [])
    assert contexts.points.shape == (1, 0) and contexts.weights.tolist() == [1.0]


def test_contexts_draw_by_weight(generator):
    contexts = Contexts(torch.tensor([[0.0], [1.0]]), torch.tensor([0.25, 0.75]))
    draws = torch.stack([contexts.draw(generator) for _ in range(400)])
    assert float(draws.mean()) == pytest.approx(0.75, abs=5 * math.sqrt(0.25 * 0.75 / 400))


def test_one_outlier_does_not_destroy_the_density():
    rows = drawn(ONE, 50)
    plain = contexts_of(ww.KernelDensity(), ONE, rows).points[:, 0]
    spoiled = contexts_of(ww.KernelDensity(), ONE, [*rows, {"c": 1e9}]).points[:, 0]
    assert float((plain - spoiled).abs().mean()) < 0.05
    free = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real()})
    assert float(bandwidths(free, torch.cat([plain, torch.tensor([1e9]).double()])[:, None])) < 1.0
    far = contexts_of(ww.KernelDensity(), free, [*rows, {"c": 1e140}])
    assert torch.isfinite(far.points).all()


def test_bandwidth_counts_numeric_contexts_alone():
    space = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1), "k": ww.Categorical([str(i) for i in range(10)])})
    rows = [{"c": i / 99, "k": str(i % 10)} for i in range(100)]
    width = bandwidths(space, seen(space, rows).seen_contexts)
    want = (4 / 3) ** 0.2 * np.std([row["c"] for row in rows]) * 100**-0.2
    assert width.tolist() == pytest.approx([want, *[0.0] * 10])


@pytest.mark.parametrize("count", [1, 4, 16, 128])
def test_quantiles_of_heavy_tails(count):
    centres = scipy.stats.cauchy(scale=0.1).rvs(size=500, random_state=np.random.default_rng(0))
    weights = np.full(500, 1 / 500)
    points = mixture_quantiles(torch.from_numpy(centres), torch.from_numpy(weights), 0.05, count).numpy()
    below = scipy.stats.norm.cdf((points[:, None] - centres) / 0.05) @ weights
    assert np.abs(below - (np.arange(count) + 0.5) / count).max() < 1e-10


def test_grid_weights_do_not_depend_on_the_offset():
    rows = [0.0, 0.26, 0.24, 0.99, 0.5]
    for offset in (0.0, 1e6, 1e9):
        space = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(offset, offset + 1)})
        weights = contexts_of(ww.Grid(5), space, [{"c": offset + c} for c in rows]).weights
        assert weights.tolist() == pytest.approx([0.2, 0.4, 0.2, 0.0, 0.2])


def test_what_cannot_happen_any_more_is_left_out():
    space = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1), "k": ww.Categorical(["x", "y"])})
    known = ww.Known({"c": [0.1, 0.9, 0.5], "k": ["x", "y", "x"]}, weights=[0.5, 0.5, 0.0])
    points = contexts_of(known, space, [], {"k": "x"}).points[:, 0].tolist()
    assert points == [0.1, 0.5]  # the declared point of weight zero agrees and stays
    rows = [{"c": 0.1, "k": "x"}, {"c": 0.9, "k": "y"}]
    assert contexts_of(ww.Empirical(), space, rows, {"k": "x"}).points[:, 0].tolist() == [0.1]


def test_box_conditions_on_what_is_given():
    rng = np.random.default_rng(0)
    rows = [{"c": float(c), "e": float(-5 + 10 * c + rng.normal(scale=0.1))} for c in rng.uniform(size=60)]
    low = contexts_of(ww.Box(1.0, 256), TWO, rows, {"c": 0.1}).points[:, 1]
    high = contexts_of(ww.Box(1.0, 256), TWO, rows, {"c": 0.9}).points[:, 1]
    assert float(low.max()) < float(high.min())


@pytest.mark.parametrize("model", [ww.Empirical(), ww.KernelDensity(16), ww.Box(count=16)])
def test_a_context_that_never_varies_is_a_single_point(model):
    space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(0, 100), "sky": ww.Categorical(["dry", "wet"])})
    rows = [
        ww.Trial(i, {"x": 0.5}, context={"demand": 61.0, "sky": "dry"}, context_source="revealed", value=1.0, changed=i)
        for i in range(3)
    ]
    trials = ww.Trials(space, rows)
    contexts = model(space, trials, space.encode_given(None), torch.Generator().manual_seed(0))
    assert bool((contexts.points == trials.seen_contexts[0]).all())
