"""Records on disk: one JSON line for each finished run, appended as it finishes; and the compact form to keep.

A process that is killed while it writes leaves a torn last line. It is not a record: the reader passes over it, the writer
begins a new line after it, and its run is run again.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path

from windward.basics.errors import ArgumentError
from windward.bench.experiment import Record

FILE = "runs.jsonl"
FORMATS = (1,)
# Runs with more rounds than this keep every fifth number of their series in the compact form.
LONG, EVERY = 400, 5
# What identifies a run, besides its rounds.
Key = tuple[str, str, str, int]


def key_of(record: Record) -> Key:
    """Return what tells a run from others: its world, problem, method and seed."""
    return (record["world"], record["problem"], record["method"], record["seed"])


def append(file: Path, record: Record) -> None:
    """Append one record, whole or not at all as far as the reader is concerned; it is on disk when this returns."""
    line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            line = b"\n" + line  # what stands before was torn
        os.write(handle, line)
        os.fsync(handle)
    finally:
        os.close(handle)


def read(file: Path) -> tuple[list[Record], int]:
    """Return the records of a file, the later one where two are of the same run, and how many lines were torn."""
    if not file.exists():
        return [], 0
    found: dict[tuple[Key, int], Record] = {}
    torn = 0
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                torn += 1
                continue
            if not isinstance(record, dict) or record.get("format") not in FORMATS:
                raise ArgumentError(
                    f"{file}: it holds a record of a format this version does not know; use a newer windward, or another "
                    "file."
                )
            found[(key_of(record), record["rounds"])] = record
    return list(found.values()), torn


def files_of(path: Path) -> list[Path]:
    """Return the files of records a path means: itself, a run's file in it, or the compact files kept in it."""
    if path.is_file():
        return [path]
    if (path / FILE).exists():
        return [path / FILE]
    kept = sorted(path.glob("*.jsonl.gz"))
    if not kept:
        raise ArgumentError(
            f"{path}: there is no {FILE} there (nor a .jsonl.gz); run an experiment with --out {path} first."
        )
    return kept


def read_all(paths: Iterable[Path]) -> tuple[list[Record], int]:
    """Return the records of several folders or files together."""
    found: dict[tuple[Key, int], Record] = {}
    torn = 0
    for path in paths:
        for file in files_of(path):
            records, bad = read(file)
            torn += bad
            found |= {(key_of(record), record["rounds"]): record for record in records}
    return list(found.values()), torn


def compact(record: Record) -> Record:
    """Return a record with what the report needs and what a reader would check it by: five digits, no lists of times.

    Of a run with more than 400 rounds, series keep every fifth round and the last.
    """
    small = {name: record[name] for name in record if name not in ("ask_seconds", "contexts", "received", "reports")}
    if record["rounds"] > LONG and record.get("at") is None:
        kept = [*range(EVERY, record["rounds"], EVERY), record["rounds"]]
        small["at"] = kept
        small["series"] = {name: [series[at - 1] for at in kept] for name, series in record["series"].items()}
    for name in ("decisions", "values", "series"):
        if small.get(name) is not None:
            small[name] = _shortened(small[name])
    return small


def write_compact(records: Iterable[Record], file: Path) -> int:
    """Write records in the compact form, gzipped, sorted by run; return the bytes. The same records give the same file."""
    ordered = sorted(records, key=lambda record: (*key_of(record), record["rounds"]))
    text = "".join(json.dumps(compact(record), separators=(",", ":"), allow_nan=False) + "\n" for record in ordered)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(file.name + ".partial")
    partial.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    partial.replace(file)
    return file.stat().st_size


def _shortened(values: object) -> object:
    if isinstance(values, dict):
        return {name: _shortened(entry) for name, entry in values.items()}
    if isinstance(values, list):
        return [_shortened(entry) for entry in values]
    return float(f"{values:.5g}") if isinstance(values, float) else values
