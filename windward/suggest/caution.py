"""A careful recommendation: the objective at the posterior mean, less k deviations of what is unknown of f.

    m(x) - k s(x),   s(x)^2 = q' S(x) q

S(x) is the posterior covariance of f over the contexts at x. q is the gradient of the objective in the values: the weights
of an expectation, the adversary of a worst case. To first order s is then the deviation of the objective itself.
"""

from __future__ import annotations

import torch
from torch import Tensor

from windward.basics.errors import IncompatibleError
from windward.basics.speech import shown
from windward.beliefs.scores import length
from windward.objectives.protocol import Averaging, Objective, Reduction
from windward.objectives.situation import Situation
from windward.search.acquisition import Acquisition
from windward.surrogate import Weighing


def careful(caution: float, objective: Objective, situation: Situation, reduction: Reduction) -> Acquisition:
    """Return the objective less `caution` deviations, as what a search maximizes."""
    posterior, contexts, device = situation.posterior, situation.contexts, situation.trials.device
    if isinstance(objective, Averaging):

        def averaged(x: Tensor) -> Tensor:
            mean, deviation = posterior.average(x.to(device), contexts)
            return (mean - caution * deviation).to(x.device)

        return Acquisition(averaged)
    if not isinstance(posterior, Weighing):
        raise IncompatibleError(
            f"Report(caution={caution:g}): {shown(posterior)} does not know the deviation of {shown(objective)}; use "
            "Report(caution=0)."
        )

    def guarded(x: Tensor) -> Tensor:
        at = x.to(device)
        values = posterior.means(at, contexts.points)
        # One answer of an adversary serves the value and its gradient: each may take a tenth of a second.
        held = values if values.requires_grad else values.detach().requires_grad_()
        with torch.enable_grad():
            value = reduction(held, _extra(at, held, situation, reduction))
            (pull,) = torch.autograd.grad(value.sum(), held, retain_graph=values.requires_grad)
        value = value if values.requires_grad else value.detach()
        return (value - caution * posterior.weighted_deviation(at, contexts.points, pull)).to(x.device)

    return Acquisition(guarded)


def _extra(x: Tensor, values: Tensor, situation: Situation, reduction: Reduction) -> Tensor | None:
    """Return what a reduction asks for beside values."""
    if reduction.extra == "lower":
        return values
    if reduction.extra == "slopes":
        contexts = situation.contexts
        return length(situation.posterior.context_slopes(x, contexts.points).mean_gradient, contexts)
    return None
