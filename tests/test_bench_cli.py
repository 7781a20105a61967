"""The command line of the bench."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest
from bench_helpers import METHODS, TOY, command, made_record, read, toy
from click.testing import CliRunner
from forked import Forked, windward_2to1

import windward as ww
from windward.bench import durations, records, runner, summary
from windward.bench.experiments import experiment, experiments
from windward.cli.main import main


def test_bench_list_names_everything():
    answer = CliRunner().invoke(main, ["bench", "list"])
    assert answer.exit_code == 0 and all(name in answer.output for name in experiments())


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "huang2024-fig"], 1, "did you mean 'huang2024-fig2' or 'huang2024-fig1'"),
        (["run", "huang2024-fig1", "--problems", "Ackly"], 1, "no problem 'Ackly'; did you mean 'Ackley'"),
        (["run", "huang2024-fig1", "--methods", "SBO"], 1, "no method 'SBO'; did you mean 'SBO-KDE'"),
        (["run", "huang2024-fig1", "--seeds", "9-3"], 2, "'9-3' is no count (5), range (100-104) or list (3,7,9)"),
        (["run", "huang2024-fig1", "--seeds", "9"], 2, "has 5; name more by --seeds 100-108"),
        (["run", "huang2024-fig1", "--rounds", "0"], 2, "--rounds"),
        (["run", "huang2024-fig1", "--problems", ","], 2, "give at least one name"),
        (["run", "huang2024-fig1", "--with", "nowhere.py"], 1, "there is no such file"),
        (["report", "nowhere"], 2, "nowhere"),
    ],
)
def test_wrong_calls(arguments, code, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(main, ["bench", *arguments])
    assert answer.exit_code == code and words in answer.output
    assert answer.output.startswith("windward: " if code == 1 else "Usage: ")  # as every command's
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "seeds"), [("2", (100, 101)), ("100-102", (100, 101, 102)), ("7,3,7", (7, 3)), ("4,", (4,))]
)
def test_seeds_as_they_are_typed(text, seeds, tmp_path):
    arguments = ["bench", "run", "huang2024-table2", "--rounds", "10", "--workers", "1", "--problems", "Normal"]
    answer = CliRunner().invoke(main, [*arguments, "--methods", "clipped", "--seeds", text, "--out", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    assert [record["seed"] for record in read(tmp_path)] == list(seeds)


OWN = """
import torch
import windward as ww
from windward.bench.problem import Problem

def _hill(seed, data):
    truth = ww.Contexts.uniform(torch.tensor([[0.25], [0.75]]))
    return Problem(name="hill", space=ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1)}),
        value=lambda x, c: -(x[..., 0] - c[..., 0]) ** 2, truth=truth,
        draw=lambda turn, generator: truth.draw(generator))

PROBLEMS = {"hill": _hill}
METHODS = {"mine": lambda problem: ww.papers.random(), "broken": lambda problem: 1 / 0}
"""


def test_a_method_and_a_problem_of_ones_own_in_worker_processes(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    out = tmp_path / "out"
    arguments = ["run", "huang2024-fig1", "--with", str(tmp_path / "own.py"), "--problems", "hill", "--seeds", "2"]
    arguments += ["--methods", "mine,GP-UCB,broken", "--rounds", "11", "--workers", "2", "--out", str(out)]
    answer = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=200)
    assert answer.returncode == 1, answer.stderr
    assert "4 runs done, 0 there before, 2 failed" in answer.stdout
    assert "ZeroDivisionError" in answer.stderr and "about" in answer.stderr
    assert {(r["method"], r["seed"]) for r in read(out)} == {(m, s) for m in ("mine", "GP-UCB") for s in (100, 101)}
    pages = summary.write_report(read(out), out / "page", figures=False)
    assert [page.name for page in pages] == ["huang2024-fig1.md"]  # not others of the same world, which were not run
    page = pages[0].read_text()
    assert "**hill**: cumulative regret" in page and "| mine | 2 |" in page.replace("**mine**", "mine")
    assert "0 of the paper's 280 runs" in page
    with pytest.raises(ww.ArgumentError, match="has a method 'GP-UCB' already"):
        experiment("huang2024-fig1").with_extras({"GP-UCB": METHODS["Random"]}, {})
    with pytest.raises(ww.ArgumentError, match="has a problem 'Ackley' already"):
        experiment("huang2024-fig1").with_extras({}, {"Ackley": toy})


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    # 45 runs of a second or so: far from done when two are there.
    line = ("bench", "run", "micheli2025-fig1", "--rounds", "14", "--workers", "2", "--out", str(tmp_path))
    process = Forked(windward_2to1, str(tmp_path), *line)
    file = tmp_path / records.FILE
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not file.exists() or file.read_bytes().count(b"\n") < 2):
        time.sleep(0.02)
    os.kill(process.process.pid, signal.SIGINT)
    errors = process.rest()
    assert process.process.exitcode == 130 and "the same command goes on from there" in errors
    found, torn = records.read(file)
    assert 2 <= len(found) < 45 and torn == 0


def test_a_run_says_how_long_it_will_take_before_it_starts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["bench", "run", "huang2024-table2", "--rounds", "10", "--workers", "1"]
    first = CliRunner().invoke(main, [*arguments, "--seeds", "1"])
    assert "4 runs; how long they take is not known yet" in first.stderr  # too little for a trial
    more = CliRunner().invoke(main, [*arguments, "--seeds", "3"])
    assert "8 runs, about " in more.stderr and "in one process (kinds of run: 4 by records)" in more.stderr
    assert more.stderr.index("8 runs, about") < more.stderr.index("8 runs to do")
    last = CliRunner().invoke(main, [*arguments, "--seeds", "3"])
    assert "nothing to do" in last.stderr


def test_status_says_what_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = records_of(experiment("huang2024-table2"), 2.0, rounds=300) + records_of(
        experiment("huang2024-fig2"), 50.0, rounds=100, seeds=(100,), methods=("SBO-KDE", "GP-UCB")
    )
    for record in made:
        records.append(tmp_path / "bench-results" / "some" / records.FILE, record)
    answer = CliRunner().invoke(main, ["bench", "status", "huang2024-table2", "huang2024-fig2", "--workers", "2"])
    assert answer.exit_code == 0, answer.output
    table, figure, total = answer.output.splitlines()
    assert "80 done; nothing to do" in table
    # Eight runs of 50 s in two processes; of six methods nothing is known.
    assert "2 done; 38 runs, at least 200 s in 2 processes" in figure.replace("3 min", "200 s")
    assert "2 by records, 6 not known" in figure and "0.1 core hours" in total
    old = [record | {"began": "2026-11-01T00:00:00+00:00"} for record in made]
    for record in old:
        records.append(tmp_path / "bench-results" / "some" / records.FILE, record)
    again = CliRunner().invoke(main, ["bench", "status", "huang2024-fig2", "--json", "--workers", "2"])
    (row,) = json.loads(again.stdout)
    assert (row["done"], row["left"], row["core_seconds"], row["seconds"]) == (0, 40, 500.0, 250.0)
    unknown = CliRunner().invoke(main, ["bench", "status", "tay2024-fig"])
    assert unknown.exit_code == 1 and "did you mean" in unknown.output


def records_of(found, seconds, *, rounds, seeds=None, methods=None):
    return [
        made_record(method, seed, [0.0] * rounds, rounds, case.name)
        | {"world": found.world, "seconds": seconds, "began": "2999-01-01T00:00:00+00:00", "stand_in": None}
        for case in found.cases
        for method in methods or found.runs_on(case)
        for seed in seeds or found.seeds
    ]


def test_a_trial_tells_what_no_record_does(tmp_path):
    settings = runner.RunSettings(out=tmp_path, workers=1, cases=("toy",), rounds=200)
    told = durations.outlook(TOY, settings, [], trials=True)
    assert (told.runs, told.tried, told.unknown, len(told.each)) == (6, 2, 0, 6) and told.seconds > 0
    assert durations.outlook(TOY, settings, [], trials=False).each == {}
    # A method's pace on another problem stands in where nothing else is known; its longest runs tell it.
    known = [
        made_record("Random", 0, [0.0], rounds, "late")
        | {"world": TOY.world, "stand_in": None, "seconds": float(seconds)}
        for rounds, seconds in ((10, 90), (100, 100))
    ]
    told = durations.outlook(TOY, settings, known, trials=False)
    assert (told.likened, told.unknown) == (1, 1)
    assert set(told.each.values()) == {durations.work(200)} and durations.work(200) == 100 * 2**1.5


def test_runs_from_before_a_change_tell_the_time_only_where_no_others_do():
    def run(began, rounds, seconds):
        record = made_record("Random", 0, [0.0], rounds, "late")
        return record | {"world": TOY.world, "stand_in": None, "began": began, "seconds": float(seconds)}

    before, after = run("2026-01-01T00:00:00+00:00", 100, 500), run("2030-01-01T00:00:00+00:00", 50, 50)
    assert durations.Durations([before]).pace(TOY.world, "late", "Random") == 5.0
    assert durations.Durations([before, after]).pace(TOY.world, "late", "Random") == 1.0


def test_every_command_speaks_json(tmp_path):
    def spoken(*arguments):
        done = CliRunner().invoke(main, ["bench", *map(str, arguments), "--json"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    listed = spoken("list")
    assert {row["name"] for row in listed} == set(experiments())
    counts = spoken("run", "huang2024-table2", "--seeds", 1, "--rounds", 10, "--workers", 1, "--out", tmp_path)
    assert counts == {"done": 4, "there_before": 0, "failed": 0, "out": str(tmp_path)}
    told = spoken("report", tmp_path, "--no-figures", "--compact", tmp_path / "all.jsonl.gz")
    assert told["runs"] == 4 and told["pages"] and told["compact_bytes"] > 0
