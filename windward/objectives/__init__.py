"""What a decision is worth over the contexts: an objective binds to contexts and becomes a reduction over the last axis.

    Expected()                          p.f                                   stochastic optimization
    Minimum()                           min_i f_i                             robust optimization
    Robust(divergence, radius)          v(r) = min q.f over d(q, p) <= r      distributionally robust
    LipschitzRobust(radius)             p.f - r max_i |grad_c f_i|            Wasserstein by a Lipschitz bound
    Tradeoff(divergence, radius, a, b)  a v(r) - b s(r),  s(r) = -v'(r+)      Tay2024's general objective
    Sensitivity(divergence)             -s(0)                                 worst-case sensitivity
    MeanRisk(divergence, weight)        p.f - weight s(0)
    MeanVariance(weight)                p.f - weight sqrt(Var_p f / n)
    Satisficing(divergence, target)     min(0, inf_r (v(r) - target) / r)     robust satisficing
    VaR(tail), CVaR(tail)               quantile, and mean of the lower tail

The gradient of a monotone reduction in the values is the distribution it guards against: the adversary's weights.
"""

from windward.objectives.confidence import Confidence
from windward.objectives.heuristics import BocuOne, BocuTwo, MidpointRobust
from windward.objectives.plain import CVaR, Expected, MeanVariance, Minimum, VaR
from windward.objectives.protocol import Bound, Objective, Reduction
from windward.objectives.radii import Decay, KernelRate, KirschnerRate, MicheliRate
from windward.objectives.robust import LipschitzRobust, MeanRisk, Robust, Sensitivity, Tradeoff
from windward.objectives.satisficing import Satisficing

# The parts of this room.
PARTS: tuple[type, ...] = (
    BocuOne,
    BocuTwo,
    CVaR,
    Confidence,
    Decay,
    Expected,
    KernelRate,
    KirschnerRate,
    LipschitzRobust,
    MeanRisk,
    MeanVariance,
    MicheliRate,
    MidpointRobust,
    Minimum,
    Robust,
    Satisficing,
    Sensitivity,
    Tradeoff,
    VaR,
)

__all__ = [
    "PARTS",
    "BocuOne",
    "BocuTwo",
    "Bound",
    "CVaR",
    "Confidence",
    "Decay",
    "Expected",
    "KernelRate",
    "KirschnerRate",
    "LipschitzRobust",
    "MeanRisk",
    "MeanVariance",
    "MicheliRate",
    "MidpointRobust",
    "Minimum",
    "Objective",
    "Reduction",
    "Robust",
    "Satisficing",
    "Sensitivity",
    "Tradeoff",
    "VaR",
]
