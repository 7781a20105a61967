"""Nguyen2020: DRBQO and its baselines, where n samples of the context are given and the context is chosen.

The paper's 12 initial points are drawn uniformly; here they are Sobol points.
"""

from __future__ import annotations

from windward.beliefs.beliefs import Belief, ExpectedImprovement, Thompson
from windward.beliefs.overall import OverallConfidence
from windward.contexts import Known
from windward.divergences import ChiSquare
from windward.objectives.plain import Expected
from windward.objectives.protocol import Objective
from windward.objectives.robust import Robust
from windward.papers.settings import WIDTH, among_evaluated, known, process, published
from windward.policy import Policy, Report
from windward.rules.contexts import ContextRule, HighestImprovement, MostUncertain, Uniform
from windward.search.design import Sobol

# Initial points of Sec. 6.
INITIAL = 12


def drbqo(samples: Known, radius: float, *, rule: ContextRule | None = None) -> Policy:
    """For folds, or other given contexts, whose shares may change: the worst average by changed odds.

    DRBQO: x_t = argmax_x v(f_t(x, .), rho), chi-square ball around n given samples w_i, f_t a posterior sample.

    Nguyen2020, Alg. 1: w_t = argmax_w sigma_t(x_t, w); reported is the evaluated x with the largest robust posterior
    mean. `rule=Uniform()` is the paper's Fig. 5. Deviation: lambda >= 0 in Eq. 10 (a misprint), solved by sorting.
    """
    objective = Robust(ChiSquare(), radius)
    return _quadrature("drbqo", samples, objective, Thompson(1.0), rule, among_evaluated())


def emp_drbqo(samples: Known, radius: float, *, rule: ContextRule | None = None) -> Policy:
    """For comparison: `drbqo`, recommending by the plain average.

    Emp-DRBQO: chooses like `drbqo`, reports by the empirical expectation. Nguyen2020, Sec. 5.
    """
    report = among_evaluated(Expected())
    return _quadrature("emp_drbqo", samples, Robust(ChiSquare(), radius), Thompson(1.0), rule, report)


def bqo_ts(samples: Known, *, rule: ContextRule | None = None) -> Policy:
    """For the best average over given contexts, where you choose which to evaluate: Thompson sampling.

    BQO-TS: x_t = argmax_x 1/n sum_i f_t(x, w_i), f_t a posterior sample. Nguyen2020, Sec. 5.
    """
    return _quadrature("bqo_ts", samples, Expected(), Thompson(1.0), rule, among_evaluated())


def bqo_ei(samples: Known, *, rule: ContextRule | None = None) -> Policy:
    """For the best average over given contexts, where you choose which to evaluate: expected improvement of that average.

    BQO-EI: expected improvement of g(x) = 1/n sum_i f(x, w_i). Nguyen2020, Eqs. 5-6.
    """
    return _quadrature("bqo_ei", samples, Expected(), ExpectedImprovement(), rule, among_evaluated())


def bqo_ucb(samples: Known, *, width: float = WIDTH, rule: ContextRule | None = None) -> Policy:
    """For the best average over given contexts, where you choose which to evaluate: optimism about that average.

    BQO-UCB: x_t = argmax_x mu_t(x) + `width` sigma_t(x), mean and deviation of g(x) = 1/n sum_i f(x, w_i).

    Nguyen2020, Sec. 4 names GP-UCB with Eqs. 5-6 and prints no width; 1.5 is that of Huang2024.
    """
    return _quadrature("bqo_ucb", samples, Expected(), OverallConfidence(width, doubts=0), rule, among_evaluated())


def maximin_bqo_ts(samples: Known, radius: float, *, rule: ContextRule | None = None) -> Policy:
    """For comparison: `bqo_ts`, recommending by the robust value.

    Maximin-BQO-TS: chooses like `bqo_ts`, reports by the robust value. Nguyen2020, Sec. 5.
    """
    report = among_evaluated(Robust(ChiSquare(), radius))
    return _quadrature("maximin_bqo_ts", samples, Expected(), Thompson(1.0), rule, report)


def maximin_bqo_ei(samples: Known, radius: float, *, rule: ContextRule | None = None) -> Policy:
    """For comparison: `bqo_ei`, recommending by the robust value.

    Maximin-BQO-EI: chooses like `bqo_ei`, reports by the robust value. Nguyen2020, Sec. 5.
    """
    report = among_evaluated(Robust(ChiSquare(), radius))
    return _quadrature("maximin_bqo_ei", samples, Expected(), ExpectedImprovement(), rule, report)


def drbqo_rand_w(samples: Known, radius: float) -> Policy:
    """For comparison: `drbqo`, with the context to evaluate drawn at random.

    DRBQO with w_t drawn uniformly in place of the most uncertain one. Nguyen2020, Fig. 5.
    """
    return drbqo(samples, radius, rule=Uniform())


def bqo_ts_rand_w(samples: Known) -> Policy:
    """For comparison: `bqo_ts`, with the context to evaluate drawn at random.

    BQO-TS with w_t drawn uniformly. Nguyen2020, Fig. 5.
    """
    return bqo_ts(samples, rule=Uniform())


def bqo_ei_rand_w(samples: Known) -> Policy:
    """For comparison: `bqo_ei`, with the context to evaluate drawn at random.

    BQO-EI with w_t drawn uniformly. Nguyen2020, Fig. 5.
    """
    return bqo_ei(samples, rule=Uniform())


def mtbo(folds: Known) -> Policy:
    """For tuning over folds: what one fold shows counts for the others too.

    MTBO: folds as tasks; EI of the average picks x, then the fold of highest EI over its own best mean is evaluated.

    Swersky2013 as used in Nguyen2020, Sec. 5.2. The task kernel is of rank one plus a diagonal.
    """
    return published(
        context_model=known("mtbo", "folds", folds),
        belief=ExpectedImprovement(),
        context_rule=HighestImprovement(),
        surrogate=process(tasks=True),
        design=Sobol(INITIAL),
        report=among_evaluated(),
    )


def _quadrature(
    call: str, samples: Known, objective: Objective, belief: Belief, rule: ContextRule | None, report: Report
) -> Policy:
    return published(
        context_model=known(call, "samples", samples),
        objective=objective,
        belief=belief,
        context_rule=MostUncertain() if rule is None else rule,
        design=Sobol(INITIAL),
        report=report,
    )
