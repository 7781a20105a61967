"""Finished trials in a CSV file: which column holds what, what each line says, and what is wrong with which line. No torch.

Nothing is written here. A file is read to its end, so that a person is told of every line that is wrong. Spreadsheets
in some countries put semicolons between cells and commas into numbers: both are understood, never mixed.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windward.basics import arguments
from windward.basics.errors import ArgumentError, WindwardError
from windward.basics.speech import shown
from windward.basics.times import read_moment
from windward.space.dates import clocks, dated
from windward.space.outcomes import Outcome
from windward.space.parameters import Parameter, Value
from windward.space.space import Space
from windward.space.values import few
from windward.trials.headings import between_steps, without_unit
from windward.trials.notes import checked_note, checked_tags, read_tags
from windward.trials.records import Past
from windward.trials.tables import CellTable, Numbers

# Columns that `windward trials --csv` writes and that say nothing about a finished trial.
IGNORED = ("id", "state", "set_aside", "lost", "delay", "context_source", "when", "asked_at", "context_at", "told_at")
NUMBERS, TEXTS = ("value", "noise"), ("note", "tags")
MOST_COLUMNS = 1000
LONGEST_HEADING = 200


@dataclass(frozen=True)
class Said:
    """What a person says of a file's columns: those under other headings, those to leave out, and the one with dates."""

    renamed: Mapping[str, str] = field(default_factory=dict)  # heading to name
    ignore: Sequence[str] = ()
    date: str | None = None
    outcome: Outcome = Outcome()  # noqa: RUF009 - immutable; what the study is told


@dataclass(frozen=True)
class Words:
    """How a person says so: errors advise it. On the command line these are options, over HTTP fields of a body."""

    column: str
    ignore: str
    date: str
    rename: Callable[[str, str], str]  # of a heading and a name
    leave_out: Callable[[str], str]  # of a heading


@dataclass(frozen=True)
class Columns:
    """Which heading of the file holds what."""

    decision: dict[str, str] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    date: str | None = None
    ignored: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()  # that hold nothing known, and that nobody said to leave out
    missing: tuple[str, ...] = ()  # names that no column holds
    headings: tuple[str, ...] = ()  # all of them, in the order of the file

    @property
    def meaning(self) -> dict[str, str | None]:
        """What each heading holds, in words; None where that is unknown."""
        found: dict[str, str | None] = {heading: f"decision {name}" for name, heading in self.decision.items()}
        found |= {heading: f"context {name}" for name, heading in self.context.items()}
        found |= {heading: name for name, heading in {**self.numbers, **self.texts}.items()}
        found |= {} if self.date is None else {self.date: "date"}
        found |= dict.fromkeys(self.ignored, "ignored") | dict.fromkeys(self.unknown)
        return {heading: found[heading] for heading in self.headings}


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be read, and why."""

    line: int
    error: WindwardError


@dataclass(frozen=True)
class Reading:
    """What a file says: its finished trials, how many lines have no value, and what a person should know."""

    columns: Columns
    rows: list[Past]
    lines: list[int]  # of each row
    notes: list[list[str]]  # of each row
    without_value: int
    problems: list[BadLine]

    def notes_of(self, wanted: Sequence[bool]) -> list[str]:
        """Return what a person should know of some rows."""
        return [note for notes, want in zip(self.notes, wanted, strict=True) if want for note in notes]


def read_history(text: str, space: Space, said: Said, words: Words) -> Reading:
    """Return what a file says; where columns are unknown or missing, no row of it is read.

    Raises `ArgumentError` for a text that is no table, and for columns that were named wrongly.
    """
    line = 1
    try:
        table = CellTable(text)
        headings = table.headings
        columns = columns_of(headings, space, said, words)
        found = Reading(columns, [], [], [], 0, [])
        if columns.unknown or columns.missing:
            return found
        without_value, numbers = 0, Numbers(table.between)
        for cells in table:
            line = table.line
            try:
                checked = _checked(dict(zip(headings, cells, strict=False)), cells, columns, space, numbers, words)
            except WindwardError as error:
                found.problems.append(BadLine(line, error))
                continue
            if checked is None:
                without_value += 1
                continue
            found.rows.append(checked[0])
            found.lines.append(line)
            found.notes.append([f"line {line}: {note}" for note in checked[1]])
    except csv.Error as error:
        raise ArgumentError(f"the file cannot be read as CSV, in line {line} or below it: {error}.") from error
    return Reading(columns, found.rows, found.lines, found.notes, without_value, found.problems)


def refuse_columns(columns: Columns, space: Space, said: Said, words: Words) -> None:
    """Raise `ArgumentError` where a column is unknown or missing."""
    for heading in columns.unknown:
        as_said = f"{said.renamed[heading]!r}, " if heading in said.renamed else ""
        more = [each for each in columns.unknown if each != heading]
        also = f" The same holds for {few(more)}." if more else ""
        date = f" Dates are named with {words.date}." if space.dated and said.date is None else ""
        raise ArgumentError(
            f"column {heading!r} is {as_said}neither a decision nor a context; {_needed(space, said.outcome)}. Leave it out "
            f"with {words.leave_out(heading)}, or say what it is with {words.rename(heading, 'NAME')}.{also}{date}"
        )
    for name in columns.missing:
        if name in space.dated:
            raise ArgumentError(
                f"there is no column {name!r}, which is known from the date: name the column of dates with {words.date}."
            )
        name = said.outcome.name if name == "value" else name
        raise ArgumentError(
            f"there is no column {name!r}; {_needed(space, said.outcome)}. A column under another heading is named with "
            f"{words.rename('HEADING', name)}."
        )


def columns_of(headings: list[str], space: Space, said: Said, words: Words) -> Columns:
    """Return which heading holds what: `order` or `decision.order`, or another one that was said to be it."""
    _check_headings(headings, said, words)
    found, ignored, unknown, left_out = Columns(date=said.date), list[str](), list[str](), frozenset(said.ignore)
    for heading in headings:
        if heading == said.date:
            continue
        if heading in left_out:
            ignored.append(heading)
            continue
        renamed = said.renamed.get(heading)
        name = without_unit(heading, space, said.outcome, words.rename) if renamed is None else renamed
        name = "value" if name == said.outcome.name else name
        if not _placed(heading, name, space, found, words):
            (unknown if renamed is not None or name not in IGNORED else ignored).append(heading)
    # What is known from the date needs no column of its own.
    needed = [name for name in space.context if said.date is None or name not in space.dated]
    missing = [name for name in space.decision if name not in found.decision]
    missing += [name for name in needed if name not in found.context]
    missing += [] if "value" in found.numbers else ["value"]
    places = found.decision, found.context, found.numbers, found.texts
    return Columns(*places, said.date, tuple(ignored), tuple(unknown), tuple(missing), tuple(headings))


def _check_headings(headings: list[str], said: Said, words: Words) -> None:
    """Refuse a file without headings or with one twice, and columns that were named wrongly."""
    if not any(headings):
        raise ArgumentError("the file is empty.")
    if len(headings) > MOST_COLUMNS:
        raise ArgumentError(f"it has {len(headings)} columns; at most {MOST_COLUMNS} can be read.")
    first = dict[str, int]()
    for place, heading in enumerate(headings, start=1):
        if len(heading) > LONGEST_HEADING:
            raise ArgumentError(
                f"column {place} has a heading of {len(heading)} characters, {shown(heading, 40)}, more than "
                f"{LONGEST_HEADING}; the first line must hold the headings."
            )
        if first.setdefault(heading, place) != place:
            raise ArgumentError(
                f"the heading {heading!r} is there twice, in columns {first[heading]} and {place}; rename one in the file."
            )
    named: dict[str, dict[str, None]] = {
        words.column: dict.fromkeys(said.renamed),
        words.ignore: dict.fromkeys(said.ignore),
        words.date: {} if said.date is None else {said.date: None},
    }
    for heading in headings:
        if sum(heading in each for each in named.values()) > 1:
            raise ArgumentError(
                f"{heading!r} is named by two of {words.column}, {words.ignore} and {words.date}; give one."
            )
    for option, wanted in named.items():
        for heading in wanted:
            if heading not in first:
                raise ArgumentError(f"{option} names {shown(heading)}, which is no column; it has {few(headings)}.")


def _placed(heading: str, name: str, space: Space, found: Columns, words: Words) -> bool:
    """Put a column where its name says; return False where it says nothing."""
    role, dot, rest = name.partition(".")
    places: tuple[tuple[str, Mapping[str, Any], dict[str, str]], ...] = (
        # The value first: a decision that is called so too is written decision.value. Texts last, for the same reason.
        ("", dict.fromkeys(NUMBERS), found.numbers),
        ("decision", space.decision, found.decision),
        ("context", space.context, found.context),
        ("", dict.fromkeys(TEXTS), found.texts),
    )
    for kind, known, place in places:
        plain = name if name in known else rest if dot and role == kind and rest in known else None
        if plain is not None:
            if plain in place:
                raise ArgumentError(
                    f"{place[plain]!r} and {heading!r} both hold {plain!r}; leave one out with {words.leave_out(heading)}."
                )
            place[plain] = heading
            return True
    return False


def _needed(space: Space, outcome: Outcome) -> str:
    typed = (name for name in space.context if name not in space.dated)
    dates = ["dates"] if space.dated else []
    return f"needed are {', '.join((*space.decision, *typed, outcome.name, *dates))}, and noise if you like"


def _checked(
    row: dict[str, str], cells: list[str], columns: Columns, space: Space, numbers: Numbers, words: Words
) -> tuple[Past, list[str]] | None:
    """Return one finished trial and what to note of it, None where it has no value."""
    if len(cells) != len(columns.headings):
        raise ArgumentError("it has more or fewer cells than the heading.")
    if not row[columns.numbers["value"]].strip():
        return None
    at = None if columns.date is None else read_moment(columns.date, row[columns.date], clocks(space))

    def typed(role: str, parameters: Mapping[str, Parameter], places: Mapping[str, str]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name, heading in places.items():
            found[name] = numbers.read(parameters[name], f"{role} {name!r}", row[heading])
        return found

    done = typed("decision", space.decision, columns.decision)
    seen = typed("context", space.context, columns.context)
    decision = space.check_decision("import", done, planned=False)
    context = space.check_context("import", seen, partial=True)
    known = [heading for name, heading in columns.context.items() if name in space.dated]
    leave = " and ".join(words.leave_out(heading) for heading in known)
    context = dated("import", space, context, at, remedy=f"leave the column out with {leave}")
    notes = [note for name in done for note in _outside(name, space.decision[name], done[name], decision[name])]
    notes += [note for name in done for note in between_steps(name, space.decision[name], decision[name])]
    notes += [note for name in seen for note in _outside(name, space.context[name], seen[name], context[name])]
    value = _number("value", numbers.plain(row[columns.numbers["value"]]))
    noise = row[columns.numbers["noise"]].strip() if "noise" in columns.numbers else ""
    texts = {name: row[heading].strip() for name, heading in columns.texts.items()}
    return Past(
        decision,
        value,
        context,
        _number("noise", numbers.plain(noise)) if noise else None,
        at,
        checked_note("import", texts["note"]) if texts.get("note") else None,
        checked_tags("import", read_tags(texts.get("tags", ""))),
    ), notes


def _outside(name: str, parameter: Parameter, typed: Value, kept: Value) -> list[str]:
    """Return a note where a value lies outside the declared bounds."""
    low, high = parameter.low, parameter.high
    if isinstance(typed, str) or ((low is None or typed >= low) and (high is None or typed <= high)):
        return []
    limit = f"below {_cell(float(low))}" if low is not None and typed < low else f"above {_cell(float(high or 0.0))}"
    what = "it is kept as it is" if kept == typed else f"it counts as {_cell(kept)}"
    return [f"{name} = {_cell(typed)} is {limit}, outside its bounds; {what}."]


def _cell(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError as error:
        raise ArgumentError(f"{name} must be a number, got {text!r}.") from error
    if not math.isfinite(number):
        raise ArgumentError(f"{name} must be a finite number, got {text!r}; leave the cell empty if there is none.")
    return arguments.number("import", name, number, low=0.0 if name == "noise" else -math.inf)
