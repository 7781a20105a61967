"""The table of Windward's own parts, and `to_json` / `from_json` for policies, spaces and single parts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from windward import beliefs, contexts, divergences, feedback, objectives, policy, rules, search, space, surrogate
from windward.basics.codec import decode, dumps, encode, table_of, unreadable
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown

# Every room names its own.
ROOMS = (beliefs, contexts, divergences, feedback, objectives, policy, rules, search, space, surrogate)
OWN_PARTS: tuple[type, ...] = tuple(part for room in ROOMS for part in room.PARTS)


def to_json(part: Any) -> str:
    """Return a policy, a space or any part as JSON text.

    >>> from windward.space import Real
    >>> to_json(Real(0, 1))
    '{"part":"Real","low":0.0,"high":1.0,"log":false,"outside":"keep"}'
    """
    return dumps(encode(part))


def from_json(text: str, *, parts: Iterable[type] = ()) -> Any:
    """Return what `to_json` wrote; `parts` are classes of your own that may appear in it.

    >>> from_json('{"part":"Real","low":0.0,"high":1.0}')
    Real(low=0.0, high=1.0, log=False, outside='keep')
    """
    table = table_of(OWN_PARTS, parts)
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"from_json({shown(text, 60)}): not JSON: {unreadable(text, error)}") from error
    try:
        return decode(data, table)
    except RecursionError as error:
        raise ArgumentError(f"from_json({shown(text, 60)}): nested too deeply.") from error
