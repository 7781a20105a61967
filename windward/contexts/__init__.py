"""Weighted context points, and the models that make them from what is known or has been seen."""

from windward.contexts.density import bandwidths, conditional_weights, mixture_quantiles
from windward.contexts.known import Distribution, Known
from windward.contexts.models import Box, Empirical, Grid, KernelDensity, NoContext
from windward.contexts.weighted import ContextModel, Contexts, product, reach, sobol

__all__ = [
    "Box",
    "ContextModel",
    "Contexts",
    "Distribution",
    "Empirical",
    "Grid",
    "KernelDensity",
    "Known",
    "NoContext",
    "bandwidths",
    "conditional_weights",
    "mixture_quantiles",
    "product",
    "reach",
    "sobol",
]
