"""Studies that are open in a process, the least recently used put away first."""

from __future__ import annotations

import threading
from collections import OrderedDict

from windward.journal import Journal
from windward.study import Study

# Each holds its trials in memory; more are opened again from their logs.
MOST_OPEN = 128


class Shelf:
    """Open studies of one journal, by name. Safe for many threads."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._studies: OrderedDict[str, Study] = OrderedDict()
        self._lock = threading.Lock()

    def study(self, name: str) -> Study:
        """Return the study of this name, as far as it was read; every call on it reads what came since."""
        with self._lock:
            if name in self._studies:
                self._studies.move_to_end(name)
                return self._studies[name]
        opened = Study.open(name, journal=self.journal)  # outside: a long log takes seconds to fold
        with self._lock:
            kept = self._studies.setdefault(name, opened)
            while len(self._studies) > MOST_OPEN:
                self._studies.popitem(last=False)
        return kept
