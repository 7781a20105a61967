"""How things show themselves in a notebook: a small card of HTML. Every text is escaped; there is no script.

Colours are the notebook's own, light or dark: text inherits its colour, and lines are half transparent.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

LINE = "1px solid rgba(128,128,128,.35)"
CARD = "font:14px/1.5 system-ui,sans-serif;color:inherit;max-width:60em;padding:.2em 0"
TABLE = "font:inherit;border-collapse:collapse;margin:.4em 0;color:inherit;background:transparent"
NAME = "font-weight:400;opacity:.75;white-space:nowrap"
CELL = f"text-align:left;padding:.2em 1.2em .2em 0;border-bottom:{LINE};vertical-align:top"


def text(value: object) -> str:
    """Return text as HTML shows it, whatever is in it.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(str(value), quote=True)


def card(title: str, *parts: str) -> str:
    """Return a card: a title, and what stands below it, as HTML."""
    head = f'<div style="font-weight:600">{text(title)}</div>'
    return f'<div class="windward" style="{CARD}">{head}{"".join(parts)}</div>'


def lines(sentences: Iterable[str]) -> str:
    """Return sentences, one below the other."""
    return "".join(f'<div style="margin:.15em 0">{text(each)}</div>' for each in sentences)


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values."""
    body = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{CELL};{NAME}">{text(name)}</th>'
        f'<td style="{CELL}">{text(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table style="{TABLE}"><tbody>{body}</tbody></table>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with headings."""
    head = "".join(f'<th scope="col" style="{CELL}">{text(each)}</th>' for each in heads)
    body = "".join(
        '<tr style="background:transparent">'
        + "".join(f'<td style="{CELL}">{text(each)}</td>' for each in row)
        + "</tr>"
        for row in rows
    )
    return f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
