"""The program that plays the suite: it goes on where it stopped, and its report has the figures of made-up records."""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import windward as ww
from windward.bench import suite
from windward.bench.problems import problem

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.append(str(FOLDER))
listed = importlib.import_module("default_methods")
tables = importlib.import_module("default_report")
spec = importlib.util.spec_from_file_location("default_bench", FOLDER / "default.py")
bench = importlib.util.module_from_spec(spec)
sys.modules["default_bench"] = bench
spec.loader.exec_module(bench)


def run(path, *words):
    arguments = bench.parser().parse_args(["run", "--out", str(path), "--half", "choose", *words])
    arguments.function(arguments)
    return bench.records_in(path)


def test_a_run_goes_on_where_it_stopped(tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    small = ("--problems", "three-humps", "--rounds", "15", "--methods", "random", "gp_ucb")
    first = run(path, *small, "--seeds", "0", "1")
    assert [record["method"] for record in first] == ["random", "gp_ucb"]
    path.write_text(path.read_text() + '{"cut off')
    both = run(path, *small, "--seeds", "0", "2")
    assert both[:2] == first and [record["seed"] for record in both] == [0, 0, 1, 1]
    assert run(path, *small, "--seeds", "0", "2") == both
    one = both[0]
    assert one["best"] == pytest.approx(-1.0 / 3.0, abs=1e-6) and len(one["regret"]) == len(one["ask_seconds"]) == 15
    assert set(one["advice"]) == {"15"} and min(one["regret"]) >= -1e-9 and one["commit"]
    with pytest.raises(SystemExit, match="no method nobody"):
        run(path, "--methods", "nobody")
    capsys.readouterr()


def test_a_method_that_a_space_refuses_is_recorded_as_refused(tmp_path, capsys):
    found = run(
        tmp_path / "runs.jsonl", "--problems", "kiosk", "--rounds", "2", "--methods", "wdrbo", "--seeds", "0", "1"
    )
    assert "category" in found[0]["refused"] and "regret" not in found[0]
    capsys.readouterr()


@pytest.mark.parametrize("kind", ["tv", "cvar", "wasserstein"])
def test_robust_objectives_judge_problems_with_numeric_contexts(kind, tmp_path, capsys):
    names = [name for name in suite.names() if listed.robust_problem(problem(name))]
    assert len(names) >= 15 and "newsvendor" in names and "kiosk" not in names and "hartmann-6-0" not in names
    words = ("--problems", "three-humps", "--rounds", "2", "--seeds", "0", "1", "--objective", kind)
    found = run(tmp_path / "runs.jsonl", *words, "--methods", "upper_0.5", "random")
    task = problem("three-humps")
    assert found[0]["best"] <= task.optimum(ww.Expected()).value and min(found[0]["regret"]) >= -1e-6
    assert found[0]["objective"] == kind and found[0]["scale"] > 0.0
    capsys.readouterr()


def made_up(method, name, seed, level, advice, horizon=None, rounds=60):
    return {
        "objective": "expected",
        "problem": name,
        "method": method,
        "seed": seed,
        "rounds": rounds,
        "commit": "abc",
        "horizon": horizon,
        "best": 1.0,
        "scale": 2.0,
        "regret": [level] * rounds,
        "advice": {str(mark): advice for mark in (15, 30, 60) if mark <= rounds},
        "ask_seconds": [0.5] * rounds,
    }


def test_the_report_of_made_up_records():
    records = [
        made_up(method, name, seed, level * (1 + seed), advice)
        for name, ratio in (("a", 0.5), ("b", 2.0), ("c", 1.0))
        for seed in range(3)
        for method, level, advice in (("sbo_kde", 1.0, 0.0), ("mine", ratio, 2.0 * 0.01))
    ]
    runs = tables.by_run(records, 60)
    total = tables.Measure("", tables.total(0, 60), 60)
    pairs = tables.paired(runs, total, "mine", "sbo_kde", "a")
    assert pairs.tolist() == [[15.0, 30.0], [30.0, 60.0], [45.0, 90.0]]
    found = tables.ratio(pairs)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    whole = tables.overall([tables.paired(runs, total, "mine", "sbo_kde", name) for name in "abc"])
    assert whole.value == pytest.approx(1.0) and whole.low == pytest.approx(0.5) and whole.high == pytest.approx(2.0)
    # An advice without regret counts as a thousandth of the spread.
    advice = tables.Measure("", tables.advice(30), 60)
    assert tables.ratio(tables.paired(runs, advice, "mine", "sbo_kde", "a")).value == pytest.approx(10.0)
    text = tables.page(records, "sbo_kde")
    assert "| mine | 1.00 [0.50, 2.00] | 1.00 [0.50, 2.00] | 1.00 [0.50, 2.00] | 10.00 [10.00, 10.00] |" in text
    assert "0 against 0 of 9 | 0.500 against 0.500 | 3, 3 to 3 | b |" in text
    assert "No run of the baseline" in tables.page(records, "other")


def test_the_interval_over_seeds_is_that_of_pairs():
    chance = np.random.default_rng(1)
    shared = chance.uniform(1.0, 20.0, 40)
    paired = tables.ratio(np.stack([0.8 * shared, shared], axis=1))
    assert paired.high - paired.low < 1e-9
    apart = tables.ratio(np.stack([0.8 * shared, chance.permutation(shared)], axis=1))
    assert apart.value == pytest.approx(0.8) and apart.high - apart.low > 0.1


def test_stuck_runs_and_told_horizons():
    bad = made_up("mine", "a", 0, 1.0, 1.0)
    good = made_up("sbo_kde", "a", 0, 0.1, 0.1)
    assert tables.share_stuck(tables.by_run([bad, good], 60), "mine", "sbo_kde", ["a"]) == (1, 0, 1)
    told = [made_up("mine", "a", 0, 3.0, 0.1, 60), made_up("mine", "a", 0, 1.0, 0.1, 15, rounds=15)]
    for rounds, level in ((15, 1.0), (60, 3.0)):
        runs = tables.by_run([*told, good], rounds)
        assert runs["mine", "a"][0]["regret"][0] == level and math.isclose(runs["sbo_kde", "a"][0]["regret"][0], 0.1)


def test_records_are_lines_of_json(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"a": 1}) + "\n" + '{"half')
    assert bench.records_in(path) == [{"a": 1}]
