"""Where a record comes from: the commit it was made with, and the changes since that could give other numbers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from windward.bench.experiment import Record


@dataclass(frozen=True)
class Change:
    """A change after which runs of some worlds (none named: of every study) could end otherwise.

    `since` is when it landed, in UTC as a record says when it began. `methods` limits it to methods whose names begin so.
    """

    since: str
    what: str
    worlds: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def concerns(self, record: Record) -> bool:
        """Whether a record is older than this change and could be another one after it."""
        return bool(
            record["began"] < self.since
            and (record["world"] in self.worlds or not self.worlds)
            and (not self.methods or record["method"].startswith(self.methods))
        )


# Newest last. Tables that make no study are concerned by those that name their world alone.
CHANGES: tuple[Change, ...] = (
    Change("2026-11-18T19:10", "fits, drafts and the search over decisions were changed, several times"),
    Change(
        "2026-11-19T08:45",
        "the four fast methods have the paper's Matern-5/2",
        ("huang2024", "huang2024-table1"),
        ("SBO-KDE", "DRBO-KDE", "StableOpt", "GP-UCB"),
    ),
    Change(
        "2026-11-19T08:45",
        "DRBO-MMD has the fitted process's kernel",
        ("huang2024-table1", "micheli2025-table2"),
        ("DRBO-MMD",),
    ),
    Change(
        "2026-11-19T20:55",
        "Verma2022's hyper-parameters have no priors, its fixed delays m = 10, and 100 queries follow the 5 initial points",
        ("verma2022-synthetic", "verma2022-fig2", "verma2022-fig3", "verma2022-fig4"),
    ),
)
NO_STUDY = ("huang2024-table2",)


def outdated(record: Record) -> list[Change]:
    """Return the changes after which this record would have to be made again."""
    return [
        change for change in CHANGES if change.concerns(record) and (change.worlds or record["world"] not in NO_STUDY)
    ]


def since(records: Sequence[Record]) -> list[Change]:
    """Return the changes that concern any of these records, in order."""
    found = {change for record in records for change in outdated(record)}
    return [change for change in CHANGES if change in found]


def commits(records: Sequence[Record]) -> tuple[list[str], int]:
    """Return the commits that records name, and how many name none."""
    named = sorted({record["commit"] for record in records if record.get("commit")})
    return named, sum(not record.get("commit") for record in records)


@cache
def commit() -> str | None:
    """Return the commit of the checkout that runs, with "+" where its package was changed since; None outside a checkout."""
    package = Path(__file__).parents[1]
    if not (package.parent / ".git").exists():
        return None
    found = _git(package, "rev-parse", "--short=12", "HEAD")
    if not found:
        return None
    return found + ("+" if _git(package, "status", "--porcelain", "--", str(package)) else "")


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]  # no shell; the words are those above
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
