"""Rules beside the objective: which context to evaluate, and where the next decision may be."""

from windward.rules.contexts import ContextRule, HighestImprovement, MostUncertain, Nature, Uniform
from windward.rules.floor import Floor
from windward.rules.guards import Guard, Guards, LargestStep, NoGuard

# The parts of this room.
PARTS: tuple[type, ...] = (
    Floor,
    Guards,
    HighestImprovement,
    LargestStep,
    MostUncertain,
    Nature,
    NoGuard,
    Uniform,
)

__all__ = [
    "PARTS",
    "ContextRule",
    "Floor",
    "Guard",
    "Guards",
    "HighestImprovement",
    "LargestStep",
    "MostUncertain",
    "Nature",
    "NoGuard",
    "Uniform",
]
