"""The fitted process's kernel between contexts, for distances between distributions that are measured by it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.surrogate.hyperparameters import Hyperparameters, Inputs
from windward.surrogate.kernel import KernelName, product_value, squared_distances


@runtime_checkable
class StatingKernel(Protocol):
    """A posterior that says by which kernel it was fitted, and with what."""

    @property
    def kernel(self) -> KernelName: ...

    @property
    def hyperparameters(self) -> Hyperparameters: ...

    @property
    def inputs(self) -> Inputs: ...


def kernel_of_contexts(posterior: StatingKernel, points: Tensor) -> Tensor:
    """Return the prior covariance between contexts `"n k"` at one decision, for outcomes in the fit's scale; `"n n"`."""
    z = posterior.inputs.c(points)
    s = squared_distances(z, z).fill_diagonal_(0.0)
    found = posterior.hyperparameters
    return found.amplitude * product_value(posterior.kernel, torch.zeros_like(s), s, found.shares)
