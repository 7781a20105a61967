"""`Study`: ask, reveal, tell. The only object that changes; everything it knows is in its journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

import torch

from windward.basics import arguments
from windward.basics.codec import decode, table_of
from windward.basics.errors import WindwardError
from windward.basics.times import moment
from windward.journal import Draft, History, Journal, open_journal
from windward.journal.keys import key_for
from windward.parts import OWN_PARTS
from windward.policy import Policy
from windward.present.snapshot import Kept, Snapshot
from windward.space.outcomes import Maximize, Minimize
from windward.space.parameters import Value
from windward.space.space import Space
from windward.study import tell as telling
from windward.study.advising import Advising
from windward.study.ask import Asker, Wanted, trials_of
from windward.study.founding import created_body
from windward.study.log import Clock, Log, journal_of, utc_now
from windward.study.looking import snapshot_of, worded
from windward.study.reading import PartsReader, allowed, use
from windward.study.run import Leftover, run_rounds
from windward.study.standing import declare_standing
from windward.study.tell import Changes
from windward.trials.coming import ComingContext, known_of
from windward.trials.frame import dataframe
from windward.trials.records import Past, Result, Settled, Suggestion, Tell, Trial
from windward.trials.trials import Trials

if TYPE_CHECKING:
    import pandas

__all__ = ["Study", "utc_now"]

Values = Mapping[str, Value]


class Study(Advising):
    """One sequence of decisions, kept in a journal.

    >>> import windward as ww
    >>> space = ww.Space(decision={"order": ww.Real(0, 1)}, context={"demand": ww.Real(0, 1)})
    >>> study = ww.Study(space, seed=0)
    >>> suggestion = study.ask()
    >>> study.reveal(suggestion.id, {"demand": 0.61})     # the context may come first
    >>> study.tell(suggestion.id, 1.93)                   # the value may come much later
    >>> study.trials[0].value
    1.93

    `policy` left out is `ww.auto()`, the average over the contexts, with a report that is careful on imported history.
    `journal` is a URL such as `"sqlite:///shop.db"`, a journal, or None for one in memory. `outcomes` names what comes back,
    which way is better, and its unit: `outcomes={"profit": ww.Maximize(unit="EUR")}`. Left out, it is a value without unit, and
    `direction` says which way is better. `status_quo` is what is done without the study, a whole decision; it may lie between
    steps. `horizon` is how many trials it is meant to have; both can be declared later. `clock` returns the time, a datetime
    with a time zone, for studies that live by another clock than the machine's; give the same one to `Study.open`. `device` is
    where the model is computed: `"cuda"` pays from some thousands of observations or tens of thousands of decisions. `memory`
    is how many bytes a suggestion may take, 4 GiB or all of another device where it is left out; what needs more is refused.
    """

    def __init__(
        self,
        space: Space,
        policy: Policy | None = None,
        *,
        journal: str | Journal | None = None,
        name: str = "study",
        seed: int = 0,
        direction: Literal["maximize", "minimize"] | None = None,
        outcomes: Mapping[str, Maximize | Minimize] | None = None,
        status_quo: Values | None = None,
        horizon: int | None = None,
        parts: Iterable[type] = (),
        clock: Clock = utc_now,
        device: str | torch.device = "cpu",
        memory: int | None = None,
    ) -> None:
        body = created_body(
            space,
            policy,
            name=name,
            seed=seed,
            direction=direction,
            outcomes=outcomes,
            status_quo=status_quo,
            horizon=horizon,
            memory=allowed(memory, device),
        )
        self._prepare(name, open_journal(journal), parts, clock, device, memory)
        created = Draft("created", None, self._now(), body)
        decode(body["policy"], self._reader.table)  # a policy that cannot be read back is refused now
        self._log.create(created, key=key_for("Study", None))

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
        plugins: bool = True,
    ) -> Study:
        """Return the study of this name, rebuilt from its log alone; `parts` are the classes of your own parts.

        Parts of installed packages are found by themselves; `plugins=False` refuses them, for a log that you do not trust.
        """
        study = cls.__new__(cls)
        arguments.flag("Study.open", "plugins", plugins)
        study._prepare(name, journal_of(name, journal), parts, clock, device, memory, plugins=plugins)
        study._log.read()
        return study

    def _prepare(
        self,
        name: str,
        journal: Journal,
        parts: Iterable[type],
        clock: Clock,
        device: str | torch.device,
        memory: int | None,
        *,
        plugins: bool = True,
    ) -> None:
        self._reader = PartsReader(table_of(OWN_PARTS, parts, plugins=plugins))
        self._device = arguments.device("Study", device)
        self._memory = allowed(memory, self._device)
        self._log = Log(name, journal, clock=clock, reader=self._reader)
        self._lock, self._now = self._log.lock, self._log.now
        self._asker = Asker(self._log, self._reader, self._device, self._memory)
        self._kept = Kept()  # what was assessed since the last event

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
        return self._reader.policy(self._history.policy_body)

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        """Which way is better."""
        return self._history.direction

    @property
    def outcomes(self) -> dict[str, Maximize | Minimize]:
        """What comes back, by name, with which way is better and its unit."""
        return {self._history.outcome: self._history.told.declared}

    @property
    def seed(self) -> int:
        """The seed of every random choice."""
        return self._history.seed

    @property
    def status_quo(self) -> dict[str, Value] | None:
        """What is done without the study; None where it was not declared."""
        return None if self._history.status_quo is None else dict(self._history.status_quo)

    @property
    def horizon(self) -> int | None:
        """How many trials the study is meant to have; None where it was not declared."""
        return self._history.horizon

    @property
    def journal(self) -> Journal:
        """Where the log is kept."""
        return self._log.journal

    @property
    def memory(self) -> int:
        """Bytes that a suggestion or a recommendation may take; one that needs more is refused before it starts."""
        return self._memory

    @property
    def revision(self) -> int:
        """How many events this process knows of: another number means that something was written."""
        return self._history.head

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self._log.trials.counts()})"

    def sync(self) -> None:
        """Read what other processes have written since the last call."""
        self._log.sync()

    @property
    def trials(self) -> Trials:
        """All trials as this process knows them, in order of id; `sync()` reads what others have written."""
        with self._lock:
            return trials_of(self._history, self._device)

    def pending(self, *, older_than: timedelta | None = None) -> list[Trial]:
        """Return the trials without a value that nobody has given up, those asked longer ago than `older_than`."""
        return self._log.pending(older_than)

    def dataframe(self) -> pandas.DataFrame:
        """Return one row per trial as a pandas DataFrame, with columns `decision.<name>`, `context.<name>` and so on."""
        self.sync()
        return dataframe(self.space, self.trials)

    # -- asking ----------------------------------------------------------------------------------------------------

    def ask(
        self,
        *,
        context: ComingContext | None = None,
        fix: Values | None = None,
        radius: float | None = None,
        far: bool = False,
        key: str | None = None,
        when: datetime | None = None,
    ) -> Suggestion:
        """Return the next decision to try; it is in the journal, as pending, before this returns.

        `context` is what is known of the coming context, whole or in part: values, and a `Forecast` or `Distribution` of what
        is not known yet. `fix` holds decisions that are not free; `radius` stands in place of the objective's own, this once.
        `far` asks for a decision as far as possible from all that were tried, to see whether something better was missed;
        while the design lasts it changes nothing.
        `when` is the time the decision is for, by which contexts of the calendar are known; left out, the time of the ask.
        An ask that is repeated with the same `key`, from anywhere, returns the suggestion of the first.
        """
        known = known_of("study.ask", self.space, context)
        fixed = self.space.check_fixed("study.ask(fix=...)", {} if fix is None else fix)
        radius = None if radius is None else arguments.number("study.ask", "radius", radius, low=0.0)
        at = None if when is None else moment("study.ask", "when", when)
        return worded(self._asker.ask(key_for("study.ask", key), Wanted(known, fixed, radius, at, far)), self._history)

    def ask_many(self, count: int) -> list[Suggestion]:
        """Return `count` decisions to try at once, each asked with the ones before it pending."""
        return [self.ask() for _ in range(arguments.whole("study.ask_many", "count", count, low=1))]

    def replay(self, id: int) -> Suggestion:
        """Recompute a trial's suggestion from the log alone: on the machine that made it, the same to the last bit."""
        return worded(self._asker.replay(id), self._history)

    # -- telling ---------------------------------------------------------------------------------------------------

    def reveal(self, id: int, context: Values) -> None:
        """Say what the context of a trial is, whole or in part; it counts at once, before any value.

        A context that was given at `ask`, or chosen by the policy, may have turned out otherwise: the trial keeps both,
        `context_planned` and `context`. What was seen once is corrected with `amend`.
        """
        telling.reveal(self._log, id, context)

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
        telling.tell(self._log, Tell(id, value, context, noise, decision, key))

    def tell_many(self, tells: Sequence[Tell]) -> list[WindwardError | None]:
        """Tell several values in one transaction, each decided for itself; return what was wrong with each, or None."""
        return telling.tell_many(self._log, tells)

    def lose(self, id: int, reason: str) -> None:
        """Give a trial up: it will not be asked again at once. A value told later still counts.

        A value that was told without its whole context is set aside (`Trial.set_aside`): it counts again once the context
        is revealed or the value is told again.
        """
        telling.lose(self._log, id, reason)

    def amend(
        self,
        id: int,
        *,
        value: float | None = None,
        context: Values | None = None,
        noise: float | None = None,
        decision: Values | None = None,
        reason: str | None = None,
        when: datetime | None = None,
    ) -> None:
        """Correct what was told or revealed, or why a trial was lost: the log keeps both, the study goes on with the new.

        `when` is the time it took place; contexts of the calendar follow it.
        """
        changes = Changes(value, context, noise, decision, reason, when)
        telling.amend(self._log, id, changes)

    def note(self, id: int, note: str | None = None, *, tags: Sequence[str] | None = None) -> None:
        """Write down what to remember of a trial: a note, tags to find it by, or both.

        What is left out stays; an empty note and an empty list take them away. Neither moves a suggestion or any advice.

        >>> import windward as ww
        >>> study = ww.Study(ww.Space({"order": ww.Real(0, 1)}))
        >>> study.note(study.ask().id, "the street was closed", tags=["roadworks"])
        >>> study.trials[0].tags
        ('roadworks',)
        """
        telling.note(self._log, id, note, tags)

    def add(
        self,
        decision: Values,
        value: float,
        *,
        context: Values | None = None,
        noise: float | None = None,
        at: datetime | None = None,
    ) -> int:
        """Add a finished trial from elsewhere, such as history, and return its id; `at` is when it happened.

        Contexts of the calendar are known from `at`.
        """
        return telling.add(self._log, Past(decision, value, context, noise, at))

    def add_many(self, rows: Sequence[Past], *, again: bool = False) -> list[int | None]:
        """Add finished trials in one transaction; return the id of each, None where it is there already.

        A row is there already where a trial says the same: decision, context, value and noise, and the date where both have
        one. Two equal rows are two trials. With `again` every row is added.
        """
        return telling.add_many(self._log, rows, again=again)

    def known_rows(self, rows: Sequence[Past]) -> list[bool]:
        """Return which rows `add_many` would leave out, because they are there already."""
        return telling.known_rows(self._log, rows)

    def use(self, policy: Policy) -> None:
        """Go on with another policy; what was asked and told stays."""
        use(self._log, self._reader, policy, self._memory)

    def declare(self, *, status_quo: Values | None = None, horizon: int | None = None) -> None:
        """Declare a status quo, a horizon or both, from now on; what is left out stays as it is."""
        declare_standing(self._log, status_quo=status_quo, horizon=horizon)

    # -- looking ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the study as it is in its journal now, for whoever shows it; it does not change when the study does."""
        self.sync()
        with self._lock:
            return snapshot_of(self._log, self.policy, self.trials, self._memory, self._kept)

    def run(
        self,
        evaluate: Callable[[Suggestion], float | Result],
        rounds: int | None = None,
        *,
        until: int | Settled | None = None,
        executor: Executor | None = None,
        workers: int | None = None,
        leftover: Leftover = "keep",
        progress: bool = True,
    ) -> None:
        """Ask, evaluate and tell, `rounds` more times or until the study has `until` trials, with a progress bar.

        With `until=Settled(delta)` it stops by itself, after at most `rounds`: see `windward.Settled`.
        `evaluate` takes a `Suggestion` and returns a number or a `Result`. Where it raises, the trial is lost with the
        error's text and the loop goes on; three failures in a row end it with the error. With an `executor` (threads,
        processes, a cluster's) `workers` evaluations are kept in flight, one per processor where not said. Ctrl-C raises
        KeyboardInterrupt: all that was told is in the journal, what was being evaluated stays pending. `leftover` says
        what becomes of trials an earlier run left pending: kept (and named in the log), evaluated again, or lost.
        """
        run_rounds(
            self, evaluate, rounds, until, executor=executor, workers=workers, leftover=leftover, progress=progress
        )

    @property
    def _history(self) -> History:
        return self._log.history
