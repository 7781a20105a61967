"""Huang2024: SBO-KDE and DRBO-KDE, with the baselines that it compares them with."""

from __future__ import annotations

from typing import Literal

from windward.basics import arguments
from windward.beliefs.beliefs import UpperConfidence
from windward.contexts import Box, Empirical, Grid, KernelDensity, NoContext
from windward.divergences import MMD, TotalVariation
from windward.objectives.heuristics import MidpointRobust
from windward.objectives.plain import Minimum
from windward.objectives.radii import KernelRate, KirschnerRate
from windward.objectives.robust import Robust
from windward.papers.settings import INITIAL, WIDTH, process, published
from windward.policy import Policy
from windward.search.design import RandomDesign, Sobol
from windward.search.multistart import MultiStart
from windward.surrogate.kernel import KernelName

# Stands in for the paper's Matern-5/2, which takes longer: it does not factorise over decisions and contexts.
KERNEL: KernelName = "squared_exponential"


def random() -> Policy:
    """Choose uniformly, for ever: the baseline of every comparison."""
    # The belief is never asked: the design does not end.
    return published(
        context_model=Empirical(elsewhere=0, half_life=None), belief=UpperConfidence(WIDTH), design=RandomDesign()
    )


def gp_ucb(*, width: float = WIDTH, kernel: KernelName = KERNEL) -> Policy:
    """For decisions without contexts, or a comparison that ignores them: optimism about each decision.

    GP-UCB, blind to contexts: x_t = argmax_x mu_t(x) + sqrt(beta_t) sigma_t(x), the process over x alone.

    Contexts act as noise. Srinivas2010; sqrt(beta_t) = `width` = 1.5 as in Huang2024 (whose released program runs this
    baseline with sqrt(1.5)). `kernel="matern52"` is the paper's.
    """
    return published(
        context_model=NoContext(), belief=UpperConfidence(width), surrogate=process(kernel), design=Sobol(INITIAL)
    )


def sbo_kde(*, width: float = WIDTH, samples: int = 128, kernel: KernelName = KERNEL) -> Policy:
    """For the best average over contexts whose distribution is learnt as they come.

    SBO-KDE: x_t = argmax_x 1/M sum_m u(x, c_m), c_m from a kernel density estimate of the contexts seen.

    Huang2024, Alg. 1; sqrt(beta_t) = `width`, M = `samples`. Deviation: M = 128 even points in place of 1024 independent
    draws. `kernel="matern52"` is the paper's.
    """
    arguments.whole("sbo_kde", "samples", samples, low=1)
    return published(
        context_model=KernelDensity(samples, elsewhere=0, half_life=None),
        belief=UpperConfidence(width),
        surrogate=process(kernel),
        design=Sobol(INITIAL),
    )


def drbo_kde(*, width: float = WIDTH, samples: int = 128, elsewhere: int = 128, kernel: KernelName = KERNEL) -> Policy:
    """For contexts of which some share may come differently: the worst average near a density estimate of those seen.

    DRBO-KDE: x_t = argmax_x v(u(x, .), delta_t) in total variation around the density estimate, delta_t = t^(-2/(4+k)).

    Huang2024, Alg. 2, Eq. 5; the infimum over C is taken over `elsewhere` Sobol points of weight zero besides the
    `samples`. Deviation: solved exactly by sorting in place of the two-dimensional convex programme of Prop. 2; 128
    points in place of 1024.
    """
    arguments.whole("drbo_kde", "samples", samples, low=1)
    arguments.whole("drbo_kde", "elsewhere", elsewhere, low=0)
    return published(
        context_model=KernelDensity(samples, elsewhere, half_life=None),
        objective=Robust(TotalVariation(), KernelRate(1.0)),
        belief=UpperConfidence(width),
        surrogate=process(kernel),
        design=Sobol(INITIAL),
    )


def drbo_mmd(*, width: float = WIDTH, length_scale: float | Literal["fitted"] = 1.0, points: int = 100) -> Policy:
    """For contexts that may shift to similar ones: the worst average within an MMD ball around those seen.

    DRBO-MMD: x_t = argmax_x v(u(x, .), delta_t) in MMD around the empirical weights on a grid of ceil(100^(1/k))^k.

    Kirschner2020 as set up in Huang2024, App. B.1: delta_t = (2 + sqrt(2 log 10)) / sqrt(t). Deviation: the MMD kernel is
    a squared exponential of `length_scale` 1; the released program takes the fitted process's, `length_scale="fitted"`. With 1
    and contexts in [0, 1] the ball holds nearly every distribution. In several dimensions the grid is a grid (the program uses
    its diagonal). Worst cases are certified to 1e-6 of the range.
    """
    arguments.whole("drbo_mmd", "points", points, low=1)
    return published(
        context_model=Grid(points),
        objective=Robust(MMD(length_scale, nugget=0.0, tolerance=1e-6, matrix=None), KirschnerRate(0.1)),
        belief=UpperConfidence(width),
        # Fewer starts, as in the paper: each value is a programme.
        maximize=MultiStart(screen=512, starts=5, evaluations=30, tolerance=1e-6, apart=0.0125),
        design=Sobol(INITIAL),
    )


def drbo_mmd_minimax(
    *, width: float = WIDTH, length_scale: float | Literal["fitted"] = 1.0, points: int = 1024, nugget: float = 1e-6
) -> Policy:
    """A quicker `drbo_mmd`: the middle between two bounds in place of the worst case.

    DRBO-MMD-MinimaxApprox: DRBO-MMD with the midpoint of two bounds in place of the worst case, on a finer grid.

    Tay2022 as set up in Huang2024, App. B.1. Deviation: `nugget` on the kernel's diagonal, which the slope bound
    needs; the reference is the empirical one (the released program takes a uniform mean, and a slope without kernel).
    """
    arguments.whole("drbo_mmd_minimax", "points", points, low=1)
    return published(
        context_model=Grid(points),
        objective=MidpointRobust(MMD(length_scale, nugget, tolerance=1e-8, matrix=None), KirschnerRate(0.1)),
        belief=UpperConfidence(width),
        design=Sobol(INITIAL),
    )


def stable_opt(*, width: float = WIDTH, spread: float = 1.0, points: int = 1024, kernel: KernelName = KERNEL) -> Policy:
    """For the worst that may come: the best of the worst cases over a set around the contexts seen.

    StableOpt: x_t = argmax_x min_{c in C_t} u(x, c), C_t = mean +- `spread` deviations of the contexts seen.

    Bogunovic2018 as set up in Huang2024, App. B.1, minimised over 1024 Sobol `points`. Deviation: they are drawn once per
    suggestion, so that the acquisition is one function (the released program redraws them, from [mean - 3 sd, mean - sd]).
    """
    arguments.whole("stable_opt", "points", points, low=1)
    return published(
        context_model=Box(spread, points),
        objective=Minimum(),
        belief=UpperConfidence(width),
        surrogate=process(kernel),
        design=Sobol(INITIAL),
    )
