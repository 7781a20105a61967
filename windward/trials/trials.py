"""What was asked and what has come back: `Trial` is one record, `Trials` the immutable collection a policy sees.

A trial has two clocks: its context may be seen before, with or after its value. It trains the surrogate once both are
there; its context trains the context model as soon as it is seen (unless a rule of the policy chose it).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

import torch
from torch import Tensor

from windward.basics import cards
from windward.basics.speech import counted
from windward.space.outcomes import Outcome
from windward.space.space import Roles, Space
from windward.trials.ledger import Ledger
from windward.trials.records import Trial

# The moment of a trial that has none: before all others.
UNKNOWN = datetime.min.replace(tzinfo=UTC)


# Trials that a notebook shows.
MOST_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Ages:
    """How long ago the rounds of some rows were; `"n"` each.

    `trials` count to the coming one, so that the newest is 1; `days` count to the newest of all trials.
    """

    trials: Tensor
    days: Tensor

    def at(self, places: Tensor) -> Ages:
        """Return those of some of the rows."""
        return Ages(self.trials[places], self.days[places])

    def to(self, device: torch.device) -> Ages:
        """Return the same on a device."""
        return Ages(self.trials.to(device), self.days.to(device))


@dataclass(frozen=True)
class Dataset:
    """Observations for a surrogate; `noise` is NaN where it is to be fitted, `floor` set where outcomes are censored.

    `changed` is the last event that said anything of each row; ascending, unless outcomes are censored. `ages` are needed by
    a surrogate whose function changes with time. `told` says which rows hyper-parameters are learnt from; None: from all.
    """

    x: Tensor  # "n d"
    c: Tensor  # "n k"
    y: Tensor  # "n"
    noise: Tensor  # "n"
    roles: Roles
    floor: float | None = None
    changed: tuple[int, ...] | None = None  # "n"
    ages: Ages | None = None  # "n"
    told: Tensor | None = None  # "n", true or false

    @property
    def learnable(self) -> Dataset:
        """The rows that hyper-parameters are learnt from."""
        return self if self.told is None else replace(self.at(self.told.nonzero()[:, 0]), told=None)

    def to(self, device: torch.device) -> Dataset:
        """Return the same on a device."""
        ages = None if self.ages is None else self.ages.to(device)
        x, c, y, noise = (each.to(device) for each in (self.x, self.c, self.y, self.noise))
        told = None if self.told is None else self.told.to(device)
        return replace(self, x=x, c=c, y=y, noise=noise, ages=ages, told=told)

    def first(self, count: int) -> Dataset:
        """Return the first rows."""
        return self.at(torch.arange(count, device=self.y.device))

    def at(self, places: Tensor) -> Dataset:
        """Return some of the rows, `"m"` places."""
        changed = None if self.changed is None else tuple(self.changed[place] for place in places.tolist())
        ages = None if self.ages is None else self.ages.at(places)
        x, c, y, noise = (each[places] for each in (self.x, self.c, self.y, self.noise))
        told = None if self.told is None else self.told[places]
        return replace(self, x=x, c=c, y=y, noise=noise, changed=changed, ages=ages, told=told)


@dataclass(frozen=True)
class Trials:
    """All trials of a study in order of id. `sign` is -1 where the study minimizes: tensors are always to be maximized."""

    space: Space
    rows: Sequence[Trial] = ()
    sign: float = 1.0
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - immutable; where `dataset` is: what is heavy follows it
    outcome: Outcome = Outcome()  # noqa: RUF009 - immutable; what the values are, for people

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.rows)

    def __getitem__(self, id: int) -> Trial:
        return self.ledger[id]

    def __repr__(self) -> str:
        return f"Trials({self.counts()})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the newest trials, and how many there are in each state."""
        names = [*self.space.decision, *self.space.context]
        heads = ["trial", *(self.space.headed(name) for name in names), self.outcome.head, "state"]
        rows = []
        for trial in list(self.rows)[: -MOST_SHOWN - 1 : -1]:
            values = {**trial.decision, **trial.context}
            cells = [self.space.measure(name).bare(values[name]) if name in values else "" for name in names]
            value = "" if trial.value is None else self.outcome.measure.bare(trial.value)
            rows.append([str(trial.id), *cells, value, trial.state])
        more = len(self.rows) - len(rows)
        note = [f"And {counted(more, 'trial')} before these."] if more > 0 else []
        return cards.card(f"Trials: {self.counts()}", cards.table(heads, rows) if rows else "", cards.lines(note))

    @cached_property
    def ledger(self) -> Ledger:
        """The same trials without tensors."""
        return Ledger(self.space, self.rows)

    def counts(self) -> str:
        """Return how many trials are in each state, in words."""
        return self.ledger.counts()

    @property
    def arrived(self) -> tuple[Trial, ...]:
        """Trials with a value and a whole context, in order of arrival: a new one comes last."""
        return self.ledger.arrived

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials without a value that nobody has given up."""
        return self.ledger.pending

    @property
    def lost(self) -> tuple[Trial, ...]:
        """Trials without a value that somebody has given up."""
        return self.ledger.lost

    @property
    def awaiting_context(self) -> tuple[Trial, ...]:
        """Trials whose value is there but whose context is not: they cannot train the surrogate yet."""
        return self.ledger.awaiting_context

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
            ages=self.ages(self.arrived),
        ).to(self.device)

    def ages(self, rows: Sequence[Trial]) -> Ages:
        """Return how long ago the rounds of some trials were, by when they were asked, or by the date of history."""
        trials, days = self._ages
        return Ages(*(torch.tensor([each[row.id] for row in rows], dtype=torch.float64) for each in (trials, days)))

    @cached_property
    def _ages(self) -> tuple[dict[int, float], dict[int, float]]:
        """The ages of all trials by id, in trials and in days; without a date a trial was before all others."""
        moments = {trial.id: _moment(trial) for trial in self.rows}
        newest = max(moments.values(), default=UNKNOWN)
        order = sorted(moments, key=lambda each: (moments[each], each))
        days = {each: (newest - moment).total_seconds() / 86400.0 for each, moment in moments.items()}
        return {each: float(len(order) - place) for place, each in enumerate(order)}, days

    @cached_property
    def seen_contexts(self) -> Tensor:
        """Whole contexts that nature chose, in order of id: what a context model learns from; `"t k"`."""
        return self.space.encode_contexts([trial.context for trial in self.seen_rows])

    @cached_property
    def seen_rows(self) -> tuple[Trial, ...]:
        """The trials of `seen_contexts`, in the same order."""
        return tuple(t for t in self.rows if self.knows_context(t) and t.context_source != "chosen")

    @cached_property
    def seen_ages(self) -> Tensor:
        """How many contexts came after each of `seen_contexts`: those of later rounds; `"t"`."""
        order = sorted(range(len(self.seen_rows)), key=lambda place: (_moment(self.seen_rows[place]), place))
        ages = torch.empty(len(order), dtype=torch.float64)
        ages[order] = torch.arange(len(order) - 1, -1, -1, dtype=torch.float64)
        return ages

    @cached_property
    def seen_days(self) -> Tensor:
        """How many days each of `seen_contexts` is older than the newest; `"t"`."""
        moments = [_moment(trial) for trial in self.seen_rows]
        newest = max(moments, default=UNKNOWN)
        days = [(newest - moment).total_seconds() / 86400.0 for moment in moments]
        return torch.tensor(days, dtype=torch.float64)

    @cached_property
    def seen_given(self) -> Tensor:
        """Which parts of `seen_contexts` were given before the decision, and came as given; `"t k"`."""
        found = torch.zeros(len(self.seen_rows), self.space.context_width, dtype=torch.bool)
        for place, trial in enumerate(self.seen_rows):
            for name, value in (trial.context_planned or {}).items():
                found[place, self.space.context_columns[name]] = trial.context[name] == value
        return found

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
        return self.ledger.knows_context(trial)

    def blind(self) -> Trials:
        """Return the same trials with no context at all, for a method that ignores contexts."""
        rows = tuple(replace(trial, context={}, stand_in=None, context_source=None, forecast={}) for trial in self.rows)
        return Trials(self.space.without_context(), rows, self.sign, self.device, self.outcome)


def _moment(trial: Trial) -> datetime:
    return trial.happened or UNKNOWN
