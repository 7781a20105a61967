"""Windward: decisions made before conditions are known and judged by results that come late.

You choose a decision, the world then shows a context nobody controls, and the value comes back late or never. Windward
models the value by a Gaussian process and picks each decision by Bayesian optimisation that is robust to the context's
distribution and honest about what has not arrived. Start with `Space`, `Study` and `papers`.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windward._public import *  # noqa: F403


def __getattr__(name: str) -> object:
    # Loaded on first use: the names stand on torch, which takes seconds to import, and `windward --help` needs none.
    if name.startswith("_") and name not in ("__all__", "__version__"):
        raise AttributeError(f"module 'windward' has no attribute {name!r}")
    if name == "plots":  # here: it is a room of `present`
        return importlib.import_module("windward.present.plots")
    if importlib.util.find_spec(f"windward.{name}") is not None:
        return importlib.import_module(f"windward.{name}")
    if name == "SqlJournal":  # here: it imports SQLAlchemy
        return importlib.import_module("windward.journal.sql").SqlJournal
    try:
        return getattr(importlib.import_module("windward._public"), name)
    except AttributeError:
        raise AttributeError(f"module 'windward' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted(importlib.import_module("windward._public").__all__)
