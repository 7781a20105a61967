"""Parts to JSON and back.

A part is a frozen dataclass; it becomes `{"part": its class name, field: value, ...}` with every field, so that a later
default changes nothing that was written. Only a field marked `LATER`, the step or unit of a parameter, is left out where there
is none: that default never changes. What is read may leave fields out: they are then at their defaults. Names are resolved
against a table the caller passes, then against the parts that installed packages offer (`plugins.py`). Nothing is imported
because a document from a database or a request says where it is.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from windward.basics.errors import ArgumentError, WindwardError, did_you_mean
from windward.basics.plugins import plugin
from windward.basics.speech import shown


@dataclasses.dataclass(frozen=True)
class Table:
    """The classes that a document may name: those given, then those that installed packages offer, if `plugins` allows it."""

    given: Mapping[str, type]
    plugins: bool = True
    # Looking through all installed packages takes milliseconds.
    _found: dict[str, type] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    def find(self, tag: str) -> type | None:
        """Return the class of a tag, None for a tag that nobody knows; a plugin that cannot be used is refused."""
        known = self.given.get(tag) or self._found.get(tag)
        if known is None and (known := plugin(tag, allowed=self.plugins)) is not None:
            self._found[tag] = known
        return known


def encode(value: Any) -> Any:
    """Return `value` as plain JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        body: dict[str, Any] = {"part": type(value).__name__}
        for field in dataclasses.fields(value):
            entry = getattr(value, field.name)
            if not (field.metadata.get("later") and entry == field.default):
                body[field.name] = encode(entry)
        return body
    if isinstance(value, float) and not math.isfinite(value):
        raise ArgumentError(f"{value!r} cannot be written as JSON; use finite numbers.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, timedelta):
        return {"part": "timedelta", "seconds": value.total_seconds()}
    if isinstance(value, Mapping):
        if isinstance(value.get("part"), str):
            raise ArgumentError("a dict with a text under 'part' cannot be stored: it would read as a part.")
        return {str(key): encode(entry) for key, entry in value.items()}
    if isinstance(value, Sequence):
        return [encode(entry) for entry in value]
    raise ArgumentError(
        f"{value!r} of type {type(value).__name__} cannot be written as JSON; use numbers, text or parts."
    )


def decode(data: Any, table: Table) -> Any:
    """Return what `encode` wrote, its parts built from the classes that `table` finds."""
    if isinstance(data, list):
        return tuple(decode(entry, table) for entry in data)
    if not isinstance(data, Mapping):
        return data
    tag = data.get("part")
    if not isinstance(tag, str):
        return {key: decode(entry, table) for key, entry in data.items()}
    kind = timedelta if tag == "timedelta" else table.find(tag)
    if kind is None:  # before its fields: the whole is what the reader looks for
        raise ArgumentError(
            f"unknown part {shown(tag, 60)}{did_you_mean(tag, table.given)}; pass a class of your own with parts=[...]."
        )
    fields = {key: decode(entry, table) for key, entry in data.items() if key != "part"}
    if kind is not timedelta:
        _check_fields(tag, kind, fields)
    return _built(tag, kind, fields)


def _check_fields(tag: str, kind: type, fields: Mapping[str, Any]) -> None:
    """Refuse a field that the part has not, and one that it lacks, by name."""
    own = [field for field in dataclasses.fields(kind) if field.init]
    names = [field.name for field in own]
    known = f"it has {', '.join(names)}" if names else "it has no fields"
    for name in fields:
        if name not in names:
            raise ArgumentError(f"part {tag!r} has no field {shown(name, 60)}{did_you_mean(name, names)}; {known}.")
    for field in own:
        optional = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if field.name not in fields and not optional:
            raise ArgumentError(f"part {tag!r} needs the field {field.name!r}; {known}.")


def table_of(*groups: Iterable[type], plugins: bool = True) -> Table:
    """Return the table of parts by name; two different classes of one name are refused."""
    table: dict[str, type] = {}
    for group in groups:
        if isinstance(group, type) or not isinstance(group, Iterable):
            raise ArgumentError(f"parts={shown(group)}: give a list of classes, such as parts=[MyPart].")
    for kind in (kind for group in groups for kind in group):
        if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
            raise ArgumentError(f"parts=[{shown(kind)}]: a part is a frozen dataclass; give the class itself.")
        if table.setdefault(kind.__name__, kind) is not kind:
            raise ArgumentError(f"parts=[{kind.__name__}]: there is another part of that name; rename yours.")
    return Table(table, plugins)


def dumps(data: Any) -> str:
    """Return compact JSON text; floats round-trip, NaN and infinity are refused."""
    try:
        text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
        # Half a surrogate pair, as in a file name that is not UTF-8, is no text to a database; escaped it is.
        whole = text.isascii() or text == text.encode(errors="replace").decode()
        return text if whole else json.dumps(data, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise ArgumentError(f"cannot be written as JSON: {error}") from error


def unreadable(text: object, error: Exception) -> str:
    """Return why a text could not be read as JSON or TOML, also where Python refuses to read a long whole number."""
    if isinstance(text, str) and re.search(r"[0-9](?:_?[0-9]){4300}", text):
        return "it holds a whole number of more than 4300 digits"
    return str(error)


def _built(tag: str, kind: type, fields: Mapping[str, Any]) -> Any:
    try:
        return kind(**fields)
    except WindwardError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"part {tag!r}: {error}") from error
