"""Tables in text as spreadsheets write them: what stands between cells, and how numbers are written. No torch.

In some countries that is semicolons between cells and commas in numbers: both are understood, never mixed.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from windward.basics.errors import ArgumentError, SpaceError
from windward.basics.speech import shown
from windward.space.parameters import Parameter, Value

# What may stand between cells; where two are equally frequent the first counts.
BETWEEN = (",", ";", "\t")


# What some spreadsheets write above the headings to say what stands between cells.
SAID_BETWEEN = re.compile(r'"?sep=([,;\t|])"?\s*', re.IGNORECASE)
NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
QUOTED = re.compile(r'"[^"]*"')


def between_cells(text: str) -> str:
    """Return what stands between the cells of a table, by its first line; what stands in quotes does not count.

    >>> between_cells("order;demand;value"), between_cells('"order";"a, b, c"')
    (';', ';')
    """
    first = next((line for line in _lines(text) if line.strip()), "")
    said = SAID_BETWEEN.fullmatch(first)
    if said is not None:
        return said[1]
    plain = QUOTED.sub("", first)
    return max(BETWEEN, key=plain.count)


def _lines(text: str) -> io.StringIO:
    return io.StringIO(text.removeprefix("\ufeff"), newline="")


@dataclass
class CellTable:
    r"""The headings of a table in a text, and its rows; empty cells to the right of both are left out.

    >>> table = CellTable("sep=;\norder;value;\n5;1,5;\n")
    >>> table.headings, list(table)
    (['order', 'value'], [['5', '1,5']])
    """

    text: str = field(repr=False)

    def __post_init__(self) -> None:
        self.between = between_cells(self.text)
        self._reader = csv.reader(_lines(self.text), strict=True, delimiter=self.between)
        rows = (row for row in self._reader if any(cell.strip() for cell in row))
        first = next(rows, [])
        if SAID_BETWEEN.fullmatch(self.between.join(first)):
            first = next(rows, [])
        self.headings = [heading.strip() for heading in first]
        while self.headings and not self.headings[-1]:
            self.headings.pop()
        self._rows = rows

    @property
    def line(self) -> int:
        """The line that was read last."""
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        width = len(self.headings)
        for row in self._rows:
            yield row if any(cell.strip() for cell in row[width:]) else row[:width]


@dataclass
class Numbers:
    """Reads numbers as one file writes them: with points, or with commas where something else stands between cells."""

    between: str
    sign: str | None = None  # the decimal sign, once one was met

    def plain(self, text: str) -> str:
        """Return a number with a point."""
        cell = text.strip()
        signs = {each for each in ".," if each in cell}
        if self.between == "," or not signs:
            return cell
        if len(signs) == 2 or any(cell.count(each) > 1 for each in signs):
            raise ArgumentError(f"{shown(cell)} has a sign between thousands; write it without, such as 1234,5.")
        (sign,) = signs
        if self.sign is not None and sign != self.sign:
            raise ArgumentError(
                f"{shown(cell)} has a {'point' if sign == '.' else 'comma'}, and numbers above it have a "
                f"{'comma' if sign == '.' else 'point'}; write all numbers of a file in one way."
            )
        self.sign = sign
        return cell.replace(",", ".")

    def read(self, parameter: Parameter, where: str, text: str) -> Value:
        """Return the value of a parameter that a cell stands for; a choice that is a number may be written as one."""
        if not parameter.choices:
            return parameter.read(where, self.plain(text))
        try:
            return parameter.read(where, text)
        except SpaceError:
            cell = text.strip()
            if NUMBER.fullmatch(cell):
                number = float(self.plain(cell))
                cell = next((str(each) for each in parameter.choices if _is(each, number)), cell)
            return parameter.read(where, cell)


def _is(choice: Value, number: float) -> bool:
    return not isinstance(choice, bool | str) and choice == number
