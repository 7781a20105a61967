"""The published methods, one function each: a policy with the paper's parts and settings.

Symbols in the formulas are the papers': x decision, c context, mu_t and sigma_t the posterior mean and deviation at
(x, c), u = mu_t + sqrt(beta_t) sigma_t, p the reference, v(f, r) the worst case min q.f over d(q, p) <= r. Keys:
Huang2024 (SBO-KDE, DRBO-KDE, AAAI), Tay2024 (BOCU, ICLR), Micheli2025 (WDRBO, ERBO, AISTATS), Nguyen2020 (DRBQO,
AISTATS), Verma2022 (delayed feedback, ICML), Bogunovic2018 (StableOpt, NeurIPS), Kirschner2020 (DRBO, AISTATS),
Srinivas2010 (GP-UCB, ICML), Desautels2014 (GP-BUCB, JMLR), Kandasamy2018 (asy-TS, AISTATS). The squared-exponential
kernel stands in for Huang2024's Matern-5/2 throughout.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Literal

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.beliefs.beliefs import Belief, ExpectedImprovement, Thompson, UpperConfidence
from windward.beliefs.widths import delayed_width
from windward.contexts import Box, ContextModel, Empirical, Grid, KernelDensity, Known, NoContext
from windward.divergences import MMD, ChiSquare, Divergence, TotalVariation, Wasserstein
from windward.feedback import Censor, Feedback, Hallucinate, Ignore
from windward.objectives.heuristics import BocuOne, BocuTwo, MidpointRobust
from windward.objectives.plain import Expected, Minimum
from windward.objectives.protocol import Objective
from windward.objectives.radii import Decay, KernelRate, KirschnerRate, Radius
from windward.objectives.robust import LipschitzRobust, Robust
from windward.policy import Policy, Report
from windward.rules.contexts import ContextRule, HighestImprovement, MostUncertain, Uniform
from windward.search.acquisition import Maximizer
from windward.search.design import RandomDesign, Sobol
from windward.search.multistart import MultiStart
from windward.surrogate import GaussianProcess, Surrogate

# sqrt(beta_t) of Huang2024, App. B.1, and beta_t of Micheli2025, Sec. 5; sqrt(2) of Tay2024.
WIDTH = 1.5
TAY_WIDTH = math.sqrt(2.0)
# Initial Sobol decisions of Huang2024 and Micheli2025. Tay2024 takes 5 and Nguyen2020 12, drawn uniformly; here they are
# Sobol points too.
INITIAL = 10


def random() -> Policy:
    """Choose uniformly, for ever: the baseline of every comparison."""
    return Policy(context_model=Empirical(), design=RandomDesign())


def gp_ucb(*, width: float = WIDTH) -> Policy:
    """GP-UCB, blind to contexts: x_t = argmax_x mu_t(x) + sqrt(beta_t) sigma_t(x), the process over x alone.

    Contexts act as noise. Srinivas2010; sqrt(beta_t) = `width` = 1.5 as in Huang2024 (whose released program runs this
    baseline with sqrt(1.5)).
    """
    return Policy(context_model=NoContext(), belief=UpperConfidence(width), design=Sobol(INITIAL))


def sbo_kde(*, width: float = WIDTH, samples: int = 128) -> Policy:
    """SBO-KDE: x_t = argmax_x 1/M sum_m u(x, c_m), c_m from a kernel density estimate of the contexts seen.

    Huang2024, Alg. 1; sqrt(beta_t) = `width`, M = `samples`. Deviation: M = 128 even points in place of 1024 independent
    draws.
    """
    arguments.whole("sbo_kde", "samples", samples, low=1)
    return Policy(context_model=KernelDensity(samples), belief=UpperConfidence(width), design=Sobol(INITIAL))


def drbo_kde(*, width: float = WIDTH, samples: int = 128, elsewhere: int = 128) -> Policy:
    """DRBO-KDE: x_t = argmax_x v(u(x, .), delta_t) in total variation around the density estimate, delta_t = t^(-2/(4+k)).

    Huang2024, Alg. 2, Eq. 5; the infimum over C is taken over `elsewhere` Sobol points of weight zero besides the
    `samples`. Deviation: solved exactly by sorting in place of the two-dimensional convex programme of Prop. 2; 128
    points in place of 1024.
    """
    arguments.whole("drbo_kde", "samples", samples, low=1)
    arguments.whole("drbo_kde", "elsewhere", elsewhere, low=0)
    return Policy(
        context_model=KernelDensity(samples, elsewhere),
        objective=Robust(TotalVariation(), KernelRate()),
        belief=UpperConfidence(width),
        design=Sobol(INITIAL),
    )


def drbo_mmd(*, width: float = WIDTH, length_scale: float = 1.0, points: int = 100) -> Policy:
    """DRBO-MMD: x_t = argmax_x v(u(x, .), delta_t) in MMD around the empirical weights on a grid of ceil(100^(1/k))^k.

    Kirschner2020 as set up in Huang2024, App. B.1: delta_t = (2 + sqrt(2 log 10)) / sqrt(t). Deviation: the MMD kernel is
    a squared exponential of `length_scale` 1 (the released program takes the fitted process's), and in several
    dimensions the grid is a grid (the program uses its diagonal). Worst cases are certified to 1e-6 of the range.
    """
    arguments.whole("drbo_mmd", "points", points, low=1)
    return Policy(
        context_model=Grid(points),
        objective=Robust(MMD(length_scale, tolerance=1e-6), KirschnerRate(0.1)),
        belief=UpperConfidence(width),
        maximize=MultiStart(starts=5, evaluations=30),  # fewer starts, as in the paper: each value is a programme
        design=Sobol(INITIAL),
    )


def drbo_mmd_minimax(
    *, width: float = WIDTH, length_scale: float = 1.0, points: int = 1024, nugget: float = 1e-6
) -> Policy:
    """DRBO-MMD-MinimaxApprox: DRBO-MMD with the midpoint of two bounds in place of the worst case, on a finer grid.

    Tay2022 as set up in Huang2024, App. B.1. Deviation: `nugget` on the kernel's diagonal, which the slope bound
    needs; the reference is the empirical one (the released program takes a uniform mean, and a slope without kernel).
    """
    arguments.whole("drbo_mmd_minimax", "points", points, low=1)
    return Policy(
        context_model=Grid(points),
        objective=MidpointRobust(MMD(length_scale, nugget), KirschnerRate(0.1)),
        belief=UpperConfidence(width),
        design=Sobol(INITIAL),
    )


def stable_opt(*, width: float = WIDTH, spread: float = 1.0, points: int = 1024) -> Policy:
    """StableOpt: x_t = argmax_x min_{c in C_t} u(x, c), C_t = mean +- `spread` deviations of the contexts seen.

    Bogunovic2018 as set up in Huang2024, App. B.1, minimised over 1024 Sobol `points`. Deviation: they are drawn once per
    suggestion, so that the acquisition is one function (the released program redraws them, from [mean - 3 sd, mean - sd]).
    """
    arguments.whole("stable_opt", "points", points, low=1)
    return Policy(
        context_model=Box(spread, points), objective=Minimum(), belief=UpperConfidence(width), design=Sobol(INITIAL)
    )


def erbo(*, width: float = WIDTH) -> Policy:
    """ERBO: x_t = argmax_x 1/t sum_s u(x, c_s), c_s the contexts seen so far.

    Micheli2025, the empirical-risk version (radius 0) of WDRBO; beta_t = `width`.
    """
    return Policy(context_model=Empirical(), belief=UpperConfidence(width), design=Sobol(INITIAL))


def wdrbo(*, width: float = WIDTH, radius: Radius | None = None, elsewhere: int = 100) -> Policy:
    """WDRBO: x_t = argmax_x 1/t sum_s u(x, c_s) - eps_t L_t(x), L_t(x) = max_c |grad_c u(x, c)|.

    Micheli2025, Eq. 13; eps_t = 0.3 / sqrt(t), L_t over the contexts seen and `elsewhere` = 100 points drawn once.
    Deviation: the penalty has its gradient in x (in the released program it only ranks start points).
    """
    arguments.whole("wdrbo", "elsewhere", elsewhere, low=0)
    return Policy(
        context_model=Empirical(elsewhere),
        objective=LipschitzRobust(Decay(0.3, 0.5) if radius is None else radius),
        belief=UpperConfidence(width),
        design=Sobol(INITIAL),
    )


def wdrbo_exact(*, width: float = WIDTH, radius: Radius | None = None, elsewhere: int = 100) -> Policy:
    """WDRBO with the exact Wasserstein worst case: x_t = argmax_x v(u(x, .), eps_t) by its one-dimensional dual.

    Not in the papers: tighter than Eq. 13 of Micheli2025, whose penalty bounds it. Mass may go to the contexts seen and
    to `elsewhere` points over the context space.
    """
    arguments.whole("wdrbo_exact", "elsewhere", elsewhere, low=0)
    return Policy(
        context_model=Empirical(elsewhere),
        objective=Robust(Wasserstein(), Decay(0.3, 0.5) if radius is None else radius),
        belief=UpperConfidence(width),
        maximize=MultiStart(starts=5),  # each value is a transport problem; from eight the scores are the same
        design=Sobol(INITIAL),
    )


def ts_bocu(
    reference: Known, objective: Objective, *, surrogate: Surrogate | None = None, maximize: Maximizer | None = None
) -> Policy:
    """TS-BOCU: x_t = argmax_x objective of f_t(x, .), f_t one sample of the posterior, under a known reference p.

    Tay2024, Alg. 1. Any objective of Table 1: `Tradeoff(d, r, 1, 0)` DRO, `Sensitivity(d)` WCS, `Tradeoff(d, r, 1, 1)`
    GEN. The paper evaluates every point of a grid: `maximize=OverGrid(32)`; its process is not fitted:
    `surrogate=GaussianProcess(fixed=...)`.
    """
    return _bocu("ts_bocu", reference, objective, Thompson(), surrogate, maximize)


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
    """UCB-BOCU-1: alpha v(u, r) + beta (v(u, r + h) - v(l, r)) / h, l the lower bound, h = 1e-3. Tay2024, appendix.

    Deviation: sqrt(beta_t) = sqrt(2) as printed (the released program puts the objective's beta there).
    """
    objective = BocuOne(divergence, radius, alpha, beta)
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
    """UCB-BOCU-2: alpha v(u, r) - beta multiplier(u, r). Tay2024, appendix. Deviation: as for `ucb_bocu_1`; exact slopes."""
    objective = BocuTwo(divergence, radius, alpha, beta)
    return _bocu("ucb_bocu_2", reference, objective, UpperConfidence(TAY_WIDTH), surrogate, maximize)


def ucb_so(reference: Known, *, surrogate: Surrogate | None = None, maximize: Maximizer | None = None) -> Policy:
    """UCB-SO: p.u, the stochastic baseline of Tay2024."""
    return _bocu("ucb_so", reference, Expected(), UpperConfidence(TAY_WIDTH), surrogate, maximize)


def ucb_ro(reference: Known, *, surrogate: Surrogate | None = None, maximize: Maximizer | None = None) -> Policy:
    """UCB-RO: min_c u, the robust baseline of Tay2024."""
    return _bocu("ucb_ro", reference, Minimum(), UpperConfidence(TAY_WIDTH), surrogate, maximize)


def drbqo(samples: Known, radius: float, *, rule: ContextRule | None = None) -> Policy:
    """DRBQO: x_t = argmax_x v(f_t(x, .), rho), chi-square ball around n given samples w_i, f_t a posterior sample.

    Nguyen2020, Alg. 1: w_t = argmax_w sigma_t(x_t, w); reported is the evaluated x with the largest robust posterior
    mean. `rule=Uniform()` is the paper's Fig. 5. Deviation: lambda >= 0 in Eq. 10 (a misprint), solved by sorting.
    """
    objective = Robust(ChiSquare(), radius)
    return _quadrature("drbqo", samples, objective, Thompson(), rule, Report(candidates="evaluated"))


def emp_drbqo(samples: Known, radius: float, *, rule: ContextRule | None = None) -> Policy:
    """Emp-DRBQO: chooses like `drbqo`, reports by the empirical expectation. Nguyen2020, Sec. 5."""
    report = Report(Expected(), "evaluated")
    return _quadrature("emp_drbqo", samples, Robust(ChiSquare(), radius), Thompson(), rule, report)


def bqo_ts(samples: Known, *, rule: ContextRule | None = None) -> Policy:
    """BQO-TS: x_t = argmax_x 1/n sum_i f_t(x, w_i), f_t a posterior sample. Nguyen2020, Sec. 5."""
    return _quadrature("bqo_ts", samples, Expected(), Thompson(), rule, Report(candidates="evaluated"))


def bqo_ei(samples: Known, *, rule: ContextRule | None = None) -> Policy:
    """BQO-EI: expected improvement of g(x) = 1/n sum_i f(x, w_i). Nguyen2020, Eqs. 5-6."""
    return _quadrature("bqo_ei", samples, Expected(), ExpectedImprovement(), rule, Report(candidates="evaluated"))


def maximin_bqo_ts(samples: Known, radius: float, *, rule: ContextRule | None = None) -> Policy:
    """Maximin-BQO-TS: chooses like `bqo_ts`, reports by the robust value. Nguyen2020, Sec. 5."""
    report = Report(Robust(ChiSquare(), radius), "evaluated")
    return _quadrature("maximin_bqo_ts", samples, Expected(), Thompson(), rule, report)


def maximin_bqo_ei(samples: Known, radius: float, *, rule: ContextRule | None = None) -> Policy:
    """Maximin-BQO-EI: chooses like `bqo_ei`, reports by the robust value. Nguyen2020, Sec. 5."""
    report = Report(Robust(ChiSquare(), radius), "evaluated")
    return _quadrature("maximin_bqo_ei", samples, Expected(), ExpectedImprovement(), rule, report)


def drbqo_rand_w(samples: Known, radius: float) -> Policy:
    """DRBQO with w_t drawn uniformly in place of the most uncertain one. Nguyen2020, Fig. 5."""
    return drbqo(samples, radius, rule=Uniform())


def bqo_ts_rand_w(samples: Known) -> Policy:
    """BQO-TS with w_t drawn uniformly. Nguyen2020, Fig. 5."""
    return bqo_ts(samples, rule=Uniform())


def bqo_ei_rand_w(samples: Known) -> Policy:
    """BQO-EI with w_t drawn uniformly. Nguyen2020, Fig. 5."""
    return bqo_ei(samples, rule=Uniform())


def mtbo(folds: Known) -> Policy:
    """MTBO: folds as tasks; EI of the average picks x, then the fold of highest EI over its own best mean is evaluated.

    Swersky2013 as used in Nguyen2020, Sec. 5.2. The task kernel is of rank one plus a diagonal.
    """
    return Policy(
        context_model=_known("mtbo", "folds", folds),
        belief=ExpectedImprovement(),
        context_rule=HighestImprovement(),
        surrogate=GaussianProcess(tasks=True),
        design=Sobol(12),
        report=Report(candidates="evaluated"),
    )


def gp_ucb_sdf(
    worst: float,
    patience: int | timedelta,
    *,
    late: Literal["use", "drop"] = "drop",
    context_model: ContextModel | None = None,
    objective: Objective | None = None,
) -> Policy:
    """GP-UCB-SDF: x_t = argmax_x mu_t(x) + nu_t sigma_t(x), values not here within m asks counted as the worst.

    Verma2022, Alg. 1: nu_t = B_y sum over the last m of sigma(x_s) + beta_t, B_y = beta_t = 1; m = `patience`. With a
    context given at `ask` it is CGB-SDF; with any other context model or objective, their combination. As in the paper a
    value that comes after the patience is dropped; `late="use"`, the default of `Censor`, counts it from then on.
    """
    belief = UpperConfidence(delayed_width())
    return _delayed(belief, Censor(worst, patience, late), context_model, objective)


def gp_ts_sdf(
    worst: float,
    patience: int | timedelta,
    *,
    late: Literal["use", "drop"] = "drop",
    context_model: ContextModel | None = None,
    objective: Objective | None = None,
) -> Policy:
    """GP-TS-SDF: x_t = argmax_x f_t(x), f_t ~ N(mu_t, nu_t^2 sigma_t^2), censored like `gp_ucb_sdf`. Verma2022, Alg. 2.

    Deviation: nu_t as printed (the released program samples with 1).
    """
    belief = Thompson(delayed_width())
    return _delayed(belief, Censor(worst, patience, late), context_model, objective)


def gp_bucb(*, context_model: ContextModel | None = None, objective: Objective | None = None) -> Policy:
    """GP-BUCB: x_t = argmax_x mu_t(x) + sigma'_t(x), sigma' shrunk by values imagined at the mean (Desautels2014).

    Deviation from Verma2022's program: what is imagined comes from the model of arrived values alone.
    """
    return _delayed(UpperConfidence(1.0), Hallucinate(), context_model, objective)


def gp_bts(*, context_model: ContextModel | None = None, objective: Objective | None = None) -> Policy:
    """GP-BTS: Thompson sampling from the posterior with values imagined at the mean."""
    return _delayed(Thompson(), Hallucinate(), context_model, objective)


def asy_ts(*, context_model: ContextModel | None = None, objective: Objective | None = None) -> Policy:
    """asy-TS: Thompson sampling from what has arrived, pending values ignored (Kandasamy2018)."""
    return _delayed(Thompson(), Ignore(), context_model, objective)


def _delayed(
    belief: Belief, feedback: Feedback, context_model: ContextModel | None, objective: Objective | None
) -> Policy:
    return Policy(
        context_model=Empirical() if context_model is None else context_model,
        objective=Expected() if objective is None else objective,
        belief=belief,
        feedback=feedback,
        design=Sobol(5),
    )


def _bocu(
    call: str,
    reference: Known,
    objective: Objective,
    belief: Belief,
    surrogate: Surrogate | None,
    maximize: Maximizer | None,
) -> Policy:
    return Policy(
        context_model=_known(call, "reference", reference),
        objective=objective,
        belief=belief,
        surrogate=GaussianProcess() if surrogate is None else surrogate,
        maximize=MultiStart() if maximize is None else maximize,
        design=Sobol(5),
    )


def _quadrature(
    call: str, samples: Known, objective: Objective, belief: Belief, rule: ContextRule | None, report: Report
) -> Policy:
    return Policy(
        context_model=_known(call, "samples", samples),
        objective=objective,
        belief=belief,
        context_rule=MostUncertain() if rule is None else rule,
        design=Sobol(12),
        report=report,
    )


def _known(call: str, name: str, contexts: object) -> Known:
    if not isinstance(contexts, Known):
        raise ArgumentError(f"{call}({name}={shown(contexts)}): give Known(...), the contexts and their weights.")
    return contexts
