"""`windward import`: history from a CSV file that may grow and be imported again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windward.basics.errors import ArgumentError
from windward.basics.speech import counted
from windward.cli.common import STUDY_NAME, echo_json, journal_option, json_option, opened_log, print_table, say

if TYPE_CHECKING:
    from windward.space.space import Space
    from windward.study.log import Log
    from windward.trials.history_file import Columns, Reading, Said
    from windward.trials.records import Past

# Rows that --preview shows, and notes that are written out.
SHOWN, MOST_NOTES = 5, 10


@click.command("import", short_help="Add history from a CSV file.")
@click.argument("study", type=STUDY_NAME)
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
    Columns `note` and `tags` become each trial's own. Between cells stand commas, semicolons or tabs; with the last two,
    numbers may have a decimal comma.

    \b
    Example, past.csv:
      day,order,demand,profit,weekday
      2026-05-01,40,61,193.5,friday
    $ windward import shop past.csv --column profit=value --ignore weekday --date day
    """
    from windward.study.tell import add_many
    from windward.trials.history_file import Said

    log = opened_log(study, journal)
    found = _read(file, log.space, Said(_pairs(file, renamed), ignore, date, log.history.told))
    if preview:
        _show(log, file, found, again, as_json)
        return
    _refuse_problems(file, found)
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
    known = sum(there)
    new, notes = len(found.rows) - known, found.notes_of([not each for each in there])
    problems = [f"line {one.line}: {one.error}" for one in found.problems]
    if as_json:
        rows = [_plain(row) for row in found.rows[:SHOWN]]
        counts = {"new": new, "already_there": known, "without_value": found.without_value}
        echo_json({"columns": found.columns.meaning, "rows": rows, **counts, "notes": notes, "problems": problems})
    else:
        _print(log, file, found, known, new, notes, problems)
    if problems:
        raise click.exceptions.Exit(1)


def _print(
    log: Log, file: Path, found: Reading, known: int, new: int, notes: Sequence[str], problems: Sequence[str]
) -> None:
    columns = found.columns
    say(f"{file} holds:")
    meaning = columns.meaning
    told = log.history.told
    rows = [[heading, told.name if what == "value" else what] for heading, what in meaning.items()]
    print_table(["column", "is"], rows, left=["column", "is"])
    if found.rows:
        say("The first rows:" if len(found.rows) > SHOWN else "The rows:")
        space = log.space
        names = [space.headed(name) for name in (*space.decision, *space.context)]
        numbers = [told.head if each == "value" else each for each in columns.numbers]
        headings = [*(["date"] if columns.date else []), *names, *numbers]
        print_table(headings, [_cells(row, columns, space) for row in found.rows[:SHOWN]])
    say(_counts(known, new, found.without_value, "would be added") + " Nothing was added.")
    _say_notes(notes)
    for problem in problems[:MOST_NOTES]:
        say(f"Wrong: {problem}")
    if problems:
        say(f"{counted(len(problems), 'line')} cannot be read; mend the file before you import it.")


def _refuse_problems(file: Path, found: Reading) -> None:
    """Raise what is wrong with the first line that cannot be read."""
    if found.problems:
        first = found.problems[0]
        more = f" {counted(len(found.problems) - 1, 'more line')} cannot be read; --preview lists them." * (
            len(found.problems) > 1
        )
        raise type(first.error)(f"{file}, line {first.line}: {first.error} Nothing was added.{more}")


def _cells(row: Past, columns: Columns, space: Space) -> list[object]:
    date = [] if columns.date is None else [None if row.at is None else _day(row.at, space)]
    numbers = [row.value, *([row.noise] if "noise" in columns.numbers else [])]
    return [*date, *row.decision.values(), *(row.context or {}).values(), *numbers]


def _day(at: datetime, space: Space) -> str:
    """Return a time by the clocks that read it; midnight is a date alone, as it is in a file without times."""
    from windward.space.dates import clocks

    there = at.astimezone(clocks(space) or UTC)
    return f"{there:%Y-%m-%d}" if there.time() == time() else f"{there:%Y-%m-%d %H:%M}"


def _plain(row: Past) -> dict[str, Any]:
    date = None if row.at is None else row.at.isoformat()
    context = dict(row.context or {})
    return {"decision": dict(row.decision), "context": context, "value": row.value, "noise": row.noise, "date": date}


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


def _read(file: Path, space: Space, said: Said) -> Reading:
    """Return what a file says; what is wrong with it as a table, or with its columns, is raised."""
    from windward.trials.history_file import Words, read_history, refuse_columns

    words = Words(
        "--column",
        "--ignore",
        "--date",
        lambda heading, name: f"--column {heading}={name}",
        lambda heading: f"--ignore {shlex.quote(heading)}",
    )
    try:
        found = read_history(file.read_text(encoding="utf-8-sig"), space, said, words)
        refuse_columns(found.columns, space, said, words)
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{file}: cannot be read as CSV: {error}. Nothing was added.") from error
    except ArgumentError as error:
        raise ArgumentError(f"{file}: {error} Nothing was added.") from error
    return found
