"""How a study begins: what it is made of is checked, and becomes its first event. Nothing is written here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from windward import papers
from windward.basics import arguments
from windward.basics.codec import encode
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.journal import check_name, check_texts
from windward.journal.events import VERSION
from windward.journal.fold import OUTCOME
from windward.policy import Policy, Report, check_policy
from windward.rules.guards import check_status_quo
from windward.space.parameters import Value
from windward.space.space import Space
from windward.study.standing import checked_standing
from windward.version import __version__

Direction = Literal["maximize", "minimize"]


def default_policy(space: Space) -> Policy:
    """Return the policy of a study that names none: SBO-KDE, or GP-UCB without contexts, with a careful report on history.

    The published methods report by the posterior mean alone. On imported history that recommends what nobody has tried.
    """
    policy = papers.sbo_kde() if space.context else papers.gp_ucb()
    return replace(policy, report=Report(caution="history"))


def created_body(
    space: Space,
    policy: Policy | None,
    *,
    name: str,
    direction: Direction,
    seed: int,
    status_quo: Mapping[str, Value] | None,
    horizon: int | None,
    memory: int,
) -> dict[str, Any]:
    """Return the body of a study's first event, or raise an error that says what is wrong with one of its parts."""
    if not isinstance(space, Space):
        raise ArgumentError(f"Study(space={shown(space)}): give a Space.")
    if policy is None:
        policy = default_policy(space)
    check_policy("Study", policy)
    arguments.choice("Study", "direction", direction, ("maximize", "minimize"))
    seed = arguments.whole("Study", "seed", seed, low=0)
    check_name("Study", name, new=True)
    check_texts("Study", space)
    status_quo, horizon = checked_standing("Study", space, status_quo, horizon)
    check_status_quo("Study", policy.guard, status_quo)
    policy.check(space, sign=1.0 if direction == "maximize" else -1.0, memory=memory)
    return {
        "v": VERSION,
        "space": encode(space),
        "policy": encode(policy),
        "outcomes": {OUTCOME: {"goal": direction, "unit": None}},
        "seed": seed,
        "status_quo": status_quo,
        "horizon": horizon,
        "windward": __version__,
    }
