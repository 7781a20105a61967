"""What a study holds to besides its trials: its policy, its status quo, its horizon. Each is an event of its own.

    status_quo   what is done without the study: a whole decision. Suggestions are compared with it, guards start from it
    horizon      how many trials the study is meant to have

Nothing here needs torch: a status quo is declared as quickly as a value is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.journal import Draft
from windward.journal.events import VERSION
from windward.journal.keys import key_for
from windward.space.parameters import Value
from windward.space.space import Space

if TYPE_CHECKING:
    from windward.study.log import Log

Values = Mapping[str, Value]


def checked_standing(
    call: str, space: Space, status_quo: Values | None, horizon: int | None
) -> tuple[dict[str, Value] | None, int | None]:
    """Return a status quo and a horizon in canonical form, or raise an error that says what is wrong with one.

    A status quo is a whole decision inside the space: every name, inside its bounds, within the constraints.
    """
    found = None if status_quo is None else space.check_decision(f"{call}(status_quo=...)", status_quo)
    return found, None if horizon is None else arguments.whole(call, "horizon", horizon, low=1)


def declare_standing(log: Log, *, status_quo: Values | None = None, horizon: int | None = None) -> None:
    """Declare a status quo, a horizon or both, from now on; what is left out stays as it is."""
    call = "study.declare"
    if status_quo is None and horizon is None:
        raise ArgumentError(f"{call}(): give a status_quo, such as {_example(log.space)}, or a horizon, such as 60.")
    log.sync()
    found, whole = checked_standing(call, log.space, status_quo, horizon)
    changes = {name: entry for name, entry in (("status_quo", found), ("horizon", whole)) if entry is not None}
    draft = Draft("declared", None, log.now(), {"v": VERSION, **changes})

    def decide(history: Any) -> Any:
        same = all(getattr(history, name) == entry for name, entry in changes.items())
        return history.checked([] if same else [draft])

    log.append(key_for(call, None), decide)


def _example(space: Space) -> str:
    return "{" + ", ".join(f"{name!r}: ..." for name in list(space.decision)[:3]) + "}"
