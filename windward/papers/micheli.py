"""Micheli2025: WDRBO and ERBO, and Windward's exact form of the first."""

from __future__ import annotations

from windward.basics import arguments
from windward.beliefs.beliefs import UpperConfidence
from windward.contexts import Empirical
from windward.divergences import Wasserstein
from windward.objectives.radii import Decay, Radius
from windward.objectives.robust import LipschitzRobust, Robust
from windward.papers.settings import INITIAL, WIDTH, published
from windward.policy import Policy
from windward.search.design import Sobol
from windward.search.multistart import MultiStart


def erbo(*, width: float = WIDTH) -> Policy:
    """For the best average over the contexts seen so far, each counting once.

    ERBO: x_t = argmax_x 1/t sum_s u(x, c_s), c_s the contexts seen so far.

    Micheli2025, the empirical-risk version (radius 0) of WDRBO; beta_t = `width`.
    """
    return published(
        context_model=Empirical(elsewhere=0, half_life=None), belief=UpperConfidence(width), design=Sobol(INITIAL)
    )


def wdrbo(*, width: float = WIDTH, radius: Radius | None = None, elsewhere: int = 100) -> Policy:
    """For contexts that may drift a little: the average, less a price for how steeply the value changes with them.

    WDRBO: x_t = argmax_x 1/t sum_s u(x, c_s) - eps_t L_t(x), L_t(x) = max_c |grad_c u(x, c)|.

    Micheli2025, Eq. 13; eps_t = 0.3 / sqrt(t), L_t over the contexts seen and `elsewhere` = 100 points drawn once.
    Deviation: the penalty has its gradient in x (in the released program it only ranks start points).
    """
    arguments.whole("wdrbo", "elsewhere", elsewhere, low=0)
    return published(
        context_model=Empirical(elsewhere, half_life=None),
        objective=LipschitzRobust(Decay(0.3, 0.5) if radius is None else radius),
        belief=UpperConfidence(width),
        design=Sobol(INITIAL),
    )


def wdrbo_exact(*, width: float = WIDTH, radius: Radius | None = None, elsewhere: int = 100) -> Policy:
    """For contexts that may drift a little: the worst average by how far they move, solved exactly.

    WDRBO with the exact Wasserstein worst case: x_t = argmax_x v(u(x, .), eps_t) by its one-dimensional dual.

    Not in the papers: tighter than Eq. 13 of Micheli2025, whose penalty bounds it. Mass may go to the contexts seen and
    to `elsewhere` points over the context space.
    """
    arguments.whole("wdrbo_exact", "elsewhere", elsewhere, low=0)
    return published(
        context_model=Empirical(elsewhere, half_life=None),
        objective=Robust(Wasserstein(), Decay(0.3, 0.5) if radius is None else radius),
        belief=UpperConfidence(width),
        # Each value is a transport problem; from eight starts the scores are the same.
        maximize=MultiStart(screen=512, starts=5, evaluations=None, tolerance=1e-6, apart=0.0125),
        design=Sobol(INITIAL),
    )
