"""`Study`: ask, reveal, tell. The only object that changes; everything it knows is in its journal."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

import torch

from windward import papers
from windward.basics import arguments, budget
from windward.basics.codec import decode, encode, table_of
from windward.basics.errors import ArgumentError, JournalError, TrialError, WindwardError
from windward.basics.speech import shown
from windward.journal import Draft, Event, History, Journal, check_name, check_texts, open_journal, rules
from windward.journal.events import VERSION
from windward.journal.keys import asked_before, key_for
from windward.parts import OWN_PARTS
from windward.policy import Policy, check_policy
from windward.present.snapshot import Kept, Snapshot
from windward.space.parameters import Value
from windward.space.space import Space
from windward.study.ask import Fit, asked_body, attempts, replayed_body, start_of, turn
from windward.study.run import Leftover, run_rounds
from windward.study.tell import add_all, check_changes, check_news, known_rows, tell_all
from windward.suggest.prepare import Request
from windward.surrogate import Posterior
from windward.trials.frame import dataframe
from windward.trials.records import Outcome, Past, Recommendation, Suggestion, Tell, Trial
from windward.trials.trials import Trials
from windward.version import __version__

if TYPE_CHECKING:
    import pandas

Clock = Callable[[], datetime]
Values = Mapping[str, Value]

logger = logging.getLogger("windward")

# Asks that lose the race against another process's ask this many times in a row give up with an error.
MOST_RETRIES = 100


def utc_now() -> datetime:
    """Return the time now, in UTC: the default clock."""
    return datetime.now(UTC)


def _allowed(memory: int | None, device: str | torch.device) -> int:
    """Return how many bytes a suggestion may take on a device."""
    return (
        budget.of(arguments.device("Study", device))
        if memory is None
        else arguments.whole("Study", "memory", memory, low=1)
    )


class Study:
    """One sequence of decisions, kept in a journal.

    >>> import windward as ww
    >>> space = ww.Space(decision={"order": ww.Real(0, 1)}, context={"demand": ww.Real(0, 1)})
    >>> study = ww.Study(space, ww.papers.sbo_kde(), seed=0)
    >>> suggestion = study.ask()
    >>> study.reveal(suggestion.id, {"demand": 0.61})     # the context may come first
    >>> study.tell(suggestion.id, 1.93)                   # the value may come much later
    >>> study.trials[0].value
    1.93

    `policy` left out is `papers.sbo_kde()`, or `papers.gp_ucb()` for a space without contexts. `journal` is a URL such
    as `"sqlite:///shop.db"`, a journal, or None for one in memory. `clock` returns the time, a datetime with a time
    zone, for studies that live by another clock than the machine's; give the same one to `Study.open`. `device` is where
    the model is computed: `"cuda"` pays from some thousands of observations or tens of thousands of decisions.
    `memory` is how many bytes a suggestion may take; one that needs more is refused before it starts. Left out, it is
    4 GiB, or all that another device than the processor has.
    """

    def __init__(
        self,
        space: Space,
        policy: Policy | None = None,
        *,
        journal: str | Journal | None = None,
        name: str = "study",
        seed: int = 0,
        direction: Literal["maximize", "minimize"] = "maximize",
        parts: Iterable[type] = (),
        clock: Clock = utc_now,
        device: str | torch.device = "cpu",
        memory: int | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise ArgumentError(f"Study(space={shown(space)}): give a Space.")
        if policy is None:
            policy = papers.sbo_kde() if space.context else papers.gp_ucb()
        check_policy("Study", policy)
        arguments.choice("Study", "direction", direction, ("maximize", "minimize"))
        seed = arguments.whole("Study", "seed", seed, low=0)
        check_name("Study", name, new=True)
        check_texts("Study", space)
        policy.check(space, sign=1.0 if direction == "maximize" else -1.0, memory=_allowed(memory, device))
        self._prepare(name, open_journal(journal), parts, clock, device, memory)
        body = {
            "v": VERSION,
            "space": encode(space),
            "policy": encode(policy),
            "outcomes": {self._history.outcome: {"goal": direction, "unit": None}},
            "seed": seed,
            "status_quo": None,
            "horizon": None,
            "windward": __version__,
        }
        created = Draft("created", None, self._now(), body)
        decode(body["policy"], self._table)  # a policy that cannot be read back is refused now
        self._history.apply(self._journal.create(name, [created], key=key_for("Study", None)))

    @classmethod
    def open(
        cls,
        name: str,
        *,
        journal: str | Journal,
        parts: Iterable[type] = (),
        clock: Clock = utc_now,
        device: str | torch.device = "cpu",
        memory: int | None = None,
    ) -> Study:
        """Return the study of this name, rebuilt from its log alone; `parts` are the classes of your own parts."""
        check_name("Study.open", name)
        if journal is None:
            raise ArgumentError("Study.open(journal=None): give the journal the study is in.")
        study = cls.__new__(cls)
        study._prepare(name, open_journal(journal, existing=True), parts, clock, device, memory)
        study.sync()
        if study._history.head == 0:
            raise JournalError(f"study {shown(name)} is damaged: it has no events.")
        return study

    def _prepare(
        self,
        name: str,
        journal: Journal,
        parts: Iterable[type],
        clock: Clock,
        device: str | torch.device,
        memory: int | None,
    ) -> None:
        if not callable(clock):
            raise ArgumentError(f"Study(clock={shown(clock)}): give a function that returns the time.")
        self._table = table_of(OWN_PARTS, parts)
        self._journal, self._clock = journal, clock
        self._device = arguments.device("Study", device)
        self._memory = _allowed(memory, self._device)
        self._history = History(name, self._table, self._device)
        self._lock = threading.RLock()
        self._posterior: Posterior | None = None  # of the last ask: saves the next one work, changes nothing
        self._kept = Kept()  # what was assessed since the last event
        self._said_older = False  # that asks of an older version are replayed in their own way
        self._now()  # a clock that does not work is refused now

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The study's name in its journal."""
        return self._history.study

    @property
    def space(self) -> Space:
        """The declared space."""
        return self._history.space

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._history.policy

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        """Which way is better."""
        return self._history.direction

    @property
    def seed(self) -> int:
        """The seed of every random choice."""
        return self._history.seed

    @property
    def journal(self) -> Journal:
        """Where the log is kept."""
        return self._journal

    @property
    def memory(self) -> int:
        """Bytes that a suggestion or a recommendation may take; one that needs more is refused before it starts."""
        return self._memory

    @property
    def revision(self) -> int:
        """How many events this process knows of: another number means that something was written."""
        return self._history.head

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self._history.trials.counts()})"

    def sync(self) -> None:
        """Read what other processes have written since the last call."""
        with self._lock:
            known = self._history
            known.apply(self._journal.read(known.study, known.head, birth=known.birth))

    @property
    def trials(self) -> Trials:
        """All trials as this process knows them, in order of id; `sync()` reads what others have written."""
        with self._lock:
            return self._history.trials

    def pending(self, *, older_than: timedelta | None = None) -> list[Trial]:
        """Return the trials without a value that nobody has given up, those asked longer ago than `older_than`."""
        if older_than is not None and (not isinstance(older_than, timedelta) or older_than < timedelta(0)):
            raise ArgumentError(f"study.pending(older_than={shown(older_than)}): give a timedelta >= 0.")
        self.sync()
        now, waiting = self._now(), self.trials.pending
        return [t for t in waiting if older_than is None or (t.asked_at and now - t.asked_at >= older_than)]

    def dataframe(self) -> pandas.DataFrame:
        """Return one row per trial as a pandas DataFrame, with columns `decision.<name>`, `context.<name>` and so on."""
        self.sync()
        return dataframe(self.space, self.trials)

    # -- asking ----------------------------------------------------------------------------------------------------

    def ask(self, *, context: Values | None = None, fix: Values | None = None, key: str | None = None) -> Suggestion:
        """Return the next decision to try; it is in the journal, as pending, before this returns.

        `context` is what is known of the coming context, whole or in part; `fix` holds decisions that are not free.
        An ask that is repeated with the same `key`, from anywhere, returns the suggestion of the first.
        """
        given = self._check_given("study.ask", context)
        fixed = self.space.check_decision("study.ask(fix=...)", {} if fix is None else fix, partial=True)
        key = key_for("study.ask", key)
        try:
            return self._asked(key, given, fixed)
        except BaseException:
            with suppress(WindwardError):  # nobody need wait for an ask that failed; its own error is what counts
                self._journal.lease(self.name, key, 0.0)
            raise

    def _asked(self, key: str, given: dict[str, Value], fixed: dict[str, Value]) -> Suggestion:
        kept: tuple[Fit, Policy] | None = None  # of an attempt that lost the race
        for _ in attempts(MOST_RETRIES):
            self.sync()
            if (before := asked_before(self._history, key, given, fixed)) is not None:
                return before
            with turn(self._journal, self.name, key):
                answer, kept = self._attempt(key, given, fixed, kept)
            if answer is not None:
                return answer
        raise JournalError(f"study.ask: other processes asked first {MOST_RETRIES} times in a row; try again.")

    def _attempt(
        self, key: str, given: dict[str, Value], fixed: dict[str, Value], kept: tuple[Fit, Policy] | None
    ) -> tuple[Suggestion | None, tuple[Fit, Policy] | None]:
        """Compute a suggestion and write it; None where another process asked meanwhile, and the fit to keep."""
        self.sync()
        with self._lock:
            if (before := asked_before(self._history, key, given, fixed)) is not None:
                return before, None
            trials, read, policy = self.trials, self._history.head, self.policy
            # Of another policy: it may mean something else by them.
            known = kept[0] if kept is not None and policy == kept[1] else None
            start = start_of(policy, trials, known or self._fit, keep=known is not None, previous=self._posterior)
        now = self._now()
        request = Request(given, fixed, now, self.seed, start, memory=self._memory)
        body, posterior = asked_body(policy, trials, request, read)
        fit = None if body["fit"] is None else decode(body["fit"], self._table)  # unreadable: refused unwritten
        self._posterior = posterior
        draft = Draft("asked", len(trials), now, body)
        written = self._write(key, partial(list, [draft]), after=read, asks=len(trials))
        if written is None:
            # With the same hyper-parameters, take the other's pending decision into account.
            return None, None if fit is None else (Fit(fit, body["fitted"]), policy)
        trial = self._trial_of(key, written)  # of another call, where one with this key came first
        mine = Suggestion(trial.id, dict(trial.decision), dict(trial.context) or None)
        return asked_before(self._history, key, given, fixed) or mine, None

    @property
    def _fit(self) -> Fit | None:
        known = self._history
        return None if known.hyperparameters is None else Fit(known.hyperparameters, known.fitted, known.amended)

    def ask_many(self, count: int) -> list[Suggestion]:
        """Return `count` decisions to try at once, each asked with the ones before it pending."""
        return [self.ask() for _ in range(arguments.whole("study.ask_many", "count", count, low=1))]

    def replay(self, id: int) -> Suggestion:
        """Recompute a trial's suggestion from the log alone: on the machine that made it, the same to the last bit."""
        self.sync()
        rules.find(self._history, "study.replay", id)
        events = self._journal.read(self.name, birth=self._history.birth)
        asked = next((event for event in events if event.kind == "asked" and event.trial == id), None)
        if asked is None:
            raise TrialError(f"study.replay: trial {id} was added, not asked.")
        body, older = replayed_body(asked, events, self.name, self._table, self._device, self._memory)
        if older and not self._said_older:
            self._said_older = True
            logger.warning(
                "study %r: trial %d was asked by an older version; such asks are replayed with the fit that the log "
                "recorded, and the search may have changed since.",
                self.name,
                id,
            )
        return Suggestion(id, body["decision"], (body["chosen"] or body["given"]) or None)

    # -- telling ---------------------------------------------------------------------------------------------------

    def reveal(self, id: int, context: Values) -> None:
        """Say what the context of a trial is, whole or in part; it counts at once, before any value.

        A context that was given at `ask`, or chosen by the policy, may have turned out otherwise: the trial keeps both,
        `context_planned` and `context`. What was seen once is corrected with `amend`.
        """
        clean = check_news(self.space, "study.reveal", context)
        now = self._now()
        self._write(key_for("study.reveal", None), lambda: rules.reveal(self._history, "study.reveal", id, clean, now))

    def tell(
        self,
        id: int,
        value: float,
        *,
        context: Values | None = None,
        noise: float | None = None,
        decision: Values | None = None,
        key: str | None = None,
    ) -> None:
        """Say what a trial's value is, however late; a lost trial's value counts too.

        `context` may come along, `noise` is the value's standard deviation where it is known, `decision` what was really
        done where it differs from what was asked. The same again is harmless; another value is an error: see `amend`.
        A call with a `key` that wrote something counts once, even after an amendment; one that said only what the log
        says leaves no trace, and its key stays free.
        """
        (error,) = self.tell_many([Tell(id, value, context, noise, decision, key)])
        if error is not None:
            raise error

    def tell_many(self, tells: Sequence[Tell]) -> list[WindwardError | None]:
        """Tell several values in one transaction, each decided for itself; return what was wrong with each, or None."""
        with self._lock:
            return tell_all(self._history, tells, self._now(), self._write)

    def lose(self, id: int, reason: str) -> None:
        """Give a trial up: it will not be asked again at once. A value told later still counts.

        A value that was told without its whole context is set aside (`Trial.set_aside`): it counts again once the context
        is revealed or the value is told again.
        """
        arguments.text("study.lose", "reason", reason)
        now = self._now()
        self._write(key_for("study.lose", None), lambda: rules.lose(self._history, "study.lose", id, reason, now))

    def amend(
        self,
        id: int,
        *,
        value: float | None = None,
        context: Values | None = None,
        noise: float | None = None,
        decision: Values | None = None,
        reason: str | None = None,
    ) -> None:
        """Correct what was told or revealed, or why a trial was lost: the log keeps both, the study goes on with the new."""
        call = "study.amend"
        changes = check_changes(
            self._history, value=value, context=context, noise=noise, decision=decision, reason=reason
        )
        now = self._now()
        self._write(key_for(call, None), lambda: rules.amend(self._history, call, id, changes, now))

    def add(
        self,
        decision: Values,
        value: float,
        *,
        context: Values | None = None,
        noise: float | None = None,
        at: datetime | None = None,
    ) -> int:
        """Add a finished trial from elsewhere, such as history, and return its id; `at` is when it happened."""
        (id,) = self._added("study.add", [Past(decision, value, context, noise, at)], again=True)
        assert id is not None
        return id

    def add_many(self, rows: Sequence[Past], *, again: bool = False) -> list[int | None]:
        """Add finished trials in one transaction; return the id of each, None where it is there already.

        A row is there already where a trial says the same: decision, context, value and noise, and the date where both have
        one. Two equal rows are two trials. With `again` every row is added.
        """
        return self._added("study.add_many", rows, again=again)

    def known_rows(self, rows: Sequence[Past]) -> list[bool]:
        """Return which rows `add_many` would leave out, because they are there already."""
        self.sync()
        with self._lock:
            return known_rows(self._history, rows)

    def _added(self, call: str, rows: Sequence[Past], *, again: bool) -> list[int | None]:
        with self._lock:
            return add_all(call, self._history, rows, self._now(), self._write, again=again)

    def use(self, policy: Policy) -> None:
        """Go on with another policy; what was asked and told stays."""
        check_policy("study.use", policy)
        policy.check(self.space, sign=self._history.sign, memory=self._memory)
        draft = Draft("policy_set", None, self._now(), {"v": VERSION, "policy": encode(policy)})
        decode(draft.body["policy"], self._table)
        self._write(key_for("study.use", None), lambda: [draft])

    # -- deciding --------------------------------------------------------------------------------------------------

    def recommend(self, *, context: Values | None = None) -> Recommendation:
        """Return the decision to deploy: the best by the objective under the posterior of what has arrived.

        No imagined value is used. `context` is what is known of the context it will meet.
        """
        given = self._check_given("study.recommend", context)
        return self.snapshot().recommendation("study.recommend", context=given)

    def assess(self, decision: Values, *, context: Values | None = None) -> Recommendation:
        """Return the value, interval and adversary of one decision, by the posterior of what has arrived."""
        clean, given = self.space.check_decision("study.assess", decision), self._check_given("study.assess", context)
        return self.snapshot().recommendation("study.assess", decision=clean, context=given)

    def snapshot(self) -> Snapshot:
        """Return the study as it is in its journal now, for whoever shows it; it does not change when the study does."""
        self.sync()
        with self._lock:
            return Snapshot(
                name=self.name,
                space=self.space,
                policy=self.policy,
                direction=self.direction,
                seed=self.seed,
                trials=self.trials,
                revision=self.revision,
                now=self._now(),
                memory=self._memory,
                kept=self._kept,
                events=partial(self._journal.read, self.name, birth=self._history.birth),
            )

    def run(
        self,
        evaluate: Callable[[Suggestion], float | Outcome],
        rounds: int | None = None,
        *,
        until: int | None = None,
        executor: Executor | None = None,
        workers: int | None = None,
        leftover: Leftover = "keep",
        progress: bool = True,
    ) -> None:
        """Ask, evaluate and tell, `rounds` more times or until the study has `until` trials, with a progress bar.

        `evaluate` takes a `Suggestion` and returns a number or an `Outcome`. Where it raises, the trial is lost with the
        error's text and the loop goes on; three failures in a row end it with the error. With an `executor` (threads,
        processes, a cluster's) `workers` evaluations are kept in flight, one per processor where not said. Ctrl-C raises
        KeyboardInterrupt: all that was told is in the journal, what was being evaluated stays pending. `leftover` says
        what becomes of trials an earlier run left pending: kept (and named in the log), evaluated again, or lost.
        """
        run_rounds(
            self,
            evaluate,
            rounds,
            until=until,
            executor=executor,
            workers=workers,
            leftover=leftover,
            progress=progress,
        )

    # -- inside ----------------------------------------------------------------------------------------------------

    def _now(self) -> datetime:
        now = self._clock()
        if not isinstance(now, datetime) or now.tzinfo is None:
            raise ArgumentError(
                f"Study(clock=...): the clock must return a datetime with a time zone, got {shown(now)}."
            )
        return now.astimezone(UTC)

    def _write(
        self, key: str, decide: Callable[[], list[Draft]], *, after: int | None = None, asks: int | None = None
    ) -> list[Event] | None:
        """Append what `decide` returns, decided inside the transaction on everything written before it."""

        def decided(unread: Iterable[Event]) -> list[Draft]:
            self._history.apply(unread)
            drafts = decide()
            self._history.check_drafts(drafts)
            return drafts

        with self._lock:
            seen = self._history.head if after is None else min(after, self._history.head)
            events = self._journal.append(
                self.name, decided, key=key, after=seen, birth=self._history.birth, expected_asks=asks
            )
            if events is not None:
                self._history.apply(events)
            return events

    def _trial_of(self, key: str, events: list[Event]) -> Trial:
        (id,) = (event.trial for event in events if event.key == key)
        assert id is not None
        return self._history[id]

    def _check_given(self, call: str, context: Values | None) -> dict[str, Value]:
        return self.space.check_context(call, {} if context is None else context, partial=True)
