"""The benchmark of forgetting where the outcome is known: one run of it, and its report of made-up records."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
bench = importlib.import_module("moving_known")


def record(world, seed, none, best, learnt):
    fixed = dict.fromkeys(bench.PROFILES, 9.0) | {"half-life inf": none, "half-life 10": best}
    return {"world": world, "seed": seed, "learnt": learnt, "fixed": fixed, "tried": {}}


def test_the_share_of_the_gap_that_is_closed():
    records = [record("jump-one", seed, 4.0 + seed % 2, 2.0, 2.5) for seed in range(20)]
    (row,) = bench.rows_of(records)
    assert (row.none, row.best, row.life) == (4.5, 2.0, "half-life 10")
    assert row.closed == pytest.approx(0.8) and row.between[0] < 0.8 < row.between[1]
    # Runs of 4 close 75 %, runs of 5 close 83 %: no mixture of them lies outside.
    assert row.between[0] >= 0.75 and row.between[1] <= 2.5 / 3.0
    shown = bench.report(records)
    assert "| 80 % [" in shown and "| 0.556 +-" in shown


def test_nothing_is_closed_where_none_is_best():
    (row,) = bench.rows_of([record("week", seed, 1.0, 2.0, 1.1) for seed in range(3)])
    assert row.between[0] != row.between[0] and bench.report([record("week", 0, 1.0, 2.0, 1.1)]).endswith("|  |")


def test_a_run_knows_the_regret_of_every_way():
    world = next(world for world in bench.WORLDS if world.name == "jump-three")
    found = bench.played(world, 0)
    assert set(found["fixed"]) == set(bench.PROFILES) and set(found["tried"]) == set(bench.TRIED)
    assert all(each >= 0.0 for each in found["fixed"].values())
    assert (
        found["learnt"] == pytest.approx(found["tried"]["METHODS"])
        and found["learnt"] < found["fixed"]["half-life inf"]
    )
