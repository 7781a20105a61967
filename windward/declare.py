"""A study declared as plain data, from a TOML file or a request: its space, its direction, its policy.

    name = "shop"                    direction = "maximize"            seed = 0

    [decision.order]                 [context.demand]                  [policy]
    part = "Real"                    part = "Real"                     method = "drbo_kde"
    low = 0                          low = 0                           samples = 64
    high = 100                       high = 100

Parts are written as `to_json` writes them. A policy is `{"part": "Policy", ...}` by its parts, or `{"method": ...}`, a
published method with its arguments; left out, it is the study's default. Names are resolved against Windward's own
tables: nothing that a file or a request says is imported.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from windward import budget, check, papers
from windward.codec import decode, encode, table_of
from windward.errors import ArgumentError, WindwardError
from windward.journal import Journal, check_name
from windward.near import did_you_mean
from windward.parts import OWN_PARTS
from windward.policy import Policy
from windward.space import Space
from windward.study import Study

FIELDS = ("name", "direction", "seed", "decision", "context", "constraints", "policy")
# A file this large declares no study; refused before it is parsed.
LARGEST_FILE = 1_000_000


@dataclass(frozen=True)
class Declaration:
    """What a study is made from; `policy` None is the study's default."""

    name: str
    space: Space
    policy: Policy | None = None
    direction: Literal["maximize", "minimize"] = "maximize"
    seed: int = 0

    def create(self, journal: str | Journal, *, memory: int = budget.DEFAULT) -> Study:
        """Make the study in a journal."""
        return Study(
            self.space,
            self.policy,
            journal=journal,
            name=self.name,
            seed=self.seed,
            direction=self.direction,
            memory=memory,
        )


def methods() -> dict[str, Callable[..., Policy]]:
    """Return the published methods by name."""
    own = {name: entry for name, entry in vars(papers).items() if inspect.isfunction(entry)}
    return {n: f for n, f in own.items() if not n.startswith("_") and f.__module__ == papers.__name__}


def declared(data: object, *, memory: int = budget.DEFAULT) -> Declaration:
    """Return the declaration in plain data, or raise an error that names what is wrong; `memory` as in `Study`."""
    if not isinstance(data, Mapping):
        raise ArgumentError(f"a declaration is a table with {', '.join(FIELDS)}, got {data!r:.60}.")
    unknown = sorted(set(data) - set(FIELDS))
    if unknown:
        raise ArgumentError(f"a declaration has no field {unknown[0]!r}; it has {', '.join(FIELDS)}.")
    _check_there(data)
    check_name("declaration", data["name"])
    direction, seed = data.get("direction", "maximize"), data.get("seed", 0)
    check.choice("declaration", "direction", direction, ("maximize", "minimize"))
    table = table_of(OWN_PARTS)
    space = Space(
        decode(data["decision"], table),
        decode(data.get("context", {}), table),
        decode(data.get("constraints", []), table),
    )
    policy = None if data.get("policy") is None else declared_policy(data["policy"])
    if policy is not None:
        policy.check(space, memory=memory)
    return Declaration(data["name"], space, policy, direction, check.whole("declaration", "seed", seed, low=0))


def _check_there(data: Mapping[str, Any]) -> None:
    """Refuse a declaration without a name or a decision, and say where they go."""
    if "name" not in data:
        # In TOML what follows a table's heading belongs to that table, until the next heading.
        for heading, table in _tables(data):
            if isinstance(table.get("name"), str):
                raise ArgumentError(
                    f"the name {table['name']!r:.60} is inside the table [{heading}]; write it at the top, before the "
                    "first table."
                )
        raise ArgumentError('a declaration needs a name: write name = "shop" at the top, before the first table.')
    if not data.get("decision"):
        raise ArgumentError(
            "a declaration needs a decision, something you choose: add a table such as [decision.order] with "
            'part = "Real", low = 0 and high = 100.'
        )


def _tables(data: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the tables of a declaration by their headings."""
    found = []
    for role in ("decision", "context", "policy"):
        if isinstance(data.get(role), Mapping):
            found.append((role, data[role]))
            found += [(f"{role}.{name}", entry) for name, entry in data[role].items() if isinstance(entry, Mapping)]
    return found


def declared_policy(data: object) -> Policy:
    """Return the policy in plain data: by its parts, or a published method by name."""
    if not isinstance(data, Mapping) or ("part" in data) == ("method" in data):
        raise ArgumentError(
            f"policy={data!r:.60}: give either a method, such as {{'method': 'sbo_kde'}}, or parts, such as "
            "{'part': 'Policy', 'context_model': {'part': 'KernelDensity'}}."
        )
    table = table_of(OWN_PARTS)
    if "part" in data:
        policy = decode(data, table)
        if not isinstance(policy, Policy):
            raise ArgumentError(f"policy: part {data['part']!r} is no policy; give one with part 'Policy'.")
        return policy
    known = methods()
    name = data["method"]
    if not isinstance(name, str) or name not in known:
        raise ArgumentError(
            f"unknown method {name!r:.60}{did_you_mean(name, known)}; known are {', '.join(sorted(known))}."
        )
    arguments = {key: decode(value, table) for key, value in data.items() if key != "method"}
    try:
        inspect.signature(known[name]).bind(**arguments)
    except TypeError as error:
        raise ArgumentError(f"method {name!r}: {error}.") from error
    try:
        return known[name](**arguments)
    except WindwardError:
        raise
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ArgumentError(f"method {name!r}: {error}.") from error


def declared_in_file(path: Path) -> Declaration:
    """Return the declaration in a TOML or JSON file."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ArgumentError(f"{path}: larger than {LARGEST_FILE} bytes; this is no declaration.")
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path}: cannot be read: {error}.") from error
    try:
        return declared(data)
    except WindwardError as error:
        raise type(error)(f"{path}: {error}") from error


def declaration_of(study: Study) -> dict[str, Any]:
    """Return a study's declaration as plain data."""
    space = encode(study.space)
    return {
        "name": study.name,
        "direction": study.direction,
        "seed": study.seed,
        "decision": space["decision"],
        "context": space.get("context", {}),
        "constraints": space.get("constraints", []),
        "policy": encode(study.policy),
    }
