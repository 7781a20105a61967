"""Doctests in docstrings become fenced blocks: in Markdown three angle brackets would be a quotation."""

from __future__ import annotations

import re

import griffe

DOCTEST = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )\S.*\n?|^\.\.\. ?.*\n?)*)+", re.MULTILINE)


class DoctestFences(griffe.Extension):
    """Fence every doctest of every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:  # griffe hands over more
        """Rewrite one docstring as it is collected."""
        if obj.docstring is not None:
            obj.docstring.value = DOCTEST.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
