"""Which rooms import without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import windward

ROOT = Path(windward.__file__).parent
WITHOUT_TORCH = sorted(
    f"windward.{path.relative_to(ROOT).with_suffix('').as_posix().replace('/', '.')}".removesuffix(".__init__")
    for room in ("basics", "space")
    for path in (ROOT / room).glob("*.py")
    if path.name != "polytope.py"  # its points are tensors; only constraints need it
)


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_imports_without_torch(module):
    answer = python(f"import sys, {module}; print('torch' in sys.modules)")
    assert answer.stdout.strip() == "False", answer.stderr


def test_declaring_and_checking_needs_no_torch():
    answer = python(
        """
import sys
from windward.space import Categorical, Integer, Linear, Real, Space, accepted_before
with accepted_before():
    space = Space(
        {"dose": Real(0.1, 10, log=True), "beds": Integer(1, 9), "route": Categorical(["rail", "road"])},
        {"load": Real()},
        [Linear({"beds": 1}, upper=8)],
    )
print(space.check_decision("tell", {"dose": 1, "beds": 3.0, "route": "road"}), space.check_context("tell", {"load": 2}))
print("torch" in sys.modules)
"""
    )
    assert answer.stdout.splitlines() == ["{'dose': 1.0, 'beds': 3, 'route': 'road'} {'load': 2.0}", "False"], (
        answer.stderr
    )
