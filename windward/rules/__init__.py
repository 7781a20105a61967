"""Rules beside the objective: which context to evaluate."""

from windward.rules.contexts import ContextRule, HighestImprovement, MostUncertain, Nature, Uniform

# The parts of this room.
PARTS: tuple[type, ...] = (HighestImprovement, MostUncertain, Nature, Uniform)

__all__ = ["PARTS", "ContextRule", "HighestImprovement", "MostUncertain", "Nature", "Uniform"]
