"""Names near to one that is unknown, for errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# A longer text is no slip of a name, and comparing it takes long.
LONGEST = 60
# Fewer letters begin too many names.
SHORTEST = 3


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question to put after an unknown name, nothing where no name is near; case, `-` and `_` do not count.

    >>> did_you_mean("SBO-KDE", ["sbo_kde", "erbo"]), did_you_mean("magic", ["sbo_kde", "erbo"])
    (" (did you mean 'sbo_kde'?)", '')
    >>> did_you_mean("Int", ["Integer", "Minimum"])
    " (did you mean 'Integer'?)"
    """
    if not isinstance(name, str) or len(name) > LONGEST:
        return ""
    plain, typed = {_plain(each): each for each in known}, _plain(name)
    begun = [
        each for each in plain if len(typed) >= SHORTEST and each.startswith(typed)
    ]  # typed in part: Int for Integer
    near = [*begun, *difflib.get_close_matches(typed, plain, n=2, cutoff=0.65)]
    found = [plain[each] for each in list(dict.fromkeys(near))[:2]]
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
