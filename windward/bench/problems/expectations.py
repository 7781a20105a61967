"""Problems of Huang2024 (App. B.2) and Micheli2025 (Sec. 5 and 9): decisions judged by their expectation.

Contexts are normal and clipped to [0, 1], both for the function and for what the learner sees. Names that end in `-wide` have
Micheli2025's standard deviation 0.2 where Huang2024's is 0.15 (Ackley) or 0.1. Nothing is noisy.

Largest error of an expectation over some sixty decisions, against quadratures with ten times the nodes or more: below 1e-6
for one and two contexts. Four contexts (`ackley-2-4`) have 2^14 scrambled Sobol points: 4e-4, of values near -20.
"""

from __future__ import annotations

import torch
from torch import Tensor

from windward.bench import laws
from windward.bench.problem import Problem
from windward.bench.problems import functions
from windward.bench.problems.registry import Data, register
from windward.contexts import Contexts
from windward.space.parameters import Real
from windward.space.space import Space


def unit_space(decisions: int, contexts: int) -> Space:
    """Return decisions x1, x2, ... and contexts c1, c2, ... in [0, 1]; a single one has no number."""
    return Space(
        decision={name: Real(0, 1) for name in numbered("x", decisions)},
        context={name: Real(0, 1) for name in numbered("c", contexts)},
    )


def numbered(letter: str, count: int) -> list[str]:
    """Return the letter, or the letter with 1 to `count`."""
    return [letter] if count == 1 else [f"{letter}{index + 1}" for index in range(count)]


def ackley(name: str, decisions: int, sd: float) -> Problem:
    """Return minus Ackley with one context. The paper prints it without the minus of the first term."""
    law = laws.normal(0.5, sd)
    # Two panels to each of the 65 waves, one of them ending at 0.5, where the ridge of the best decisions has its edge.
    return Problem(
        name=name,
        space=unit_space(decisions, 1),
        value=lambda x, c: -functions.ackley(x, c),
        truth=laws.every([laws.rule(law, 0.0, 1.0, 132, order=12)]),
        draw=laws.clipped_draw([law], 0.0, 1.0),
    )


@register("ackley-2-1")
def _ackley_2_1(seed: int, data: Data) -> Problem:
    return ackley("ackley-2-1", 2, 0.15)


@register("ackley-2-1-wide")
def _ackley_2_1_wide(seed: int, data: Data) -> Problem:
    return ackley("ackley-2-1-wide", 2, 0.2)


@register("ackley-1-1-wide")
def _ackley_1_1_wide(seed: int, data: Data) -> Problem:
    """One decision: what the captions of Micheli2025's tables of times say, though Huang2024's Ackley has two."""
    return ackley("ackley-1-1-wide", 1, 0.2)


@register("ackley-2-4")
def _ackley_2_4(seed: int, data: Data) -> Problem:
    law = laws.normal(0.5, 0.15)
    return Problem(
        name="ackley-2-4",
        space=unit_space(2, 4),
        value=lambda x, c: -functions.ackley(x, c),
        truth=laws.quasi(0.5, 0.15, 0.0, 1.0, width=4, count=2**14),
        draw=laws.clipped_draw([law] * 4, 0.0, 1.0),
    )


def branin(name: str, sd: float) -> Problem:
    """Return the modified Branin, -sqrt(h(15 x1 - 5, 15 c1) h(15 c2 - 5, 15 x2))."""

    def value(x: Tensor, c: Tensor) -> Tensor:
        first = functions.branin(15.0 * x[..., 0] - 5.0, 15.0 * c[..., 0])
        second = functions.branin(15.0 * c[..., 1] - 5.0, 15.0 * x[..., 1])
        return -(first * second).sqrt()

    law = laws.normal(0.5, sd)
    return Problem(
        name=name,
        space=unit_space(2, 2),
        value=value,
        # One panel of many nodes: the root is smooth, though sharp (its width is 0.04), and this converges fastest.
        truth=laws.every([laws.rule(law, 0.0, 1.0, 1, order=128, stretch=0.95)] * 2),
        draw=laws.clipped_draw([law] * 2, 0.0, 1.0),
    )


@register("branin-2-2")
def _branin_2_2(seed: int, data: Data) -> Problem:
    return branin("branin-2-2", 0.1)


@register("branin-2-2-wide")
def _branin_2_2_wide(seed: int, data: Data) -> Problem:
    return branin("branin-2-2-wide", 0.2)


def hartmann(name: str, law: laws.Law, panels: int) -> Problem:
    """Return Hartmann-6 with its last input as context. The second height is 1.2; the paper's 2.0 is a misprint."""
    return Problem(
        name=name,
        space=unit_space(5, 1),
        value=lambda x, c: functions.hartmann(x, c, functions.RATES_6, functions.PLACES_6),
        truth=laws.every([laws.rule(law, 0.0, 1.0, panels)]),
        draw=laws.clipped_draw([law], 0.0, 1.0),
    )


@register("hartmann-5-1")
def _hartmann_5_1(seed: int, data: Data) -> Problem:
    return hartmann("hartmann-5-1", laws.normal(0.5, 0.1), 16)


@register("hartmann-5-1-wide")
def _hartmann_5_1_wide(seed: int, data: Data) -> Problem:
    return hartmann("hartmann-5-1-wide", laws.normal(0.5, 0.2), 16)


def complicated() -> laws.Law:
    """Return the mixture of six normals and two Cauchys of the Complicated Hartmann."""
    normals = [(0.1, 0.02), (0.3, 0.075), (0.4, 0.1), (0.5, 0.1), (0.7, 0.075), (0.8, 0.03)]
    heavy = [(0.2, 0.02), (0.8, 0.02)]
    return laws.mixture([laws.normal(*n) for n in normals] + [laws.cauchy(*n) for n in heavy])


@register("hartmann-complicated")
def _hartmann_complicated(seed: int, data: Data) -> Problem:
    return hartmann("hartmann-complicated", complicated(), 64)


@register("newsvendor")
def _newsvendor(seed: int, data: Data) -> Problem:
    """9 min(x, c) + max(0, x - c) - 5 x, demand Burr XII(2, 20). Its kink moves with x, so the panels are many."""
    law = laws.burr(2.0, 20.0)

    def value(x: Tensor, c: Tensor) -> Tensor:
        order, demand = x[..., 0], c[..., 0]
        # min and max by one difference: it takes the table once, and its gradient is that of the formula.
        return 4.0 * order - 8.0 * (order - demand).clamp_min(0.0)

    return Problem(
        name="newsvendor",
        space=Space(decision={"order": Real(0, 1)}, context={"demand": Real(0, 1)}),
        value=value,
        truth=laws.every([laws.rule(law, 0.0, 1.0, 512)]),
        draw=laws.clipped_draw([law], 0.0, 1.0),
    )


@register("three-humps")
def _three_humps(seed: int, data: Data) -> Problem:
    law = laws.uniform(-1.0, 1.0)
    return Problem(
        name="three-humps",
        space=Space(decision={"x": Real(-1, 1)}, context={"c": Real(-1, 1)}),
        value=lambda x, c: -functions.three_humps(x[..., 0], c[..., 0]),
        truth=laws.every([laws.rule(law, -1.0, 1.0, 16)]),
        draw=laws.clipped_draw([law], -1.0, 1.0),
    )


@register("micheli-general")
def _micheli_general(seed: int, data: Data) -> Problem:
    """Micheli2025's Fig. 1: the learner is told N(0.5, 0.1^2) where contexts follow N(0.6, 0.2^2).

    The second numbers are read as standard deviations. The domain of x is not printed: [-1, 1] here. Contexts are not
    clipped; [0, 1] is where an adversary may put mass.
    """

    def value(x: Tensor, c: Tensor) -> Tensor:
        size = x[..., 0].abs()
        return 1.0 - (c[..., 0] - 0.5).abs() / (size + 0.2) - (size + 0.05).sqrt()

    return Problem(
        name="micheli-general",
        space=Space(decision={"x": Real(-1, 1)}, context={"c": Real(0, 1)}),
        value=value,
        truth=_whole_normal(0.6, 0.2),
        draw=laws.clipped_draw([laws.normal(0.6, 0.2)], -torch.inf, torch.inf),
        reference=_whole_normal(0.5, 0.1),
    )


def _whole_normal(mean: float, sd: float) -> Contexts:
    # Eight deviations on each side leave out 1e-15 of the mass; the function has its kink at 0.5.
    return laws.every([laws.rule(laws.normal(mean, sd), mean - 8.0 * sd, mean + 8.0 * sd, 32, breaks=[0.5])])
