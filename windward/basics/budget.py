"""How much memory a policy needs, counted before anything is allocated.

Parts answer for themselves; this module adds their answers up and compares them with a budget.

    context_model.most_points(space, seen)   how many contexts it makes at most
    maximize.most_decisions(space)           how many decisions it holds at once at most
    part.cost(sizes)                         what a context model, divergence, belief or surrogate allocates at those sizes
    part.lowered(space, seen, most)          how to write it so that it makes at most `most`

A part without an answer is not counted. The counts are measured for a processor (see docs/scaling.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from windward.basics.errors import ArgumentError

if TYPE_CHECKING:
    import torch

    from windward.space import Space

# The budget of a study, in bytes, unless it is given one.
DEFAULT = 4 * 2**30
# Numbers at once in what is worked on in parts (32 MiB): with many contexts the whole would not fit the memory.
BLOCK = 2**22
# Decisions by contexts by observations whose gradient is taken at once (128 MiB, and a few copies); beyond, fewer decisions.
CLIMBED = 2**24
# Every number is in double precision.
BYTES = 8
# Numbers that go with each context beside its columns: weights, values, and what a recommendation hands out.
BESIDE = 16


@dataclass(frozen=True)
class Sizes:
    """What a suggestion or a recommendation is made of, in counts."""

    points: int  # contexts
    seen: int  # contexts that the world has shown
    columns: int  # of a context
    decisions: int  # that a search holds at once
    width: int  # columns of a decision
    observations: int
    samples: int = 0  # posterior samples behind an interval; none for a suggestion
    draws: bool = False  # a posterior sample as a function is drawn
    slopes: bool = False  # slopes in the context are asked for


class Need(NamedTuple):
    """Numbers that a part allocates; `product` is how they come about, with the sizes in words."""

    what: str
    numbers: int
    product: str = ""
    by: str = "contexts"  # or "decisions", "observations": what to lower first

    @property
    def bytes(self) -> int:
        """The same in bytes."""
        return BYTES * self.numbers


@runtime_checkable
class Counting(Protocol):
    """A context model that says how many contexts it makes at most."""

    def most_points(self, space: Space, seen: int) -> int: ...


@runtime_checkable
class Evaluating(Protocol):
    """A maximizer that says how many decisions it holds at once at most."""

    def most_decisions(self, space: Space) -> int: ...


@runtime_checkable
class Costing(Protocol):
    """A part that says what it allocates."""

    def cost(self, sizes: Sizes) -> Sequence[Need]: ...


@runtime_checkable
class Lowering(Protocol):
    """A part that says how to write it smaller: with at most `most` contexts or decisions; None where it cannot."""

    def lowered(self, space: Space, seen: int, most: int) -> str | None: ...


@runtime_checkable
class Drawing(Protocol):
    """A belief that says whether it draws a posterior sample as a function."""

    @property
    def draws(self) -> bool: ...


@runtime_checkable
class Needing(Protocol):
    """An objective that says what it needs beside values, such as "slopes"."""

    @property
    def needs(self) -> str | None: ...


@runtime_checkable
class Guarding(Protocol):
    """An objective with a divergence."""

    @property
    def divergence(self) -> object: ...


class Choices(Protocol):
    """The parts of a policy that take memory."""

    @property
    def context_model(self) -> object: ...
    @property
    def objective(self) -> object: ...
    @property
    def belief(self) -> object: ...
    @property
    def surrogate(self) -> object: ...
    @property
    def maximize(self) -> object: ...


def of(device: torch.device) -> int:
    """Return the budget of a device in bytes: all that another device than the processor has.

    On the processor, which others use too, it is 4 GiB, or WINDWARD_MEMORY in MiB.
    """
    if device.type == "cuda":
        import torch

        return int(torch.cuda.get_device_properties(device).total_memory)
    given = os.environ.get("WINDWARD_MEMORY")
    if given is None:
        return DEFAULT
    if not given.isascii() or not given.isdigit() or not 0 < len(given) <= 9 or int(given) == 0:
        raise ArgumentError(f"WINDWARD_MEMORY={given[:60]!r}: give a whole number of MiB, such as 8192.")
    return int(given) * 2**20


def sizes_of(
    policy: Choices, space: Space, *, seen: int, observations: int, samples: int = 0, given: bool = False
) -> Sizes:
    """Return the sizes of a suggestion, or of a recommendation by `samples`; `given`: the whole context is given."""
    model, search, needs = policy.context_model, policy.maximize, policy.objective
    slopes = isinstance(needs, Needing) and needs.needs == "slopes"
    return Sizes(
        points=model.most_points(space, seen) if isinstance(model, Counting) and not given else 1,
        seen=seen,
        columns=space.context_width,
        decisions=search.most_decisions(space) if isinstance(search, Evaluating) else 1,
        width=space.decision_width,
        observations=observations,
        samples=samples,
        draws=(isinstance(policy.belief, Drawing) and policy.belief.draws) or (slopes and samples > 0),
        slopes=slopes,
    )


def needs_of(policy: Choices, sizes: Sizes) -> list[Need]:
    """Return what a policy allocates at these sizes, part by part."""
    points, decisions = sizes.points, sizes.decisions
    needs = [
        Need(
            "the contexts themselves",
            4 * points * (sizes.columns + BESIDE),
            f"4 x {points:,} contexts x {sizes.columns + BESIDE:,} columns",
        ),
        Need(
            "the decisions of a search",
            5 * decisions * sizes.width,
            f"5 x {decisions:,} decisions x {sizes.width:,} columns",
            by="decisions",
        ),
    ]
    guarded = policy.objective.divergence if isinstance(policy.objective, Guarding) else None
    for part in (policy.context_model, guarded, policy.belief, policy.surrogate):
        if isinstance(part, Costing):
            needs += part.cost(sizes)
    return needs


def check(
    policy: Choices,
    space: Space,
    sizes: Iterable[Sizes],
    memory: int,
    also: Sequence[tuple[Choices, Sizes]] = (),
) -> None:
    """Raise `ArgumentError` where what the policy needs at any of these sizes is more than `memory`, in bytes.

    `also`: what must fit too once the advice of the error is followed.
    """
    for each in sizes:
        if total(needs_of(policy, each)) > memory:
            raise ArgumentError(_refusal(policy, space, each, memory, also))


def total(needs: Iterable[Need]) -> int:
    """Return the sum in bytes."""
    return sum(need.bytes for need in needs)


def _refusal(policy: Choices, space: Space, sizes: Sizes, memory: int, also: Sequence[tuple[Choices, Sizes]]) -> str:
    needs = needs_of(policy, sizes)
    largest = max(needs, key=lambda need: need.numbers)
    product = f"{largest.product} x {BYTES} bytes = " if largest.product else ""
    part = policy.maximize if largest.by == "decisions" else policy.context_model

    def smaller(counts: Sizes, most: int) -> Sizes:
        return replace(counts, decisions=most) if largest.by == "decisions" else replace(counts, points=most)

    def fits(most: int) -> bool:
        return all(total(needs_of(each, smaller(counts, most))) <= memory for each, counts in ((policy, sizes), *also))

    most = _largest(fits, sizes.decisions if largest.by == "decisions" else sizes.points)
    advice = None
    if largest.by != "observations" and most and isinstance(part, Lowering):
        advice = part.lowered(space, sizes.seen, most)
    return (
        f"this takes {said(total(needs))} of memory, the budget is {said(memory)}. The most is for {largest.what}: "
        f"{product}{said(largest.bytes)}. "
        + (f"{part!r:.80}: {advice}, or allow more memory: " if advice else "Allow more memory: ")
        + "Study(memory=...) in bytes, WINDWARD_MEMORY in MiB, or windward serve --memory."
    )


def _largest(fits: Callable[[int], bool], beyond: int) -> int:
    """Return the largest whole number below `beyond` that fits, 0 where none does; smaller ones need less."""
    low, high = 0, beyond
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def said(size: int) -> str:
    """Return a size in bytes as a person reads it."""
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB")):
        if size >= unit:
            return f"{size / unit:,.3g} {name}" if size < 1000 * unit else f"{size // unit:,} {name}"
    return f"{size:,} bytes"
