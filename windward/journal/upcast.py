"""Events of every version as this program reads them: version 1 becomes version 2 on its way in, never in the log.

Version 1 left out the fields of a part that equalled their defaults, so a better default would have changed what an old
study does. `DEFAULTS` is what those defaults were when version 2 began. It is frozen: never edit it to follow the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from windward.basics.errors import JournalError
from windward.journal.events import KINDS, VERSION, Event

# The name of the one outcome that version 1 had.
VALUE = "value"
# Where an upcast body keeps the version it was written in.
WRITTEN_IN = "written_in"

# What a body of each kind must hold; `declared` and `amended` hold what they change.
FIELDS = {
    "created": ("space", "policy", "outcomes", "seed", "status_quo", "horizon"),
    "policy_set": ("policy",),
    "declared": (),
    "asked": (
        "read",
        "decision",
        "given",
        "fixed",
        "chosen",
        "stand_in",
        "fit",
        "kept",
        "fitted",
        "forecast",
        "when",
        "radius",
        "reason",
        "guards",
        "tags",
        "versions",
    ),
    "context_seen": ("context",),
    "told": ("values", "noise", "decision"),
    "lost": ("reason", "outcomes", "told"),
    "amended": (),
    "added": ("decision", "context", "values", "noise", "fingerprint", "dated"),
    "noted": ("note", "tags"),
}

# Fields that came after version 2 began, and what an event without them means.
SINCE: dict[str, dict[str, Any]] = {"asked": {"far": False}}

_STANDARDIZE = {"part": "Standardize"}
_SURROGATE = {
    "part": "GaussianProcess",
    "kernel": "squared_exponential",
    "outcome": _STANDARDIZE,
    "fixed": None,
    "tasks": False,
    "refit": 0.05,
}
_MAXIMIZE = {"part": "MultiStart", "screen": 512, "starts": 8, "evaluations": None, "tolerance": 1e-06, "apart": 0.0125}
_NUMBER = {"low": None, "high": None, "log": False, "outside": "keep"}
DEFAULTS: dict[str, dict[str, Any]] = {
    "BocuOne": {"alpha": 1.0, "beta": 1.0, "step": 0.001},
    "BocuTwo": {"alpha": 1.0, "beta": 1.0},
    "Box": {"spread": 1.0, "count": 1024},
    "Censor": {"late": "use"},
    "Decay": {"power": 0.5},
    "DelayedWidth": {"bound": 1.0, "base": 1.0},
    "Distribution": {"parameters": {}},
    "Empirical": {"elsewhere": 0},
    "GaussianProcess": {name: value for name, value in _SURROGATE.items() if name != "part"},
    "Grid": {"count": 100},
    "HuangWidth": {"constant": 1.0},
    "Integer": _NUMBER,
    "KernelDensity": {"count": 128, "elsewhere": 0},
    "KernelRate": {"scale": 1.0},
    "KirschnerRate": {"risk": 0.1},
    "Known": {"points": None, "weights": None, "distributions": None, "count": 128},
    "Linear": {"lower": None, "upper": None},
    "MMD": {"length_scale": None, "nugget": 0.0, "tolerance": 1e-08, "matrix": None},
    "MeanRisk": {"weight": 1.0},
    "MeanVariance": {"weight": 1.0},
    "MicheliRate": {"decision_diameter": 1.0, "log_covering": 0.0, "risk": 0.1},
    "MicheliWidth": {"bound": 1.0, "noise": 0.1, "risk": 0.1},
    "MultiStart": {name: value for name, value in _MAXIMIZE.items() if name != "part"},
    "OverGrid": {"per_parameter": 32, "apart": 0.0125},
    "Policy": {
        "objective": {"part": "Expected"},
        "belief": {"part": "UpperConfidence", "width": 1.5},
        "feedback": {"part": "Hallucinate"},
        "context_rule": {"part": "Nature"},
        "surrogate": _SURROGATE,
        "maximize": _MAXIMIZE,
        "design": {"part": "Sobol", "count": None},
        "report": {"part": "Report", "objective": None, "candidates": "space"},
    },
    "Real": _NUMBER,
    "Report": {"objective": None, "candidates": "space"},
    "Sobol": {"count": None},
    "SoftClip": {"limit": 3.0},
    "Space": {"context": {}, "constraints": []},
    "Thompson": {"width": 1.0},
    "Tradeoff": {"alpha": 1.0, "beta": 1.0},
    "UpperConfidence": {"width": 1.5},
}


def current(events: Iterable[Event], study: str) -> list[Event]:
    """Return the events as this version writes them; raise `JournalError` for a kind or version it does not know."""
    return [upcast(event, study) for event in events]


def upcast(event: Event, study: str) -> Event:
    """Return one event as this version writes it."""
    where = f"study {study!r}, event {event.seq}"
    if event.kind not in KINDS:
        raise JournalError(f"{where}: unknown kind {event.kind!r}; use a newer Windward.")
    body: object = event.body
    if not isinstance(body, dict):
        raise JournalError(f"{where} ({event.kind}) is damaged: its body is {body!r:.60}; restore a copy of it.")
    version = body.get("v")
    if version == VERSION and not isinstance(version, bool):
        missing = [name for name in FIELDS[event.kind] if name not in body]
        if missing:
            raise JournalError(f"{where} ({event.kind}) is damaged: it has no {missing[0]!r}; restore a copy of it.")
        since = {name: entry for name, entry in SINCE.get(event.kind, {}).items() if name not in body}
        return replace(event, body={**body, **since}) if since else event
    if version != 1 or isinstance(version, bool):
        raise JournalError(
            f"{where}: version {version!r:.60} of {event.kind!r}; this Windward reads versions 1 and {VERSION}; use a newer "
            "one."
        )
    try:
        return replace(event, body={**_FROM_1[event.kind](body), "v": VERSION, WRITTEN_IN: 1})
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise JournalError(f"{where} ({event.kind}) is damaged: {why(error)}; restore a copy of it.") from error


def in_full(data: Any) -> Any:
    """Return a part as version 1 wrote it with the fields that it left out."""
    if isinstance(data, list):
        return [in_full(entry) for entry in data]
    if not isinstance(data, Mapping):
        return data
    written = {name: in_full(entry) for name, entry in data.items()}
    tag = data.get("part")
    return {**DEFAULTS.get(tag, {}), **written} if isinstance(tag, str) else written


def readable(text: str) -> str:
    """Return a text with a mark in place of what no file or terminal can carry; version 1 took such texts."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _created(body: dict[str, Any]) -> dict[str, Any]:
    rest = {name: entry for name, entry in body.items() if name != "direction"}
    return {
        **rest,
        "space": in_full(body["space"]),
        "policy": in_full(body["policy"]),
        "outcomes": {VALUE: {"goal": body["direction"], "unit": None}},
        "status_quo": None,
        "horizon": None,
    }


def _policy_set(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "policy": in_full(body["policy"])}


def _asked(body: dict[str, Any]) -> dict[str, Any]:
    later: dict[str, Any] = {"forecast": None, "when": None, "radius": None, "reason": None, "guards": [], "tags": []}
    # The first logs did not say what the fit had read.
    return {**body, "fit": in_full(body["fit"]), "fitted": body.get("fitted", body["read"]), **later, **SINCE["asked"]}


def _told(body: dict[str, Any]) -> dict[str, Any]:
    values = {"values": {VALUE: body["value"]}, "noise": _noise(body["noise"])}
    call = {} if "call" not in body else {"call": _call(body["call"])}
    return {**values, **call, "decision": body["decision"]}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "values": {VALUE: call["value"]},
        "noise": _noise(call["noise"]),
        "context": call["context"],
        "decision": call["decision"],
    }


def _context_seen(body: dict[str, Any]) -> dict[str, Any]:
    return body if "call" not in body else {**body, "call": _call(body["call"])}


def _lost(body: dict[str, Any]) -> dict[str, Any]:
    return {"reason": body["reason"], "outcomes": None, "told": None}


def _amended(body: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {name: body[name] for name in ("context", "decision") if name in body}
    if "value" in body:
        changes["values"] = {VALUE: body["value"]}
    if "noise" in body:
        changes["noise"] = _noise(body["noise"])
    return changes


def _added(body: dict[str, Any]) -> dict[str, Any]:
    kept = {"decision": body["decision"], "context": body["context"]}
    return {
        **kept,
        "values": {VALUE: body["value"]},
        "noise": _noise(body["noise"]),
        "fingerprint": None,
        "dated": False,
    }


def _noise(noise: object) -> dict[str, Any]:
    return {} if noise is None else {VALUE: noise}


_FROM_1 = {
    "created": _created,
    "policy_set": _policy_set,
    "asked": _asked,
    "context_seen": _context_seen,
    "told": _told,
    "lost": _lost,
    "amended": _amended,
    "added": _added,
}


def why(error: Exception) -> str:
    """Return what is wrong with an event, in words."""
    what = str(error.args[0]) if error.args else type(error).__name__
    return f"it has no {what!r}" if isinstance(error, KeyError) and " " not in what else what.rstrip(".")
