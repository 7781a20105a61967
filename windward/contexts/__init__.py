"""Weighted context points, and the models that make them from what is known or has been seen."""

from windward.contexts.density import bandwidths, conditional_weights, mixture_quantiles
from windward.contexts.known import Distribution, Known
from windward.contexts.models import Box, Empirical, Grid, KernelDensity, NoContext
from windward.contexts.weighted import ContextModel, Contexts, Foreseeing, Judging, Unknown, product, reach, sobol

# The parts of this room: JSON, the log and the documentation know them from here.
PARTS: tuple[type, ...] = (Box, Distribution, Empirical, Grid, KernelDensity, Known, NoContext)

__all__ = [
    "PARTS",
    "Box",
    "ContextModel",
    "Contexts",
    "Distribution",
    "Empirical",
    "Foreseeing",
    "Grid",
    "Judging",
    "KernelDensity",
    "Known",
    "NoContext",
    "Unknown",
    "bandwidths",
    "conditional_weights",
    "mixture_quantiles",
    "product",
    "reach",
    "sobol",
]
