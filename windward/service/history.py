"""History from a CSV file: a preview of what was understood, then the rows, all at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter

from windward.basics.rephrase import as_request
from windward.basics.speech import counted
from windward.service import bodies
from windward.service.access import Inside, Writable
from windward.service.advice import REFUSALS
from windward.service.guard import StrictRoute, Wrong
from windward.space.space import Space
from windward.trials.history_file import Reading, Said, Words, read_history, refuse_columns
from windward.trials.records import Past

# Rows of one upload: they are written in one transaction, and other writers wait for it.
MOST_ROWS = 10_000
# Lines of one upload: a cell may hold some, and rows may have no value.
MOST_LINES = 2 * MOST_ROWS
# Rows that a preview shows, and notes and wrong lines that an answer lists.
SHOWN, MOST_LISTED = 5, 50
WORDS = Words(
    '"columns"',
    '"ignore"',
    '"date"',
    lambda heading, name: f'"columns": {{{json.dumps(heading)}: "{name}"}}',
    lambda heading: f'"ignore": [{json.dumps(heading)}]',
)

history = APIRouter(prefix="/api/studies/{name}", tags=["rounds"], route_class=StrictRoute, responses=REFUSALS)


@history.post("/history")
def add_history(inside: Inside, name: Writable, body: bodies.HistoryFile) -> dict[str, Any]:
    """Add finished trials from a CSV file; with `preview` say what was understood, and add nothing.

    Rows that are there already are left out. A file with a line that cannot be read is refused whole, unless `leave_out`
    says to add the other lines.
    """
    if body.csv.count("\n") > MOST_LINES:  # reading it would hold others up
        raise Wrong(
            422, f"one upload takes {MOST_ROWS} rows, this one has more than {MOST_LINES} lines; split the file."
        )
    study = inside.shelf.study(name)
    study.sync()
    said = Said(body.columns, body.ignore, body.date, study.trials.outcome)
    found = read_history(body.csv, study.space, said, WORDS)
    if len(found.rows) > MOST_ROWS:
        raise Wrong(422, f"one upload takes {MOST_ROWS} rows, this one has {len(found.rows)}; split the file.")
    if body.preview:
        there = [False] * len(found.rows) if body.again else study.known_rows(found.rows)
        return {**_understood(name, found, study.space, there), "revision": study.revision}
    refuse_columns(found.columns, study.space, said, WORDS)
    if found.problems and not body.leave_out:
        first, more = found.problems[0], len(found.problems) - 1
        rest = f" {counted(more, 'more line')} cannot be read." if more else ""
        raise Wrong(422, f"line {first.line}: {as_request(str(first.error), name)} Nothing was added.{rest}")
    ids = study.add_many(found.rows, again=body.again)
    added = [id for id in ids if id is not None]
    return {
        "added": added,
        "already_there": len(ids) - len(added),
        "without_value": found.without_value,
        "left_out": len(found.problems),
        "notes": found.notes_of([id is not None for id in ids])[:MOST_LISTED],
        "revision": study.revision,
    }


def _understood(name: str, found: Reading, space: Space, there: Sequence[bool]) -> dict[str, Any]:
    """Return what a file was understood to hold."""
    new = [not each for each in there]
    notes = found.notes_of(new)
    problems = [{"line": one.line, "what": as_request(str(one.error), name)} for one in found.problems]
    rows = zip(found.lines, found.rows, there, strict=True)
    return {
        "columns": found.columns.meaning,
        "unknown": list(found.columns.unknown),
        "missing": list(found.columns.missing),
        "rows": [{"line": line, "there": known, **_plain(row)} for line, row, known in list(rows)[:SHOWN]],
        "read": len(found.rows),
        "new": sum(new),
        "already_there": len(new) - sum(new),
        "without_value": found.without_value,
        "notes": notes[:MOST_LISTED],
        "notes_in_all": len(notes),
        "problems": problems[:MOST_LISTED],
        "problems_in_all": len(problems),
    }


def _plain(row: Past) -> dict[str, Any]:
    return {
        "decision": dict(row.decision),
        "context": dict(row.context or {}),
        "value": row.value,
        "noise": row.noise,
        "date": None if row.at is None else row.at.isoformat(),
        "note": row.note,
        "tags": list(row.tags),
    }
