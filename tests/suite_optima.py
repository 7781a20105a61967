"""The optima of the suite's problems, kept in `suite_optima.json`: finding all of them takes half a minute.

    python tests/suite_optima.py

writes the file again, for when a problem is added or changed on purpose.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

import windward as ww
from windward.bench import suite
from windward.bench.optima import Optimum
from windward.bench.problems import problem

FILE = Path(__file__).with_suffix(".json")


def recorded() -> dict[str, Optimum]:
    """Return the kept optimum of each problem, for its average with seed 0."""
    found = json.loads(FILE.read_text())
    return {
        name: Optimum(each["value"], torch.tensor(each["decision"], dtype=torch.float64))
        for name, each in found.items()
    }


def main() -> None:
    """Find every optimum and keep it."""
    torch.set_num_threads(1)
    found = {}
    for name in suite.names():
        best = problem(name, 0).optimum(ww.Expected())
        found[name] = {"value": best.value, "decision": best.decision.tolist()}
    lines = (f" {json.dumps(name)}: {json.dumps(each)}" for name, each in found.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
