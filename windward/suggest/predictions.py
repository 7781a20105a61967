"""Each result predicted from the others, with what is unknown of the hyper-parameters in it: what a check looks at.

Hyper-parameters that were fitted to all results have seen the one that is left out. With thirty results that flatters a model a
good deal, so the predictions of many plausible hyper-parameters theta_s are mixed, and each is weighed by how little it owes to
the result that is left out (importance sampling; Gelfand, Dey and Chang 1992):

    p(y_i | others)  =  sum_s w_is N(y_i; m_is, v_is),     w_is ~ 1 / N(y_i; m_is, v_is)

with m_is and v_is in closed form (`surrogate/left_out.py`). A single posterior, of fixed hyper-parameters or of a surrogate that
has no others, is mixed with nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from windward.surrogate import LeftOut

# Halvings of the bracket around a quantile: from tens of deviations to rounding.
HALVINGS = 60
# Deviations from a component's mean within which every quantile lies that is asked for.
FARTHEST = 10.0


@dataclass(frozen=True)
class Predictions:
    """Mixtures of normals, one for each of `"n"` results: `means` and `stds` `"s n"`, with weights that sum to one."""

    observed: Tensor
    means: Tensor
    stds: Tensor
    log_weights: Tensor

    @classmethod
    def of(cls, parts: Sequence[LeftOut]) -> Predictions:
        """Return the mixture of these predictions of the same results."""
        observed = parts[0].observed.cpu()
        means, stds = torch.stack([part.mean.cpu() for part in parts]), torch.stack([part.std.cpu() for part in parts])
        return cls(observed, means, stds, torch.log_softmax(-_log_density(observed, means, stds), 0))

    @cached_property
    def mean(self) -> Tensor:
        """The predicted means; `"n"`."""
        return (self.log_weights.exp() * self.means).sum(0)

    @cached_property
    def log_scores(self) -> Tensor:
        """The log density of each result by its prediction; `"n"`."""
        return torch.logsumexp(self.log_weights + _log_density(self.observed, self.means, self.stds), 0)

    @cached_property
    def residuals(self) -> Tensor:
        """The results as normal scores: how many deviations from its prediction each lies, were that normal; `"n"`."""
        from scipy.special import ndtri_exp

        z = (self.observed - self.means) / self.stds
        below, above = (
            torch.logsumexp(self.log_weights + torch.special.log_ndtr(side), 0).numpy() for side in (z, -z)
        )
        return torch.from_numpy(np.where(below < above, ndtri_exp(below), -ndtri_exp(above)))

    def quantile(self, level: float) -> Tensor:
        """Return this quantile of each prediction, by halving; `"n"`."""
        low, high = (self.means - FARTHEST * self.stds).amin(0), (self.means + FARTHEST * self.stds).amax(0)
        weights = self.log_weights.exp()
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            under = (weights * torch.special.ndtr((middle - self.means) / self.stds)).sum(0) < level
            low, high = torch.where(under, middle, low), torch.where(under, high, middle)
        return 0.5 * (low + high)


def studentized(left: LeftOut) -> tuple[Tensor, int]:
    """Return the residuals with the overall scale estimated without each, and their degrees of freedom.

    They have a Student distribution where results are as the model says, whatever their scale: sqrt((y'Py - r_i^2) / (m - 1)) is
    the scale of the others, in units of what the model expects. Where those are closer than expected it counts as one: among
    results that fit nearly exactly, one that fits less well is no outlier.
    """
    residuals = ((left.observed - left.mean) / left.std).cpu()
    freedom = left.degrees - 1
    others = (left.total - residuals.square()) / freedom
    return residuals / others.clamp_min(1.0).sqrt(), freedom


def _log_density(at: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    return -0.5 * ((at - means) / stds).square() - stds.log() - 0.5 * math.log(2.0 * math.pi)
