"""Parts go to JSON and back; policies are checked when they are built; papers are what they say."""

from __future__ import annotations

import inspect
import json
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from helpers import SHOP, told

import windward as ww
from windward import papers
from windward.parts import OWN_PARTS
from windward.search.region import Region
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest

METHODS = {name: getattr(papers, name) for name in ("random", "gp_ucb", "sbo_kde", "erbo", "stable_opt")}
EXAMPLES = [
    ww.Real(0, 1),
    ww.Real(1e-3, 5, log=True, outside="clip"),
    ww.Integer(1, 9),
    ww.Real(2.5, 6, step=0.05, unit="EUR"),
    ww.Integer(0, 120, step=12, unit="pieces"),
    ww.Categorical(["a", 2, True]),
    ww.Cyclic(24),
    ww.Cyclic(7, whole=True),
    ww.calendar("time_of_day", zone="Europe/Berlin"),
    ww.Linear({"a": 1, "b": -2.5}, upper=1, lower=-3),
    ww.Known({"demand": [0.1, 0.2, 0.7]}, weights=[0.1, 0.2, 0.7]),
    ww.Known(distributions={"demand": ww.Distribution("burr12", {"c": 2, "d": 20})}, count=64),
    ww.KernelDensity(64),
    ww.Box(2.0, 10),
    ww.Grid(9),
    ww.Sobol(3),
    ww.MultiStart(screen=7),
    ww.UpperConfidence(0.0),
    ww.GaussianProcess("matern52", outcome=ww.SoftClip(2.0), fixed=ww.Hyperparameters(0.0, (0.1, 0.2), 1.0, 1e-4)),
    ww.Report(objective=ww.Minimum(), candidates="evaluated"),
    *[method() for method in METHODS.values()],
]


@pytest.mark.parametrize(
    "part", [*EXAMPLES, *(kind() for kind in OWN_PARTS if not inspect.signature(kind).parameters)], ids=repr
)
def test_json_round_trip(part):
    again = ww.from_json(ww.to_json(part))
    assert again == part and type(again) is type(part)
    assert ww.to_json(again) == ww.to_json(part)
    assert pickle.loads(pickle.dumps(part)) == part
    assert hash(again) == hash(part)


def test_every_exported_part_is_in_the_table():
    exported = {getattr(ww, name) for name in ww.__all__}
    parts = {kind for kind in exported if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__")}
    not_parts = {
        ww.Acquisition,
        ww.Alarm,
        ww.Beside,
        ww.Beyond,
        ww.ByContext,
        ww.CheckedTrial,
        ww.Comparison,
        ww.ContextCell,
        ww.Contexts,
        ww.Coverage,
        ww.Forecast,
        ww.Forecaster,
        ww.Held,
        ww.Maximize,
        ww.Minimize,
        ww.Importance,
        ww.Influence,
        ww.Interaction,
        ww.Limits,
        ww.ModelCheck,
        ww.Past,
        ww.Reason,
        ww.Recommendation,
        ww.Result,
        ww.Settled,
        ww.Shift,
        ww.Situation,
        ww.Stage,
        ww.Suggestion,
        ww.Tell,
        ww.Trial,
        ww.Trials,
        ww.Unknown,
    }
    assert parts - not_parts == set(OWN_PARTS)


def test_a_tag_is_never_imported():
    for tag in ("os.system", "builtins.eval", "windward.study.Study", "Study"):
        with pytest.raises(ww.ArgumentError, match="unknown part"):
            ww.from_json(json.dumps({"part": tag}))
    with pytest.raises(ww.ArgumentError, match="no field 'shell'"):
        ww.from_json('{"part": "Sobol", "shell": "rm"}')
    with pytest.raises(ww.ArgumentError, match=r"Sobol\(count=-1\)"):
        ww.from_json('{"part": "Sobol", "count": -1}')


@dataclass(frozen=True)
class Spread:
    """An objective that can fall where values rise."""

    monotone = False

    def bind(self, situation):
        return lambda values, slopes=None: -values.std(-1)


def test_upper_confidence_refuses_what_is_not_monotone():
    with pytest.raises(ww.IncompatibleError, match=r"use belief=Thompson\(\)"):
        ww.Policy(context_model=ww.Empirical(), objective=Spread())
    ww.Policy(context_model=ww.Empirical(), objective=Spread(), belief=ww.Thompson())
    with pytest.raises(ww.IncompatibleError, match="with its parentheses"):
        ww.Policy(context_model=ww.Empirical)


def test_a_policy_that_does_not_go_with_the_space_is_refused():
    free = ww.Space({"x": ww.Real(0, 1)}, {"load": ww.Real()})
    with pytest.raises(ww.IncompatibleError, match="'load' has no bounds"):
        ww.Study(free, ww.Policy(context_model=ww.Grid()))
    study = ww.Study(free)
    with pytest.raises(ww.IncompatibleError, match="describes the contexts"):
        study.use(ww.Policy(context_model=ww.Known({"demand": [1.0]})))
    assert study.policy == ww.auto()


# -- acquisitions, against the papers' formulas in plain numpy --------------------------------------------------------

ROWS = [
    (x, c, y)
    for x, c, y in zip([0.1, 0.3, 0.45, 0.7, 0.9], [0.2, 0.5, 0.35, 0.8, 0.6], [0.3, 1.1, 0.9, 0.2, -0.4], strict=True)
]
SCALES, NOISE, MEAN = (0.3, 0.4), 1e-2, 0.2


def formula(queries, contexts, width):
    """mean + width * deviation at every query and context, from the textbook formulas."""
    x, c, y = (np.array(column) for column in zip(*ROWS, strict=True))
    z, spread = (y - y.mean()) / y.std(ddof=1), y.std(ddof=1)

    def kernel(x1, c1, x2, c2):
        squares = ((x1[:, None] - x2) / SCALES[0]) ** 2 + ((c1[:, None] - c2) / SCALES[1]) ** 2
        return np.exp(-0.5 * squares)

    precision = np.linalg.inv(kernel(x, c, x, c) + NOISE * np.eye(5))
    values = np.empty((len(queries), len(contexts)))
    for i, query in enumerate(queries):
        k = kernel(np.full(len(contexts), query), np.asarray(contexts), x, c)
        mean = MEAN + k @ precision @ (z - MEAN)
        deviation = np.sqrt(1.0 - np.einsum("mi,ij,mj->m", k, precision, k))
        values[i] = y.mean() + spread * (mean + width * deviation)
    return values


@pytest.mark.parametrize("name", ["sbo_kde", "erbo", "stable_opt"])
def test_acquisitions_are_the_papers(name):
    policy = METHODS[name]()
    trials = told(SHOP, [({"order": x}, {"demand": c}, y) for x, c, y in ROWS])
    surrogate = ww.GaussianProcess(fixed=ww.Hyperparameters(MEAN, SCALES, 1.0, NOISE))
    queries = torch.linspace(0, 1, 7, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    contexts = policy.context_model(SHOP, trials, SHOP.encode_given(None), generator)
    from windward.surrogate import Start

    believed = policy.feedback(trials, surrogate, Request().now, Start())
    situation = ww.Situation(contexts, 5, trials, believed)
    ours = policy.belief(situation, policy.objective.bind(situation), generator)(queries[:, None]).numpy()
    seen = [c for _, c, _ in ROWS]
    if name == "erbo":
        want = formula(queries.numpy(), seen, 1.5).mean(-1)
        assert np.abs(ours - want).max() < 1e-9
    elif name == "stable_opt":
        low, high = np.mean(seen) - np.std(seen, ddof=1), np.mean(seen) + np.std(seen, ddof=1)
        want = formula(queries.numpy(), np.linspace(low, high, 5001), 1.5).min(-1)
        assert np.abs(ours - want).max() < 2e-3  # 1024 points against a fine grid
        assert (ours >= want - 1e-5).all()
    else:
        width = (4 / 3) ** 0.2 * np.std(seen) * 5**-0.2
        grid = np.linspace(-2, 3, 20001)
        density = np.mean([np.exp(-0.5 * ((grid - c) / width) ** 2) for c in seen], axis=0) / (
            width * math.sqrt(2 * math.pi)
        )
        values = formula(queries.numpy(), grid.clip(0, 1), 1.5)
        want = np.trapezoid(values * density, grid, axis=-1)
        assert np.abs(ours - want).max() < 2e-3  # 128 quantiles against the integral


def test_gp_ucb_is_blind_to_contexts():
    policy = papers.gp_ucb()
    trials = told(SHOP, [({"order": x}, {"demand": c}, y) for x, c, y in ROWS * 3])
    other = told(SHOP, [({"order": x}, {"demand": 1 - c}, y) for x, c, y in ROWS * 3])
    generator = torch.Generator().manual_seed
    assert torch.equal(
        suggest(policy, trials, Request(), generator(0)).x, suggest(policy, other, Request(), generator(0)).x
    )


def test_random_is_uniform_and_never_learns():
    design, region = papers.random().design, Region(ww.Space({"a": ww.Real(0, 1), "b": ww.Categorical(["p", "q"])}))
    points = torch.stack([design(round, region, 0) for round in range(400)])
    assert design.rounds(SHOP) == math.inf
    assert float(points[:, 0].mean()) == pytest.approx(0.5, abs=5 / math.sqrt(12 * 400))
    assert float(points[:, 1].mean()) == pytest.approx(0.5, abs=2.5 / math.sqrt(400))


def test_the_design_is_one_sobol_sequence():
    region = Region(ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)}))
    points = torch.stack([ww.Sobol()(round, region, 7) for round in range(64)])
    # A scrambled Sobol sequence puts one of its first 64 points into each of 64 equal slabs of every axis.
    assert all(sorted((points[:, axis] * 64).long().tolist()) == list(range(64)) for axis in (0, 1))
    assert ww.Sobol().rounds(SHOP) == 5 and ww.Sobol(12).rounds(SHOP) == 12
    six = ww.Space({f"x{i}": ww.Real(0, 1) for i in range(4)}, {f"c{i}": ww.Real(0, 1) for i in range(2)})
    assert ww.Sobol().rounds(six) == 13


@pytest.mark.parametrize("given", [-1.0, float("nan"), float("inf")])
def test_a_width_of_ones_own_is_checked_when_it_is_used(given):
    policy = ww.Policy(
        context_model=ww.NoContext(), belief=ww.UpperConfidence(lambda situation: given), design=ww.Sobol(1)
    )
    space = ww.Space({"a": ww.Real(0, 1)})
    trials = told(space, [({"a": 0.2}, {}, 1.0), ({"a": 0.7}, {}, 2.0)])
    with pytest.raises(ww.ArgumentError, match=r"it gave .*; a width must be >= 0"):
        suggest(policy, trials, Request(), torch.Generator().manual_seed(0))
