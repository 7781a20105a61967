"""The published methods name every setting: a later default of a part must change none of them."""

from __future__ import annotations

import importlib
import inspect
import sys
from dataclasses import fields

import pytest

import windward
import windward as ww
from windward import papers
from windward.parts import OWN_PARTS

KNOWN = ww.Known({"demand": [0.1, 0.25, 0.5]})
BALL = ww.TotalVariation()
NEEDED = {
    "reference": KNOWN,
    "samples": KNOWN,
    "folds": KNOWN,
    "divergence": BALL,
    "objective": ww.Sensitivity(BALL),
    "radius": 0.3,
    "worst": 0.0,
    "patience": 5,
}


def left_out(part, positional, named):
    """The fields of a part that a call leaves to their defaults."""
    places = [field.name for field in fields(part) if field.init and not field.kw_only]
    every = [field.name for field in fields(part) if field.init]
    return [name for name in every if name not in places[: len(positional)] and name not in named]


@pytest.fixture
def fresh(monkeypatch):
    """The published methods, imported anew while every part notes what a call leaves out."""
    noted = []
    for part in OWN_PARTS:

        def noting(self, *positional, _part=part, _made=part.__init__, **named):
            noted.extend(f"{_part.__name__}({name}=...)" for name in left_out(_part, positional, named))
            _made(self, *positional, **named)

        monkeypatch.setattr(part, "__init__", noting)
    monkeypatch.setattr(windward, "papers", papers)
    for name in [name for name in sys.modules if name.startswith("windward.papers")]:
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("windward.papers"), noted


def test_every_setting_of_every_part_is_named(fresh):
    again, noted = fresh
    assert again is not papers
    assert noted == [], (
        "windward/papers/settings.py leaves these to their defaults when it is imported; name them there"
    )
    for name in again.__all__:
        method = getattr(again, name)
        needed = {p.name: NEEDED[p.name] for p in inspect.signature(method).parameters.values() if p.default is p.empty}
        method(**needed)
        assert noted == [], (
            f"papers.{name}() leaves these to their defaults; name them (see windward/papers/settings.py)"
        )


def test_what_is_left_out_is_noticed(fresh):
    _, noted = fresh
    ww.MultiStart(64, starts=2)
    assert noted == ["MultiStart(evaluations=...)", "MultiStart(tolerance=...)", "MultiStart(apart=...)"]


def test_the_room_lists_its_methods():
    functions = {name for name, entry in vars(papers).items() if inspect.isfunction(entry)}
    assert set(papers.__all__) == functions
