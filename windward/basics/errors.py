"""Every error Windward raises on purpose, and names near to an unknown one.

    WindwardError
    |-- ArgumentError(ValueError)       an argument or a part's field has a value that is not allowed
    |-- SpaceError(ValueError)          a parameter, decision or context does not fit its space
    |-- TrialError(LookupError)         an id, a second tell, a name: the study cannot do this to that trial
    |-- IncompatibleError(TypeError)    parts that do not go together, or a part that does not go with a space
    |-- SolverError(RuntimeError)       a numerical routine could not certify its answer
    |-- JournalError(RuntimeError)      the log cannot be reached, read or written
    |   |-- UnknownStudy                it can, but has no study of that name
    |   `-- StudyExists                 it can, and has a study of that name already
    |-- MissingDependency(ImportError)  an optional package is needed; the message has the command
    `-- MissingData(LookupError)        a file of data is needed; the message says which, where, and from where

Each message says what was given, what is needed and what to do, in the words the caller typed.
An error raised by a study leaves the study as it was.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class WindwardError(Exception):
    """The root: `except WindwardError` catches everything Windward raises on purpose."""


class ArgumentError(WindwardError, ValueError):
    """An argument or a part's field has a value that is not allowed."""


class SpaceError(WindwardError, ValueError):
    """A parameter, a decision or a context does not fit its space."""


class TrialError(WindwardError, LookupError):
    """The study has no such trial, or cannot do this to it."""


class IncompatibleError(WindwardError, TypeError):
    """Parts that do not go together, or a part that does not go with a space."""


class SolverError(WindwardError, RuntimeError):
    """A numerical routine could not certify its answer; `unsolved` are the rows of a batch that it failed on, if it knows."""

    def __init__(self, message: str, unsolved: Sequence[int] | None = None) -> None:
        super().__init__(message)
        self.unsolved = unsolved


class JournalError(WindwardError, RuntimeError):
    """The log cannot be reached, read or written."""


class UnknownStudy(JournalError):
    """The journal has no study of that name."""


class StudyExists(JournalError):
    """The journal has a study of that name already."""


class MissingDependency(WindwardError, ImportError):
    """An optional package is needed."""


class MissingData(WindwardError, LookupError):
    """A file of data is needed that the user's folder does not hold."""


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
