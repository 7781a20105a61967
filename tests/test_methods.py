"""Every published method: its acquisition against a plain numpy formula written from the paper, and a run in a study."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers import SHOP
from oracles import worst_value
from scipy.stats import norm

import windward as ww
from windward import papers
from windward.suggest.prepare import Request
from windward.surrogate import Start
from windward.trials.records import Trial
from windward.trials.trials import Trials

# Five observations (order, demand, profit), then contexts alone, so that radii are neither 0 nor huge.
X, C, Y = [0.1, 0.3, 0.45, 0.7, 0.9], [0.2, 0.5, 0.35, 0.8, 0.6], [0.3, 1.1, 0.9, 0.2, -0.4]
MORE = np.round(np.random.default_rng(0).beta(3, 4, size=55), 6).tolist()
SEEN = [*C, *MORE]
T = len(SEEN)
SCALES, NOISE, MEAN = (0.3, 0.4), 1e-2, 0.2
QUERIES = np.linspace(0.0, 1.0, 6)
KNOWN = ww.Known({"demand": [0.1, 0.25, 0.5, 0.6, 0.95]}, weights=[0.1, 0.2, 0.3, 0.25, 0.15])
SAMPLES = ww.Known({"demand": [0.15, 0.3, 0.5, 0.65, 0.9]})
TV = ww.TotalVariation()


def posterior(x, c):
    """Mean and covariance of f at pairs (x_i, c_i), from the textbook, in the user's units."""
    data_x, data_c, y = np.array(X), np.array(C), np.array(Y)
    z, spread = (y - y.mean()) / y.std(ddof=1), y.std(ddof=1)

    def kernel(x1, c1, x2, c2):
        return np.exp(-0.5 * (((x1[:, None] - x2) / SCALES[0]) ** 2 + ((c1[:, None] - c2) / SCALES[1]) ** 2))

    precision = np.linalg.inv(kernel(data_x, data_c, data_x, data_c) + NOISE * np.eye(5))
    k = kernel(x, c, data_x, data_c)
    mean = y.mean() + spread * (MEAN + k @ precision @ (z - MEAN))
    return mean, spread**2 * (kernel(x, c, x, c) - k @ precision @ k.T)


def bound(query, contexts, width):
    mean, covariance = posterior(np.full(len(contexts), query), np.asarray(contexts))
    return mean + width * np.sqrt(np.diag(covariance))


def total_variation(f, p, radius):
    """Move mass radius / 2 from the largest values to the least, one point at a time."""
    q, left = p.copy(), radius / 2
    for i in np.argsort(-f):
        taken = min(q[i], left)
        q[i] -= taken
        left -= taken
        q[np.argmin(f)] += taken
    return q @ f


def slope_of_total_variation(f, p, radius):
    mass = 0.0
    for i in np.argsort(-f):
        mass += p[i]
        if mass > radius / 2:
            return (f[i] - f.min()) / 2
    return 0.0


def steepest(query, contexts, width):
    """max_c |d u / d c| by central differences."""
    return max(abs(bound(query, [c + 1e-5], width)[0] - bound(query, [c - 1e-5], width)[0]) / 2e-5 for c in contexts)


def improvement_of_the_average(query, contexts, p):
    def average(x):
        mean, covariance = posterior(np.full(len(contexts), x), np.asarray(contexts))
        return p @ mean, math.sqrt(p @ covariance @ p)

    best = max(average(x)[0] for x in X)
    mean, std = average(query)
    return (mean - best) * norm.cdf((mean - best) / std) + std * norm.pdf((mean - best) / std)


def bound_of_the_average(query, contexts, p, width):
    mean, covariance = posterior(np.full(len(contexts), query), np.asarray(contexts))
    return p @ mean + width * math.sqrt(p @ covariance @ p)


def by_programme(divergence, f, state, radius):
    return worst_value(divergence, f, state.contexts, radius)


class State:
    """The pieces a formula may use: context points and weights, and the values of the sampled path."""

    def __init__(self, contexts, path):
        self.contexts, self.path = contexts, path
        self.c, self.p = contexts.points[:, 0].numpy(), contexts.weights.numpy()

    def sample(self, query):
        return self.path(torch.tensor([[query]], dtype=torch.float64), self.contexts.points)[0].numpy()


def midpoint(query, s):
    u, radius = bound(query, s.c, 1.5), (2 + math.sqrt(2 * math.log(10))) / math.sqrt(T)
    kernel = np.exp(-0.5 * (s.c[:, None] - s.c) ** 2) + 1e-3 * np.eye(len(s.c))
    inverse = np.linalg.inv(kernel)
    g = u - (inverse.sum(0) @ u) / inverse.sum()
    e = np.eye(len(s.c))[np.argmin(u)] - s.p
    reach, mean = math.sqrt(e @ kernel @ e), s.p @ u
    below = max(mean - radius * math.sqrt(g @ inverse @ g), u.min())
    return 0.5 * (below + mean + min(1.0, radius / reach) * (u.min() - mean))


KIRSCHNER = (2 + math.sqrt(2 * math.log(10))) / math.sqrt(T)
# name: (policy, acquisition(query, state) in the paper's terms, tolerance)
METHODS = {
    "sbo_kde": (papers.sbo_kde(), lambda x, s: s.p @ bound(x, s.c, 1.5), 1e-9),
    "erbo": (papers.erbo(), lambda x, s: np.mean(bound(x, SEEN, 1.5)), 1e-9),
    "stable_opt": (papers.stable_opt(points=64), lambda x, s: bound(x, s.c, 1.5).min(), 1e-9),
    "drbo_kde": (papers.drbo_kde(), lambda x, s: total_variation(bound(x, s.c, 1.5), s.p, T ** (-2 / 5)), 1e-9),
    "drbo_mmd": (
        papers.drbo_mmd(length_scale=0.3, points=20),
        lambda x, s: by_programme(ww.MMD(0.3), bound(x, s.c, 1.5), s, KIRSCHNER),
        1e-6,
    ),
    # The fitted process's kernel of contexts is that of its length-scale, as contexts are in [0, 1].
    "drbo_mmd_fitted": (
        papers.drbo_mmd(length_scale="fitted", points=20),
        lambda x, s: by_programme(ww.MMD(SCALES[1]), bound(x, s.c, 1.5), s, KIRSCHNER),
        1e-6,
    ),
    "drbo_mmd_minimax": (papers.drbo_mmd_minimax(points=30, nugget=1e-3), midpoint, 1e-6),
    "wdrbo": (
        papers.wdrbo(),
        lambda x, s: np.mean(bound(x, SEEN, 1.5)) - 0.3 / math.sqrt(T) * steepest(x, s.c, 1.5),
        1e-6,
    ),
    "wdrbo_exact": (
        papers.wdrbo_exact(elsewhere=10),
        lambda x, s: by_programme(ww.Wasserstein(), bound(x, s.c, 1.5), s, 0.3 / math.sqrt(T)),
        1e-6,
    ),
    "ucb_so": (papers.ucb_so(KNOWN), lambda x, s: s.p @ bound(x, s.c, math.sqrt(2)), 1e-9),
    "ucb_ro": (papers.ucb_ro(KNOWN), lambda x, s: bound(x, s.c, math.sqrt(2)).min(), 1e-9),
    "ucb_bocu_1": (
        papers.ucb_bocu_1(KNOWN, TV, 0.3, alpha=0.7, beta=0.2),
        lambda x, s: (
            0.7 * total_variation(bound(x, s.c, math.sqrt(2)), s.p, 0.3)
            + 0.2
            * (
                total_variation(bound(x, s.c, math.sqrt(2)), s.p, 0.301)
                - total_variation(bound(x, s.c, -math.sqrt(2)), s.p, 0.3)
            )
            / 1e-3
        ),
        1e-7,
    ),
    "ucb_bocu_2": (
        papers.ucb_bocu_2(KNOWN, TV, 0.3, alpha=0.7, beta=0.2),
        lambda x, s: (
            0.7 * total_variation(bound(x, s.c, math.sqrt(2)), s.p, 0.3)
            - 0.2 * slope_of_total_variation(bound(x, s.c, math.sqrt(2)), s.p, 0.3)
        ),
        1e-9,
    ),
    "ts_bocu_dro": (
        papers.ts_bocu(KNOWN, ww.Tradeoff(TV, 0.3, 1.0, 0.0)),
        lambda x, s: total_variation(s.sample(x), s.p, 0.3),
        1e-9,
    ),
    "ts_bocu_wcs": (
        papers.ts_bocu(KNOWN, ww.Sensitivity(TV)),
        lambda x, s: -slope_of_total_variation(s.sample(x), s.p, 0.0),
        1e-9,
    ),
    "ts_bocu_gen": (
        papers.ts_bocu(KNOWN, ww.Tradeoff(TV, 0.3, 1.0, 1.0)),
        lambda x, s: total_variation(s.sample(x), s.p, 0.3) - slope_of_total_variation(s.sample(x), s.p, 0.3),
        1e-9,
    ),
    "drbqo": (papers.drbqo(SAMPLES, 0.5), lambda x, s: by_programme(ww.ChiSquare(), s.sample(x), s, 0.5), 1e-6),
    "emp_drbqo": (papers.emp_drbqo(SAMPLES, 0.5), lambda x, s: by_programme(ww.ChiSquare(), s.sample(x), s, 0.5), 1e-6),
    "bqo_ts": (papers.bqo_ts(SAMPLES), lambda x, s: np.mean(s.sample(x)), 1e-9),
    "bqo_ei": (papers.bqo_ei(SAMPLES), lambda x, s: improvement_of_the_average(x, s.c, s.p), 1e-9),
    "bqo_ucb": (papers.bqo_ucb(SAMPLES, width=0.8), lambda x, s: bound_of_the_average(x, s.c, s.p, 0.8), 1e-9),
    "maximin_bqo_ts": (papers.maximin_bqo_ts(SAMPLES, 0.5), lambda x, s: np.mean(s.sample(x)), 1e-9),
    "maximin_bqo_ei": (
        papers.maximin_bqo_ei(SAMPLES, 0.5),
        lambda x, s: improvement_of_the_average(x, s.c, s.p),
        1e-9,
    ),
    "drbqo_rand_w": (
        papers.drbqo_rand_w(SAMPLES, 0.5),
        lambda x, s: by_programme(ww.ChiSquare(), s.sample(x), s, 0.5),
        1e-6,
    ),
    "bqo_ts_rand_w": (papers.bqo_ts_rand_w(SAMPLES), lambda x, s: np.mean(s.sample(x)), 1e-9),
    "bqo_ei_rand_w": (
        papers.bqo_ei_rand_w(SAMPLES),
        lambda x, s: improvement_of_the_average(x, s.c, s.p),
        1e-9,
    ),
    # Without categories the task kernel is the plain one: the acquisition is the same.
    "mtbo": (papers.mtbo(SAMPLES), lambda x, s: improvement_of_the_average(x, s.c, s.p), 1e-9),
}
# Tested elsewhere: below, and with delays in test_delays.py.
OTHERS = {
    "random": papers.random(),
    "gp_ucb": papers.gp_ucb(),
    "gp_ucb_sdf": papers.gp_ucb_sdf(0.0, 5),
    "gp_ts_sdf": papers.gp_ts_sdf(0.0, 5),
    "gp_bucb": papers.gp_bucb(),
    "gp_bts": papers.gp_bts(),
    "asy_ts": papers.asy_ts(),
}


def trials():
    rows = [
        Trial(i, {"order": x}, context={"demand": c}, context_source="revealed", value=y)
        for i, (x, c, y) in enumerate(zip(X, C, Y, strict=True))
    ]
    rows += [Trial(5 + i, {"order": 0.5}, context={"demand": c}, context_source="revealed") for i, c in enumerate(MORE)]
    return Trials(SHOP, tuple(rows))


@pytest.mark.parametrize("name", METHODS)
def test_acquisition_is_the_papers(name):
    policy, formula, tolerance = METHODS[name]
    seen = trials()
    surrogate = ww.GaussianProcess(fixed=ww.Hyperparameters(MEAN, SCALES, 1.0, NOISE))
    contexts = policy.context_model(SHOP, seen, SHOP.encode_given(None), torch.Generator().manual_seed(0))
    believed = policy.feedback(seen, surrogate, Request().now, Start())
    situation = ww.Situation(contexts, seen.contexts_seen, seen, believed)
    value = policy.belief(situation, policy.objective.bind(situation), torch.Generator().manual_seed(1))
    ours = value(torch.from_numpy(QUERIES)[:, None]).detach().numpy()
    state = State(contexts, believed.posterior.path(torch.Generator().manual_seed(1)))
    want = np.array([formula(query, state) for query in QUERIES])
    assert seen.contexts_seen == T
    assert np.abs(ours - want).max() <= tolerance * (1 + np.abs(want).max())


def test_gp_ucb_is_over_decisions_alone():
    seen = trials()
    seen = replace(seen, rows=seen.rows[:5])
    policy = papers.gp_ucb()
    surrogate = ww.GaussianProcess(fixed=ww.Hyperparameters(MEAN, SCALES[:1], 1.0, NOISE))
    blind = policy.view(seen)
    contexts = policy.context_model(blind.space, blind, blind.space.encode_given(None), torch.Generator())
    believed = policy.feedback(blind, surrogate, Request().now, Start())
    situation = ww.Situation(contexts, trials=blind, believed=believed)
    value = policy.belief(situation, policy.objective.bind(situation), torch.Generator())
    ours = value(torch.from_numpy(QUERIES)[:, None]).numpy()
    x, y = np.array(X), np.array(Y)
    z = (y - y.mean()) / y.std(ddof=1)
    kernel = np.exp(-0.5 * ((x[:, None] - x) / SCALES[0]) ** 2) + NOISE * np.eye(5)
    k = np.exp(-0.5 * ((QUERIES[:, None] - x) / SCALES[0]) ** 2)
    mean = MEAN + k @ np.linalg.solve(kernel, z - MEAN)
    std = np.sqrt(1 - np.einsum("qi,ij,qj->q", k, np.linalg.inv(kernel), k))
    assert np.abs(ours - (y.mean() + y.std(ddof=1) * (mean + 1.5 * std))).max() < 1e-9


def test_every_published_function_is_in_the_table():
    ends = ("_dro", "_wcs", "_gen", "_fitted")
    tested = {next((name.removesuffix(e) for e in ends if name.endswith(e)), name) for name in (*METHODS, *OTHERS)}
    assert set(papers.__all__) == tested


@pytest.mark.parametrize("name", [*METHODS, *OTHERS])
def test_every_method_runs_a_study(name):
    policy = METHODS[name][0] if name in METHODS else OTHERS[name]
    if isinstance(policy.maximize, ww.MultiStart):
        policy = replace(policy, maximize=ww.MultiStart(screen=32, starts=2, evaluations=8))
    study = ww.Study(SHOP, policy, seed=1)

    def evaluate(suggestion):
        demand = suggestion.context["demand"] if suggestion.context else 0.3 + 0.05 * (suggestion.id % 7)
        context = {} if suggestion.context else {"demand": demand}
        return ww.Result(1 - (suggestion.decision["order"] - demand) ** 2, context=context)

    study.run(evaluate, 13, progress=False)  # ten by design, three by the method
    found = study.recommend()
    assert 0.2 <= found.decision["order"] <= 0.8
    assert found.interval[0] <= found.interval[1] and math.isfinite(found.value)
    assert ww.from_json(ww.to_json(policy)) == policy
    for trial in study.trials.rows[9:]:  # the design's last, and those of the method
        assert study.replay(trial.id).decision == trial.decision
    assert ww.Study.open("study", journal=study.journal).policy == policy
