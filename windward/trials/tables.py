"""Tables in text as spreadsheets write them: what stands between cells, and how numbers are written. No torch.

In some countries that is semicolons between cells and commas in numbers: both are understood, never mixed.
"""

from __future__ import annotations

from dataclasses import dataclass

from windward.basics.errors import ArgumentError
from windward.basics.speech import shown

# What may stand between cells; where two are equally frequent the first counts.
BETWEEN = (",", ";", "\t")


def between_cells(text: str) -> str:
    """Return what stands between the cells of a table, by its first line.

    >>> between_cells("order;demand;value")
    ';'
    """
    first = text.removeprefix("\ufeff").split("\n", 1)[0]
    return max(BETWEEN, key=first.count)


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
