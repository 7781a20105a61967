"""How a posterior stands in for the unknown function: the beliefs, their scores, widths from theory."""

from windward.beliefs.beliefs import Belief, ExpectedImprovement, PosteriorMean, Reported, Thompson, UpperConfidence
from windward.beliefs.overall import OverallConfidence
from windward.beliefs.widths import DelayedWidth, HuangWidth, MicheliWidth, VermaWidth, Wider

# The parts of this room.
PARTS: tuple[type, ...] = (
    DelayedWidth,
    ExpectedImprovement,
    HuangWidth,
    MicheliWidth,
    OverallConfidence,
    PosteriorMean,
    Thompson,
    UpperConfidence,
    VermaWidth,
    Wider,
)

__all__ = [
    "PARTS",
    "Belief",
    "DelayedWidth",
    "ExpectedImprovement",
    "HuangWidth",
    "MicheliWidth",
    "OverallConfidence",
    "PosteriorMean",
    "Reported",
    "Thompson",
    "UpperConfidence",
    "VermaWidth",
    "Wider",
]
