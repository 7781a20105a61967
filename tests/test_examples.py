"""The examples run as they are, at a small size, from an empty folder, and come out as their pages say."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from forked import printed, script

import windward as ww
from windward.testing import check_divergence

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(folder, name, *arguments):
    """Run an example in a process of its own and return what it printed."""
    return printed(script, str(folder), str(EXAMPLES / name), *map(str, arguments))


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """Return a function that runs an example in this process and returns what it printed and the names it defined."""

    def runner(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        names = runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out, names

    return runner


def numbers(line):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", line)]


def test_stock_before_demand(here):
    said, names = here("01_stock_before_demand.py", "--rounds", 16)
    advised, best, average_day, random = said.splitlines()
    _, loaves, earned = numbers(advised)
    # The newsvendor's optimum: the quantile of demand at (price - cost) / price, here by 50,000 other days.
    assert numbers(best)[0] == pytest.approx(float(torch.tensor(names["MANY_DAYS"]).quantile(0.25)), abs=1.0)
    assert earned == pytest.approx(names["on_average"](loaves), abs=0.05)
    assert numbers(random)[-1] < numbers(average_day)[-1] < earned <= numbers(best)[-1]


def test_when_the_distribution_is_wrong(here):
    said, names = here("02_when_the_distribution_is_wrong.py", "--rounds", 40)
    expected, robust = (numbers(line) for line in said.splitlines()[1:3])
    assert robust[0] < expected[0]  # a smaller dose
    # Better on the ward, and for its worst twentieth.
    assert robust[2] > expected[2] + 0.5 and robust[3] > expected[3] + 1.0
    assert robust[1] < expected[1]  # and not for nothing
    assert names["benefit"](7.0, 1.0) > names["benefit"](14.0, 1.0)


def test_a_target_to_reach(here):
    said, names = here("03_a_target_to_reach.py", "--rounds", 30)
    fastest, satisficing = (numbers(line) for line in said.splitlines())
    assert fastest[2] >= satisficing[2] > names["TARGET"]  # sail, "m2", mean as printed, share
    assert satisficing[3] > fastest[3] + 10


def test_the_share_that_may_be_replaced_is_computed_by_hand(here):
    _, names = here("03_a_target_to_reach.py", "--rounds", 6)
    speeds, chances = names["speed"](25.0, names["WINDS"]), names["CHANCES"]
    share, left = 0.0, float(speeds @ chances) - names["TARGET"]
    for place in speeds.argsort(
        descending=True
    ):  # mass goes from the fastest wind to the slowest until nothing is left
        gain = float(speeds[place] - speeds.min())
        moved = min(float(chances[place]), left / gain)
        share, left = share + moved, left - moved * gain
        if left <= 1e-12:
            break
    assert names["replaceable"](25.0) == pytest.approx(share, abs=2e-3)


def test_late_and_lost(here):
    said, _ = here("04_late_and_lost.py", "--rounds", 30)
    censored, imagined, best = said.splitlines()
    assert 2 * numbers(imagined)[0] < numbers(censored)[0] < numbers(best)[0]
    told, pending, lost, disorder = numbers(censored)[3:]
    assert told + pending + lost == 30 and lost > 0 and disorder > 0


def test_robust_tuning(here):
    said, names = here("05_robust_tuning.py", "--rounds", 16)
    robust, _, random = (numbers(line) for line in said.splitlines())
    assert robust[1] > random[1] and robust[0] > random[0]
    assert sorted(set(names["FOLD_OF"])) == [0, 1, 2, 3, 4]


def test_robust_tuning_says_what_is_missing(tmp_path):
    (tmp_path / "sklearn.py").write_text("raise ImportError('not here')")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "05_robust_tuning.py")],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{EXAMPLES.parent}"},
    )
    assert done.returncode == 1 and "pip install 'windward[bench]'" in done.stderr


def test_late_conversions(here):
    said, names = here("06_late_conversions.py", "--rounds", 36)
    silent, _, random, single, best = (numbers(line)[0] for line in said.splitlines())
    assert random + 1.0 < silent < best and single < best
    assert names["takings"](0.0, 1.0, "phone") == pytest.approx(25 / (1 + 2.718281828**-4))


def test_many_workers_and_one_is_killed(tmp_path):
    said = run(tmp_path, "07_many_workers.py", "--rounds", 5, "--workers", 1, "--kill", "--rescue", 0)
    assert "trial 0 was rescued" in said and "told, 0 pending, 0 lost" in said
    study = ww.Study.open("bakery", journal=f"sqlite:///{tmp_path}/bakery.db")
    study.ask()  # another worker asks, and may be slow
    said = run(tmp_path, "07_many_workers.py", "--rounds", 5, "--workers", 1)
    assert "1 pending" in said and "less than 30 minutes; --rescue 0 evaluates it now" in said
    assert len(study.trials) == 6 and study.trials[0].delay == 4  # the dead worker's, told after the others


@pytest.mark.postgres
def test_many_workers_on_postgres(tmp_path, postgres):
    given = ("--journal", postgres, "--rounds", 8)
    assert " 0 pending" in run(tmp_path, "07_many_workers.py", *given, "--workers", 2)
    study = ww.Study.open("bakery", journal=postgres)
    assert 8 <= len(study.trials) <= 9
    study.ask()  # a worker asks and dies
    said = run(tmp_path, "07_many_workers.py", *given, "--workers", 1, "--rescue", 0)
    study.sync()
    assert f"{len(study.trials)} told, 0 pending" in said


def test_a_divergence_of_your_own(here):
    said, names = here("08_a_divergence_of_your_own.py", "--rounds", 16)
    trusting, wary = (numbers(line) for line in said.splitlines())
    assert wary[1] < trusting[1] and wary[2] < trusting[2] and wary[3] > trusting[3] + 0.5
    part = names["Contamination"]()
    check_divergence(part, 0.9)
    contexts = ww.Contexts(torch.zeros(3, 1).double(), torch.tensor([0.5, 0.3, 0.2]).double())
    worst = part.worst_case(torch.tensor([[4.0, 2.0, -1.0]]).double(), contexts, 0.25)
    assert worst.value.item() == pytest.approx(0.75 * 2.4 - 0.25)
    assert part.distance(worst.weights, contexts).item() == pytest.approx(0.25)
    further = part.worst_case(torch.tensor([[4.0, 2.0, -1.0]]).double(), contexts, 0.26)
    assert ((worst.value - further.value) / 0.01).item() == pytest.approx(worst.multiplier.item())


def test_one_machine_and_again(tmp_path):
    assert "7 told, 0 pending" in run(tmp_path, "one_machine.py", "--trials", 7, "--workers", 2)
    assert "9 told, 0 pending" in run(tmp_path, "one_machine.py", "--trials", 9, "--workers", 2)


@pytest.mark.cluster
def test_on_dask(tmp_path):
    assert "7 told, 0 pending" in run(tmp_path, "on_dask.py", "--trials", 7, "--workers", 2)


def test_with_optuna(tmp_path):
    said = run(tmp_path, "with_optuna.py", "--trials", 7, "--jobs", 2)
    assert "whatever comes: {'loaves': " in said and "when it rains:  {'loaves': " in said


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_and_stands_alone(path):
    text = path.read_text()
    assert len(text.splitlines()) < 60
    assert not any(f"import {other.stem}" in text or f"from {other.stem}" in text for other in EXAMPLES.glob("*.py"))


def test_every_example_is_run():
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    files = [path for path in EXAMPLES.iterdir() if path.is_file()]
    run_here = [path for path in files if f'"{path.name}"' in tests]
    needed = "".join(path.read_text() for path in run_here)  # a file that an example reads is covered by it
    for path in files:
        assert path in run_here or path.name in needed, f"no test runs {path.name}"
