"""What a person wrote for the reproduction page: one TOML file beside the records, kept apart from what is generated.

[page]
machine = "Two cores of a shared server, no accelerator."

[found.huang2024-fig1]
text = "What was looked for and found, in Markdown."
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windward.basics.errors import ArgumentError
from windward.bench.experiment import check_known

FILE = "findings.toml"


@dataclass(frozen=True)
class Findings:
    """The machine in general words, and for each experiment what was looked for and found."""

    machine: str = ""
    found: Mapping[str, str] = field(default_factory=dict)


def read_findings(file: Path, known: Collection[str]) -> Findings:
    """Return what the file says; `known` are the names of the experiments it may speak of."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArgumentError(
            f"{file}: there is no such file; it holds what was looked for and found, by experiment: make it (it may be "
            "empty), or name another by --findings."
        ) from None
    except OSError as error:
        raise ArgumentError(f"{file}: it cannot be read: {error.strerror}; name a file by --findings.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{file}: it must be TOML, and is not: {error}.") from error
    check_known(str(file), "table", content, ("page", "found"))
    page, found = (_table(file, name, content.get(name, {})) for name in ("page", "found"))
    check_known(f"{file}, [page]", "entry", page, ("machine",))
    check_known(f"{file}, [found]", "experiment", found, known)
    texts = {}
    for name, entry in found.items():
        where = f"[found.{name}]"
        check_known(f"{file}, {where}", "entry", _table(file, where, entry), ("text",))
        texts[name] = _text(file, where, entry.get("text"))
    machine = _text(file, "[page] machine", page["machine"]) if "machine" in page else ""
    return Findings(machine, texts)


def _table(file: Path, name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{file}: {name} must be a table, got {value!r}.")
    return value


def _text(file: Path, name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ArgumentError(
            f"{file}: {name} must be a text that says something, got {value!r}; write it or leave it out."
        )
    return value.strip()
