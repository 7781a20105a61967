"""The logs in tests/logs, written by earlier versions: one JSON object a line, the study's row first, then its events."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import windward as ww

FOLDER = Path(__file__).parent / "logs"
NAMES = sorted(path.stem for path in FOLDER.glob("*-v1.jsonl"))


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def placed(name: str, folder: Path) -> str:
    """Write a log into a new database as it was, byte for byte, and return the journal's URL."""
    url = f"sqlite:///{folder}/{name}.db"
    ww.SqlJournal(url).close()
    row, *events = lines(name)
    with closing(sqlite3.connect(folder / f"{name}.db")) as database:
        for table, entries in (("studies", [row]), ("events", events)):
            names = ", ".join(entries[0])
            marks = ", ".join(f":{each}" for each in entries[0])
            database.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", entries)
        database.commit()
    return url
