"""Suggestions and recommendations in the user's words, and what an `asked` event records so that one can be made again."""

from __future__ import annotations

import logging
import platform
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import scipy
import torch

from windward.basics import arguments, streams
from windward.basics.codec import Table, decode, encode
from windward.basics.errors import JournalError, TrialError, WindwardError
from windward.basics.times import read_time, written_time
from windward.contexts.coupled import Foretold
from windward.journal import Draft, Event, History, Journal, rules
from windward.journal.events import VERSION
from windward.journal.keys import asked_before, suggested
from windward.journal.upcast import WRITTEN_IN, upcast
from windward.policy import Policy
from windward.space import Space, Value
from windward.study.log import Log
from windward.study.reading import PartsReader
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.surrogate import Hyperparameters, Posterior, Start
from windward.trials.coming import Awaited, said_forecasts
from windward.trials.records import Suggestion
from windward.trials.trials import Trials
from windward.version import __version__

logger = logging.getLogger("windward")

# Asks that lose the race against another process's ask this many times in a row give up with an error.
MOST_RETRIES = 100
# Asks that lose against others stand back for up to this many times as long as a suggestion takes: as many processes then
# share the machine without most of them computing what nobody will use.
LONGEST_STAND = 16
# A place in the line of those who ask lasts this long; whoever waits or computes says again and again that it is there.
LEASE_SECONDS = 5.0
# Whoever has waited this long goes on: the line spares work and must not stop it.
LONGEST_WAIT = 120.0
# Seconds until the next look at the line, for each who stands before.
LOOK_AGAIN = 0.01


def attempts(most: int) -> Iterator[None]:
    """Yield up to `most` times; after each time that was not enough, stand back for a while that grows, by chance.

    Every ask that succeeds makes those that were being computed worthless: they did not know of it.
    """
    chance = random.Random()  # noqa: S311 - of pauses alone
    for lost in range(most):
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        time.sleep(chance.uniform(0.0, min(2**lost, LONGEST_STAND)) * took)


@dataclass(frozen=True)
class Wanted:
    """What a caller asks with: what is known of the coming context, decisions that are not free, another radius.

    `far` asks for a decision far from all that were tried.
    """

    coming: Awaited = field(default_factory=Awaited)
    fixed: Mapping[str, Value] = field(default_factory=dict)
    radius: float | None = None
    when: datetime | None = None  # left out, at the time of the ask
    far: bool = False

    def __post_init__(self) -> None:
        arguments.flag("study.ask", "far", self.far)

    def at(self, space: Space, now: datetime) -> Wanted:
        """Return the same with what is known from the time, now where none was said."""
        return replace(self, coming=self.coming.at("study.ask", space, self.when or now))

    def request(self) -> dict[str, Any]:
        """Return the fields of a request that say so."""
        known = {"given": self.coming.given, "forecasts": self.coming.forecasts, "when": self.when}
        return {**known, "fixed": self.fixed, "radius": self.radius, "far": self.far}

    @cached_property
    def said(self) -> dict[str, Any]:
        """What an asked event says of it."""
        return {
            "given": dict(self.coming.given),
            "fixed": dict(self.fixed),
            "radius": self.radius,
            "far": self.far,
            "forecast": self.coming.said,
            "when": written_time(self.when),
        }


@dataclass(frozen=True)
class Fit:
    """Hyper-parameters, the last event their fit knew of, and the last amendment."""

    hyperparameters: Hyperparameters
    fitted: int
    amended: int = 0


def trials_of(history: History, device: torch.device) -> Trials:
    """Return the trials as they are now, with tensors on a device; immutable."""
    return Trials(history.space, history.rows, history.sign, device, history.told)


def standing_of(history: History) -> dict[str, Any]:
    """Return what a history says of every ask: the seed, the horizon, the status quo."""
    return {"seed": history.seed, "horizon": history.horizon, "status_quo": history.status_quo}


def fit_of(history: History, reader: PartsReader) -> Fit | None:
    """Return the fit of the last suggestion that had one, None before that."""
    if history.fit_body is None:
        return None
    return Fit(reader.fit(history.fit_body), history.fitted, history.amended)


@contextmanager
def turn(journal: Journal, study: str, holder: str) -> Iterator[None]:
    """Wait for the holder's turn to ask, and keep it for as long as the block takes.

    An ask that is computed while another one is written is thrown away: in line nobody computes in vain. A holder that
    died drops out after `LEASE_SECONDS`, and nobody waits for ever.
    """
    began, said = time.monotonic(), False
    while (before := journal.lease(study, holder, LEASE_SECONDS)) and time.monotonic() - began < LONGEST_WAIT:
        if not said and time.monotonic() - began > LEASE_SECONDS:
            logger.info("study %r: waiting for %d other asks of this study.", study, before)
            said = True
        time.sleep(min(before * LOOK_AGAIN, 0.5 * LEASE_SECONDS))
    done, stayed = threading.Event(), threading.Event()

    def stay() -> None:
        # The ask itself meets what is wrong with the journal, and says so.
        with suppress(WindwardError):
            while not done.wait(LEASE_SECONDS / 3.0):
                stayed.set()
                journal.lease(study, holder, LEASE_SECONDS)

    staying = threading.Thread(target=stay, daemon=True)
    staying.start()
    try:
        yield
    finally:
        done.set()
        if stayed.is_set():  # it may have entered the line again just after the ask was written
            staying.join(LEASE_SECONDS)
            with suppress(WindwardError):
                journal.lease(study, holder, 0.0)


def start_of(policy: Policy, trials: Trials, fit: Fit | None, *, keep: bool, previous: Posterior | None) -> Start:
    """Return where a suggestion starts: from the last fit, searched again where it is due, unless it is to be kept."""
    if fit is None:
        return Start()
    if not keep and fit.amended <= fit.fitted:
        keep = not policy.surrogate.due(policy.feedback.dataset(policy.view(trials)), fit.fitted)
    return Start(fit.hyperparameters, keep, fit.fitted, previous)


def asked_body(policy: Policy, trials: Trials, request: Request, read: int) -> tuple[dict[str, Any], Posterior | None]:
    """Return the body of an asked event, a pure function of its arguments, and the posterior of what has arrived.

    `read` is the last event the suggestion knew of. `kept` says that the hyper-parameters in `fit` were taken as they
    were, `fitted` what their fit had read; `fit` is None in the design.
    """
    generator = streams.asking(request.seed, len(trials))
    proposal = suggest(policy, trials, request, generator)
    space = trials.space
    stand_in = None if proposal.stand_in is None else space.decode_context(proposal.stand_in) | dict(request.given)
    kept = request.start.keep
    body: dict[str, Any] = {
        "v": VERSION,
        "read": read,
        "decision": dict(proposal.exact or space.decode_decision(proposal.x)) | dict(request.fixed),
        "given": dict(request.given),
        "fixed": dict(request.fixed),
        "chosen": None if proposal.context is None else space.decode_context(proposal.context) | dict(request.given),
        "stand_in": stand_in,
        "fit": None if proposal.hyperparameters is None else encode(proposal.hyperparameters),
        "kept": kept,
        "fitted": request.start.fitted if kept else read,
        "forecast": forecast_body(space, request, proposal.foretold),
        "when": written_time(request.when),
        "radius": request.radius,
        "reason": proposal.reason.data(),
        "guards": proposal.reason.guard_data(),
        "tags": [],
        "versions": versions(),
        "threads": torch.get_num_threads(),
        "device": device_name(trials.device),
    }
    # Left out where it was not wanted, as by the first logs of version 2: see `upcast.SINCE`.
    return body | ({"far": True} if request.far else {}), proposal.posterior


def forecast_body(space: Space, request: Request, made: Foretold | None) -> dict[str, Any] | None:
    """Return what an asked event keeps of forecasts: what was said, the points made of it, and what the pools took."""
    said = Awaited(forecasts=request.forecasts).said
    if said is None:
        return None
    body: dict[str, Any] = {"said": said, "points": None, "weights": None, "shares": None}
    if made is None:
        return body
    points, weights = made.contexts.points, made.contexts.weights
    return {
        **body,
        "points": [space.decode_context(point) for point in points[weights > 0]],
        "weights": weights[weights > 0].tolist(),
        "shares": {name: pool.shares.tolist() for name, pool in made.pools.items()},
    }


class Asker:
    """Asks for one study. What it keeps between two asks saves work and changes nothing."""

    def __init__(self, log: Log, reader: PartsReader, device: torch.device, memory: int) -> None:
        self._log, self._reader, self._device, self._memory = log, reader, device, memory
        self.posterior: Posterior | None = None  # of the last ask
        self._said_older = False  # that asks of an older version are replayed in their own way

    def ask(self, key: str, wanted: Wanted) -> Suggestion:
        """Return the next decision to try, written to the journal; with the same key the same one again."""
        try:
            return self._asked(key, wanted)
        except BaseException:
            with suppress(WindwardError):  # nobody need wait for an ask that failed; its own error is what counts
                self._log.journal.lease(self._log.name, key, 0.0)
            raise

    def _asked(self, key: str, wanted: Wanted) -> Suggestion:
        log = self._log
        kept: tuple[Fit, Policy] | None = None  # of an attempt that lost the race
        for _ in attempts(MOST_RETRIES):
            log.sync()
            if (before := asked_before(log.history, key, wanted.said)) is not None:
                return before
            with turn(log.journal, log.name, key):
                answer, kept = self._attempt(key, wanted, kept)
            if answer is not None:
                return answer
        raise JournalError(f"study.ask: other processes asked first {MOST_RETRIES} times in a row; try again.")

    def _attempt(
        self, key: str, wanted: Wanted, kept: tuple[Fit, Policy] | None
    ) -> tuple[Suggestion | None, tuple[Fit, Policy] | None]:
        """Compute a suggestion and write it; None where another process asked meanwhile, and the fit to keep."""
        log = self._log
        log.sync()
        with log.lock:
            if (before := asked_before(log.history, key, wanted.said)) is not None:
                return before, None
            trials, read, known_by = trials_of(log.history, self._device), log.history.head, standing_of(log.history)
            policy = self._reader.policy(log.history.policy_body)
            # Of another policy: it may mean something else by them.
            known = kept[0] if kept is not None and policy == kept[1] else None
            fit = known or fit_of(log.history, self._reader)
            start = start_of(policy, trials, fit, keep=known is not None, previous=self.posterior)
        now = log.now()
        request = Request(
            now=now, start=start, memory=self._memory, **known_by, **wanted.at(trials.space, now).request()
        )
        body, posterior = asked_body(policy, trials, request, read)
        # What cannot be read again is refused unwritten.
        found = None if body["fit"] is None else decode(body["fit"], self._reader.table)
        self.posterior = posterior
        draft = Draft("asked", len(trials), now, body)
        written = log.append(key, lambda history: history.checked([draft]), after=read, asks=len(trials))
        if written is None:
            # With the same hyper-parameters, take the other's pending decision into account.
            return None, None if found is None else (Fit(found, body["fitted"]), policy)
        # Of another call, where one with this key came first.
        (mine,) = (event for event in written if event.key == key)
        assert mine.trial is not None
        return asked_before(log.history, key, wanted.said) or suggested(mine.trial, mine.body), None

    def replay(self, id: int) -> Suggestion:
        """Recompute a trial's suggestion from the log alone."""
        log = self._log
        log.sync()
        rules.find(log.history, "study.replay", id)
        events = log.journal.read(log.name, birth=log.history.birth)
        asked = next((event for event in events if event.kind == "asked" and event.trial == id), None)
        if asked is None:
            raise TrialError(f"study.replay: trial {id} was added, not asked.")
        body, older = replayed_body(asked, events, log.name, self._reader.table, self._device, self._memory)
        if older and not self._said_older:
            self._said_older = True
            logger.warning(
                "study %r: trial %d was asked by an older version; such asks are replayed with the fit that the log "
                "recorded, and the search may have changed since.",
                log.name,
                id,
            )
        return suggested(id, body)


def replayed_body(
    asked: Event, events: Sequence[Event], study: str, table: Table, device: torch.device, memory: int
) -> tuple[dict[str, Any], bool]:
    """Return what the asked event's body would be if it were computed now, and whether an older version wrote it.

    An ask of an older version is computed with the fit that it recorded: how fits are searched may have changed since.
    """
    reader, body = PartsReader(table), upcast(asked, study).body
    before = History(study, reader)
    before.apply(event for event in events if event.seq <= body["read"])
    recorded = None if body["fit"] is None else decode(body["fit"], table)
    older = WRITTEN_IN in body or body["versions"]["windward"] != __version__
    start = Start(None if before.fit_body is None else reader.fit(before.fit_body))
    if recorded is not None and (body["kept"] or older):
        start = Start(recorded, keep=True, fitted=body["fitted"])
    request = Request(now=asked.at, start=start, memory=memory, **standing_of(before), **asked_for(before.space, body))
    policy, trials = reader.policy(before.policy_body), trials_of(before, device)
    return asked_body(policy, trials, request, body["read"])[0], older


def asked_for(space: Space, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that an asked event says."""
    forecasts = {} if body["forecast"] is None else said_forecasts(space, body["forecast"]["said"])
    coming, when = Awaited(body["given"], forecasts), read_time(body["when"])
    return Wanted(coming, body["fixed"], body["radius"], when, body["far"]).request()


def device_name(device: torch.device) -> str:
    """Return the device in words: numbers may differ in their last bits between two kinds of it."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def versions() -> dict[str, str]:
    """Return the versions a suggestion depends on."""
    return {
        "windward": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
