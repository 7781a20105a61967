"""Checks of single arguments, used where parts are built and at the study's edge.

Each takes the name of the call as the user typed it (`"Sobol"`, `"study.tell"`) and of the argument,
so that a message can be read without a traceback: ``Sobol(count=-1): count must be >= 0.``
"""

from __future__ import annotations

import math
import numbers
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windward.basics.errors import ArgumentError
from windward.basics.speech import shown

if TYPE_CHECKING:
    import torch

# Larger numbers are refused wherever one is given: their squares overflow.
LARGEST = 1e150
# Longer texts are no reason, note or name.
LONGEST_TEXT = 2000
# A whole number that every reader of JSON keeps as it is: more than any count, number of rounds or seed.
LARGEST_WHOLE = 2**53


def is_text(value: object) -> bool:
    """Return whether this is a text that can be written as UTF-8: half a surrogate pair cannot."""
    return isinstance(value, str) and value == value.encode(errors="replace").decode()


def text(call: str, name: str, value: object, *, longest: int = LONGEST_TEXT) -> str:
    """Return `value`, a text that every file, terminal and database can carry, or raise `ArgumentError`."""
    if not isinstance(value, str) or not value.strip() or len(value) > longest:
        raise ArgumentError(f"{call}({name}={shown(value)}): {name} must be a text of 1 to {longest} characters.")
    if not is_text(value):
        raise ArgumentError(
            f"{call}({name}={shown(value)}): {name} holds a byte that is not UTF-8; set the terminal to UTF-8, or write it "
            "with other characters."
        )
    wrong = next((each for each in value if not _carried(each)), None)
    if wrong is not None:
        raise ArgumentError(
            f"{call}({name}={shown(value)}): {name} holds the control character {wrong!r}; only newlines and tabs are taken."
        )
    return value


def cleaned(value: str, *, longest: int = LONGEST_TEXT) -> str:
    """Return a text that `text` takes: what it would refuse is replaced by a mark, what is too long is cut."""
    kept = "".join(each if _carried(each) and is_text(each) else "\ufffd" for each in value.replace("\r\n", "\n"))
    return kept if len(kept) <= longest else kept[: longest - 1] + "\u2026"


def _carried(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) != "Cc"


def number(
    call: str,
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Return `value` as a finite float inside the given bounds, or raise `ArgumentError`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ArgumentError(f"{call}({name}={shown(value)}): {name} must be a number, got {type(value).__name__}.")
    try:
        result = float(value)
    except OverflowError:  # a whole number beyond the floats
        result = math.inf
    if not abs(result) <= LARGEST:
        raise ArgumentError(f"{call}({name}={shown(value)}): {name} must be finite, at most {LARGEST:g} in size.")
    if result < low or (open_low and result == low):
        raise ArgumentError(f"{call}({name}={shown(value)}): {name} must be {'>' if open_low else '>='} {low:g}.")
    if result > high or (open_high and result == high):
        raise ArgumentError(f"{call}({name}={shown(value)}): {name} must be {'<' if open_high else '<='} {high:g}.")
    return result


def whole(call: str, name: str, value: object, *, low: int, high: int = LARGEST_WHOLE) -> int:
    """Return `value` as an int inside the given bounds, or raise `ArgumentError`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentError(
            f"{call}({name}={shown(value)}): {name} must be a whole number, got {type(value).__name__}."
        )
    result = int(value)
    if result < low:
        raise ArgumentError(f"{call}({name}={shown(value)}): {name} must be >= {low}.")
    if result > high:
        raise ArgumentError(f"{call}({name}={shown(value)}): {name} must be <= {high}.")
    return result


def choice(call: str, name: str, value: object, allowed: Sequence[Any]) -> None:
    """Raise `ArgumentError` unless `value` is one of `allowed`."""
    # Of the option's own type first: an array would compare element by element.
    if not any(isinstance(value, type(option)) and value == option for option in allowed):
        options = ", ".join(repr(option) for option in allowed)
        raise ArgumentError(f"{call}({name}={shown(value)}): {name} must be one of {options}.")


def flag(call: str, name: str, value: object) -> None:
    """Raise `ArgumentError` unless `value` is True or False."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{call}({name}={shown(value)}): {name} must be True or False.")


def device(call: str, value: object) -> torch.device:
    """Return the device, or raise `ArgumentError` if this machine has none of that name."""
    import torch

    if not isinstance(value, str | torch.device):
        raise ArgumentError(f'{call}(device={shown(value)}): give a name: "cpu", or "cuda" if this machine has it.')
    try:
        found: torch.device = torch.zeros(1, dtype=torch.float64, device=value).device
    except (TypeError, RuntimeError, AssertionError, ValueError, ImportError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ArgumentError(
            f'{call}(device={shown(value)}): give "cpu", or "cuda" if this machine has it ({reason}).'
        ) from error
    if found.type == "meta":
        raise ArgumentError(f'{call}(device={shown(value)}): give "cpu", or "cuda" if this machine has it.')
    return found
