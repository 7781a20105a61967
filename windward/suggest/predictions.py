"""Each result predicted from the others, with what is unknown of the hyper-parameters in it: what a check looks at.

Hyper-parameters that were fitted to all results have seen the one that is left out. With thirty results that flatters a model
a good deal: a tenth of mere noise seems to be explained, and ranges that hold 80 % of new results hold 89 % of the old. So
the predictions of many plausible hyper-parameters theta_s are mixed, and each is weighed by how little it owes to the result
that is left out (importance sampling; Gelfand, Dey and Chang 1992):

    p(y_i | others)  =  sum_s w_is p_s(y_i | others),     w_is ~ 1 / p_s(y_i | others)

Mean m_is and variance v_is of p_s are in closed form (`surrogate/left_out.py`), up to the overall scale of the outcomes. That
is estimated from the others too, which makes p_s a Student distribution: with Q_s = y'P_s y of m degrees of freedom and
r_is = (y_i - m_is) / sqrt(v_is), its scale is sqrt(v_is (Q_s - r_is^2) / (m - 1)) and it has m - 1 of them. A single posterior,
of fixed hyper-parameters or of a surrogate that has no others, is taken at its word: a normal distribution.
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
# Scales from a component's centre within which every quantile lies that is asked for.
FARTHEST = 100.0
# The least share of the variance that is noise, as for the process: where the others are all the same, scores are finite.
LEAST_NOISE = 1e-4
# The least probability of a tail: its normal score, 37, is finite.
LEAST = 1e-300


@dataclass(frozen=True)
class Predictions:
    """A mixture for each of `"n"` results: centres and scales `"s n"`, and weights that sum to one; Student, or normal.

    `freedom` are the degrees of freedom, None for a normal.
    """

    observed: Tensor
    means: Tensor
    scales: Tensor
    freedom: int | None
    log_weights: Tensor

    @classmethod
    def of(cls, parts: Sequence[LeftOut], *, scaled: bool = False, seen: bool = True) -> Predictions:
        """Return the mixture of these predictions of the same results.

        `scaled`: the overall scale is estimated from the others. `seen`: the hyper-parameters have seen the results.
        """
        observed = parts[0].observed.cpu()
        means, scales = (
            torch.stack([each.cpu() for each in column])
            for column in ([part.mean for part in parts], [part.std for part in parts])
        )
        freedom = None
        if scaled:
            freedom = parts[0].degrees - 1
            totals = torch.tensor([[part.total] for part in parts], dtype=means.dtype)
            others = (totals - ((observed - means) / scales).square()) / freedom
            scales = scales * torch.maximum(others, LEAST_NOISE * totals / parts[0].degrees).sqrt()
        even = torch.zeros_like(means)
        log_weights = -_log_density(observed, means, scales, freedom) if seen else even
        return cls(observed, means, scales, freedom, torch.log_softmax(log_weights, 0))

    @cached_property
    def mean(self) -> Tensor:
        """The predicted means; `"n"`."""
        return (self.log_weights.exp() * self.means).sum(0)

    @cached_property
    def log_scores(self) -> Tensor:
        """The log density of each result by its prediction; `"n"`."""
        density = _log_density(self.observed, self.means, self.scales, self.freedom)
        return torch.logsumexp(self.log_weights + density, 0)

    @cached_property
    def residuals(self) -> Tensor:
        """The results as normal scores: how many deviations from its prediction each lies, were that normal; `"n"`."""
        from scipy.special import ndtri, ndtri_exp

        z = (self.observed - self.means) / self.scales
        if self.freedom is None:
            below, above = (torch.logsumexp(self.log_weights + torch.special.log_ndtr(side), 0) for side in (z, -z))
            return torch.from_numpy(np.where(below < above, ndtri_exp(below.numpy()), -ndtri_exp(above.numpy())))
        under, over = (self._share(side).clamp_min(LEAST) for side in (z, -z))
        return torch.from_numpy(np.where(under < over, ndtri(under.numpy()), -ndtri(over.numpy())))

    def quantile(self, level: float) -> Tensor:
        """Return this quantile of each prediction, by halving; `"n"`."""
        low, high = (self.means - FARTHEST * self.scales).amin(0), (self.means + FARTHEST * self.scales).amax(0)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            under = self._share((middle - self.means) / self.scales) < level
            low, high = torch.where(under, middle, low), torch.where(under, high, middle)
        return 0.5 * (low + high)

    def _share(self, z: Tensor) -> Tensor:
        """Return the probability below places given in each component's scale; `"s n"` to `"n"`."""
        from scipy.special import stdtr

        each = torch.special.ndtr(z) if self.freedom is None else torch.from_numpy(stdtr(self.freedom, z.numpy()))
        return (self.log_weights.exp() * each).sum(0)


def studentized(left: LeftOut) -> tuple[Tensor, int]:
    """Return the residuals with the overall scale estimated without each, and their degrees of freedom.

    They have a Student distribution where results are as the model says, whatever their scale. Where the others are closer
    than the model expects the scale counts as one: among results that fit nearly exactly, one that fits less well is no
    outlier.
    """
    residuals = ((left.observed - left.mean) / left.std).cpu()
    freedom = left.degrees - 1
    others = (left.total - residuals.square()) / freedom
    return residuals / others.clamp_min(1.0).sqrt(), freedom


def _log_density(at: Tensor, means: Tensor, scales: Tensor, freedom: int | None) -> Tensor:
    z = (at - means) / scales
    if freedom is None:
        return -0.5 * z.square() - scales.log() - 0.5 * math.log(2.0 * math.pi)
    half = 0.5 * (freedom + 1)
    constant = math.lgamma(half) - math.lgamma(0.5 * freedom) - 0.5 * math.log(freedom * math.pi)
    return constant - scales.log() - half * (z.square() / freedom).log1p()
