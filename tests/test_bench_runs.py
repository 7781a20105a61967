"""Many runs: nothing twice, failures, missing data, resuming after a kill."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from bench_helpers import METHODS, TOY, Silent, read, run, toy
from forked import Forked, all_forked, printed, windward

import windward as ww
from windward.bench import records, runner, summary
from windward.bench.experiment import Case
from windward.bench.experiments import experiment
from windward.bench.experiments.parts import told


def test_finished_runs_are_not_repeated(tmp_path):
    run(TOY, tmp_path, cases=("toy",), seeds=(0,))
    before = (tmp_path / records.FILE).read_bytes()
    outcome, watching = run(TOY, tmp_path, cases=("toy",), seeds=(0, 1))
    assert (outcome.done, outcome.skipped) == (2, 2)
    assert (tmp_path / records.FILE).read_bytes().startswith(before)
    assert {record["seed"] for record, _ in watching.finish} == {1}


def test_other_rounds_are_refused(tmp_path):
    run(TOY, tmp_path, cases=("toy",), seeds=(0,))
    with pytest.raises(
        ww.ArgumentError, match=r"with 6 rounds, and 5 are asked for; give another --out, or --rounds 6"
    ):
        run(TOY, tmp_path, cases=("toy",), seeds=(0,), rounds=5)


def test_a_torn_line_is_no_record(tmp_path):
    run(TOY, tmp_path, cases=("toy",), seeds=(0,))
    file = tmp_path / records.FILE
    whole, cut = file.read_text().splitlines(keepends=True)
    file.write_text(whole + cut[: len(cut) // 2])
    assert records.read(file)[1] == 1
    outcome, _ = run(TOY, tmp_path, cases=("toy",), seeds=(0,))
    assert (outcome.done, outcome.skipped) == (1, 1)
    found, torn = records.read(file)
    assert len(found) == 2 and torn == 1


def test_a_failed_run_is_reported_and_the_others_go_on(tmp_path):
    def broken(problem):
        raise RuntimeError("no such luck")

    found = replace(TOY, methods={"broken": broken, **METHODS}, seeds=(0,))
    outcome, watching = run(found, tmp_path, cases=("toy",))
    assert outcome.done == 2 and len(outcome.failures) == 1 == len(watching.fail)
    failure = outcome.failures[0]
    assert failure.job.method == "broken" and "no such luck" in failure.trace and "Traceback" in failure.trace
    assert {record["method"] for record in read(tmp_path)} == set(METHODS)


def test_missing_data_and_what_stands_in_for_them(tmp_path, monkeypatch):
    monkeypatch.delenv("WINDWARD_DATA", raising=False)
    found, case = experiment("verma2022-fig2"), {"cases": ("SVM Poisson(10)",), "methods": ("GP-UCB",)}
    outcome, _ = run(found, tmp_path, seeds=(0,), rounds=2, **case)
    assert outcome.done == 0 and "diabetes.csv" in outcome.failures[0].trace
    outcome, watching = run(found, tmp_path, seeds=(0,), rounds=2, substitutes=True, **case)
    assert outcome.done == 1 and watching.finish[0][0]["stand_in"] == "svm-breast-cancer"
    assert run(found, tmp_path, seeds=(0,), rounds=2, substitutes=True, **case)[0].skipped == 1
    with pytest.raises(ww.ArgumentError, match="run on svm-breast-cancer, and its own data is asked for"):
        run(found, tmp_path, seeds=(0,), rounds=2, **case)
    pages = summary.write_report(read(tmp_path), tmp_path / "page", figures=False)
    assert "svm-breast-cancer for SVM Poisson(10)" in pages[0].read_text()


def test_methods_that_do_not_run_on_the_problems_are_refused(tmp_path):
    with pytest.raises(ww.ArgumentError, match="'verma2022-fig1': these methods do not run on these problems"):
        run(experiment("verma2022-fig1"), tmp_path, cases=("fixed 10",), methods=("GP-UCB-SDF m=5",))
    assert list(tmp_path.iterdir()) == []


def test_a_method_that_needs_a_distribution_says_where_there_is_none(tmp_path):
    blind = Case(name="toy", problem=lambda seed, data: replace(toy(), reference=None))
    found = replace(TOY, cases=(blind,), methods={"told": lambda problem: ww.papers.drbqo(told(problem), 1.0)})
    outcome, _ = run(found, tmp_path, seeds=(0,))
    assert "problem 'toy' tells the learner no distribution; this method needs one" in outcome.failures[0].trace


def test_an_experiment_of_ones_own_runs_in_one_process(tmp_path):
    with pytest.raises(ww.ArgumentError, match="use workers=1"):
        runner.run_experiment(TOY, runner.RunSettings(out=tmp_path, workers=2), Silent())


def test_killed_and_resumed(tmp_path):
    """SIGKILL in the middle: finished runs stay, workers leave, the same command does the rest and nothing twice."""
    line = ("bench", "run", "huang2024-table2", "--seeds", "3", "--workers", "2", "--out", str(tmp_path))
    others = all_forked()
    command = Forked(windward, str(tmp_path), *line)
    file = tmp_path / records.FILE
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not file.exists() or file.read_bytes().count(b"\n") < 3):
        time.sleep(0.02)
    workers = all_forked() - others - {command.process.pid}
    assert len(workers) == 2
    command.kill()
    command.process.join()
    command.stdout.close()
    before = [json.loads(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    assert 3 <= len(before) < 12
    while time.monotonic() < deadline and all_forked() & workers:
        time.sleep(0.02)
    assert not all_forked() & workers
    assert f"{len(before)} there before" in printed(windward, str(tmp_path), *line)
    lines = [json.loads(line) for line in file.read_text().splitlines() if _whole(line)]
    keys = [records.key_of(record) for record in lines]
    assert len(keys) == len(set(keys)) == 12
    assert lines[: len(before)] == before


def _whole(line):
    try:
        json.loads(line)
    except json.JSONDecodeError:
        return False
    return True
