"""A study at one moment, for whoever shows it: sentences, records, figures and the report all take one.

What was assessed is kept until something new is written, so that a recommendation, the figures beside it and the report come
from one fit and one set of draws.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

import torch

from windward.contexts import Contexts
from windward.journal import Event
from windward.objectives.protocol import Speech
from windward.objectives.situation import Situation
from windward.policy import Policy
from windward.space import Space, Value
from windward.suggest.assess import Assessment
from windward.suggest.prepare import Request
from windward.suggest.recommend import assessed, recommendation
from windward.surrogate import Posterior
from windward.trials.records import Recommendation
from windward.trials.trials import Trials

Values = Mapping[str, Value]
# Assessments kept of one state of a study: each holds its contexts and draws, all share the posterior.
MOST_KEPT = 8


@dataclass
class Kept:
    """What was computed in one state of a study."""

    revision: int = -1
    posterior: Posterior | None = None  # of what has arrived
    assessments: dict[object, Assessment] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, revision: int) -> tuple[Posterior | None, dict[object, Assessment]]:
        """Return what is known of a revision; what belongs to another is dropped."""
        with self.lock:
            if self.revision != revision:
                self.revision, self.posterior, self.assessments = revision, None, {}
            return self.posterior, dict(self.assessments)

    def keep(self, revision: int, key: object, found: Assessment) -> None:
        """Keep an assessment, unless the study has moved on."""
        with self.lock:
            if self.revision == revision:
                self.posterior = found.situation.posterior
                self.assessments[key] = found
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
    kept: Kept = field(repr=False)
    events: Callable[[], Sequence[Event]] = field(repr=False)  # the log, read when it is needed

    def snapshot(self) -> Snapshot:
        """Return itself: whatever takes a study takes a snapshot too."""
        return self

    @property
    def speech(self) -> Speech:
        """What sentences about an objective need to know: which way is better, and how many contexts were seen."""
        seen = self.policy.view(self.trials)
        one = Contexts.uniform(torch.zeros(1, seen.space.context_width, dtype=torch.float64))
        return Speech(Situation(one, seen.contexts_seen, seen), self.trials.sign)

    def assessment(self, call: str, *, decision: Values | None = None, context: Values | None = None) -> Assessment:
        """Return the best decision, or this one, by the posterior of what has arrived; computed once per state."""
        given = {} if context is None else dict(context)
        key = (tuple(given.items()), None if decision is None else tuple(decision.items()))
        posterior, known = self.kept.of(self.revision)
        if key in known:
            return known[key]
        # Fitted from cold: what is recommended depends on the data and the policy, not on the fits along the way.
        request = Request(given, {}, self.now, self.seed, memory=self.memory)
        found = assessed(call, self.policy, self.trials, request, decision, posterior)
        self.kept.keep(self.revision, key, found)
        return found

    def recommendation(
        self, call: str, *, decision: Values | None = None, context: Values | None = None
    ) -> Recommendation:
        """Return the best decision, or an assessment of this one, in the user's words and units."""
        return recommendation(self.assessment(call, decision=decision, context=context), self.trials, decision)


class Source(Protocol):
    """A study, or a snapshot of one."""

    def snapshot(self) -> Snapshot: ...
