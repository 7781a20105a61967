"""The suite by which policies for every problem are compared: 59 problems, a half to choose on, one held back, a third part.

A problem is in the half to choose on where the SHA-256 of its name is even; nothing is chosen or tuned on the other half. The
names were written before anything was run. The first 36 left 13 problems to the held half; three more kinds (three contexts,
no context, late values) were then added, whichever half they would fall into. Both halves have been looked at since. The
problems whose names begin with `third-` were written after that and before anything was run on them; they are for a last look.
"""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from windward.bench.problem import Problem
from windward.contexts import Contexts, sobol
from windward.objectives.protocol import Objective

Half: TypeAlias = Literal["choose", "held", "third"]

CHOOSE = (
    "ackley-2-1",
    "ackley-2-4",
    "bakery-recipe",
    "branin-2-2-noisy",
    "dose-late",
    "eggholder",
    "gp-late-2-1",
    "gp-noisy-2-0",
    "gp-noisy-3-1",
    "gp-restless-contexts-2-2",
    "gp-rough-1-1",
    "gp-rough-2-1",
    "gp-wide-8-1",
    "hartmann-5-1",
    "hartmann-5-1-noisy",
    "hartmann-6-0",
    "kiosk",
    "levy",
    "rare-frost",
    "rare-storm",
    "shift-sizes",
    "three-hills-lost",
    "three-humps",
)
HELD = (
    "bid-for-clicks",
    "branin-2-0",
    "branin-2-2",
    "gp-kinds-3-2",
    "gp-slow-contexts-2-2",
    "gp-smooth-1-1",
    "gp-smooth-4-2",
    "gp-three-contexts-2-3",
    "greenhouse",
    "hartmann-complicated",
    "insured-share",
    "newsvendor",
    "newsvendor-late",
    "newsvendor-outliers",
    "portfolio-simulated",
    "ten-dials",
)
THIRD = (
    "third-corner-hills-2-2",
    "third-gp-four-contexts-3-4",
    "third-gp-lost-2-2",
    "third-gp-mixed-3-1",
    "third-gp-noisy-1-2",
    "third-gp-restless-1-1",
    "third-gp-rough-3-1",
    "third-gp-smooth-2-1",
    "third-gp-smooth-3-0",
    "third-gp-unequal-6-1",
    "third-nine-valves",
    "third-one-price",
    "third-rare-flood",
    "third-rastrigin-3-1",
    "third-rosenbrock-4-0",
    "third-schwefel-2-1",
    "third-servers",
    "third-styblinski-4-1",
    "third-two-stocks",
    "third-watering",
)
FIRST = "third-"
# Decisions over which a problem's average is taken.
AVERAGED = 4096


def half(name: str) -> Half:
    """Return which part a problem belongs to.

    >>> half("newsvendor")
    'held'
    """
    if name.startswith(FIRST):
        return "third"
    return "held" if hashlib.sha256(name.encode()).digest()[-1] % 2 else "choose"


def names(part: Half | None = None) -> tuple[str, ...]:
    """Return the problems of a part, or all of them."""
    parts: dict[Half, tuple[str, ...]] = {"choose": CHOOSE, "held": HELD, "third": THIRD}
    return tuple(sorted(CHOOSE + HELD + THIRD)) if part is None else parts[part]


def decisions(problem: Problem, count: int, seed: int = 0) -> Tensor:
    """Return decisions spread evenly over the space, in natural units; `"count d"`."""
    unit = sobol(len(problem.space.decision), count, torch.Generator().manual_seed(seed))
    columns = []
    for u, parameter in zip(unit.unbind(-1), problem.space.decision.values(), strict=True):
        if parameter.choices:
            columns.append((u * len(parameter.choices)).floor())
            continue
        assert parameter.low is not None and parameter.high is not None  # decisions have both: Space checks
        if parameter.step is not None:
            columns.append(float(parameter.low) + (u * (parameter.high - parameter.low + 1)).floor())
            continue
        low, high = parameter.own_bounds()[0]
        own = low + u * (high - low)
        columns.append(own.exp() if parameter.log else own)
    return torch.stack(columns, dim=-1)


def spread(problem: Problem, objective: Objective, contexts: Contexts | None = None, count: int = AVERAGED) -> float:
    """Return the best value less the average over decisions: the unit in which regrets of different problems compare."""
    with torch.no_grad():
        average = float(problem.worth(objective, decisions(problem, count), contexts).mean())
    return problem.optimum(objective, contexts).value - average


def stuck(regret: list[float], advice: float, scale: float) -> bool:
    """Return whether a run got stuck: its last advice, and all of its last twenty rounds, lose over a fifth of the spread."""
    return advice > 0.2 * scale and min(regret[-20:]) > 0.2 * scale
