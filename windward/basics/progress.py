"""A one-line progress bar on stderr, without dependencies; silent where stderr is not a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

WIDTH = 24
# Redrawing more often than this costs more than it shows.
REDRAW_SECONDS = 0.1


class Progress:
    """`with Progress(40, "rounds") as bar: bar.advance("best 1.93")`."""

    def __init__(self, total: int, unit: str, *, show: bool = True, stream: TextIO | None = None) -> None:
        self.total, self.unit, self.done = total, unit, 0
        self._stream = sys.stderr if stream is None else stream
        self._show = show and total > 0 and self._stream.isatty()
        self._began = self._drawn = time.monotonic()
        self._note = ""

    def __enter__(self) -> Progress:
        return self

    def advance(self, note: str = "") -> None:
        """Count one more and redraw, with a note behind the bar."""
        self.done, self._note = self.done + 1, note
        if self._show and (time.monotonic() - self._drawn >= REDRAW_SECONDS or self.done == self.total):
            self._drawn = time.monotonic()
            self._stream.write("\r" + self.line() + "\x1b[K")
            self._stream.flush()

    def line(self) -> str:
        """Return the bar as text."""
        filled = round(WIDTH * self.done / self.total) if self.total else 0
        elapsed = time.monotonic() - self._began
        left = elapsed / self.done * (self.total - self.done) if self.done else 0.0
        bar = "#" * filled + "-" * (WIDTH - filled)
        return (
            f"[{bar}] {self.done}/{self.total} {self.unit}, {elapsed:.0f} s, {left:.0f} s left  {self._note}".rstrip()
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._show and self.done:
            self._stream.write("\r" + self.line() + "\x1b[K\n")
            self._stream.flush()
