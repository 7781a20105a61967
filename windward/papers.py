"""The published methods, one function each: a policy with the paper's parts and settings.

Symbols in the formulas are the papers': x decision, c context, mu_t and sigma_t the posterior mean and deviation at
(x, c). The keys name the papers: Huang2024 (SBO-KDE and DRBO-KDE, AAAI 2024), Micheli2025 (WDRBO and ERBO, AISTATS
2025), Bogunovic2018 (StableOpt, NeurIPS 2018), Srinivas2010 (GP-UCB, ICML 2010).
"""

from __future__ import annotations

from windward import check
from windward.beliefs import UpperConfidence
from windward.contexts import Box, Empirical, KernelDensity, NoContext
from windward.design import RandomDesign, Sobol
from windward.objectives import Minimum
from windward.policy import Policy

# sqrt(beta_t) of Huang2024, App. B.1, and beta_t of Micheli2025, Sec. 5.
WIDTH = 1.5
# Initial Sobol decisions of both papers' experiments.
INITIAL = 10


def random() -> Policy:
    """Choose uniformly, for ever: the baseline of every comparison."""
    return Policy(context_model=Empirical(), design=RandomDesign())


def gp_ucb(*, width: float = WIDTH) -> Policy:
    """GP-UCB, blind to contexts: x_t = argmax_x mu_t(x) + sqrt(beta_t) sigma_t(x), the process over x alone.

    Contexts act as noise. Srinivas2010; sqrt(beta_t) = 1.5 as in Huang2024 (whose released program runs this baseline
    with sqrt(1.5)).
    """
    return Policy(context_model=NoContext(), belief=UpperConfidence(width), design=Sobol(INITIAL))


def sbo_kde(*, width: float = WIDTH, samples: int = 128) -> Policy:
    """SBO-KDE: x_t = argmax_x 1/M sum_m [mu_t(x, c_m) + sqrt(beta_t) sigma_t(x, c_m)], c_m from a KDE of the contexts.

    Huang2024, Alg. 1. Deviation: M = 128 quasi-Monte Carlo draws in place of 1024 independent ones; squared-exponential
    kernel in place of Matern-5/2.
    """
    check.whole("papers.sbo_kde", "samples", samples, low=1)
    return Policy(context_model=KernelDensity(samples), belief=UpperConfidence(width), design=Sobol(INITIAL))


def erbo(*, width: float = WIDTH) -> Policy:
    """ERBO: x_t = argmax_x 1/t sum_s [mu_t(x, c_s) + beta_t sigma_t(x, c_s)], c_s the contexts seen so far.

    Micheli2025, the empirical-risk version (radius 0) of WDRBO.
    """
    return Policy(context_model=Empirical(), belief=UpperConfidence(width), design=Sobol(INITIAL))


def stable_opt(*, width: float = WIDTH, spread: float = 1.0, points: int = 1024) -> Policy:
    """StableOpt: x_t = argmax_x min_{c in C_t} mu_t(x, c) + sqrt(beta_t) sigma_t(x, c), C_t = mean +- deviation.

    Bogunovic2018 as set up in Huang2024, App. B.1: C_t is the box of one standard deviation around the mean of the seen
    contexts, minimised over 1024 Sobol points. Deviation: the points are drawn once per suggestion, so that the
    acquisition is one function (the released program redraws them, and from [mean - 3 sd, mean - sd]).
    """
    check.whole("papers.stable_opt", "points", points, low=1)
    return Policy(
        context_model=Box(spread, points), objective=Minimum(), belief=UpperConfidence(width), design=Sobol(INITIAL)
    )
