"""Parts of installed packages, found by their entry points in the group `windward.parts`.

    [project.entry-points."windward.parts"]     # in the package's pyproject.toml
    Median = "median_parts.median:Median"       # the tag, which is the class's name, and where the class is

The installed metadata say what is imported. A document only says which name it looks for, and it is looked for only when
nobody else knows the name.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from windward.basics.errors import ArgumentError, MissingDependency
from windward.basics.speech import and_list

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "windward.parts"
OFF = (
    "plugins are off here; allow them with windward serve --plugins (plugins=True in the service's settings, or in "
    "Study.open)"
)


def plugin(tag: str, *, allowed: bool) -> type | None:
    """Return the class that an installed package offers under a tag, imported now; None where no package offers one.

    Without `allowed` nothing is imported: a tag that a package offers is refused.
    """
    from importlib.metadata import entry_points  # here: most documents name no plugin

    offered = sorted(entry_points(group=GROUP, name=tag), key=_package)
    if not offered:
        return None
    packages = [_package(entry) for entry in offered]
    if not allowed:
        raise ArgumentError(f"part {tag!r} comes from {and_list(packages)}, and {OFF}.")
    if len(offered) > 1:
        raise ArgumentError(f"part {tag!r} is offered by {and_list(packages)}; uninstall all but one of them.")
    return _checked(tag, offered[0])


def _checked(tag: str, entry: EntryPoint) -> type:
    """Return the class at an entry point, or refuse it with the name of its package."""
    said = f"part {tag!r} of {_package(entry)}, {entry.value!r},"
    try:
        kind = entry.load()
    except ImportError as error:
        raise MissingDependency(f"{said} cannot be imported: {error}. Repair or uninstall that package.") from error
    except Exception as error:  # importing runs the package's code, which may raise anything
        text = f"{type(error).__name__}: {error}"
        raise ArgumentError(f"{said} cannot be imported: {text}. Repair or uninstall that package.") from error
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind) and _frozen(kind)):
        raise ArgumentError(f"{said} is not a frozen dataclass, as every part is; tell the package's authors.")
    if kind.__name__ != tag:
        raise ArgumentError(
            f"{said} is a class named {kind.__name__!r}; the entry point must have the name of its class. Tell the "
            "package's authors."
        )
    return kind


def _frozen(kind: type) -> bool:
    return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]  # typing does not know of it


def _package(entry: EntryPoint) -> str:
    """Return the package of an entry point, as messages name it."""
    return "a package without a name" if entry.dist is None else f"the package {entry.dist.name} {entry.dist.version}"
