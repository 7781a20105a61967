"""A study declared as plain data, from a TOML file or a request: its space, its direction, its policy.

    name = "shop"                    seed = 0

    [outcomes.profit]
    part = "Maximize"
    unit = "EUR"

    [decision.order]                 [context.demand]                  [policy]
    part = "Real"                    part = "Real"                     method = "drbo_kde"
    low = 0                          low = 0                           samples = 64
    high = 100                       high = 100                        guard = {part = "LargestStep", step = 0.1}

    [status_quo]
    order = 40

Parts are written as `to_json` writes them. A policy is `{"part": "Policy", ...}` by its parts, or `{"method": ...}`, a
published method with its arguments, and a guard beside them. The method `auto` is the default; any part of a policy beside it
replaces the default's own. A policy that is left out is the study's default. Names are resolved against Windward's own tables,
and then, with `plugins`, against what installed packages offer; nothing else is imported.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from windward import papers
from windward.basics import arguments
from windward.basics.codec import Table, decode, table_of, unreadable
from windward.basics.errors import ArgumentError, WindwardError, did_you_mean
from windward.basics.speech import shown
from windward.default import auto
from windward.journal import Journal, check_name
from windward.parts import OWN_PARTS
from windward.policy import Policy
from windward.rules.guards import check_status_quo
from windward.space import PARAMETERS, Circular, Linear, Maximize, Minimize, Space
from windward.space.outcomes import checked_outcome
from windward.space.parameters import Value
from windward.space.space import KINDS
from windward.study.standing import checked_standing
from windward.study.study import Study

FIELDS = (
    "name",
    "direction",
    "outcomes",
    "seed",
    "horizon",
    "decision",
    "context",
    "constraints",
    "status_quo",
    "policy",
)
# The default by name, for files that change some of its parts. The objective is its argument: other parts depend on it.
DEFAULT = "auto"
PARTS_OF_A_POLICY = tuple(field.name for field in fields(Policy) if field.name != "objective")
# A file this large declares no study; refused before it is parsed.
LARGEST_FILE = 1_000_000
# A package that offers a part of one of these names is not asked for it: Windward's own win.
OTHER_PARTS = frozenset(kind.__name__ for kind in OWN_PARTS) - {kind.__name__ for kind in PARAMETERS}
EXAMPLE = 'part = "Real", low = 0 and high = 100'


@dataclass(frozen=True)
class Declaration:
    """What a study is made from; `policy` None is the study's default."""

    name: str
    space: Space
    policy: Policy | None = None
    direction: Literal["maximize", "minimize"] | None = None
    seed: int = 0
    status_quo: Mapping[str, Value] | None = None
    horizon: int | None = None
    outcomes: Mapping[str, Maximize | Minimize] | None = None

    def create(self, journal: str | Journal, *, memory: int | None = None) -> Study:
        """Make the study in a journal."""
        return Study(
            self.space,
            self.policy,
            journal=journal,
            name=self.name,
            seed=self.seed,
            direction=self.direction,
            outcomes=self.outcomes,
            status_quo=self.status_quo,
            horizon=self.horizon,
            memory=memory,
        )


def methods() -> dict[str, Callable[..., Policy]]:
    """Return the published methods by name."""
    return {name: getattr(papers, name) for name in papers.__all__}


def declared(data: object, *, memory: int | None = None, plugins: bool = True) -> Declaration:
    """Return the declaration in plain data, or raise an error that names what is wrong.

    `memory` is as in `Study`; `plugins` says whether parts of installed packages may be named.
    """
    if not isinstance(data, Mapping):
        raise ArgumentError(f"a declaration is a table with {', '.join(FIELDS)}, got {shown(data, 60)}.")
    unknown = [name for name in data if name not in FIELDS]
    if unknown:
        near = did_you_mean(unknown[0], FIELDS)
        raise ArgumentError(f"a declaration has no field {shown(unknown[0])}{near}; it has {', '.join(FIELDS)}.")
    _check_there(data)
    check_name("declaration", data["name"])
    seed = data.get("seed", 0)
    space = Space(
        _parameters("decision", data["decision"], plugins),
        _parameters("context", data.get("context", {}), plugins),
        _constraints(data.get("constraints", [])),
    )
    outcomes, direction = _outcomes(data.get("outcomes")), data.get("direction")
    outcome = checked_outcome("declaration", outcomes, direction, {*space.decision, *space.context})
    with _within("[policy]"):
        policy = None if data.get("policy") is None else declared_policy(data["policy"], plugins=plugins)
    status_quo, horizon = checked_standing("declaration", space, data.get("status_quo"), data.get("horizon"))
    if policy is not None:
        check_status_quo("declaration", policy.guard, status_quo)
        policy.check(space, sign=1.0 if outcome.goal == "maximize" else -1.0, memory=memory)
    seed = arguments.whole("declaration", "seed", seed, low=0)
    return Declaration(data["name"], space, policy, direction, seed, status_quo, horizon, outcomes)


def _outcomes(data: object) -> dict[str, Any] | None:
    """Return the outcomes in the tables of that name; None where there are none."""
    if data is None:
        return None
    example = 'write a table [outcomes.profit] with part = "Maximize" and unit = "EUR"'
    if not isinstance(data, Mapping):
        raise ArgumentError(f"outcomes = {shown(data, 60)}: {example}.")
    found = {}
    for name, entry in data.items():
        with _within(f"[outcomes.{name}]"):
            if not isinstance(entry, Mapping) or entry.get("part") not in ("Maximize", "Minimize"):
                raise ArgumentError(f'{shown(entry, 60)}: part must be "Maximize" or "Minimize"; {example}.')
            found[str(name)] = decode(entry, Table({"Maximize": Maximize, "Minimize": Minimize}, plugins=False))
    return found


@contextmanager
def _within(place: str) -> Iterator[None]:
    """Put the table in which something is wrong before the error."""
    try:
        yield
    except WindwardError as error:
        raise type(error)(f"{place}: {error}") from error


def _parameters(role: str, data: object, plugins: bool) -> dict[str, Any]:
    """Return the parameters in the tables of decisions or contexts, or raise an error that names the table."""
    if not isinstance(data, Mapping):
        raise ArgumentError(
            f"{role} = {shown(data, 60)}: write one table for each, such as [{role}.name] with {EXAMPLE}."
        )
    table, found = table_of(PARAMETERS, plugins=plugins), {}
    for name, entry in data.items():
        place = f"[{role}.{name}]"
        if not isinstance(entry, Mapping):
            said = f"{name} = {shown(entry, 60)} stands in the table [{role}]"
            raise ArgumentError(f"{said}; write a table [{role}.{name}] with {EXAMPLE}.")
        if "part" not in entry:
            raise ArgumentError(
                f'{place} needs its kind: write part = "Real", part = "Integer" or part = "Categorical".'
            )
        part = entry["part"]
        with _within(place):
            if not isinstance(part, str) or part in OTHER_PARTS or table.find(part) is None:
                near = did_you_mean(part, table.given)
                raise ArgumentError(f"unknown part {shown(part, 60)}{near}; a {role} is a {KINDS[role]}.")
            found[str(name)] = decode(entry, table)
        # A plugin's parameter may write its bounds in other fields; the space checks that it has them.
        own = found[str(name)]
        bounded = part not in table.given or own.choices or isinstance(own, Circular) or {"low", "high"} <= set(entry)
        if role == "decision" and not bounded:
            missing = " and ".join(f"{side} = ..." for side in ("low", "high") if side not in entry)
            raise ArgumentError(f"{place}: a decision needs both bounds; add {missing}.")
    return found


def _constraints(data: object) -> list[Linear]:
    """Return the constraints in the tables of that name."""
    if not isinstance(data, list):
        raise ArgumentError(
            f"constraints = {shown(data, 60)}: write each as a table [[constraints]], with two brackets, and in it "
            'part = "Linear", coefficients = {order = 1, stock = 1} and upper = 100.'
        )
    found = []
    for place, entry in enumerate(data, start=1):
        with _within(f"[[constraints]], the table number {place}"):
            constraint = decode(entry, Table({"Linear": Linear}, plugins=False))
            if not isinstance(constraint, Linear):
                raise ArgumentError(f'{shown(entry, 60)}: a constraint needs part = "Linear".')
        found.append(constraint)
    return found


def _check_there(data: Mapping[str, Any]) -> None:
    """Refuse a declaration without a name or a decision, and say where they go."""
    if "name" not in data:
        # In TOML what follows a table's heading belongs to that table, until the next heading.
        for heading, table in _tables(data):
            if isinstance(table.get("name"), str):
                raise ArgumentError(
                    f"the name {shown(table['name'], 60)} is inside the table [{heading}]; write it at the top, before the "
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
    for role in ("decision", "context", "outcomes", "status_quo", "policy"):
        if isinstance(data.get(role), Mapping):
            found.append((role, data[role]))
            found += [(f"{role}.{name}", entry) for name, entry in data[role].items() if isinstance(entry, Mapping)]
    return found


def declared_policy(data: object, *, plugins: bool = True) -> Policy:
    """Return the policy in plain data: by its parts, or a published method by name; `plugins` as in `declared`."""
    if not isinstance(data, Mapping) or ("part" in data) == ("method" in data):
        raise ArgumentError(
            f"policy={shown(data, 60)}: give either a method, such as {{'method': 'sbo_kde'}}, or parts, such as "
            "{'part': 'Policy', 'context_model': {'part': 'KernelDensity'}}. To change some parts of the default, write "
            "'method': 'auto' beside them."
        )
    table = table_of(OWN_PARTS, plugins=plugins)
    if "part" in data:
        policy = decode(data, table)
        if not isinstance(policy, Policy):
            raise ArgumentError(f"policy: part {shown(data['part'])} is no policy; give one with part 'Policy'.")
        return policy
    known = {DEFAULT: auto, **methods()}
    name = data["method"]
    if not isinstance(name, str) or name not in known:
        raise ArgumentError(
            f"unknown method {shown(name, 60)}{did_you_mean(name, known)}; known are {', '.join(sorted(known))}."
        )
    given = {key: decode(value, table) for key, value in data.items() if key != "method"}
    beside = PARTS_OF_A_POLICY if name == DEFAULT else ("guard",)
    parts = {key: given.pop(key) for key in beside if key in given}
    _check_arguments(name, known[name], given, beside)
    try:
        return replace(known[name](**given), **parts)
    except WindwardError:
        raise
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ArgumentError(f"method {shown(name)}: {error}.") from error


def _check_arguments(name: str, method: Callable[..., Policy], given: Mapping[str, Any], beside: Sequence[str]) -> None:
    """Refuse an argument that a method has not, and one that it lacks, by name; `beside` are the parts it takes as well."""
    own = inspect.signature(method).parameters
    takes = [*own, *beside] if name == DEFAULT else list(own)
    known = f"it has {', '.join(takes)}" if takes else "it has no arguments"
    for key in given:
        if key not in own:
            raise ArgumentError(f"method {name!r} has no argument {shown(key, 60)}{did_you_mean(key, takes)}; {known}.")
    for key, parameter in own.items():
        if key not in given and parameter.default is inspect.Parameter.empty:
            raise ArgumentError(f"method {name!r} needs the argument {key!r}; {known}.")


def declared_in_file(path: Path) -> Declaration:
    """Return the declaration in a TOML or JSON file."""
    text = ""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ArgumentError(f"{path}: larger than {LARGEST_FILE} bytes; this is no declaration.")
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path}: cannot be read: {unreadable(text, error)}.") from error
    try:
        return declared(data)
    except WindwardError as error:
        raise type(error)(f"{path}: {error}") from error
