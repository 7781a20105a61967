"""A forecast in a CSV file: its columns are contexts, its rows samples, quantiles or chances. No torch."""

from __future__ import annotations

import csv
from typing import Any

from windward.basics.errors import ArgumentError, SpaceError, did_you_mean
from windward.space.space import Space
from windward.trials.foretold import Forecast
from windward.trials.tables import CellTable, Numbers, between_cells

# A column with one of these names says what the rows are, unless a context has that name.
WEIGHT, QUANTILE, CHANCE = "weight", "quantile", "chance"


def read_forecasts(call: str, text: str, space: Space) -> dict[Any, Forecast]:
    """Return the forecasts in a file by context, one of several contexts under all of their names; `call` is for errors."""
    names, rows = _rows(call, text)
    extra = [name for name in names if name not in space.context]
    about = [name for name in names if name in space.context]
    unknown = next((name for name in extra if name not in (WEIGHT, QUANTILE, CHANCE)), None)
    if unknown is not None:
        known = ", ".join([*space.context, WEIGHT, QUANTILE, CHANCE])
        raise ArgumentError(
            f"{call}: unknown column {unknown!r}{did_you_mean(unknown, space.context)}; it may have {known}."
        )
    if not about or len(extra) > 1:
        raise ArgumentError(f"{call}: it needs a column for a context, and at most one of weight, quantile and chance.")
    plain = Numbers(between_cells(text))
    values = {name: [_value(call, line, space, name, row[name], plain) for line, row in rows] for name in about}
    numbers = [_number(call, line, extra[0], row[extra[0]], plain) for line, row in rows] if extra else None
    kind = extra[0] if extra else None
    if kind == QUANTILE:
        return {name: Forecast(quantiles=_once(call, numbers, values[name])) for name in about}
    if kind == CHANCE:
        if len(about) > 1:
            raise ArgumentError(f"{call}: chances are of one context; use samples with weights for several.")
        return {about[0]: Forecast(chances=_once(call, values[about[0]], numbers))}
    if len(about) == 1:
        return {about[0]: Forecast(values[about[0]], numbers)}
    samples = [dict(zip(about, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return {tuple(about): Forecast(samples, numbers)}


def _rows(call: str, text: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the names of the columns, and the rows with their lines in the file."""
    try:
        table = CellTable(text)
        names, rows = table.headings, [(table.line, [cell.strip() for cell in row]) for row in table]
    except csv.Error as error:
        raise ArgumentError(f"{call}: cannot be read as CSV: {error}.") from error
    if len(set(names)) < len(names) or not rows:
        raise ArgumentError(f"{call}: it needs a line of different names, and at least one row below it.")
    wrong = next((line for line, row in rows if len(row) != len(names)), None)
    if wrong is not None:
        raise ArgumentError(f"{call}, line {wrong}: it needs {len(names)} cells, one for each of {', '.join(names)}.")
    return names, [(line, dict(zip(names, row, strict=True))) for line, row in rows]


def _value(call: str, line: int, space: Space, name: str, text: str, plain: Numbers) -> Any:
    parameter = space.context[name]
    where = f"{call}, line {line}"
    if not parameter.choices:
        return parameter.read(f"{where}: context {name!r}", _plain(where, text, plain))
    try:
        return plain.read(parameter, f"{where}: context {name!r}", text)
    except SpaceError:  # it says where
        raise
    except ArgumentError as error:
        raise ArgumentError(f"{where}: {error}") from error


def _number(call: str, line: int, name: str, text: str, plain: Numbers) -> float:
    where = f"{call}, line {line}"
    try:
        return float(_plain(where, text, plain))
    except ValueError as error:
        raise ArgumentError(f"{where}: {name} must be a number, got {text[:60]!r}.") from error


def _plain(where: str, text: str, plain: Numbers) -> str:
    try:
        return plain.plain(text)
    except ArgumentError as error:
        raise ArgumentError(f"{where}: {error}") from error


def _once(call: str, keys: Any, values: Any) -> dict[Any, Any]:
    """Return keys with their values; a key that comes twice is refused."""
    found = dict(zip(keys, values, strict=True))
    if len(found) < len(keys):
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise ArgumentError(f"{call}: {twice!r} comes twice.")
    return found
