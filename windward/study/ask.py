"""Suggestions and recommendations in the user's words, and what an `asked` event records so that one can be made again."""

from __future__ import annotations

import logging
import platform
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import torch

from windward.basics import streams
from windward.basics.codec import decode, encode
from windward.basics.errors import WindwardError
from windward.journal import Event, History, Journal
from windward.journal.events import VERSION
from windward.journal.upcast import WRITTEN_IN, upcast
from windward.policy import Policy
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.surrogate import Hyperparameters, Posterior, Start
from windward.trials.trials import Trials
from windward.version import __version__

logger = logging.getLogger("windward")

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
class Fit:
    """Hyper-parameters, the last event their fit knew of, and the last amendment."""

    hyperparameters: Hyperparameters
    fitted: int
    amended: int = 0


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
        "decision": space.decode_decision(proposal.x) | dict(request.fixed),
        "given": request.given,
        "fixed": request.fixed,
        "chosen": None if proposal.context is None else space.decode_context(proposal.context) | dict(request.given),
        "stand_in": stand_in,
        "fit": None if proposal.hyperparameters is None else encode(proposal.hyperparameters),
        "kept": kept,
        "fitted": request.start.fitted if kept else read,
        "forecast": None,
        "when": None,
        "radius": None,
        "reason": None,
        "guards": [],
        "tags": [],
        "versions": versions(),
        "threads": torch.get_num_threads(),
        "device": device_name(trials.device),
    }
    return body, proposal.posterior


def replayed_body(
    asked: Event, events: Sequence[Event], study: str, table: Mapping[str, type], device: torch.device, memory: int
) -> tuple[dict[str, Any], bool]:
    """Return what the asked event's body would be if it were computed now, and whether an older version wrote it.

    An ask of an older version is computed with the fit that it recorded: how fits are searched may have changed since.
    """
    before, body = History(study, table, device), upcast(asked, study).body
    before.apply(event for event in events if event.seq <= body["read"])
    recorded = None if body["fit"] is None else decode(body["fit"], table)
    older = WRITTEN_IN in body or body["versions"]["windward"] != __version__
    start = Start(before.hyperparameters)
    if recorded is not None and (body["kept"] or older):
        start = Start(recorded, keep=True, fitted=body["fitted"])
    request = Request(body["given"], body["fixed"], asked.at, before.seed, start, memory=memory)
    return asked_body(before.policy, before.trials, request, body["read"])[0], older


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
