"""Studies that are open in a process, the least recently used put away first."""

from __future__ import annotations

import threading
from collections import OrderedDict

from windward.basics import budget
from windward.journal.sql import SqlJournal
from windward.study.study import Study

# Each holds its trials in memory; more are opened again from their logs.
MOST_OPEN = 128


class Shelf:
    """Open studies of one journal, by name. Safe for many threads. `plugins`: parts of installed packages are allowed."""

    def __init__(self, url: str, memory: int = budget.DEFAULT, *, plugins: bool = False) -> None:
        self.journal, self.memory, self.plugins = SqlJournal(url), memory, plugins
        self._studies: OrderedDict[str, tuple[str, Study]] = OrderedDict()
        self._lock = threading.Lock()

    def study(self, name: str) -> Study:
        """Return the study of this name, as far as it was read; every call on it reads what came since."""
        return self.born(name)[1]

    def born(self, name: str) -> tuple[str, Study]:
        """Return the study of this name, and what tells it from one that was deleted and had the same name."""
        birth = self.journal.birth(name)
        with self._lock:
            kept = self._studies.get(name)
            if kept is not None and kept[0] == birth:
                self._studies.move_to_end(name)
                return kept
        # Outside the lock: a long log takes seconds to fold.
        opened = birth, Study.open(name, journal=self.journal, memory=self.memory, plugins=self.plugins)
        with self._lock:
            kept = self._studies.get(name)
            if kept is None or kept[0] != birth:
                kept = self._studies[name] = opened
            self._studies.move_to_end(name)
            while len(self._studies) > MOST_OPEN:
                self._studies.popitem(last=False)
        return kept
