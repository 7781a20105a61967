"""Does the model deserve belief? Each result is left out, predicted from the others and compared with what came back.

Nothing is fitted for it: the predictions come from the posterior behind the recommendation (`predictions.py`). Every warning
is a test at one per cent, shared among all that it looks at, so that a model that is right is seldom doubted.
benchmarks/model_check.py measures how seldom, and what is found where something is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from windward.basics import streams
from windward.basics.errors import IncompatibleError, TrialError
from windward.basics.speech import counted, shown
from windward.policy import SAMPLES, Policy
from windward.space import Space, Value, sectioned
from windward.suggest.baselines import constant_left_out, plane_left_out
from windward.suggest.checked import LEVEL, RANGE, CheckedTrial, Coverage, ModelCheck, edge
from windward.suggest.outliers import outliers
from windward.suggest.predictions import Predictions
from windward.suggest.prepare import Request, check_memory
from windward.suggest.rank_tests import by_group, by_number
from windward.surrogate import Doubting, Forgetting, LeavingOut, Posterior
from windward.trials.records import Trial
from windward.trials.trials import Dataset, Trials

# Results below which nothing can be said: the ranges of a few results tell nothing of one another.
LEAST = 8
# Draws of the hyper-parameters that are mixed. With 16 the coverage of few results came out two points too good.
DRAWS = 64
# The ranges whose coverage is counted.
RANGES = (0.5, 0.8, 0.9)
# Outcomes whose spread is below this share of their size differ by rounding alone.
CONSTANT = 1e-12


def checked_model(
    call: str, policy: Policy, trials: Trials, request: Request, posterior: Posterior | None = None
) -> tuple[Posterior, ModelCheck]:
    """Return the posterior of what has arrived and how well it predicts each result from the others.

    `posterior` is that behind the recommendation, where it is known already. `TrialError` where there are too few results.
    """
    seen = policy.view(trials)
    _require_enough(call, seen)
    check_memory(policy.reporting, seen, request, samples=SAMPLES)
    if posterior is None:
        posterior = policy.surrogate.fit(seen.dataset, request.start)
    known = max(trial.changed for trial in seen.arrived)
    return posterior, model_check(policy, seen, posterior, streams.checking(request.seed, known))


def model_check(policy: Policy, seen: Trials, posterior: Posterior, generator: torch.Generator) -> ModelCheck:
    """Return how well a posterior of what has arrived predicts each result from the others.

    `seen` are the trials as the policy sees them.
    """
    _require_leaving(policy, posterior)
    nearby: Sequence[Posterior] = (posterior,)
    if isinstance(policy.surrogate, Doubting):
        nearby = policy.surrogate.nearby(seen.dataset, posterior, DRAWS, generator)
    data, arrived = _held(policy, seen, posterior)
    parts = [_require_leaving(policy, each).left_out() for each in nearby]
    found = Predictions.of(parts, scaled=len(parts) > 1 and bool(data.noise.isnan().all()))
    columns = torch.cat([data.x, data.c], dim=1).cpu()
    constant = Predictions.of([constant_left_out(found.observed)], scaled=True)
    plane = Predictions.of([plane_left_out(columns, found.observed)], scaled=True)
    far = outliers(policy.surrogate, data, posterior, LEVEL, generator)
    sizes = found.residuals.abs()
    return ModelCheck(
        trials=_rows(arrived, seen.sign, found),
        coverage=tuple(Coverage(level, int((sizes <= edge(level)).sum()), level * len(sizes)) for level in RANGES),
        explained=_explained(found, constant, ~far),
        explained_linear=_explained(plane, constant, ~far),
        surely=_agree(found, ~far),
        log_score=float(found.log_scores.mean()),
        log_score_constant=float(constant.log_scores.mean()),
        log_score_linear=float(plane.log_scores.mean()),
        outliers=tuple(sorted(trial.id for trial, out in zip(arrived, far.tolist(), strict=True) if out)),
        noise_depends_on=_dependences(seen.space, arrived, sizes.numpy()),
        outcome=seen.outcome,
    )


def _require_enough(call: str, seen: Trials) -> None:
    count, waiting = len(seen.arrived), len(seen.awaiting_context)
    if count < LEAST:
        held = f" ({waiting} more {'lacks' if waiting == 1 else 'lack'} a part of the context)" if waiting else ""
        raise TrialError(
            f"{call}: {counted(count, 'result')} {'has' if count == 1 else 'have'} arrived{held}; a check of the model needs "
            f"at least {LEAST}. Tell {LEAST - count} more."
        )
    values = [float(trial.value) for trial in seen.arrived if trial.value is not None]
    low, high = min(values), max(values)
    if high - low <= CONSTANT * max(abs(low), abs(high)):
        raise TrialError(
            f"{call}: all {count} results are {seen.outcome.text(values[0])}; a check of the model needs results that differ."
        )


def _require_leaving(policy: Policy, posterior: Posterior) -> LeavingOut:
    if not isinstance(posterior, LeavingOut):
        raise IncompatibleError(
            f"study.check: the posterior of {shown(policy.surrogate, 80)} has no left_out(), which predicts each result from "
            "the others; use GaussianProcess(), or add it (docs/extending.md)."
        )
    return posterior


def _held(policy: Policy, seen: Trials, posterior: Posterior) -> tuple[Dataset, tuple[Trial, ...]]:
    """Return the results that the posterior holds: all but those that a surrogate leaves out because they are old."""
    if not isinstance(policy.surrogate, Forgetting):
        return seen.dataset, seen.arrived
    places = policy.surrogate.recent(seen.dataset, posterior)
    if len(places) == len(seen.arrived):
        return seen.dataset, seen.arrived
    if len(places) < LEAST:
        raise TrialError(
            f"study.check: of {counted(len(seen.arrived), 'result')} {len(places)} are recent enough to tell of now; a check "
            f"of the model needs at least {LEAST}. Tell {LEAST - len(places)} more, or use a longer drift."
        )
    return seen.dataset.at(places.to(seen.device)), tuple(seen.arrived[place] for place in places.tolist())


def _rows(arrived: Sequence[Trial], sign: float, found: Predictions) -> tuple[CheckedTrial, ...]:
    """Return the results beside their predictions, by id, in the user's units."""
    ends = [sign * found.quantile(0.5 + side * 0.5 * RANGE) for side in (-1.0, 1.0)]
    columns = (sign * found.mean, *torch.stack(ends).sort(0).values, sign * found.residuals)
    rows = [
        CheckedTrial(trial.id, float(trial.value or 0.0), *numbers)
        for trial, numbers in zip(arrived, torch.stack(columns, dim=1).tolist(), strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: row.id))


def _explained(found: Predictions, constant: Predictions, rows: Tensor) -> float:
    """Return the share of the variation that is predicted over some rows, beside the mean of the others."""
    unit = float((constant.observed - constant.mean)[rows].abs().max())
    if unit == 0.0:  # all but the outliers are the same: nothing is left to explain
        return 0.0
    plain, own = (((each.observed - each.mean)[rows] / unit).square().sum() for each in (constant, found))
    return 1.0 - float(own / plain)


def _agree(found: Predictions, rows: Tensor) -> bool:
    """Whether predictions go up with the results beyond chance; by ranks, for a few large results must not decide it."""
    slope, chance = by_number(found.mean[rows].numpy(), found.observed[rows].numpy())
    return slope > 0.0 and 0.5 * chance < LEVEL


def _dependences(
    space: Space, arrived: Sequence[Trial], sizes: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> dict[str, Value]:
    """Return with which decisions and contexts the sizes of residuals vary beyond chance, and where they are large."""
    parameters = [("decision", *each) for each in space.decision.items()]
    parameters += [("context", *each) for each in space.context.items()]
    found: dict[str, Value] = {}
    for role, name, parameter in parameters:
        values = [getattr(trial, role)[name] for trial in arrived]
        if name in space.circles and role == "context":
            labels, sections = sectioned(parameter, space.circles[name], values)
            group, chance = by_group(sizes, np.array(sections, dtype=np.int64))
            where: Value = "" if group is None else labels[group]
        elif parameter.choices:
            places = np.array([list(parameter.choices).index(value) for value in values], dtype=np.int64)
            group, chance = by_group(sizes, places)
            where = "" if group is None else parameter.choices[group]
        else:
            slope, chance = by_number(sizes, np.array(values, dtype=np.float64))
            where = "high" if slope > 0.0 else "low"
        if chance < LEVEL / len(parameters):
            found[name] = where
    return found
