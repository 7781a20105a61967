"""What was asked and what has come back: `Trial` is one record, `Trials` the immutable collection a policy sees.

A trial has two clocks: its context may be seen before, with or after its value. It trains the surrogate once both are
there; its context trains the context model as soon as it is seen (unless a rule of the policy chose it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from windward.parameters import Value
from windward.space import Roles, Space

ContextSource: TypeAlias = Literal["given", "revealed", "chosen"]
State: TypeAlias = Literal["pending", "told", "lost"]

# What a trial does not show of itself.
EMPTY: tuple[object, ...] = ({}, (), frozenset())


@dataclass(frozen=True)
class Trial:
    """One decision and what is known of its outcome; times are the study's clock.

    `stand_in` is the context imagined for it while its own is not known. `turn` counts the asks before it, `delay` the asks
    between it and its value: 0 where the value came before the next ask.
    """

    id: int
    decision: Mapping[str, Value]
    planned: Mapping[str, Value] | None = None  # what was asked, where something else was done
    context: Mapping[str, Value] = field(default_factory=dict)  # as far as it is known
    context_planned: Mapping[str, Value] | None = None  # given or chosen when it was asked; the context may differ
    context_seen: frozenset[str] = frozenset()  # the names that were seen, not only planned
    context_source: ContextSource | None = None
    stand_in: Mapping[str, Value] | None = None  # imagined when it was asked, for as long as the context is not known
    value: float | None = None
    noise: float | None = None  # standard deviation of the value, where the caller knows it
    set_aside: float | None = None  # a value told without its whole context, of a trial that was given up since
    lost: str | None = None  # the reason, where it was given up; None again once a value counts
    asked_at: datetime | None = None  # None for history that was added
    context_at: datetime | None = None
    told_at: datetime | None = None
    turn: int | None = None  # how many were asked before it; None for history that was added
    delay: int | None = None  # how many were asked after it before its value was told
    note: str | None = None
    tags: tuple[str, ...] = ()
    changed: int = 0  # the last event that said anything of it

    def __repr__(self) -> str:
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        shown = ", ".join(
            f"{name}={value!r}" for name, value in known.items() if value is not None and value not in EMPTY
        )
        return f"Trial({shown})"

    @property
    def state(self) -> State:
        """`"told"` once it has a value that counts, else `"lost"` or `"pending"`."""
        if self.value is not None:
            return "told"
        return "pending" if self.lost is None else "lost"


@dataclass(frozen=True)
class Dataset:
    """Observations for a surrogate; `noise` is NaN where it is to be fitted, `floor` set where outcomes are censored.

    `changed` is the last event that said anything of each row; ascending, unless outcomes are censored.
    """

    x: Tensor  # "n d"
    c: Tensor  # "n k"
    y: Tensor  # "n"
    noise: Tensor  # "n"
    roles: Roles
    floor: float | None = None
    changed: tuple[int, ...] | None = None  # "n"

    def to(self, device: torch.device) -> Dataset:
        """Return the same on a device."""
        return replace(self, x=self.x.to(device), c=self.c.to(device), y=self.y.to(device), noise=self.noise.to(device))

    def first(self, count: int) -> Dataset:
        """Return the first rows."""
        changed = None if self.changed is None else self.changed[:count]
        return replace(
            self, x=self.x[:count], c=self.c[:count], y=self.y[:count], noise=self.noise[:count], changed=changed
        )


@dataclass(frozen=True)
class Trials:
    """All trials of a study in order of id. `sign` is -1 where the study minimizes: tensors are always to be maximized."""

    space: Space
    rows: Sequence[Trial] = ()
    sign: float = 1.0
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - immutable; where `dataset` is: what is heavy follows it

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.rows)

    def __getitem__(self, id: int) -> Trial:
        if not 0 <= id < len(self.rows):
            known = f"ids go from 0 to {len(self.rows) - 1}" if self.rows else "there are none yet"
            raise IndexError(f"no trial {id}; {known}")
        return self.rows[id]

    def __repr__(self) -> str:
        return f"Trials({self.counts()})"

    def counts(self) -> str:
        """Return how many trials are in each state, in words."""
        states = [trial.state for trial in self.rows]
        words = [f"{states.count(state)} {state}" for state in ("told", "pending", "lost")]
        if self.awaiting_context:
            words[0] += f" ({len(self.awaiting_context)} awaiting context)"
        return ", ".join(words)

    @cached_property
    def arrived(self) -> tuple[Trial, ...]:
        """Trials with a value and a whole context, in order of arrival: a new one comes last."""
        complete = [trial for trial in self.rows if trial.value is not None and self.knows_context(trial)]
        return tuple(sorted(complete, key=lambda trial: trial.changed))

    @cached_property
    def pending(self) -> tuple[Trial, ...]:
        """Trials without a value that nobody has given up."""
        return tuple(trial for trial in self.rows if trial.state == "pending")

    @cached_property
    def lost(self) -> tuple[Trial, ...]:
        """Trials without a value that somebody has given up."""
        return tuple(trial for trial in self.rows if trial.state == "lost")

    @cached_property
    def awaiting_context(self) -> tuple[Trial, ...]:
        """Trials whose value is there but whose context is not: they cannot train the surrogate yet."""
        return tuple(trial for trial in self.rows if trial.value is not None and not self.knows_context(trial))

    @cached_property
    def unresolved(self) -> tuple[Trial, ...]:
        """Asked trials that cannot train the surrogate: pending, lost, or awaiting their context."""
        return tuple(
            trial
            for trial in self.rows
            if trial.asked_at is not None and (trial.value is None or not self.knows_context(trial))
        )

    @cached_property
    def imaginable(self) -> tuple[Trial, ...]:
        """Unresolved trials whose context is known or has a stand-in: those whose value can be imagined."""
        return tuple(trial for trial in self.unresolved if self.placeable(trial))

    @cached_property
    def asked(self) -> tuple[Trial, ...]:
        """Trials that were asked, in order: history that was added is not among them."""
        return tuple(trial for trial in self.rows if trial.asked_at is not None)

    @cached_property
    def dataset(self) -> Dataset:
        """What has arrived, as tensors, oriented for maximization; row by row as in `arrived`."""
        values = [trial.value for trial in self.arrived]
        noise = [float("nan") if trial.noise is None else trial.noise for trial in self.arrived]
        return Dataset(
            x=self.decisions(self.arrived),
            c=self.space.encode_contexts([trial.context for trial in self.arrived]),
            y=self.sign * torch.tensor(values, dtype=torch.float64),
            noise=torch.tensor(noise, dtype=torch.float64),
            roles=self.space.roles,
            changed=tuple(trial.changed for trial in self.arrived),
        ).to(self.device)

    @cached_property
    def seen_contexts(self) -> Tensor:
        """Whole contexts that nature chose, in order of id: what a context model learns from; `"t k"`."""
        chosen = [t.context for t in self.rows if self.knows_context(t) and t.context_source != "chosen"]
        return self.space.encode_contexts(chosen)

    @property
    def contexts_seen(self) -> int:
        """How many contexts nature has shown: the t of every schedule."""
        return len(self.seen_contexts)

    def decisions(self, rows: Sequence[Trial]) -> Tensor:
        """Return the decisions of some trials in the unit cube; `"n d"`."""
        if not rows:
            return torch.zeros(0, self.space.decision_width, dtype=torch.float64)
        return self.space.encode_decisions([trial.decision for trial in rows])

    def likely_contexts(self, rows: Sequence[Trial]) -> Tensor:
        """Return the contexts of some trials, the stand-in wherever a part of one is not known yet; `"n k"`."""
        return self.space.encode_contexts([{**(trial.stand_in or {}), **trial.context} for trial in rows])

    def placeable(self, trial: Trial) -> bool:
        """Whether every context parameter of the trial is known, or stood in for."""
        return set(self.space.context) <= {*trial.context, *(trial.stand_in or {})}

    def knows_context(self, trial: Trial) -> bool:
        """Whether every context parameter of the trial is known."""
        return len(trial.context) == len(self.space.context)

    def blind(self) -> Trials:
        """Return the same trials with no context at all, for a method that ignores contexts."""
        rows = tuple(replace(trial, context={}, stand_in=None, context_source=None) for trial in self.rows)
        return Trials(self.space.without_context(), rows, self.sign, self.device)
