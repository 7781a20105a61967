"""`windward import`: history from a CSV file that may grow and be imported again."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windward.basics.errors import ArgumentError, WindwardError
from windward.basics.times import read_moment
from windward.cli.common import cell, echo_json, journal_option, json_option, opened_log, print_table, say

if TYPE_CHECKING:
    from windward.space.parameters import Parameter, Value
    from windward.space.space import Space
    from windward.study.log import Log
    from windward.trials.records import Past

# Columns that `windward trials --csv` writes and that say nothing about a finished trial.
IGNORED = ("id", "state", "set_aside", "lost", "delay", "context_source", "when", "asked_at", "context_at", "told_at")
NUMBERS = ("value", "noise")
# Rows that --preview shows, and notes that are written out.
SHOWN, MOST_NOTES = 5, 10


@dataclass(frozen=True)
class Columns:
    """Which heading of the file holds what."""

    decision: dict[str, str] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    date: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What a file says: its finished trials, how many rows have no value, and what a person should know."""

    columns: Columns
    rows: list[Past]
    without_value: int
    notes: list[list[str]]  # of each row

    def notes_of(self, wanted: Sequence[bool]) -> list[str]:
        """Return what a person should know of some rows."""
        return [note for notes, want in zip(self.notes, wanted, strict=True) if want for note in notes]


@click.command("import", short_help="Add history from a CSV file.")
@click.argument("study")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--column",
    "renamed",
    multiple=True,
    metavar="HEADING=NAME",
    help="A column under another heading, such as profit=value; may be repeated.",
)
@click.option("--ignore", multiple=True, metavar="HEADING", help="A column to leave out; may be repeated.")
@click.option(
    "--date",
    metavar="HEADING",
    help="The column that says when each trial happened; contexts of the calendar are known from it.",
)
@click.option("--preview", is_flag=True, help="Show what was understood, and add nothing.")
@click.option("--again", is_flag=True, help="Add every row, even those that are there already.")
@journal_option
@json_option
def import_history(
    study: str,
    file: Path,
    renamed: tuple[str, ...],
    ignore: tuple[str, ...],
    date: str | None,
    preview: bool,
    again: bool,
    journal: str,
    as_json: bool,
) -> None:
    """Add finished trials from a CSV file: a column per decision and context, `value`, and `noise` where it is known.

    Every row is checked before the first is added, and all are added at once. Rows that are there already are left out, so a
    file that grows can be imported again; two equal rows are two trials. Rows without a value are left out and counted.

    \b
    Example, past.csv:
      day,order,demand,profit,weekday
      2026-05-01,40,61,193.5,friday
    $ windward import shop past.csv --column profit=value --ignore weekday --date day
    """
    from windward.study.tell import add_many

    log = opened_log(study, journal)
    found = _read(file, log.space, _pairs(file, renamed), ignore, date)
    if preview:
        _show(log, file, found, again, as_json)
        return
    ids = add_many(log, found.rows, again=again)
    added = [id for id in ids if id is not None]
    known, notes = len(ids) - len(added), found.notes_of([id is not None for id in ids])
    if as_json:
        counts = {"already_there": known, "without_value": found.without_value}
        echo_json({"added": added, **counts, "notes": notes})
        return
    say(_counts(known, len(added), found.without_value, "added"))
    _say_notes(notes)


def _counts(known: int, new: int, without_value: int, verb: str) -> str:
    rest = f", {without_value} without a value" if without_value else ""
    return f"{known} already there, {new} {verb}{rest}."


def _say_notes(notes: Sequence[str]) -> None:
    for note in notes[:MOST_NOTES]:
        say(f"Note: {note}")
    if len(notes) > MOST_NOTES:
        say(f"Note: and {len(notes) - MOST_NOTES} more like these.")


def _show(log: Log, file: Path, found: Reading, again: bool, as_json: bool) -> None:
    """Say what a file was understood to hold."""
    from windward.study.tell import known_rows

    there = [False] * len(found.rows) if again else known_rows(log, found.rows)
    known, columns = sum(there), found.columns
    new, notes = len(found.rows) - known, found.notes_of([not each for each in there])
    meaning = {heading: f"decision {name}" for name, heading in columns.decision.items()}
    meaning |= {heading: f"context {name}" for name, heading in columns.context.items()}
    meaning |= {heading: name for name, heading in columns.numbers.items()}
    meaning |= {} if columns.date is None else {columns.date: "date"}
    meaning |= dict.fromkeys(columns.ignored, "ignored")
    if as_json:
        rows = [_plain(row) for row in found.rows[:SHOWN]]
        counts = {"new": new, "already_there": known, "without_value": found.without_value}
        echo_json({"columns": meaning, "rows": rows, **counts, "notes": notes})
        return
    say(f"{file} holds:")
    print_table(["column", "is"], [[heading, what] for heading, what in meaning.items()], left=["column", "is"])
    if found.rows:
        say("The first rows:" if len(found.rows) > SHOWN else "The rows:")
        headings = [*(["date"] if columns.date else []), *log.space.decision, *log.space.context, *columns.numbers]
        print_table(headings, [_cells(row, columns) for row in found.rows[:SHOWN]])
    say(_counts(known, new, found.without_value, "would be added") + " Nothing was added.")
    _say_notes(notes)


def _cells(row: Past, columns: Columns) -> list[object]:
    date = [] if columns.date is None else [None if row.at is None else row.at.isoformat(sep=" ")]
    numbers = [row.value, *([row.noise] if "noise" in columns.numbers else [])]
    return [*date, *row.decision.values(), *(row.context or {}).values(), *numbers]


def _plain(row: Past) -> dict[str, Any]:
    date = None if row.at is None else row.at.isoformat()
    context = dict(row.context or {})
    return {"decision": dict(row.decision), "context": context, "value": row.value, "noise": row.noise, "date": date}


# -- the file ----------------------------------------------------------------------------------------------------------


def _pairs(file: Path, texts: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        heading, sign, name = text.rpartition("=")
        if not sign or not heading or not name:
            raise ArgumentError(f"{file}: --column {text!r}: write HEADING=NAME, such as profit=value.")
        if heading in found:
            raise ArgumentError(f"{file}: --column names {heading!r} twice.")
        found[heading] = name
    return found


def _read(file: Path, space: Space, renamed: Mapping[str, str], ignore: Sequence[str], date: str | None) -> Reading:
    rows: list[Past] = []
    notes: list[list[str]] = []
    without_value = 0
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream, strict=True)
            columns = _columns(file, list(reader.fieldnames or ()), space, renamed, ignore, date)
            for row in reader:
                try:
                    checked = _checked(row, columns, space)
                except WindwardError as error:
                    raise type(error)(f"{file}, line {reader.line_num}: {error} Nothing was added.") from error
                if checked is None:
                    without_value += 1
                    continue
                rows.append(checked[0])
                notes.append([f"line {reader.line_num}: {note}" for note in checked[1]])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(f"{file}: cannot be read as CSV: {error}. Nothing was added.") from error
    return Reading(columns, rows, without_value, notes)


def _columns(
    file: Path, headings: list[str], space: Space, renamed: Mapping[str, str], ignore: Sequence[str], date: str | None
) -> Columns:
    """Return which heading holds what: `order` or `decision.order`, or another name given with --column."""
    _check_headings(file, headings)
    named_twice = [
        heading for heading in headings if (heading in renamed) + (heading in ignore) + (heading == date) > 1
    ]
    if named_twice:
        raise ArgumentError(
            f"{file}: {named_twice[0]!r} is named by two of --column, --ignore and --date; give one. Nothing was added."
        )
    for option, named in (("--column", renamed), ("--ignore", ignore), ("--date", [] if date is None else [date])):
        for heading in named:
            if heading not in headings:
                raise ArgumentError(
                    f"{file}: {option} names {heading!r}, which is no column; it has {', '.join(headings)}. Nothing was added."
                )
    found = Columns(date=date)
    ignored = []
    for heading in headings:
        if heading in ignore or heading == date:
            ignored += [heading] if heading in ignore else []
        elif not _placed(file, heading, renamed.get(heading, heading), space, found):
            if heading in renamed or heading not in IGNORED:
                raise ArgumentError(
                    f"{file}: column {heading!r} is {'' if heading not in renamed else f'{renamed[heading]!r}, '}neither a "
                    f"decision nor a context; {_needed(space)}. Leave it out with --ignore {heading!r}, or say what it is with "
                    f"--column {heading}=NAME. Nothing was added."
                )
            ignored.append(heading)
    missing = [name for name in space.decision if name not in found.decision]
    # What is known from the date needs no column of its own.
    missing += [
        name for name in space.context if name not in found.context and (date is None or name not in space.dated)
    ]
    missing += [] if "value" in found.numbers else ["value"]
    if missing and missing[0] in space.dated:
        raise ArgumentError(
            f"{file}: there is no column {missing[0]!r}, which is known from the date: name the column of dates with --date. "
            "Nothing was added."
        )
    if missing:
        raise ArgumentError(
            f"{file}: there is no column {missing[0]!r}; {_needed(space)}. A column under another heading is named with "
            f"--column HEADING={missing[0]}. Nothing was added."
        )
    return Columns(found.decision, found.context, found.numbers, date, tuple(ignored))


def _placed(file: Path, heading: str, name: str, space: Space, found: Columns) -> bool:
    """Put a column where its name says; return False where it says nothing."""
    role, dot, rest = name.partition(".")
    # The value first: a decision that is called so too is written decision.value.
    for kind, parameters, place in (
        ("", dict.fromkeys(NUMBERS), found.numbers),
        ("decision", space.decision, found.decision),
        ("context", space.context, found.context),
    ):
        plain = name if name in parameters else rest if dot and role == kind and rest in parameters else None
        if plain is not None:
            if plain in place:
                raise ArgumentError(
                    f"{file}: {place[plain]!r} and {heading!r} both hold {plain!r}; leave one out with --ignore. Nothing was "
                    "added."
                )
            place[plain] = heading
            return True
    return False


def _check_headings(file: Path, headings: list[str]) -> None:
    """Refuse a file without headings, with one twice, or with cells that commas do not separate."""
    if not headings:
        raise ArgumentError(f"{file}: the file is empty. Nothing was added.")
    for mark, called in ((";", "semicolons"), ("\t", "tabs")):  # as spreadsheets write it in some countries
        if len(headings) == 1 and mark in headings[0]:
            raise ArgumentError(
                f"{file}: its cells are separated by {called}; save it with commas between them, and with a point in "
                "numbers. Nothing was added."
            )
    for place, heading in enumerate(headings):
        if heading in headings[:place]:
            raise ArgumentError(
                f"{file}: the heading {heading!r} is there twice, in columns {headings.index(heading) + 1} and {place + 1}; "
                "rename one in the file. Nothing was added."
            )


def _needed(space: Space) -> str:
    return f"needed are {', '.join((*space.decision, *space.context, 'value'))}, and noise if you like"


def _checked(row: dict[str, str], columns: Columns, space: Space) -> tuple[Past, list[str]] | None:
    """Return one finished trial and what to note of it, None where it has no value."""
    from windward.space.dates import clocks, dated
    from windward.trials.records import Past

    if None in row or None in row.values():
        raise ArgumentError("it has more or fewer cells than the heading.")
    if not row[columns.numbers["value"]].strip():
        return None
    at = None if columns.date is None else read_moment(columns.date, row[columns.date], clocks(space))
    values: dict[str, dict[str, Value]] = {}
    notes: list[str] = []
    roles: tuple[tuple[str, Mapping[str, Parameter], dict[str, str]], ...] = (
        ("decision", space.decision, columns.decision),
        ("context", space.context, columns.context),
    )
    for role, parameters, places in roles:
        typed = {name: parameters[name].read(f"{role} {name!r}", row[places[name]]) for name in places}
        decided = role == "decision"
        clean = (
            space.check_decision("import", typed, planned=False)
            if decided
            else dated(
                "import",
                space,
                space.check_context("import", typed, partial=True),
                at,
                remedy="leave the column out with --ignore",
            )
        )
        values[role] = clean
        notes += [note for name in typed for note in _outside(name, parameters[name], typed[name], values[role][name])]
    noise = row[columns.numbers["noise"]].strip() if "noise" in columns.numbers else ""
    one = Past(
        values["decision"],
        _number("value", row[columns.numbers["value"]]),
        values["context"],
        _number("noise", noise) if noise else None,
        at,
    )
    return one, notes


def _outside(name: str, parameter: Parameter, typed: Value, kept: Value) -> list[str]:
    """Return a note where a value lies outside the declared bounds."""
    low, high = parameter.low, parameter.high
    if isinstance(typed, str) or ((low is None or typed >= low) and (high is None or typed <= high)):
        return []
    limit = f"below {cell(float(low))}" if low is not None and typed < low else f"above {cell(float(high or 0.0))}"
    what = "it is kept as it is" if kept == typed else f"it counts as {cell(kept)}"
    return [f"{name} = {cell(typed)} is {limit}, outside its bounds; {what}."]


def _number(name: str, text: str) -> float:
    from windward.basics import arguments

    try:
        number = float(text)
    except ValueError as error:
        raise ArgumentError(f"{name} must be a number, got {text!r}.") from error
    if not math.isfinite(number):
        raise ArgumentError(f"{name} must be a finite number, got {text!r}; leave the cell empty if there is none.")
    return (
        arguments.number("import", name, number, low=0.0)
        if name == "noise"
        else arguments.number("import", name, number)
    )
