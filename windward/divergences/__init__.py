"""Distances between distributions on contexts, each with its worst case: exact, batched, differentiable.

Conventions of the radii: total variation is the full L1 norm (0 to 2), chi-square is 1/2 sum p (q/p - 1)^2,
Kullback-Leibler is in nats, MMD is the kernel norm itself (not squared), Wasserstein is of type 1, Euclidean.
"""

from windward.divergences.chi_square import ChiSquare
from windward.divergences.kullback_leibler import KullbackLeibler
from windward.divergences.mmd import MMD
from windward.divergences.total_variation import TotalVariation
from windward.divergences.wasserstein import Wasserstein
from windward.divergences.worst_case import (
    AroundEach,
    Ball,
    Divergence,
    DraftingBall,
    KernelOfContexts,
    OfTheProcess,
    Saying,
    Screening,
    WorstCase,
    farther,
    in_words,
    radius_of_all,
)

# What is shown for an objective without a divergence of its own: its radius is a share of the cases, which anybody can read.
IN_SHARES: Divergence = TotalVariation()

# The parts of this room.
PARTS: tuple[type, ...] = (MMD, ChiSquare, KullbackLeibler, TotalVariation, Wasserstein)

__all__ = [
    "IN_SHARES",
    "MMD",
    "PARTS",
    "AroundEach",
    "Ball",
    "ChiSquare",
    "Divergence",
    "DraftingBall",
    "KernelOfContexts",
    "KullbackLeibler",
    "OfTheProcess",
    "Saying",
    "Screening",
    "TotalVariation",
    "Wasserstein",
    "WorstCase",
    "farther",
    "in_words",
    "radius_of_all",
]
