"""How a study begins: what it is made from is checked, tried together, and becomes the body of its first event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windward.basics import arguments
from windward.basics.codec import encode
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.default import auto
from windward.journal import check_name, check_texts
from windward.journal.events import VERSION
from windward.policy import Policy, check_policy
from windward.rules.guards import check_status_quo
from windward.space.outcomes import Maximize, Minimize, checked_outcome, logged
from windward.space.parameters import Value
from windward.space.space import Space
from windward.study.standing import checked_standing
from windward.version import __version__


def created_body(
    space: Space,
    policy: Policy | None,
    *,
    name: str,
    seed: int,
    direction: str | None,
    outcomes: Mapping[str, Maximize | Minimize] | None,
    status_quo: Mapping[str, Value] | None,
    horizon: int | None,
    memory: int,
) -> dict[str, Any]:
    """Return the body of a study's first event, or raise an error that says what is wrong with what it is made from."""
    if not isinstance(space, Space):
        raise ArgumentError(f"Study(space={shown(space)}): give a Space.")
    if policy is None:
        policy = auto()
    check_policy("Study", policy)
    outcome = checked_outcome("Study", outcomes, direction, {*space.decision, *space.context})
    seed = arguments.whole("Study", "seed", seed, low=0)
    check_name("Study", name, new=True)
    check_texts("Study", space)
    status_quo, horizon = checked_standing("Study", space, status_quo, horizon)
    check_status_quo("Study", policy.guard, status_quo)
    policy.check(space, sign=1.0 if outcome.goal == "maximize" else -1.0, memory=memory)
    return {
        "v": VERSION,
        "space": encode(space),
        "policy": encode(policy),
        "outcomes": logged(outcome),
        "seed": seed,
        "status_quo": status_quo,
        "horizon": horizon,
        "windward": __version__,
    }
