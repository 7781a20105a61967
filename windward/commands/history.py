"""`windward import`: history from a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windward.commands.common import echo_json, journal_option, json_option, opened, say, typed_value
from windward.errors import ArgumentError, WindwardError

if TYPE_CHECKING:
    from windward.space import Space
    from windward.trials import Trials

# Columns that `windward trials --csv` writes and that say nothing about a finished trial.
IGNORED = ("id", "state", "lost", "delay", "context_source", "asked_at", "context_at", "told_at")


@click.command("import", short_help="Add history from a CSV file.")
@click.argument("study")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--again", is_flag=True, help="Add the rows even if all of them are there already.")
@journal_option
@json_option
def import_history(study: str, file: Path, again: bool, journal: str, as_json: bool) -> None:
    """Add finished trials from a CSV file: a column per decision and context, `value`, and `noise` where it is known.

    Every row is checked before the first is added. Rows without a value are left out and counted. A file whose rows are all
    there already is refused.

    \b
    Example, past.csv:
      order,demand,value
      40,61,193.5
    $ windward import shop past.csv
    """
    one = opened(study, journal)
    rows = list(_rows(file, one.space))
    finished = [row for row in rows if row is not None]
    if not again and finished and _all_there(finished, one.trials):
        raise ArgumentError(
            f"{file}: all {len(finished)} rows are in study {study!r} already; nothing was added. To add them once more give "
            "--again."
        )
    ids = [
        one.add(row["decision"], row["value"], context=row["context"] or None, noise=row["noise"]) for row in finished
    ]
    skipped = len(rows) - len(finished)
    if as_json:
        echo_json({"added": ids, "without_value": skipped})
    else:
        from windward.words import counted

        say(f"Added {counted(len(ids), 'trial')}" + (f"; {counted(skipped, 'row')} had no value." if skipped else "."))


def _all_there(rows: list[dict[str, Any]], trials: Trials) -> bool:
    added = [(trial.decision, trial.context, trial.value) for trial in trials if trial.asked_at is None]
    return all((row["decision"], row["context"], row["value"]) in added for row in rows)


def _rows(file: Path, space: Space) -> Iterator[dict[str, Any] | None]:
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream, strict=True)
            columns = _columns(file, reader.fieldnames, space)
            for row in reader:
                try:
                    yield _checked(row, columns, space)
                except WindwardError as error:
                    raise type(error)(f"{file}, line {reader.line_num}: {error} Nothing was added.") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(f"{file}: cannot be read as CSV: {error}. Nothing was added.") from error


def _columns(file: Path, names: Any, space: Space) -> dict[str, dict[str, str]]:
    """Return which column holds which parameter: `order` or `decision.order`."""
    _check_commas(file, names)
    found: dict[str, dict[str, str]] = {"decision": {}, "context": {}, "own": {}}
    for column in names or ():
        role, dot, name = column.partition(".")
        for kind, parameters in (("decision", space.decision), ("context", space.context)):
            if column in parameters:
                found[kind][column] = column
            elif dot and role == kind and name in parameters:
                found[kind][name] = column
        if column in ("value", "noise"):
            found["own"][column] = column
    used = {column for group in found.values() for column in group.values()}
    unknown = [column for column in names or () if column not in used and column not in IGNORED]
    if unknown:
        raise ArgumentError(
            f"{file}: column {unknown[0]!r} is neither a decision nor a context; {_needed(space)}. Nothing was added."
        )
    missing = [n for n in (*space.decision, *space.context) if n not in {**found["decision"], **found["context"]}]
    if missing or "value" not in found["own"]:
        raise ArgumentError(
            f"{file}: there is no column {(missing or ['value'])[0]!r}; {_needed(space)}. Nothing was added."
        )
    return found


def _check_commas(file: Path, names: Any) -> None:
    """Refuse a file whose cells are not separated by commas, as spreadsheets write it in some countries."""
    for mark, called in ((";", "semicolons"), ("\t", "tabs")):
        if names is not None and len(names) == 1 and mark in names[0]:
            raise ArgumentError(
                f"{file}: its cells are separated by {called}; save it with commas between them, and with a point in "
                "numbers. Nothing was added."
            )


def _needed(space: Space) -> str:
    return f"needed are {', '.join((*space.decision, *space.context, 'value'))}, and noise if you like"


def _checked(row: dict[str, str], columns: dict[str, dict[str, str]], space: Space) -> dict[str, Any] | None:
    """Return one finished trial, None where it has no value."""
    if None in row or None in row.values():
        raise ArgumentError("it has more or fewer cells than the heading.")
    if not row[columns["own"]["value"]].strip():
        return None
    values = {}
    for role, parameters in (("decision", space.decision), ("context", space.context)):
        values[role] = {
            name: typed_value(role, name, parameters[name], row[column]) for name, column in columns[role].items()
        }
    noise = row.get(columns["own"].get("noise", ""), "").strip()
    return {
        "decision": space.check_decision("import", values["decision"], planned=False),
        "context": space.check_context("import", values["context"]),
        "value": _number("value", row["value"]),
        "noise": _number("noise", noise) if noise else None,
    }


def _number(name: str, text: str) -> float:
    from windward import check

    try:
        number = float(text)
    except ValueError as error:
        raise ArgumentError(f"{name} must be a number, got {text!r}.") from error
    return check.number("import", name, number, low=0.0) if name == "noise" else check.number("import", name, number)
