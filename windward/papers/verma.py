"""Verma2022: results that come late, censored, and the baselines that ignore or imagine what has not arrived."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from windward.beliefs.beliefs import Belief, Thompson, UpperConfidence
from windward.beliefs.widths import delayed_width
from windward.contexts import ContextModel, Empirical
from windward.feedback import Censor, Feedback, Hallucinate, Ignore
from windward.objectives.plain import Expected
from windward.objectives.protocol import Objective
from windward.papers.settings import published
from windward.policy import Policy
from windward.search.design import Sobol
from windward.surrogate import Surrogate

# Initial points of Sec. 6.
INITIAL = 5


def gp_ucb_sdf(
    worst: float,
    patience: int | timedelta,
    *,
    late: Literal["use", "drop"] = "drop",
    terms: int | None = None,
    learn_from: Literal["all", "arrived"] = "all",
    context_model: ContextModel | None = None,
    objective: Objective | None = None,
    surrogate: Surrogate | None = None,
) -> Policy:
    """For values that come late or never: optimism that counts them as the worst meanwhile.

    GP-UCB-SDF: x_t = argmax_x mu_t(x) + nu_t sigma_t(x), values not here within m asks counted as the worst.

    Verma2022, Alg. 1: nu_t = B_y sum over the last m of sigma(x_s) + beta_t, B_y = beta_t = 1; m = `patience`. With a
    context given at `ask` it is CGB-SDF; with any other context model or objective, their combination. As in the paper a
    value that comes after the patience is dropped; `late="use"`, the default of `Censor`, counts it from then on. `terms`
    sums over that many decisions in place of the patience. The paper does not say from which values hyper-parameters are
    learnt: from all, the worst ones too, or by `learn_from="arrived"` from those that are here. `TEXTBOOK` of
    `windward.papers.settings` is the paper's process: no priors, its amplitude fitted; left out: that of the other
    methods here.
    """
    belief = UpperConfidence(delayed_width(bound=1.0, base=1.0, terms=terms))
    return _delayed(belief, Censor(worst, patience, late, learn_from), context_model, objective, surrogate)


def gp_ts_sdf(
    worst: float,
    patience: int | timedelta,
    *,
    late: Literal["use", "drop"] = "drop",
    terms: int | None = None,
    learn_from: Literal["all", "arrived"] = "all",
    context_model: ContextModel | None = None,
    objective: Objective | None = None,
    surrogate: Surrogate | None = None,
) -> Policy:
    """For values that come late or never: Thompson sampling that counts them as the worst meanwhile.

    GP-TS-SDF: x_t = argmax_x f_t(x), f_t ~ N(mu_t, nu_t^2 sigma_t^2), censored like `gp_ucb_sdf`. Verma2022, Alg. 2.

    Deviation: nu_t as printed (the released program samples with 1).
    """
    belief = Thompson(delayed_width(bound=1.0, base=1.0, terms=terms))
    return _delayed(belief, Censor(worst, patience, late, learn_from), context_model, objective, surrogate)


def gp_bucb(
    *,
    context_model: ContextModel | None = None,
    objective: Objective | None = None,
    surrogate: Surrogate | None = None,
) -> Policy:
    """For several values on the way at once: optimism that shrinks near decisions that are under way.

    GP-BUCB: x_t = argmax_x mu_t(x) + sigma'_t(x), sigma' shrunk by values imagined at the mean (Desautels2014).

    Deviation from Verma2022's program: what is imagined comes from the model of arrived values alone.
    """
    return _delayed(UpperConfidence(1.0), Hallucinate(), context_model, objective, surrogate)


def gp_bts(
    *,
    context_model: ContextModel | None = None,
    objective: Objective | None = None,
    surrogate: Surrogate | None = None,
) -> Policy:
    """For several values on the way at once: Thompson sampling, with those that are missing imagined.

    GP-BTS: Thompson sampling from the posterior with values imagined at the mean.
    """
    return _delayed(Thompson(1.0), Hallucinate(), context_model, objective, surrogate)


def asy_ts(
    *,
    context_model: ContextModel | None = None,
    objective: Objective | None = None,
    surrogate: Surrogate | None = None,
) -> Policy:
    """asy-TS: Thompson sampling from what has arrived, pending values ignored (Kandasamy2018)."""
    return _delayed(Thompson(1.0), Ignore(), context_model, objective, surrogate)


def _delayed(
    belief: Belief,
    feedback: Feedback,
    context_model: ContextModel | None,
    objective: Objective | None,
    surrogate: Surrogate | None,
) -> Policy:
    return published(
        context_model=Empirical(elsewhere=0, half_life=None) if context_model is None else context_model,
        objective=Expected() if objective is None else objective,
        belief=belief,
        feedback=feedback,
        surrogate=surrogate,
        design=Sobol(INITIAL),
    )
