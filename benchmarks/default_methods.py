"""The methods that `default.py` compares, by name, and the objectives by which it judges them.

A method is a function from a problem to a policy. To compare a variant, add a line to `METHODS`, or to the functions below for
robust objectives; where its study is told how many rounds there will be, add its name to `TOLD` too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import default_trials

import windward as ww
from windward import papers
from windward.bench.problem import Problem
from windward.contexts import Contexts
from windward.default import auto
from windward.objectives import Objective
from windward.papers import settings

Method = Callable[[Problem], ww.Policy]

METHODS: dict[str, Method] = {
    "sbo_kde": lambda problem: papers.sbo_kde(),
    "sbo_kde_0.5": lambda problem: papers.sbo_kde(width=0.5),
    "sbo_kde_1.0": lambda problem: papers.sbo_kde(width=1.0),
    "gp_ucb": lambda problem: papers.gp_ucb(),
    "erbo": lambda problem: papers.erbo(),
    "drbo_kde": lambda problem: papers.drbo_kde(),
    "stable_opt": lambda problem: papers.stable_opt(),
    "wdrbo": lambda problem: papers.wdrbo(),
    "random": lambda problem: papers.random(),
    "default": lambda problem: auto(),  # what a study has that names no policy
    **default_trials.METHODS,
}
# Methods whose studies are told the horizon.
TOLD: set[str] = {*default_trials.TOLD}
# Parts of the methods that are not Windward's own.
PARTS = default_trials.PARTS

# Radii, and the share of the worst contexts. The Wasserstein radius is this part of the contexts' deviation.
BALL, TRANSPORT, TAIL = 0.2, 0.25, 0.2
# Contexts by which a decision is judged: a worst case by transport is a programme over all pairs of them.
JUDGED = {"tv": 1024, "cvar": 4096, "wasserstein": 192}


def deviation(problem: Problem) -> float:
    """Return the root of the summed variances of the contexts."""
    points, weights = problem.truth.points, problem.truth.weights[:, None]
    mean = (weights * points).sum(0)
    return float((weights * (points - mean).square()).sum().sqrt())


def objective(kind: str, problem: Problem) -> Objective:
    """Return the objective that decisions are judged by."""
    if kind == "expected":
        return ww.Expected()
    if kind == "cvar":
        return ww.CVaR(TAIL)
    if kind == "tv":
        return ww.Robust(ww.TotalVariation(), BALL)
    return ww.Robust(ww.Wasserstein(), TRANSPORT * deviation(problem))


def judged_on(kind: str, problem: Problem) -> Contexts:
    """Return the contexts of the truth by which decisions are judged: all of them, or evenly chosen ones."""
    return problem.truth if kind == "expected" else problem.truth.fewer(JUDGED[kind])


def robust_problem(problem: Problem) -> bool:
    """Whether a problem is judged by robust objectives too: its contexts are real numbers on plain axes, one or more."""
    contexts = problem.space.context.values()
    return bool(contexts) and all(each.continuous and not each.log for each in contexts)


def upper(kind: str, width: float, problem: Problem) -> ww.Policy:
    """Return the policy that maximizes the objective at the upper bounds, on the density estimate of the contexts."""
    elsewhere, count, starts = {"cvar": (0, 128, 8), "tv": (128, 128, 8), "wasserstein": (64, 64, 5)}[kind]
    return ww.Policy(
        context_model=ww.KernelDensity(count, elsewhere),
        objective=objective(kind, problem),
        belief=ww.UpperConfidence(width),
        maximize=ww.MultiStart(starts=starts),
        design=ww.Sobol(settings.INITIAL),
    )


def thompson(kind: str, problem: Problem) -> ww.Policy:
    """Return the policy that maximizes the objective of one draw."""
    policy = upper(kind, 1.0, problem)
    return ww.Policy(
        context_model=policy.context_model,
        objective=policy.objective,
        belief=ww.Thompson(),
        maximize=policy.maximize,
        design=policy.design,
    )


def robust_methods(kind: str) -> dict[str, Method]:
    """Return the methods for a robust objective: the papers' own, and bounds and draws under the very objective."""
    radius = partial(_radius, kind)
    found: dict[str, Method] = {
        "upper_1.5": partial(upper, kind, 1.5),
        "upper_1.0": partial(upper, kind, 1.0),
        "upper_0.5": partial(upper, kind, 0.5),
        "thompson": partial(thompson, kind),
        "auto": lambda problem: ww.auto(objective(kind, problem)),
        **{name: METHODS[name] for name in ("sbo_kde", "drbo_kde", "stable_opt", "wdrbo", "random")},
    }
    if kind == "wasserstein":  # the papers' methods, told the radius in place of their own
        found["wdrbo_told"] = lambda problem: papers.wdrbo(radius=radius(problem))
        found["wdrbo_exact_told"] = lambda problem: papers.wdrbo_exact(radius=radius(problem))
    return found


def _radius(kind: str, problem: Problem) -> float:
    return TRANSPORT * deviation(problem)


def methods(kind: str) -> Mapping[str, Method]:
    """Return the methods that are compared under an objective."""
    return METHODS if kind == "expected" else robust_methods(kind)
