"""A forecast in a CSV file: its columns are contexts, its rows samples, quantiles or chances."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from windward.basics.errors import ArgumentError, did_you_mean
from windward.space.space import Space
from windward.trials.foretold import Forecast

# A column with one of these names says what the rows are, unless a context has that name.
WEIGHT, QUANTILE, CHANCE = "weight", "quantile", "chance"


def read_csv(path: Path, space: Space) -> dict[Any, Forecast]:
    """Return the forecasts in a file by context, one of several contexts under all of their names."""
    call = f"--forecast {str(path)!r}"
    names, rows = _rows(call, path)
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
    values = {
        name: [space.context[name].read(f"{call}, line {line}: context {name!r}", row[name]) for line, row in rows]
        for name in about
    }
    numbers = [_number(call, line, extra[0], row[extra[0]]) for line, row in rows] if extra else None
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


def _rows(call: str, path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the names of the columns, and the rows with their lines in the file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            names = [name.strip() for name in next(reader, [])]
            rows = [
                (reader.line_num, [cell.strip() for cell in row]) for row in reader if any(cell.strip() for cell in row)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(f"{call}: cannot be read as CSV: {error}.") from error
    if len(set(names)) < len(names) or not rows:
        raise ArgumentError(f"{call}: it needs a line of different names, and at least one row below it.")
    wrong = next((line for line, row in rows if len(row) != len(names)), None)
    if wrong is not None:
        raise ArgumentError(f"{call}, line {wrong}: it needs {len(names)} cells, one for each of {', '.join(names)}.")
    return names, [(line, dict(zip(names, row, strict=True))) for line, row in rows]


def _number(call: str, line: int, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ArgumentError(f"{call}, line {line}: {name} must be a number, got {text[:60]!r}.") from error


def _once(call: str, keys: Any, values: Any) -> dict[Any, Any]:
    """Return keys with their values; a key that comes twice is refused."""
    found = dict(zip(keys, values, strict=True))
    if len(found) < len(keys):
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise ArgumentError(f"{call}: {twice!r} comes twice.")
    return found
