"""The log of a study: events, what they fold into, what may be written, and where they are kept."""

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.journal.events import Draft, Event, Journal
from windward.journal.fold import History
from windward.journal.memory import MemoryJournal
from windward.space.space import Space

__all__ = [
    "Draft",
    "Event",
    "History",
    "Journal",
    "MemoryJournal",
    "check_name",
    "check_texts",
    "delete_study",
    "open_journal",
    "studies",
]


def open_journal(journal: str | Journal | None, *, existing: bool = False) -> Journal:
    """Return a journal for a URL, the journal itself, or a new one in memory for None; `existing` ones are not made."""
    if journal is None:
        return MemoryJournal()
    if isinstance(journal, str):
        from windward.journal.sql import SqlJournal  # here: only a SQL journal needs SQLAlchemy

        return SqlJournal(journal, create=not existing)
    if isinstance(journal, type) or not all(
        callable(getattr(journal, verb, None)) for verb in ("create", "append", "read", "lease", "names", "delete")
    ):
        raise ArgumentError(f"journal={shown(journal)}: give a URL such as 'sqlite:///shop.db', a journal, or None.")
    return journal


def studies(journal: str | Journal) -> list[str]:
    """Return the names of the studies in a journal, sorted."""
    return open_journal(_given("studies", journal), existing=True).names()


def delete_study(name: str, *, journal: str | Journal) -> None:
    """Delete a study and its whole log."""
    check_name("delete_study", name)
    open_journal(_given("delete_study", journal), existing=True).delete(name)


def check_name(call: str, name: object, *, new: bool = False) -> None:
    """Raise `ArgumentError` unless `name` can name a study: databases take neither NUL nor half a surrogate pair.

    A `new` study takes no other control character either; an older one may have such a name.
    """
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or "\0" in name or not arguments.is_text(name):
        raise ArgumentError(
            f"{call}(name={shown(name)}): a name is a text of 1 to 200 characters that can be written as UTF-8."
        )
    if new and not name.isprintable():
        raise ArgumentError(f"{call}(name={name!r}): a name has no newlines, tabs or other control characters.")


def check_texts(call: str, space: Space) -> None:
    """Raise `ArgumentError` where a new study's names or choices hold control characters."""
    for role, parameters in (("decision", space.decision), ("context", space.context)):
        for name, parameter in parameters.items():
            arguments.text(call, f"{role} name", name)
            for choice in parameter.choices:
                if isinstance(choice, str) and choice:
                    arguments.text(call, f"choice of {name!r}", choice)


def _given(call: str, journal: str | Journal) -> str | Journal:
    if journal is None:
        raise ArgumentError(f"{call}(journal=None): give the journal.")
    return journal
