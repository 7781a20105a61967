"""Peers play the worlds that our methods play, see decisions and values alone, and leave records of the same kind."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import torch

import windward as ww
from windward import papers
from windward.bench import suite
from windward.bench.play import numbers_of
from windward.bench.play import play as own_play
from windward.bench.problems import problem

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
default = importlib.import_module("default")
blind = importlib.import_module("blind_peers")
bench = importlib.import_module("default_peers")


class Scripted:
    """Asks for given decisions, and keeps what it is told."""

    def __init__(self, decisions):
        self.decisions, self.asked, self.told = decisions, 0, []

    def ask(self):
        self.asked += 1
        return self.decisions[self.asked - 1]

    def tell(self, place, value):
        self.told.append((self.asked - 1, place, value))

    def advice(self):
        return self.decisions[max(self.told, key=lambda each: each[2])[1]]


class Seeded(Scripted):
    """The decisions of a random study."""

    def __init__(self, space, seed):
        study = ww.Study(space, papers.random(), seed=seed)
        super().__init__([study.ask().decision for _ in range(20)])


def run(path, *words):
    arguments = bench.parser().parse_args(["run", "--out", str(path), *words])
    arguments.function(arguments)
    return default.records_in(path)


@pytest.mark.parametrize("name", ["three-hills-lost", "dose-late", "branin-2-2-noisy", "kiosk", "gp-noisy-2-0"])
def test_the_world_is_that_of_our_methods(name):
    task, asked = problem(name, seed=3), []

    def keep(turn, study):
        asked.append(study.trials.rows[turn].decision)

    ours, _ = own_play(task, papers.random(), 25, world=default.WORLD, case=name, seed=3, after=keep)
    peer = Scripted(asked)
    theirs = bench.play(task, peer, 25, 3, lambda turn, trace: None)
    for field in ("decisions", "contexts", "values", "received", "arrived"):
        assert torch.equal(getattr(ours, field), getattr(theirs, field)), field
    assert not torch.equal(ours.values, ours.received)
    due = [(int(turn), place) for place, turn in enumerate(ours.arrived) if turn >= 0]
    assert sorted((turn, place) for turn, place, _ in peer.told) == sorted(due)
    assert all(value == float(ours.received[place]) for _, place, value in peer.told)


def test_a_run_goes_on_where_it_stopped(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(blind.PEERS, "made_up", Seeded)
    monkeypatch.setitem(blind.PACKAGES, "made_up", "torch")
    path = tmp_path / "runs.jsonl"
    small = ("--problems", "three-humps", "dose-late", "--rounds", "15", "--peers", "made_up")
    first = run(path, *small, "--seeds", "0", "1")
    path.write_text(path.read_text() + '{"cut off')
    both = run(path, *small, "--seeds", "0", "2")
    assert both[:2] == first and [record["seed"] for record in both] == [0, 0, 1, 1]
    assert run(path, *small, "--seeds", "0", "2") == both
    one = both[0]
    assert one["best"] == pytest.approx(-1.0 / 3.0, abs=1e-6) and one["version"].startswith("torch ")
    assert set(one["advice"]) == {"15"} and one["advice"]["15"] in one["regret"] and one["commit"]
    arguments = default.parser().parse_args(
        ["run", "--out", str(path), "--problems", "three-humps", "--rounds", "15", "--seeds", "0", "1"]
    )
    arguments.methods = ["random"]
    arguments.function(arguments)
    ours = default.records_in(path)[-1]
    assert one.keys() == ours.keys() | {"version"} and (one["best"], one["scale"]) == (ours["best"], ours["scale"])
    capsys.readouterr()


def test_what_a_space_or_a_machine_does_not_have(tmp_path, monkeypatch):
    found = judged("botorch_qlogei", "kiosk", 2)
    assert "no whole numbers and no categories: pieces." in found["refused"] and "regret" not in found
    monkeypatch.setitem(blind.PACKAGES, "ax", "no-such-package")
    with pytest.raises(SystemExit, match="ax needs no-such-package: python -m pip install"):
        run(tmp_path / "runs.jsonl", "--peers", "ax")


def test_the_problems_are_the_first_of_a_half():
    assert len(set(bench.problems("held"))) == 8 and set(bench.problems("held")) <= set(suite.HELD)
    assert bench.problems("choose")[:2] == ["rare-frost", "gp-noisy-3-1"]


def judged(peer, name, rounds):
    """A record whose regrets are worths with the other sign: no optimum is searched."""
    unit = default.Unit(name, 0, (peer,), "expected", rounds, "abc")
    return bench.played(problem(name, seed=0), unit, peer, (0.0, 1.0))


# linear_operator says when it adds jitter to BoTorch's covariances.
@pytest.mark.filterwarnings("ignore:A not p.d., added jitter")
@pytest.mark.parametrize(
    ("peer", "name", "rounds"),
    [("botorch_qlogei", "gp-rough-1-1", 4), ("botorch_qlognei", "dose-late", 8), ("optuna_gp", "bakery-recipe", 12)],
)
def test_peers_play_and_do_the_same_again(peer, name, rounds):
    pytest.importorskip(blind.PACKAGES[peer])
    first, second = (judged(peer, name, rounds) for _ in range(2))
    assert len(first["regret"]) == len(first["ask_seconds"]) == rounds and first["regret"] == second["regret"]


def test_what_has_not_come_is_pending_and_the_advice_has(monkeypatch):
    optim = pytest.importorskip("botorch.optim")
    space, seen = problem("dose-late", seed=0).space, []

    def caught(acquisition, *rest):
        seen.append(acquisition.X_pending)
        return torch.full((1, 2), 0.5, dtype=torch.float64), None

    monkeypatch.setattr(optim, "optimize_acqf", caught)
    with blind.seeded(0):
        peer = blind.BoTorch(space, 0, noisy=False)
        asked = [peer.ask() for _ in range(4)]
        peer.tell(1, 0.3)
        assert peer.advice() == asked[1]
        peer.tell(2, 0.9)
        middle = peer.ask()
        assert peer.advice() in (asked[1], asked[2])
    assert torch.allclose(seen[0], space.encode_decisions([asked[0], asked[3]]))
    assert numbers_of(space.decision, middle).tolist() == pytest.approx([50.0, 14.0])
