"""A study is a fold over its events: `History` is the state after the events applied so far.

The space is read here, because every value is checked against it. The policy and the last fit stay the JSON that they were
written as: whoever computes suggestions reads them, and whoever tells a value needs neither them nor torch.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, MutableMapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, NewType, Protocol, TypeVar

from windward.basics import arguments
from windward.basics.codec import Table, decode, table_of
from windward.basics.errors import JournalError, WindwardError
from windward.basics.times import read_time
from windward.journal.events import Draft, Event
from windward.journal.fingerprints import fingerprint
from windward.journal.upcast import readable, upcast, why
from windward.space import PARTS as SPACE_PARTS
from windward.space.dates import typed_only
from windward.space.numeric import wrong_unit
from windward.space.outcomes import VALUE, Outcome
from windward.space.parameters import Value
from windward.space.space import Space, accepted_before
from windward.trials.coming import said_forecasts
from windward.trials.ledger import Ledger
from windward.trials.reasons import reason_of
from windward.trials.records import Trial

Part = TypeVar("Part")
# Drafts that were folded once: what is written can be read again. Only `Scratch` makes them.
Checked = NewType("Checked", tuple[Draft, ...])

# Before the idempotency keys that callers brought.
BY_CALLER = "key:"
# What becomes of a value without its whole context when its trial is given up.
SET_ASIDE = "set_aside"
GOALS = ("maximize", "minimize")


class Reader(Protocol):
    """Reads the parts in a log; what it cannot read it refuses, and the fold names the event."""

    @property
    def table(self) -> Table:
        """The parts that a space may hold."""
        ...

    def policy(self, body: Any) -> object:
        """Read a policy."""
        ...

    def fit(self, body: Any) -> object:
        """Read the hyper-parameters of a fit."""
        ...


@dataclass(frozen=True)
class SpaceReader:
    """Reads spaces alone, and leaves policies and fits as they are: enough to tell a value."""

    table: Table = field(default_factory=lambda: table_of(SPACE_PARTS))

    def policy(self, body: Any) -> object:
        """Leave a policy as it is."""
        return body

    def fit(self, body: Any) -> object:
        """Leave a fit as it is."""
        return body


class History:
    """What the log says: the space, the policy in force, the trials, the last fit. Only `apply` changes it."""

    def __init__(self, study: str, reader: Reader | None = None) -> None:
        self.study = study
        self._reader: Reader = reader or SpaceReader()
        self.head = 0  # the last seq applied
        self.space: Space
        self.policy_body: Any  # of the policy in force
        self.birth: str | None = None  # the key of the first event: another study of the same name has another
        self.outcome = VALUE  # the name of what is told
        self.unit: str | None = None  # what it is counted in
        self.direction: Literal["maximize", "minimize"] = "maximize"
        self.status_quo: dict[str, Value] | None = None
        self.horizon: int | None = None
        self.seed = 0
        self.fit_body: Any = None  # of the last suggestion that had hyper-parameters
        self.fitted = 0  # the last event that their fit knew of
        self.amended = 0  # the last amendment: what a fit made of the old numbers may be far off
        self._policy_since = 0
        self.calls: MutableMapping[str, Event] = {}  # by the keys that callers brought
        self.marks: dict[int, tuple[str, datetime | None]] = {}  # fingerprint and date that each added trial came with
        self._rows: list[Trial] = []
        self._asks = 0

    @property
    def sign(self) -> float:
        """+1 where the study maximizes, -1 where it minimizes."""
        return 1.0 if self.direction == "maximize" else -1.0

    @property
    def told(self) -> Outcome:
        """What is told, as people read it."""
        return Outcome(self.outcome, self.direction, self.unit)

    @property
    def rows(self) -> tuple[Trial, ...]:
        """The trials as they are now, in order of id."""
        return tuple(self._rows)

    @property
    def ledger(self) -> Ledger:
        """The trials as they are now; immutable."""
        return Ledger(self.space, self.rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, id: int) -> Trial:
        return self._rows[id]

    def apply(self, events: Iterable[Event]) -> None:
        """Apply the events that have not been applied yet, in order of seq."""
        for written in events:
            if written.seq <= self.head:
                continue
            event = upcast(written, self.study)
            try:
                getattr(self, f"_{event.kind}")(event, event.body)
                if event.key.startswith(BY_CALLER):
                    self.calls[event.key] = event
            except WindwardError as error:
                raise JournalError(f"study {self.study!r}: event {event.seq} ({event.kind}): {error}") from error
            except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
                raise JournalError(
                    f"study {self.study!r}: event {event.seq} ({event.kind}) is damaged: {why(error)}; restore a copy of it."
                ) from error
            self.head = event.seq

    def checked(self, drafts: Sequence[Draft]) -> Checked:
        """Return drafts that can be written after this history; `JournalError` where they could not be read again."""
        scratch = Scratch(self)
        scratch.take(drafts)
        return scratch.drafts

    def _created(self, event: Event, body: dict[str, Any]) -> None:
        if self.head:
            raise KeyError("a study begins once")
        self.birth = event.key
        self._reader.policy(body["policy"])
        self.policy_body = body["policy"]
        self.seed = arguments.whole("body", "seed", body["seed"], low=0)
        self._declared(event, body)

    def _declared(self, event: Event, body: dict[str, Any]) -> None:
        """Take a declaration, or what a later one changes."""
        if "space" in body:
            with accepted_before():
                space = _part(Space, decode(body["space"], self._reader.table))
            if self._rows and (list(space.decision), list(space.context)) != (
                list(self.space.decision),
                list(self.space.context),
            ):
                raise KeyError("another space than the trials have")
            self.space = space
            # What was imagined was typed by nobody: rounding may have put it past a bound that a typed value must keep.
            contexts = {name: parameter.kept_outside() for name, parameter in space.context.items()}
            self._anywhere = Space(space.decision, contexts)
        if "outcomes" in body:
            ((self.outcome, outcome),) = body["outcomes"].items()
            arguments.choice("body", "goal", outcome["goal"], GOALS)
            self.direction, self.unit = outcome["goal"], outcome["unit"]
            if wrong_unit(self.unit) is not None:
                raise TypeError(f"{self.unit!r:.60} where a unit was expected")
        if body.get("status_quo") is not None:
            self.status_quo = self._decision(body["status_quo"])
        if body.get("horizon") is not None:
            self.horizon = arguments.whole("body", "horizon", body["horizon"], low=1)

    def _noted(self, event: Event, body: dict[str, Any]) -> None:
        if event.trial is not None:  # `changed` stays: a note moves no fit and no stream
            self._rows[self._of(event).id] = replace(
                self._of(event), note=_text(body["note"]) or None, tags=tuple(map(_text, body["tags"]))
            )

    def _policy_set(self, event: Event, body: dict[str, Any]) -> None:
        self._reader.policy(body["policy"])
        self.policy_body = body["policy"]
        self.fit_body, self._policy_since = None, event.seq  # another surrogate may mean something else by them

    def _asked(self, event: Event, body: dict[str, Any]) -> None:
        given = self._context(body["given"])
        context = self._context(body["chosen"]) if body["chosen"] else given
        if body["fit"] is not None:
            self._reader.fit(body["fit"])
        when, whole = read_time(body["when"]), len(context) == len(self.space.context)
        # What is known from the time is given by nobody; a context of nothing else is.
        given = given if whole else typed_only(self.space, given)
        source: Any = "chosen" if body["chosen"] else ("given" if given else None)
        read, fitted = (arguments.whole("body", name, body[name], low=0) for name in ("read", "fitted"))
        arguments.flag("body", "kept", body["kept"])
        _text(body["versions"]["windward"])
        self.space.check_decision("body", body["fixed"], partial=True)
        if body["radius"] is not None:
            arguments.number("body", "radius", body["radius"], low=0.0)
        forecasts = {} if body["forecast"] is None else said_forecasts(self.space, body["forecast"]["said"])
        reason_of(body["reason"], body["guards"])
        arguments.flag("body", "far", body["far"])
        self._grow(
            event,
            Trial(
                len(self._rows),
                self._decision(body["decision"]),
                context=context,
                context_planned=context or None,
                context_seen=frozenset(name for name in self.space.dated if name in context),
                context_source=source,
                forecast=forecasts,
                stand_in=None if body["stand_in"] is None else self._imagined(body["stand_in"]),
                when=when or event.at,
                asked_at=event.at,
                context_at=event.at if whole and context else None,
                turn=self._asks,
                tags=tuple(map(_text, body["tags"])),
                far=body["far"],
                changed=event.seq,
            ),
        )
        self._asks += 1
        # An ask may be written after a policy that it did not know.
        if body["fit"] is not None and read >= self._policy_since:
            self.fit_body, self.fitted = body["fit"], fitted

    def _added(self, event: Event, body: dict[str, Any]) -> None:
        trial = Trial(
            len(self._rows),
            self._decision(body["decision"]),
            context=self._context(body["context"]),
            context_seen=frozenset(body["context"]),
            context_source="revealed" if body["context"] else None,
            **self._numbers(body, value_too=True),
            when=event.at if body["dated"] else None,
            context_at=event.at,
            told_at=event.at,
            changed=event.seq,
        )
        mark = body["fingerprint"] or fingerprint(trial.decision, trial.context, trial.value, trial.noise)
        date = event.at if body["dated"] else None
        self._grow(event, trial)
        self.marks[trial.id] = mark, date

    def _context_seen(self, event: Event, body: dict[str, Any]) -> None:
        trial, seen = self._of(event), self._context(body["context"])
        context = {**trial.context, **seen}
        named: dict[str, Any] = {"context_seen": trial.context_seen | set(seen)}
        if context == trial.context:  # as planned: nothing changes, it is only sure now
            self._rows[trial.id] = replace(trial, **named)
            return
        planned = trial.context_planned or {}
        otherwise = any(name in planned and planned[name] != value for name, value in seen.items())
        source = trial.context_source
        source = "revealed" if source is None or (otherwise and source == "given") else source
        if trial.set_aside is not None and len(context) == len(self.space.context):  # the value counts again
            named |= {"value": trial.set_aside, "set_aside": None, "lost": None}
        self._put(event, context=context, context_source=source, context_at=event.at, **named)

    def _told(self, event: Event, body: dict[str, Any]) -> None:
        turn = self._of(event).turn
        delay = None if turn is None else self._asks - turn - 1
        found = {**self._numbers(body, value_too=True), **self._done(event, body)}
        self._put(event, **found, set_aside=None, lost=None, told_at=event.at, delay=delay)

    def _lost(self, event: Event, body: dict[str, Any]) -> None:
        aside = {"value": None, "set_aside": self._of(event).value} if body["told"] == SET_ASIDE else {}
        self._put(event, lost=_text(body["reason"]), **aside)

    def _amended(self, event: Event, body: dict[str, Any]) -> None:
        changes = {**self._numbers(body), **self._done(event, body)}
        if "context" in body:
            changes["context"] = {**self._of(event).context, **self._context(body["context"])}
            changes["context_seen"] = self._of(event).context_seen | set(body["context"])
        if "when" in body:
            changes["when"] = read_time(body["when"])
        if "reason" in body:
            changes["lost"] = _text(body["reason"])
        if set(changes) == {"lost"}:  # other words for the same: no fit and no stream moves
            self._rows[self._of(event).id] = replace(self._of(event), **changes)
            return
        self._put(event, **changes)
        self.amended = event.seq

    def _numbers(self, body: dict[str, Any], *, value_too: bool = False) -> dict[str, Any]:
        """Return the value and the noise that a body has; the value must be there where `value_too`."""
        found: dict[str, Any] = {}
        if value_too or "values" in body:
            found["value"] = arguments.number("body", "value", body["values"][self.outcome])
        if value_too:
            found["noise"] = None
        if body.get("noise"):
            found["noise"] = arguments.number("body", "noise", body["noise"][self.outcome])
        return found

    def _done(self, event: Event, body: dict[str, Any]) -> dict[str, Any]:
        """Return the change for a decision that was done differently from what was asked."""
        if body.get("decision") is None:
            return {}
        trial = self._of(event)
        return {"decision": self._decision(body["decision"]), "planned": trial.planned or trial.decision}

    # What was checked on its way in passes here unchanged; what does not pass was damaged since.

    def _decision(self, decision: object) -> dict[str, Value]:
        return self.space.check_decision("body", decision, planned=False)

    def _context(self, context: object) -> dict[str, Value]:
        return self.space.check_context("body", context, partial=True)

    def _imagined(self, context: object) -> dict[str, Value]:
        return self._anywhere.check_context("body", context, partial=True)

    def _of(self, event: Event) -> Trial:
        if event.trial is None or not 0 <= event.trial < len(self._rows):
            raise KeyError(f"no trial {event.trial}")
        return self._rows[event.trial]

    def _put(self, event: Event, **changes: Any) -> None:
        trial = self._of(event)
        self._rows[trial.id] = replace(trial, **changes, changed=event.seq)

    def _grow(self, event: Event, trial: Trial) -> None:
        if event.trial != trial.id:
            raise KeyError(f"trial {event.trial} where {trial.id} was expected")
        self._rows.append(trial)


class Scratch:
    """A history to try drafts on before they are written, so that a later one sees those before it.

    The history it was made from stays as it is. A scratch does not know which lines were imported.
    """

    def __init__(self, history: History) -> None:
        self.history = copy(history)
        self.history._rows, self.history.calls = list(history._rows), ChainMap({}, history.calls)
        self.history.marks = {}
        self._drafts: list[Draft] = []

    def take(self, drafts: Sequence[Draft]) -> None:
        """Fold drafts as though they had been written; `JournalError` where they could not be read again."""
        now, head = datetime.now(UTC), self.history.head
        self.history.apply(
            Event(seq, draft.kind, draft.trial, draft.key or "", draft.at, now, draft.body)
            for seq, draft in enumerate(drafts, start=head + 1)
        )
        self._drafts += drafts

    @property
    def drafts(self) -> Checked:
        """All drafts that were taken, in order."""
        return Checked(tuple(self._drafts))


def _part(kind: type[Part], part: object) -> Part:
    if not isinstance(part, kind):
        raise TypeError(f"{part!r:.60} where a {kind.__name__} was expected")
    return part


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{text!r:.60} where a text was expected")
    return readable(text)
