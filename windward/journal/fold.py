"""A study is a fold over its events: `History` is the state after the events applied so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

import torch

from windward import check
from windward.codec import decode
from windward.errors import JournalError, WindwardError
from windward.journal.events import Event
from windward.parameters import Value
from windward.policy import Policy
from windward.space import Space
from windward.surrogate import Hyperparameters
from windward.trials import Trial, Trials

Part = TypeVar("Part")

# Before the idempotency keys that callers brought.
BY_CALLER = "key:"


class History:
    """What the log says: the space, the policy in force, the trials, the last fit. Only `apply` changes it."""

    def __init__(self, study: str, table: Mapping[str, type], device: torch.device) -> None:
        self.study, self.table, self.device = study, table, device
        self.head = 0  # the last seq applied
        self.space: Space
        self.policy: Policy
        self.direction: Literal["maximize", "minimize"] = "maximize"
        self.seed = 0
        self.hyperparameters: Hyperparameters | None = None  # of the last suggestion that had any
        self.fitted = 0  # the last event that their fit knew of
        self.calls: dict[str, Event] = {}  # by the keys that callers brought
        self._rows: list[Trial] = []
        self._asks = 0

    @property
    def sign(self) -> float:
        """+1 where the study maximizes, -1 where it minimizes."""
        return 1.0 if self.direction == "maximize" else -1.0

    @property
    def trials(self) -> Trials:
        """The trials as they are now; immutable."""
        return Trials(self.space, tuple(self._rows), self.sign, self.device)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, id: int) -> Trial:
        return self._rows[id]

    def apply(self, events: Iterable[Event]) -> None:
        """Apply the events that have not been applied yet, in order of seq."""
        for event in events:
            if event.seq <= self.head:
                continue
            try:
                getattr(self, f"_{event.kind}")(event, event.body)
            except (KeyError, IndexError, TypeError, AttributeError) as error:
                raise JournalError(
                    f"study {self.study!r}: event {event.seq} ({event.kind}) is damaged: {error!r}."
                ) from error
            except WindwardError as error:
                raise JournalError(f"study {self.study!r}: event {event.seq} ({event.kind}): {error}") from error
            self.head = event.seq
            if event.key.startswith(BY_CALLER):
                self.calls[event.key] = event

    def _created(self, event: Event, body: dict[str, Any]) -> None:
        self.space = _part(Space, decode(body["space"], self.table))
        self.policy = _part(Policy, decode(body["policy"], self.table))
        check.choice("body", "direction", body["direction"], ("maximize", "minimize"))
        self.direction, self.seed = body["direction"], check.whole("body", "seed", body["seed"], low=0)

    def _policy_set(self, event: Event, body: dict[str, Any]) -> None:
        self.policy = _part(Policy, decode(body["policy"], self.table))
        self.hyperparameters = None  # another surrogate may mean something else by them

    def _asked(self, event: Event, body: dict[str, Any]) -> None:
        context = body["chosen"] or self._context(body["given"])
        fit = None if body["fit"] is None else decode(body["fit"], self.table)
        source: Any = "chosen" if body["chosen"] else ("given" if body["given"] else None)
        whole = len(context) == len(self.space.context)
        self._grow(
            event,
            Trial(
                len(self._rows),
                self._decision(body["decision"]),
                context=context,
                context_source=source,
                stand_in=body["stand_in"],
                asked_at=event.at,
                context_at=event.at if whole and context else None,
                turn=self._asks,
                changed=event.seq,
            ),
        )
        self._asks += 1
        if fit is not None:
            self.hyperparameters = fit
            self.fitted = check.whole("body", "fitted", body.get("fitted", body["read"]), low=0)  # not in older logs

    def _added(self, event: Event, body: dict[str, Any]) -> None:
        trial = Trial(
            len(self._rows),
            self._decision(body["decision"]),
            context=self._context(body["context"]),
            context_source="revealed" if body["context"] else None,
            value=_number(body, "value"),
            noise=_number(body, "noise"),
            context_at=event.at,
            told_at=event.at,
            changed=event.seq,
        )
        self._grow(event, trial)

    def _context_seen(self, event: Event, body: dict[str, Any]) -> None:
        trial = self._of(event)
        context = {**trial.context, **self._context(body["context"])}
        self._put(event, context=context, context_source=trial.context_source or "revealed", context_at=event.at)

    def _told(self, event: Event, body: dict[str, Any]) -> None:
        numbers = {name: _number(body, name) for name in ("value", "noise")}
        turn = self._of(event).turn
        delay = None if turn is None else self._asks - turn - 1
        self._put(event, **numbers, told_at=event.at, delay=delay, **self._done(event, body))

    def _lost(self, event: Event, body: dict[str, Any]) -> None:
        self._put(event, lost=body["reason"])

    def _amended(self, event: Event, body: dict[str, Any]) -> None:
        changes: dict[str, Any] = {name: _number(body, name) for name in ("value", "noise") if name in body}
        if "context" in body:
            changes["context"] = {**self._of(event).context, **self._context(body["context"])}
        self._put(event, **changes, **self._done(event, body))

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


def _part(kind: type[Part], part: object) -> Part:
    if not isinstance(part, kind):
        raise TypeError(f"{part!r:.60} where a {kind.__name__} was expected")
    return part


def _number(body: dict[str, Any], name: str) -> float | None:
    # The noise may be missing; a value may not.
    return None if name == "noise" and body[name] is None else check.number("body", name, body[name])
