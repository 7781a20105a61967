"""What a person adds to a trial beside its numbers: a note in their own words, and tags to find it by. No torch.

Neither says anything about the outcome, so neither moves a fit, a suggestion or a piece of advice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown

# More tags on one trial, or longer ones, are no tags any more: that is what the note is for.
MOST_TAGS, LONGEST_TAG = 20, 60
# Between tags where they are typed into one line, or stand in one cell of a file; so no tag may hold one.
BETWEEN = re.compile(r"[,;\n\t]")


def checked_note(call: str, note: object) -> str:
    """Return a note without blanks around it; "" takes a note away."""
    if isinstance(note, str) and not note.strip():
        return ""
    return arguments.text(call, "note", note).strip()


def checked_tags(call: str, tags: object) -> list[str]:
    """Return tags in the order given, each once."""
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise ArgumentError(f"{call}(tags={shown(tags)}): give a list of tags, such as ['holiday', 'rain'].")
    clean = list(dict.fromkeys(_tag(call, tags, tag) for tag in tags))
    if len(clean) > MOST_TAGS:
        raise ArgumentError(f"{call}(tags=...): a trial has at most {MOST_TAGS} tags, got {len(clean)}.")
    return clean


def _tag(call: str, tags: object, tag: object) -> str:
    try:
        one = arguments.text(call, "tags", tag, longest=LONGEST_TAG).strip()
    except ArgumentError:
        one = ""
    if not one or BETWEEN.search(one):
        raise ArgumentError(
            f"{call}(tags={shown(tags)}): a tag is one line of 1 to {LONGEST_TAG} characters without commas and semicolons, "
            f"got {shown(tag)}."
        )
    return one


def written_tags(tags: Iterable[str]) -> str:
    """Return tags as one cell of a file holds them.

    >>> written_tags(("holiday", "rain"))
    'holiday, rain'
    """
    return ", ".join(tags)


def read_tags(text: str) -> list[str]:
    """Return the tags in one line or one cell.

    >>> read_tags("holiday; rain, ")
    ['holiday', 'rain']
    """
    return [tag.strip() for tag in BETWEEN.split(text) if tag.strip()]
