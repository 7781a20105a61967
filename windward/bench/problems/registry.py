"""Problems by name: a decorator on one function adds one, `problem(name)` makes it.

    @register("ackley-2-1")
    def ackley(seed: int, data: Data) -> Problem: ...

`seeded` ones differ by seed; the others are made once per process whatever the seed. A problem that reads data asks
`data.file(...)`, which says what is missing, where it was looked for, where it comes from and what runs without it.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from windward.basics import arguments
from windward.basics.errors import ArgumentError, MissingData
from windward.bench.problem import Problem

# The environment variable that names the folder of the data where no folder is given.
DATA_VARIABLE = "WINDWARD_DATA"

# Where each file comes from; every one is public.
SOURCES = {
    "portfolio.csv": "github.com/saitcakmak/BoRisk: 3000 simulated portfolios as columns risk_aversion, trade_aversion, "
    "holding_cost, bid_ask_spread, borrow_cost, value",
    "plant.npz": "github.com/sebtsh/unified-framework-BOCU: the leaf-area model as arrays points, alpha, variance, "
    "lengthscales",
    "infection.npz": "github.com/sebtsh/unified-framework-BOCU: the simulated infections as arrays X, y",
    "svm_tables.npz": "github.com/wistuba/TST: the SVM tables as arrays task, accuracy, config, meta",
    "diabetes.csv": "the Pima Indians diabetes data of UCI, 768 rows under a header",
    "glass.csv": "the glass identification data of UCI, 214 rows without a header",
    "sonar.csv": "the connectionist bench (sonar) data of UCI, 208 rows without a header",
}


@dataclass(frozen=True)
class Data:
    """The folder the user named, for one problem; `substitute` is the problem that runs without it."""

    problem: str
    folder: Path | None
    substitute: str | None

    def file(self, name: str) -> Path:
        """Return the path of a file, or raise `MissingData`."""
        instead = f" Without it, {self.substitute!r} takes its place." if self.substitute else ""
        origin = f"{name} ({SOURCES[name]})"
        if self.folder is None:
            raise MissingData(
                f"problem {self.problem!r} needs {origin} and no folder was named: give data=<folder> or --data, or set "
                f"{DATA_VARIABLE}.{instead}"
            )
        path = self.folder / name
        if not path.is_file():
            raise MissingData(
                f"problem {self.problem!r} needs {origin}; it is not in {self.folder}. Put it there, or name another folder "
                f"by data=<folder>, --data or {DATA_VARIABLE}.{instead}"
            )
        return path


Maker: TypeAlias = Callable[[int, Data], Problem]


@dataclass(frozen=True)
class Entry:
    """One name of the registry."""

    make: Maker
    seeded: bool
    files: tuple[str, ...]
    substitute: str | None


_ENTRIES: dict[str, Entry] = {}


def register(
    name: str, *, seeded: bool = False, files: tuple[str, ...] = (), substitute: str | None = None
) -> Callable[[Maker], Maker]:
    """Return a decorator that adds a function `(seed, data) -> Problem` under a name.

    `files` are those it reads from the user's folder, `substitute` names the problem that stands in for it without them.
    """
    if name in _ENTRIES:
        raise ArgumentError(f"register({name!r}): there is a problem of that name; choose another.")

    def add(make: Maker) -> Maker:
        _ENTRIES[name] = Entry(make, seeded, files, substitute)
        return make

    return add


def problems() -> list[str]:
    """Return the names of all problems, sorted."""
    return sorted(_ENTRIES)


def entry(name: str) -> Entry:
    """Return what is registered under a name; an unknown name gets the nearest ones."""
    if name not in _ENTRIES:
        near = difflib.get_close_matches(str(name), _ENTRIES, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else "problems() lists all."
        raise ArgumentError(f"problem({name!r}): no problem of that name; {hint}")
    return _ENTRIES[name]


def problem(name: str, seed: int = 0, data: str | Path | None = None) -> Problem:
    """Return a problem; `data` is the folder of its files (left out: the one WINDWARD_DATA names).

    >>> problem("three-humps").space.decision
    mappingproxy({'x': Real(low=-1.0, high=1.0, log=False, outside='keep')})
    """
    found = entry(name)
    arguments.whole("problem", "seed", seed, low=0)
    folder = data if data is not None else os.environ.get(DATA_VARIABLE)
    path = Path(folder).resolve() if folder else None
    return _made(name, seed if found.seeded else 0, path if found.files else None)


@lru_cache(maxsize=64)
def _made(name: str, seed: int, folder: Path | None) -> Problem:
    found = _ENTRIES[name]
    return found.make(seed, Data(name, folder, found.substitute))
