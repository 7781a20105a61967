"""Independent solutions of the worst cases: convex programmes, written from the definitions."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import torch

from windward.contexts import Contexts
from windward.divergences import MMD, ChiSquare, KullbackLeibler, TotalVariation, Wasserstein

TIGHT = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def worst_value(divergence, values, contexts, radius):
    """min q.f over the ball, by CVXPY; q lives on every context point."""
    p, f, n = contexts.weights.numpy(), np.asarray(values), len(contexts)
    q = cp.Variable(n, nonneg=True)
    constraints = [cp.sum(q) == 1, *ball(divergence, q, p, contexts, radius)]
    problem = cp.Problem(cp.Minimize(f @ q), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "solution may be inaccurate" at these tolerances
        problem.solve(**TIGHT)
    return float(problem.value)


def ball(divergence, q, p, contexts, radius):
    on = p > 0
    inside = [q[~on] == 0] if (~on).any() else []
    if isinstance(divergence, TotalVariation):
        return [cp.norm1(q - p) <= radius]
    if isinstance(divergence, ChiSquare):
        return [0.5 * cp.sum_squares(cp.multiply(q[on] - p[on], p[on] ** -0.5)) <= radius, *inside]
    if isinstance(divergence, KullbackLeibler):
        return [cp.sum(cp.kl_div(q[on], p[on])) <= radius, *inside]
    if isinstance(divergence, MMD):
        kernel = divergence.kernel(contexts).numpy() + divergence.nugget * np.eye(len(p))
        eigenvalues, vectors = np.linalg.eigh(kernel)
        root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))).T
        return [cp.norm2(root @ (q - p)) <= radius]
    assert isinstance(divergence, Wasserstein)
    plan = cp.Variable((len(p), len(p)), nonneg=True)
    cost = np.linalg.norm(contexts.points.numpy()[:, None] - contexts.points.numpy()[None], axis=-1)
    return [cp.sum(plan, axis=1) == p, cp.sum(plan, axis=0) == q, cp.sum(cp.multiply(plan, cost)) <= radius]


def random_contexts(n, k=1, zeros=0.25, seed=0):
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(n, k, generator=generator, dtype=torch.float64)
    weights = torch.rand(n, generator=generator, dtype=torch.float64) + 0.05
    weights = weights * (torch.rand(n, generator=generator) >= zeros)
    if float(weights.sum()) == 0:
        weights[0] = 1.0
    return Contexts(points, weights / weights.sum())
