"""The laws of an objective: a reduction over contexts that does not depend on how they are listed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.objectives.protocol import Bound, Objective, Reduction, Speaking, Speech
from windward.objectives.situation import Situation
from windward.testing.holding import (
    even,
    normal,
    require,
    require_json,
    require_own_randomness,
    require_slope,
    require_turning,
)

# How many contexts: one, two, some.
COUNTS = (1, 2, 7, 12)


def check_objective(objective: Objective, *, heuristic: bool = False, gap: float = 1e-9, seed: int = 0) -> None:
    """Hold an objective to its laws on random contexts and values.

    It reduces values `"*b n"` to `"*b"` in double precision, one decision in a batch as alone; the order of the contexts does
    not matter; if it says that it is `monotone`, raising values never lowers it; its gradient lies between its differences
    on both sides; its ceiling, if it has one, is never below it. Turned twice it is itself, its words are texts, and it goes
    to JSON and back. `heuristic`: it says `monotone` to be used at the confidence bounds, and is not. `gap` is how far its
    values may be off, relative to their size: more for a solver that iterates.

    >>> import windward as ww
    >>> check_objective(ww.CVaR(0.3))
    >>> check_objective(ww.Robust(ww.KullbackLeibler(), 0.1), gap=1e-7)
    """
    require_json(objective)
    require_turning(objective)
    generator = torch.Generator().manual_seed(seed)
    for n in COUNTS:
        case = _drawn(objective, n, gap, generator)
        _check_shapes(case)
        _check_order(case, generator)
        _check_direction(case, heuristic, generator)
        _check_words(case)


@dataclass(frozen=True)
class _Tried:
    objective: Objective
    situation: Situation
    reduction: Reduction
    values: Tensor  # "2 3 n"
    extra: Tensor | None  # slopes, or a lower bound of the values
    gap: float

    def of(self, values: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the objective at values, with what else it needs of the same rows."""
        return self.reduction(values, self.extra if rows is None else rows)

    @property
    def slack(self) -> float:
        return self.gap * (1.0 + float(self.of(self.values).detach().abs().max()))

    def says(self, law: str) -> str:
        contexts = self.situation.contexts
        return f"{self.objective!r} on {len(contexts)} contexts with weights {contexts.weights.tolist()}: {law}"


def _drawn(objective: Objective, n: int, gap: float, generator: torch.Generator) -> _Tried:
    weights = 0.05 + even(generator, n)
    if n > 2:
        weights[1] = 0.0  # a place to which an adversary may move mass
    situation = Situation(Contexts(even(generator, n, 1), weights / weights.sum()), seen=5)
    reduction = require_own_randomness(objective, lambda: objective.bind(situation))
    values, distance = normal(generator, 2, 3, n), 0.1 + even(generator, 2, 3, n)
    extras = {None: None, "slopes": distance, "lower": values - distance}
    require(reduction.extra in extras, f"{objective!r}: its reduction asks for {reduction.extra!r}; see `Reduction`.")
    return _Tried(objective, situation, reduction, values, extras[reduction.extra], gap)


def _check_shapes(case: _Tried) -> None:
    found = require_own_randomness(case.objective, lambda: case.of(case.values))
    shape, wanted = tuple(found.shape), tuple(case.values.shape[:-1])
    require(shape == wanted, case.says(f"values of shape {tuple(case.values.shape)} became {shape}, not {wanted}."))
    require(found.dtype == torch.float64, case.says(f"it gave {found.dtype}, not torch.float64."))
    require(torch.isfinite(found).all(), case.says("it is not finite."))
    for row in range(3):
        extra = None if case.extra is None else case.extra[0, row]
        alone = case.reduction(case.values[0, row], extra)
        require(
            alone.shape == (), case.says(f"the values of one decision became {tuple(alone.shape)}, not one number.")
        )
        near = float((alone - found[0, row]).abs()) <= case.slack
        require(near, case.says(f"{float(alone)!r} for a decision alone, {float(found[0, row])!r} in a batch."))


def _check_order(case: _Tried, generator: torch.Generator) -> None:
    order = torch.randperm(len(case.situation.contexts), generator=generator)
    contexts = case.situation.contexts
    moved = Situation(Contexts(contexts.points[order], contexts.weights[order]), seen=case.situation.seen)
    extra = None if case.extra is None else case.extra[..., order]
    again = case.objective.bind(moved)(case.values[..., order], extra)
    off = float((again - case.of(case.values)).abs().max())
    require(off <= case.slack, case.says(f"contexts in another order move it by {off!r}."))


def _check_direction(case: _Tried, heuristic: bool, generator: torch.Generator) -> None:
    found = case.of(case.values)
    if case.objective.monotone and not heuristic:
        raised = case.values + even(generator, *case.values.shape) * (even(generator, *case.values.shape) > 0.5)
        lower = None if case.reduction.extra != "lower" else case.extra
        fall = float((found - case.of(raised, lower)).max())
        require(fall <= case.slack, case.says(f"it says that it is monotone, and raised values lower it by {fall!r}."))
    along = normal(generator, *case.values.shape)
    require_slope(case.of, case.values, along, case.slack, case.says("the gradient is wrong"))
    if isinstance(case.reduction, Bound) and case.reduction.ceiling is not None:
        above = Bound(case.reduction.ceiling, case.reduction.extra)(case.values, case.extra)
        short = float((found - above).max())
        require(short <= case.slack, case.says(f"its ceiling lies {short!r} below it."))


def _check_words(case: _Tried) -> None:
    objective = case.objective
    if not isinstance(objective, Speaking):  # it is then shown by its class's name, as a score
        return
    for sign in (1.0, -1.0):
        said = objective.sentence(1.25, Speech(case.situation, sign))
        require(isinstance(said, str) and said.endswith("."), case.says(f"its sentence is {said!r}."))
    require(isinstance(objective.title, str) and objective.title, case.says(f"its title is {objective.title!r}."))
    for name, text in (("unprotected", objective.unprotected), ("ambiguity", objective.ambiguity(case.situation))):
        right = text is None or (isinstance(text, str) and text)
        require(right, case.says(f"its {name} is {text!r}; give a text, or None."))
