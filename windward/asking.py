"""What an `asked` event records, so that a suggestion can be computed again from the log alone."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy
import torch

from windward.codec import decode, encode
from windward.design import hash_seed
from windward.journal import Event, History
from windward.journal.events import VERSION
from windward.policy import Policy, Request, suggest
from windward.surrogate import Start
from windward.trials import Trials
from windward.version import __version__


def asked_body(policy: Policy, trials: Trials, request: Request, read: int) -> dict[str, Any]:
    """Return the body of an asked event: a pure function of its arguments.

    `read` is the last event the suggestion knew of. `kept` says that the hyper-parameters in `fit` were taken as they
    were, `fit` is None in the design.
    """
    generator = torch.Generator().manual_seed(hash_seed(request.seed, len(trials)))
    proposal = suggest(policy, trials, request, generator)
    space = trials.space
    stand_in = None if proposal.stand_in is None else space.decode_context(proposal.stand_in) | dict(request.given)
    return {
        "v": VERSION,
        "read": read,
        "decision": space.decode_decision(proposal.x) | dict(request.fixed),
        "given": request.given,
        "fixed": request.fixed,
        "chosen": None if proposal.context is None else space.decode_context(proposal.context),
        "stand_in": stand_in,
        "fit": None if proposal.hyperparameters is None else encode(proposal.hyperparameters),
        "kept": request.start.keep,
        "versions": versions(),
        "threads": torch.get_num_threads(),
    }


def replayed_body(asked: Event, events: Sequence[Event], study: str, table: Mapping[str, type]) -> dict[str, Any]:
    """Return what the asked event's body would be if it were computed now."""
    before = History(study, table)
    before.apply(event for event in events if event.seq <= asked.body["read"])
    recorded = None if asked.body["fit"] is None else decode(asked.body["fit"], table)
    start = Start(recorded, keep=True) if asked.body["kept"] else Start(before.hyperparameters)
    request = Request(asked.body["given"], asked.body["fixed"], asked.at, before.seed, start)
    return asked_body(before.policy, before.trials, request, asked.body["read"])


def versions() -> dict[str, str]:
    """Return the versions a suggestion depends on."""
    return {
        "windward": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
