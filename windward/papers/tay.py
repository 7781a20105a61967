"""Tay2024: TS-BOCU under a known reference, and the heuristics that it compares it with.

The paper's 5 initial decisions are drawn uniformly; here they are Sobol points.
"""

from __future__ import annotations

import math

from windward.beliefs.beliefs import Belief, Thompson, UpperConfidence
from windward.contexts import Known
from windward.divergences import Divergence
from windward.objectives.heuristics import BocuOne, BocuTwo
from windward.objectives.plain import Expected, Minimum
from windward.objectives.protocol import Objective
from windward.objectives.radii import Radius
from windward.papers.settings import SEARCH, known, published
from windward.policy import Policy
from windward.search.acquisition import Maximizer
from windward.search.design import Sobol
from windward.surrogate import Surrogate

# sqrt(beta_t).
TAY_WIDTH = math.sqrt(2.0)
# The h of UCB-BOCU-1.
STEP = 1e-3


def ts_bocu(
    reference: Known, objective: Objective, *, surrogate: Surrogate | None = None, maximize: Maximizer | None = None
) -> Policy:
    """For any robust objective around a known distribution: Thompson sampling.

    TS-BOCU: x_t = argmax_x objective of f_t(x, .), f_t one sample of the posterior, under a known reference p.

    Tay2024, Alg. 1. Any objective of Table 1: `Tradeoff(d, r, 1, 0)` DRO, `Sensitivity(d)` WCS, `Tradeoff(d, r, 1, 1)`
    GEN. The paper evaluates every point of a grid: `maximize=OverGrid(32)`; its process is not fitted:
    `surrogate=GaussianProcess(fixed=...)`.
    """
    return _bocu("ts_bocu", reference, objective, Thompson(1.0), surrogate, maximize)


def ucb_bocu_1(
    reference: Known,
    divergence: Divergence,
    radius: Radius,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    surrogate: Surrogate | None = None,
    maximize: Maximizer | None = None,
) -> Policy:
    """For a good worst case that does not get much worse: bounds of `Tradeoff` by a difference of two worst cases.

    UCB-BOCU-1: alpha v(u, r) + beta (v(u, r + h) - v(l, r)) / h, l the lower bound, h = 1e-3. Tay2024, appendix.

    Deviation: sqrt(beta_t) = sqrt(2) as printed (the released program puts the objective's beta there).
    """
    objective = BocuOne(divergence, radius, alpha, beta, step=STEP)
    return _bocu("ucb_bocu_1", reference, objective, UpperConfidence(TAY_WIDTH), surrogate, maximize)


def ucb_bocu_2(
    reference: Known,
    divergence: Divergence,
    radius: Radius,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    surrogate: Surrogate | None = None,
    maximize: Maximizer | None = None,
) -> Policy:
    """For a good worst case that does not get much worse: bounds of `Tradeoff` by the slope of the worst case.

    UCB-BOCU-2: alpha v(u, r) - beta multiplier(u, r). Tay2024, appendix. Deviation: as for `ucb_bocu_1`; exact slopes.
    """
    objective = BocuTwo(divergence, radius, alpha, beta)
    return _bocu("ucb_bocu_2", reference, objective, UpperConfidence(TAY_WIDTH), surrogate, maximize)


def ucb_so(reference: Known, *, surrogate: Surrogate | None = None, maximize: Maximizer | None = None) -> Policy:
    """For comparison: the average alone, under a known distribution.

    UCB-SO: p.u, the stochastic baseline of Tay2024.
    """
    return _bocu("ucb_so", reference, Expected(), UpperConfidence(TAY_WIDTH), surrogate, maximize)


def ucb_ro(reference: Known, *, surrogate: Surrogate | None = None, maximize: Maximizer | None = None) -> Policy:
    """For comparison: the worst context alone.

    UCB-RO: min_c u, the robust baseline of Tay2024.
    """
    return _bocu("ucb_ro", reference, Minimum(), UpperConfidence(TAY_WIDTH), surrogate, maximize)


def _bocu(
    call: str,
    reference: Known,
    objective: Objective,
    belief: Belief,
    surrogate: Surrogate | None,
    maximize: Maximizer | None,
) -> Policy:
    return published(
        context_model=known(call, "reference", reference),
        objective=objective,
        belief=belief,
        surrogate=surrogate,
        maximize=SEARCH if maximize is None else maximize,
        design=Sobol(5),
    )
