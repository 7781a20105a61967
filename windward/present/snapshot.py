"""A study at one moment, for whoever shows it: sentences, records, figures and the report all take one.

What was assessed is kept until something new is written, so that a recommendation, the figures beside it and the report come
from one fit and one set of draws.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Protocol

import torch

from windward.basics import arguments
from windward.basics.codec import encode
from windward.basics.errors import ArgumentError
from windward.contexts import Contexts
from windward.journal import Event
from windward.objectives.protocol import Speech
from windward.objectives.situation import Situation
from windward.policy import Policy
from windward.space import Outcome, Space, Value
from windward.suggest.assess import Assessment, Base
from windward.suggest.checked import ModelCheck
from windward.suggest.compare import compared
from windward.suggest.forecasters import Forecaster, forecasters
from windward.suggest.in_context import ByContext, by_context, names_over
from windward.suggest.influence import Importance, importance_of
from windward.suggest.model_check import checked_model
from windward.suggest.prepare import Request
from windward.suggest.recommend import assessed, base, recommendation
from windward.suggest.settled import gap_at, share_within
from windward.suggest.stage import Stage, stage_of
from windward.surrogate import Posterior
from windward.trials.coming import Awaited
from windward.trials.overdue import Overdue, overdue_of
from windward.trials.records import Comparison, Recommendation
from windward.trials.shift import LEVEL, Shift, forgets, shift_of
from windward.trials.trials import Trials

Values = Mapping[str, Value]
# Assessments kept of one state of a study: numbers, a few of them.
MOST_KEPT = 64
# Contexts that were given, each with its prepared objective kept: a ball may hold a hundred megabytes.
MOST_BASES = 2


@dataclass
class Kept:
    """What was computed in one state of a study: the posterior, what decisions are assessed by, and what was found."""

    revision: int = -1
    posterior: Posterior | None = None  # of what has arrived
    bases: dict[object, Base] = field(default_factory=dict)  # by the context given
    assessments: dict[object, Assessment] = field(default_factory=dict)  # by the context given and the decision
    checked: ModelCheck | None = None
    shift: Shift | None = None
    answers: dict[object, object] = field(default_factory=dict)  # to further questions
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(
        self, revision: int, given: object, decision: object
    ) -> tuple[Posterior | None, Base | None, Assessment | None]:
        """Return what is known in a revision; what belongs to another is dropped."""
        with self.lock:
            self._enter(revision)
            return self.posterior, self.bases.get(given), self.assessments.get((given, decision))

    def of_check(self, revision: int) -> tuple[Posterior | None, ModelCheck | None]:
        """Return the posterior and the check of the model in a revision; what belongs to another is dropped."""
        with self.lock:
            self._enter(revision)
            return self.posterior, self.checked

    def _enter(self, revision: int) -> None:
        if self.revision != revision:
            self.revision, self.posterior, self.bases, self.assessments = revision, None, {}, {}
            self.checked, self.shift, self.answers = None, None, {}

    def keep_check(self, revision: int, posterior: Posterior, found: ModelCheck) -> None:
        """Keep a check and the posterior behind it, unless the study has moved on."""
        with self.lock:
            if self.revision == revision:
                self.posterior, self.checked = posterior, found

    def of_shift(self, revision: int) -> Shift | None:
        """Return whether contexts changed, if it is known in a revision; what belongs to another is dropped."""
        with self.lock:
            self._enter(revision)
            return self.shift

    def keep_shift(self, revision: int, found: Shift) -> None:
        """Keep whether contexts changed, unless the study has moved on."""
        with self.lock:
            if self.revision == revision:
                self.shift = found

    def answer(self, revision: int, question: object) -> object:
        """Return the answer to a question, None where it is not known in this revision."""
        with self.lock:
            self._enter(revision)
            return self.answers.get(question)

    def keep_answer(self, revision: int, question: object, found: object) -> None:
        """Keep an answer, unless the study has moved on."""
        with self.lock:
            if self.revision == revision:
                self.answers[question] = found
                while len(self.answers) > MOST_KEPT:
                    del self.answers[next(iter(self.answers))]

    def keep(self, revision: int, given: object, decision: object, base: Base, found: Assessment) -> None:
        """Keep an assessment, unless the study has moved on; what a part made of the clock is kept for nobody."""
        with self.lock:
            if self.revision != revision:
                return
            self.posterior = base.situation.posterior
            if base.situation.moment.read:
                return
            self.bases[given], self.assessments[given, decision] = base, found
            if len(self.bases) > MOST_BASES:
                gone = next(iter(self.bases))
                del self.bases[gone]
                # Their reductions must go too.
                self.assessments = {key: one for key, one in self.assessments.items() if key[0] != gone}  # type: ignore[index]
            while len(self.assessments) > MOST_KEPT:
                del self.assessments[next(iter(self.assessments))]


@dataclass(frozen=True)
class Snapshot:
    """A study as it was when it was looked at: nothing here changes when the study does."""

    name: str
    space: Space
    policy: Policy
    direction: Literal["maximize", "minimize"]
    seed: int
    trials: Trials
    revision: int
    now: datetime
    memory: int
    status_quo: Mapping[str, Value] | None = None  # what is done without the study
    horizon: int | None = None  # trials that the study is meant to have
    outcome: Outcome = Outcome()  # noqa: RUF009 - immutable; what comes back, for people
    fit: Any = None  # what the last suggestion's fit found, as plain data
    kept: Kept = field(repr=False, kw_only=True)
    events: Callable[[], Sequence[Event]] = field(repr=False, kw_only=True)  # the log, read when it is needed

    def snapshot(self) -> Snapshot:
        """Return itself: whatever takes a study takes a snapshot too."""
        return self

    @property
    def speech(self) -> Speech:
        """What sentences about an objective need to know: which way is better, and how many contexts were seen."""
        seen = self.policy.view(self.trials)
        one = Contexts.uniform(torch.zeros(1, seen.space.context_width, dtype=torch.float64))
        return Speech(Situation(one, seen.contexts_seen, seen), self.trials.sign, outcome=self.outcome)

    def assessment(
        self, call: str, *, decision: Values | None = None, context: Awaited | Values | None = None
    ) -> Assessment:
        """Return the best decision, or this one, by the posterior of what has arrived; computed once per state."""
        known = context if isinstance(context, Awaited) else Awaited({} if context is None else dict(context))
        keys = known.key, None if decision is None else tuple(decision.items())
        posterior, by, found = self.kept.of(self.revision, *keys)
        if found is not None:
            return found
        if by is None:
            # Fitted from cold: what is recommended depends on the data and the policy, not on the fits along the way.
            request = Request(
                known.given,
                {},
                self.now,
                self.seed,
                memory=self.memory,
                horizon=self.horizon,
                status_quo=self.status_quo,
                forecasts=known.forecasts,
            )
            by = base(call, self.policy, self.trials, request, posterior)
        found = assessed(by, self.trials, decision)
        self.kept.keep(self.revision, *keys, by, found)
        return found

    def recommendation(
        self, call: str, *, decision: Values | None = None, context: Awaited | Values | None = None
    ) -> Recommendation:
        """Return the best decision, or an assessment of this one, in the user's words and units, beside the status quo."""
        found = recommendation(self.assessment(call, decision=decision, context=context), self.trials, decision)
        found = replace(found, first_guess=self.stage().first_guess)
        if self.status_quo is None or dict(found.decision) == dict(self.status_quo):
            return found
        return replace(found, beside_status_quo=self.comparison(call, None, decision, context=context))

    def comparison(
        self, call: str, first: Values | None, second: Values | None, *, context: Awaited | Values | None = None
    ) -> Comparison:
        """Return two decisions side by side, judged on the same draws: the status quo and the recommended one where None."""
        first = self.status_quo if first is None else first
        if first is None:
            raise ArgumentError(
                f"{call}: this study has no status quo to compare with; give the first decision too, or declare what is "
                "done without the study: study.declare(status_quo={...})."
            )
        one, other = (self.assessment(call, decision=each, context=context) for each in (first, second))
        return compared(one, other, self.assessment(call, context=context), self.trials)

    def by_context(
        self,
        call: str,
        *,
        decision: Values | None = None,
        over: str | Sequence[str] | None = None,
        context: Awaited | Values | None = None,
    ) -> ByContext:
        """Return what the recommended decision, or this one, is worth on each kind of day, beside the status quo."""
        known = context if isinstance(context, Awaited) else Awaited({} if context is None else dict(context))
        names = names_over(call, over)
        question = "by_context", known.key, None if decision is None else tuple(decision.items()), names
        kept = self.kept.answer(self.revision, question)
        if isinstance(kept, ByContext):
            return kept
        found = self.assessment(call, decision=decision, context=known)
        answer = by_context(call, found, self.trials, names, self.status_quo, decision)
        if not found.situation.moment.read:
            self.kept.keep_answer(self.revision, question, answer)
        return answer

    def importance(self, call: str, *, context: Awaited | Values | None = None) -> Importance:
        """Return how much of the variation each decision and context accounts for; computed once per state."""
        known = context if isinstance(context, Awaited) else Awaited({} if context is None else dict(context))
        question = "importance", known.key
        kept = self.kept.answer(self.revision, question)
        if isinstance(kept, Importance):
            return kept
        found = self.assessment(call, context=known)
        answer = importance_of(call, found, self.stage(), self.trials.sign)
        if not found.situation.moment.read:
            self.kept.keep_answer(self.revision, question, answer)
        return answer

    def check(self, call: str) -> ModelCheck:
        """Return how well the model behind the advice predicts each result from the others; computed once per state."""
        posterior, found = self.kept.of_check(self.revision)
        if found is None:
            request = Request(now=self.now, seed=self.seed, memory=self.memory)
            posterior, found = checked_model(call, self.policy, self.trials, request, posterior)
            self.kept.keep_check(self.revision, posterior, found)
        return found

    def stage(self) -> Stage:
        """Return where the study stands: in its design, too early for advice, or past both."""
        return stage_of(self.policy, self.trials, self.horizon)

    def overdue(self) -> Overdue:
        """Return the pending trials that have waited much longer than results took so far."""
        return overdue_of(self.trials, self.now)

    def forecasters(self) -> tuple[Forecaster, ...]:
        """Return how good the forecasts of each context were."""
        return forecasters(self.policy.view(self.trials))

    def shift(self, level: float = LEVEL) -> Shift:
        """Return whether the contexts changed; computed once per state."""
        found = self.kept.of_shift(self.revision)
        if found is None or found.level != level:
            followed = forgets(encode(self.policy)["context_model"])
            found = shift_of(self.space, self.trials.rows, self.seed, level=level, followed=followed)
            self.kept.keep_shift(self.revision, found)
        return found

    def settled(self, call: str, delta: float, *, context: Awaited | Values | None = None) -> float:
        """Return the probability that no decision is better than the recommended one by more than `delta`."""
        delta = arguments.number(call, "delta", delta, low=0.0, open_low=True)
        return share_within(self.assessment(call, context=context).gaps, delta)

    def settled_within(self, call: str, probability: float, *, context: Awaited | Values | None = None) -> float:
        """Return the least `delta` such that no decision is better by more, with this probability.

        Infinite where it cannot be said in the units of the value: another decision may meet a target that this one misses.
        """
        return gap_at(self.assessment(call, context=context).gaps, probability)


class Source(Protocol):
    """A study, or a snapshot of one."""

    def snapshot(self) -> Snapshot: ...
