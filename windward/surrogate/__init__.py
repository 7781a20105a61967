"""The exact Gaussian process: `GaussianProcess` fits, `GaussianPosterior` is what it returns."""

from windward.surrogate.drift import Drifting
from windward.surrogate.fit import GaussianProcess
from windward.surrogate.hyperparameters import Hyperparameters
from windward.surrogate.left_out import LeavingOut, LeftOut
from windward.surrogate.likelihood import Likelihood
from windward.surrogate.of_contexts import StatingKernel, kernel_of_contexts
from windward.surrogate.paths import Path
from windward.surrogate.posterior import GaussianPosterior
from windward.surrogate.protocol import (
    Aging,
    Averaged,
    Believed,
    Comparing,
    Doubting,
    Drafting,
    Forgetting,
    JointlyAveraged,
    Posterior,
    SampledFunction,
    Sketching,
    Start,
    Surrogate,
    Weighing,
    Widening,
    imagining,
)
from windward.surrogate.scaling import SoftClip, Standardize, Unscaled

# The parts of this room.
PARTS: tuple[type, ...] = (GaussianProcess, Hyperparameters, SoftClip, Standardize, Unscaled)

__all__ = [
    "PARTS",
    "Aging",
    "Averaged",
    "Believed",
    "Comparing",
    "Doubting",
    "Drafting",
    "Drifting",
    "Forgetting",
    "GaussianPosterior",
    "GaussianProcess",
    "Hyperparameters",
    "JointlyAveraged",
    "LeavingOut",
    "LeftOut",
    "Likelihood",
    "Path",
    "Posterior",
    "SampledFunction",
    "Sketching",
    "SoftClip",
    "Standardize",
    "Start",
    "StatingKernel",
    "Surrogate",
    "Unscaled",
    "Weighing",
    "Widening",
    "imagining",
    "kernel_of_contexts",
]
