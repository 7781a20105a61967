"""The parts in a log: policies and fits are built from their JSON once, when they are read, and kept until others come.

A policy that goes into a log is tried on the study first.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

import torch

from windward.basics import arguments, budget
from windward.basics.codec import Table, decode, encode
from windward.journal import Draft
from windward.journal.events import VERSION
from windward.journal.keys import key_for
from windward.policy import Policy, check_policy
from windward.rules.guards import check_status_quo
from windward.study.log import Log
from windward.surrogate import Hyperparameters
from windward.surrogate.fit import check_hyperparameters


class PartsReader:
    """Reads policies and fits with the parts of a table; of each it keeps the last.

    A body is known by its identity: JSON that looks equal may not be (1 and True).
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._policy: tuple[Any, Policy] | None = None
        self._fit: tuple[Any, Any] | None = None

    def policy(self, body: Any) -> Policy:
        """Return a policy, or raise where this is none."""
        known = self._policy
        if known is None or known[0] is not body:
            policy = decode(body, self.table)
            if not isinstance(policy, Policy):
                raise TypeError(f"{policy!r:.60} where a Policy was expected")
            known = self._policy = body, policy
        return known[1]

    def fit(self, body: Any) -> Any:
        """Return the hyper-parameters of a fit, or raise where these are none."""
        known = self._fit
        if known is None or known[0] is not body:
            fit = decode(body, self.table)
            if not is_dataclass(fit):  # a user's own surrogate has hyper-parameters of its own, and they are a part
                raise TypeError(f"{fit!r:.60} where the hyper-parameters of a fit were expected")
            if isinstance(fit, Hyperparameters):
                check_hyperparameters(fit)
            known = self._fit = body, fit
        return known[1]


def allowed(memory: int | None, device: str | torch.device) -> int:
    """Return how many bytes a suggestion may take on a device."""
    return (
        budget.of(arguments.device("Study", device))
        if memory is None
        else arguments.whole("Study", "memory", memory, low=1)
    )


def use(log: Log, reader: PartsReader, policy: Policy, memory: int) -> None:
    """Go on with another policy, from the next ask on; one that does not go with the study is refused."""
    check_policy("study.use", policy)
    log.sync()
    check_status_quo("study.use", policy.guard, log.history.status_quo)
    policy.check(log.space, sign=log.history.sign, memory=memory)
    draft = Draft("policy_set", None, log.now(), {"v": VERSION, "policy": encode(policy)})
    decode(draft.body["policy"], reader.table)  # one that cannot be read back is refused
    log.append(key_for("study.use", None), lambda history: history.checked([draft]))
