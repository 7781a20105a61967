"""What a study answers without changing: what to deploy, what a decision is worth, whether the model deserves belief."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.present.sentences import advice, assessed, compared
from windward.trials.coming import coming_at
from windward.trials.shift import LEVEL

if TYPE_CHECKING:
    from windward.present.notebook import Figures
    from windward.present.snapshot import Snapshot
    from windward.space.parameters import Value
    from windward.space.space import Space
    from windward.suggest.checked import ModelCheck
    from windward.suggest.forecasters import Forecaster
    from windward.suggest.in_context import ByContext
    from windward.suggest.influence import Importance
    from windward.suggest.stage import Stage
    from windward.trials.coming import ComingContext
    from windward.trials.records import Comparison, Recommendation, Trial
    from windward.trials.shift import Shift

    Values = Mapping[str, Value]


class Advising(ABC):
    """Whatever has a space and a snapshot can be asked these questions. `Study` is the one that does."""

    @property
    @abstractmethod
    def space(self) -> Space: ...

    @abstractmethod
    def snapshot(self) -> Snapshot: ...

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how the study stands."""
        from windward.present.notebook import study_card

        return study_card(self)

    @property
    def plots(self) -> Figures:
        """Its figures by name: `study.plots.history()`; `study.plots.png("history", "history.png")` writes an image."""
        from windward.present.notebook import Figures

        return Figures(self)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write a report to read, one HTML file that needs no network, and return where it is."""
        from windward.present.report import write_report

        if not isinstance(path, str | Path):
            raise ArgumentError(f"study.report(path={shown(path)}): name a file, such as 'report.html'.")
        write_report(self, path)
        return Path(path)

    def recommend(self, *, context: ComingContext | None = None, when: datetime | None = None) -> Recommendation:
        """Return the decision to deploy: the best by the objective under the posterior of what has arrived.

        No imagined value is used. `context` is what is known of the context it will meet, values or forecasts. `when` is the
        time it will be, by which contexts of the calendar are known; left out, the decision is for any time.
        """
        given, seen = coming_at("study.recommend", self.space, context, when), self.snapshot()
        found = seen.recommendation("study.recommend", context=given)
        return replace(found, sentences=tuple(advice(seen, found)))

    def assess(
        self, decision: Values, *, context: ComingContext | None = None, when: datetime | None = None
    ) -> Recommendation:
        """Return the value, interval and adversary of one decision, by the posterior of what has arrived."""
        clean, given = (
            self.space.check_decision("study.assess", decision),
            coming_at("study.assess", self.space, context, when),
        )
        seen = self.snapshot()
        found = seen.recommendation("study.assess", decision=clean, context=given)
        return replace(found, sentences=tuple(assessed(seen, found)))

    def check(self) -> ModelCheck:
        """Return whether the model deserves belief: how well it predicts each result from the others."""
        return self.snapshot().check("study.check")

    def stage(self) -> Stage:
        """Return where the study stands: how many results it has, what comes next, and whether advice is a first guess."""
        return self.snapshot().stage()

    def overdue(self) -> list[Trial]:
        """Return the pending trials to ask after: they have waited three times as long as nine in ten results took.

        None before five results have come back. The longest wait comes first.
        """
        return list(self.snapshot().overdue().trials)

    def forecasts(self) -> tuple[Forecaster, ...]:
        """Return how good the forecasts of each context were that have been followed by what came, in numbers and words."""
        return self.snapshot().forecasters()

    def shift(self, *, level: float = LEVEL) -> Shift:
        """Return whether the contexts that came lately are unlike those before, in numbers and words.

        Look as often as you like: where nothing changes, the probability that there is ever an alarm is at most `level`.
        """
        return self.snapshot().shift(level)

    def compare(
        self,
        first: Values | None = None,
        second: Values | None = None,
        *,
        context: ComingContext | None = None,
        when: datetime | None = None,
    ) -> Comparison:
        """Return by how much the second decision is worth more than the first, and the probability that it is better.

        Without the first it is the status quo, without the second the recommended decision. Both are judged on the same
        draws of what is unknown: what moves both alike does not count.
        """
        call, check = "study.compare", self.space.check_decision
        one, other = (None if each is None else check(call, each) for each in (first, second))
        seen = self.snapshot()
        found = seen.comparison(call, one, other, context=coming_at(call, self.space, context, when))
        return replace(found, sentences=tuple(compared(seen, found)))

    def by_context(
        self,
        decision: Values | None = None,
        *,
        over: str | Sequence[str] | None = None,
        context: ComingContext | None = None,
        when: datetime | None = None,
    ) -> ByContext:
        """Return what a decision is worth on each kind of day, beside the status quo where there is one.

        Without a decision it is the recommended one. Each context is looked at by itself; `over` names one, or two to look at
        together. Categories have a cell for each choice, numbers one for each part of their range.
        """
        call, one = "study.by_context", None
        if decision is not None:
            one = self.space.check_decision(call, decision)
        given = coming_at(call, self.space, context, when)
        return self.snapshot().by_context(call, decision=one, over=over, context=given)

    def importance(self, *, context: ComingContext | None = None, when: datetime | None = None) -> Importance:
        """Return what matters: how much of the variation each decision and context accounts for, the most first.

        Decisions count evenly over their ranges, contexts as they come; what is known of the context does not vary.
        """
        call = "study.importance"
        return self.snapshot().importance(call, context=coming_at(call, self.space, context, when))

    def settled(self, delta: float, *, context: ComingContext | None = None, when: datetime | None = None) -> float:
        """Return the probability that no decision is better than the recommended one by more than `delta`.

        `delta` is in the units of the value. `run(until=Settled(delta))` stops by it.
        """
        given = coming_at("study.settled", self.space, context, when)
        return self.snapshot().settled("study.settled", delta, context=given)
