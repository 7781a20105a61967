"""The command line of the bench."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from functools import partial

import pytest
from bench_helpers import METHODS, command, read, toy
from click.testing import CliRunner

import windward as ww
from windward.bench import records, summary
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
    assert "0 of the paper's 210 runs" in page
    with pytest.raises(ww.ArgumentError, match="has a method 'GP-UCB' already"):
        experiment("huang2024-fig1").with_extras({"GP-UCB": METHODS["Random"]}, {})
    with pytest.raises(ww.ArgumentError, match="has a problem 'Ackley' already"):
        experiment("huang2024-fig1").with_extras({}, {"Ackley": toy})


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    # 45 runs of a second or so: far from done when two are there.
    arguments = command("run", "micheli2025-fig1", "--rounds", 14, "--workers", 2, "--out", tmp_path)
    # A shell that starts tests in the background has them ignore Ctrl-C, and what they start inherits that.
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=listen)
    file = tmp_path / records.FILE
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not file.exists() or file.read_bytes().count(b"\n") < 2):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "the same command goes on from there" in errors
    found, torn = records.read(file)
    assert 2 <= len(found) < 45 and torn == 0


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
