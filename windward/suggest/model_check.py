"""Does the model deserve belief? Each result is left out, predicted from the others and compared with what came back.

Nothing is fitted for it: the predictions come from the posterior behind the recommendation (`predictions.py`). Every warning is a
test at one per cent, shared among all that it looks at, so that a model that is right is seldom doubted; benchmarks/model_check.py
measures how seldom, and what is found where something is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from windward.basics.errors import IncompatibleError, TrialError
from windward.basics.speech import counted, number, shown
from windward.policy import Policy
from windward.space import Value
from windward.suggest.baselines import constant_left_out, plane_left_out
from windward.suggest.checked import LEVEL, RANGE, CheckedTrial, Coverage, ModelCheck, edge
from windward.suggest.outliers import outliers
from windward.suggest.predictions import Predictions
from windward.suggest.rank_tests import by_group, by_number
from windward.surrogate import Doubting, LeavingOut, Posterior
from windward.trials.records import Trial
from windward.trials.trials import Trials

# Results below which nothing can be said: the ranges of a few results tell nothing of one another.
LEAST = 8
# Draws of the hyper-parameters that are mixed. With 16 the coverage of few results came out two points too good.
DRAWS = 64
# The ranges whose coverage is counted.
RANGES = (0.5, 0.8, 0.9)
# Outcomes whose spread is below this share of their size differ by rounding alone.
CONSTANT = 1e-12


def least_results(call: str, policy: Policy, trials: Trials) -> Trials:
    """Return the trials as the policy sees them; `TrialError` where there are too few results, or nothing differs in them."""
    seen = policy.view(trials)
    count = len(seen.arrived)
    if count < LEAST:
        waiting = len(seen.awaiting_context)
        held = f" ({waiting} more {'has' if waiting == 1 else 'have'} a value but not the whole context)" if waiting else ""
        raise TrialError(
            f"{call}: {counted(count, 'result')} {'has' if count == 1 else 'have'} arrived{held}; a check of the model needs "
            f"at least {LEAST}. Tell {LEAST - count} more."
        )
    values = [float(trial.value) for trial in seen.arrived if trial.value is not None]
    low, high = min(values), max(values)
    if high - low <= CONSTANT * max(abs(low), abs(high)):
        raise TrialError(
            f"{call}: all {count} results are {number(values[0])}; a check of the model needs results that differ."
        )
    return seen


def model_check(policy: Policy, seen: Trials, posterior: Posterior, generator: torch.Generator) -> ModelCheck:
    """Return how well the posterior of what has arrived predicts each result from the others.

    `seen` are the trials as the policy sees them, `posterior` is that behind its recommendation.
    """
    _leaving(policy, posterior)
    nearby: Sequence[Posterior] = (posterior,)
    if isinstance(policy.surrogate, Doubting):
        nearby = policy.surrogate.nearby(seen.dataset, posterior, DRAWS, generator)
    found = Predictions.of([_leaving(policy, each).left_out() for each in nearby])
    columns = torch.cat([seen.dataset.x, seen.dataset.c], dim=1).cpu()
    constant = Predictions.of([constant_left_out(found.observed)])
    plane = Predictions.of([plane_left_out(columns, found.observed)])
    rows, order = seen.arrived, sorted(range(len(seen.arrived)), key=lambda row: seen.arrived[row].id)
    far = outliers(policy.surrogate, seen.dataset, posterior, LEVEL, generator)
    residuals = found.residuals
    return ModelCheck(
        trials=tuple(_rows(rows, found, residuals, seen.sign, order)),
        coverage=tuple(
            Coverage(level, int((residuals.abs() <= edge(level)).sum()), level * len(rows)) for level in RANGES
        ),
        explained=_explained(found, constant, ~far),
        explained_linear=_explained(plane, constant, ~far),
        surely=_agree(found, ~far),
        log_score=float(found.log_scores.mean()),
        log_score_constant=float(constant.log_scores.mean()),
        log_score_linear=float(plane.log_scores.mean()),
        outliers=tuple(rows[row].id for row in order if bool(far[row])),
        noise_depends_on=_dependences(seen, residuals.abs().numpy()),
    )


def _leaving(policy: Policy, posterior: object) -> LeavingOut:
    if not isinstance(posterior, LeavingOut):
        raise IncompatibleError(
            f"study.check: the posterior of {shown(policy.surrogate, 80)} has no left_out(), which predicts each result from "
            "the others; use GaussianProcess(), or add it (docs/extending.md)."
        )
    return posterior


def _rows(
    rows: Sequence[Trial], found: Predictions, residuals: Tensor, sign: float, order: Sequence[int]
) -> list[CheckedTrial]:
    ends = [sign * found.quantile(0.5 + side * 0.5 * RANGE) for side in (-1.0, 1.0)]
    low, high = torch.stack(ends).sort(0).values.tolist()
    predicted = (sign * found.mean).tolist()
    checked = []
    for row in order:
        trial = rows[row]
        assert trial.value is not None
        checked.append(
            CheckedTrial(trial.id, trial.value, predicted[row], low[row], high[row], sign * float(residuals[row]))
        )
    return checked


def _explained(found: Predictions, constant: Predictions, rows: Tensor) -> float:
    """Return the share of the variation that is predicted over some rows, beside the mean of the others."""
    unit = (constant.observed - constant.mean)[rows].abs().max()
    plain, own = (((each.observed - each.mean)[rows] / unit).square().sum() for each in (constant, found))
    return 1.0 - float(own / plain)


def _agree(found: Predictions, rows: Tensor) -> bool:
    """Whether predictions go up with the results beyond chance; by ranks, for a few large results must not decide it."""
    slope, chance = by_number(found.mean[rows].numpy(), found.observed[rows].numpy())
    return slope > 0.0 and 0.5 * chance < LEVEL


def _dependences(seen: Trials, sizes: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> dict[str, Value]:
    """Return with which decisions and contexts the sizes of residuals vary beyond chance, and where they are large."""
    parameters = [("decision", *each) for each in seen.space.decision.items()]
    parameters += [("context", *each) for each in seen.space.context.items()]
    found: dict[str, Value] = {}
    for role, name, parameter in parameters:
        values = [getattr(trial, role)[name] for trial in seen.arrived]
        if parameter.choices:
            places = np.array([list(parameter.choices).index(value) for value in values], dtype=np.int64)
            group, chance = by_group(sizes, places)
            where: Value = "" if group is None else parameter.choices[group]
        else:
            slope, chance = by_number(sizes, np.array(values, dtype=np.float64))
            where = "high" if slope > 0.0 else "low"
        if chance < LEVEL / len(parameters):
            found[name] = where
    return found
