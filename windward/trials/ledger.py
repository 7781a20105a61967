"""The trials of a study in order of id, sorted by what has come back of each: no tensors, no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from windward.space.space import Space
from windward.trials.records import Trial


@dataclass(frozen=True)
class Ledger:
    """All trials of a study in order of id."""

    space: Space
    rows: Sequence[Trial] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.rows)

    def __getitem__(self, id: int) -> Trial:
        if not 0 <= id < len(self.rows):
            known = f"ids go from 0 to {len(self.rows) - 1}" if self.rows else "there are none yet"
            raise IndexError(f"no trial {id}; {known}")
        return self.rows[id]

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

    def knows_context(self, trial: Trial) -> bool:
        """Whether every context parameter of the trial is known."""
        return len(trial.context) == len(self.space.context)
