"""The memory budget: what is refused before it allocates, what must pass, and that the counts are honest."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from service_helpers import ADMIN

import windward as ww
from windward.basics import budget
from windward.cli.serving import serve
from windward.policy import SAMPLES
from windward.service.settings import Settings
from windward.suggest.prepare import Request, check_memory
from windward.trials.trials import Trials

GIB = 2**30
X = {"x": ww.Real(0, 1)}
ONE = ww.Space(X, {"c": ww.Real(0, 1)})
THIRTY = ww.Space(X, {f"c{i}": ww.Real(0, 1) for i in range(30)})
NAMED = ww.Space(X, {f"c{i}": ww.Categorical([str(j) for j in range(30)]) for i in range(6)})
TEN = ww.Space({f"x{i}": ww.Real(0, 1) for i in range(10)})
MANY = ww.KernelDensity(count=100_000)
MMD = ww.Policy(context_model=MANY, objective=ww.Robust(ww.MMD(0.1), 0.1))
WASSERSTEIN = ww.Policy(context_model=MANY, objective=ww.Robust(ww.Wasserstein(), 0.1))

REFUSED = {
    "a grid over 30 contexts": (
        THIRTY,
        ww.Policy(context_model=ww.Grid()),
        ["1,073,741,824 contexts", "Grid(count=100): use KernelDensity()"],
    ),
    "a grid over 6 categories of 30": (
        NAMED,
        ww.Policy(context_model=ww.Grid()),
        ["729,000,000 contexts", "Grid(count=100): use KernelDensity()"],
    ),
    "MMD over 100,000 contexts": (ONE, MMD, ["6 x 100,000 x 100,000 contexts x 8 bytes", "lower count to 8,"]),
    "Wasserstein over 100,000 contexts": (ONE, WASSERSTEIN, ["100,000 x 100,000 contexts", "lower count to 11,"]),
    "MMD for the report alone": (
        ONE,
        ww.Policy(context_model=MANY, report=ww.Report(objective=ww.Robust(ww.MMD(0.1), 0.1))),
        ["the kernel of MMD"],
    ),
    "a million starts under a constraint": (
        ww.Space({f"x{i}": ww.Real(0, 1) for i in range(10)}, constraints=[ww.Linear({"x0": 1, "x1": 1}, upper=1)]),
        ww.Policy(context_model=ww.NoContext(), maximize=ww.MultiStart(screen=1_000_000)),
        ["16,000,000 decisions x 10 columns", "lower screen to "],
    ),
    "a grid over 10 decisions": (
        TEN,
        ww.Policy(context_model=ww.NoContext(), maximize=ww.OverGrid()),
        ["1,125,899,906,842,624 decisions", "lower per_parameter to 5"],
    ),
    "a path over a million contexts": (
        ONE,
        ww.Policy(context_model=ww.KernelDensity(count=1_000_000), belief=ww.Thompson()),
        ["3,072 features x 1,000,000 contexts", "lower count to 1"],
    ),
}

LINEAR = {
    "expected": ww.Policy(context_model=MANY),
    "total variation": ww.Policy(context_model=MANY, objective=ww.Robust(ww.TotalVariation(), 0.2)),
    "chi-square": ww.Policy(context_model=MANY, objective=ww.Robust(ww.ChiSquare(), 0.2)),
    "Kullback-Leibler": ww.Policy(context_model=MANY, objective=ww.Robust(ww.KullbackLeibler(), 0.2)),
    "CVaR": ww.Policy(context_model=MANY, objective=ww.CVaR(0.2)),
    "known": ww.Policy(context_model=ww.Known({"c": [i / 100_000 for i in range(100_000)]})),
    "slopes": ww.Policy(context_model=MANY, objective=ww.LipschitzRobust(0.1)),
    "a path": ww.Policy(context_model=MANY, belief=ww.Thompson()),
    "a wide screen": ww.Policy(
        context_model=ww.KernelDensity(count=20_000), belief=ww.Thompson(), maximize=ww.MultiStart(screen=100_000)
    ),
    "MMD over 2,000": ww.Policy(context_model=ww.KernelDensity(count=2000), objective=ww.Robust(ww.MMD(0.1), 0.1)),
}


def sizes(policy, observations, samples=0):
    return budget.sizes_of(policy, ONE, seen=observations, observations=observations, samples=samples)


@pytest.mark.parametrize("name", REFUSED)
def test_a_declaration_that_needs_too_much_is_refused_before_it_allocates(name):
    space, policy, says = REFUSED[name]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ww.ArgumentError, match="the budget is 4 GiB") as refused:
        ww.Study(space, policy)
    assert time.perf_counter() - began < 0.5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # in KiB
    for words in says:
        assert words in str(refused.value)


@pytest.mark.parametrize("name", LINEAR)
def test_methods_that_are_linear_in_contexts_pass_with_many_of_them(name):
    policy = LINEAR[name]
    budget.check(policy, ONE, [sizes(policy, 100)], 4 * GIB)
    budget.check(policy.reporting, ONE, [sizes(policy.reporting, 100, SAMPLES)], 4 * GIB)


def test_thousands_of_observations_pass_the_service_budget_with_the_default_policy():
    policy = ww.papers.sbo_kde()
    budget.check(policy, ONE, [sizes(policy, 4000)], Settings("sqlite:///x.db", ADMIN).memory)


def test_the_budget_is_a_setting_and_not_in_the_log(tmp_path):
    journal = f"sqlite:///{tmp_path}/s.db"
    with pytest.raises(ww.ArgumentError, match=r"this takes .* the budget is 100 bytes"):
        ww.Study(ONE, journal=journal, memory=100)
    policy = ww.Policy(context_model=ww.KernelDensity(count=500), objective=ww.Robust(ww.Wasserstein(), 0.1))
    study = ww.Study(ONE, policy, journal=journal, memory=GIB)
    for place in range(6):
        asked = study.ask()
        study.tell(asked.id, float(place), context={"c": place / 5})
    assert "memory" not in json.dumps([event.body for event in study.journal.read("study")])
    small = ww.Study.open("study", journal=journal, memory=2**20)
    assert small.memory == 2**20
    for call in (small.ask, small.recommend, lambda: small.assess({"x": 0.5}), lambda: small.replay(5)):
        with pytest.raises(ww.ArgumentError, match="the budget is 1 MiB"):
            call()
    with pytest.raises(ww.ArgumentError, match="lower count to"):
        small.use(policy)
    small.use(ww.Policy(context_model=ww.KernelDensity(count=16)))
    assert small.ask().id == 6
    assert ww.Study.open("study", journal=journal).memory == 4 * GIB


@pytest.mark.parametrize("memory", [0, -1, 1.5, "4 GiB", True])
def test_a_budget_that_is_no_whole_number_is_refused(memory):
    with pytest.raises(ww.ArgumentError, match="memory"):
        ww.Study(ONE, memory=memory)


def test_what_is_needed_grows_with_the_contexts_seen_and_the_observations():
    policy = ww.Policy(context_model=ww.Empirical(), objective=ww.Robust(ww.MMD(0.1), 0.1))
    trials = Trials(ONE)
    check_memory(policy, trials, Request())
    few, many = (budget.total(budget.needs_of(policy, sizes(policy, count))) for count in (100, 20_000))
    assert few < GIB < 4 * GIB < many
    with pytest.raises(ww.ArgumentError, match=r"20,000 x 20,000 observations.*\. Allow more memory: "):
        budget.check(policy, ONE, [sizes(policy, 20_000)], 4 * GIB)


def test_a_context_that_is_given_whole_needs_little():
    check_memory(MMD, Trials(ONE), Request(given={"c": 0.5}))
    with pytest.raises(ww.ArgumentError, match="the kernel of MMD"):
        check_memory(MMD, Trials(ONE), Request())


@pytest.mark.parametrize("seen", [0, 500])
def test_advice_leaves_the_seen_contexts_their_place(seen):
    model = ww.Empirical(elsewhere=100_000)
    lower = model.lowered(ONE, seen, 1000)
    smaller = ww.Empirical(elsewhere=int(lower.removeprefix("lower elsewhere to ").replace(",", "")))
    assert smaller.most_points(ONE, seen) == 1000
    assert model.lowered(ONE, 1001, 1000) is None


@dataclass(frozen=True)
class Silent:
    """A context model that says nothing of its size."""

    def __call__(self, space, trials, given, generator):
        return ww.Contexts.uniform(torch.zeros(1, 1))


def test_a_part_without_an_answer_is_refused_by_what_it_lacks():
    with pytest.raises(ww.IncompatibleError, match=r"Silent\(\)\): it lacks blind, most_points; see docs/extending.md"):
        ww.Policy(context_model=Silent())


@given(st.integers(1, 10**9), st.lists(st.one_of(st.just(0), st.integers(2, 9)), min_size=1, max_size=4))
def test_a_grid_is_counted_as_it_would_be_built(count, kinds):
    count = min(count, 4000)
    context = {f"c{i}": ww.Categorical(range(kind)) if kind else ww.Real(0, 1) for i, kind in enumerate(kinds)}
    space, grid = ww.Space(X, context), ww.Grid(count)
    points = grid.most_points(space, 0)
    if points < 20_000:
        assert len(grid.points(space)) == points
    advice = grid.lowered(space, 0, points // 2)
    if advice.startswith("lower count to"):
        smaller = int(advice.removeprefix("lower count to ").replace(",", ""))
        assert ww.Grid(smaller).most_points(space, 0) <= points // 2


@given(st.integers(1, 10**6), st.sampled_from([ww.MMD(0.1), ww.Wasserstein()]))
def test_what_an_error_advises_is_accepted(count, divergence):
    policy = ww.Policy(context_model=ww.KernelDensity(count=count), objective=ww.Robust(divergence, 0.1))
    try:
        budget.check(policy, ONE, [sizes(policy, 0)], GIB)
    except ww.ArgumentError as error:
        said = str(error).split("lower count to ")[1].split(", or allow")[0]
        advised = ww.Policy(context_model=ww.KernelDensity(int(said.replace(",", ""))), objective=policy.objective)
        budget.check(advised, ONE, [sizes(advised, 0)], GIB)


def quick(model, **parts):
    """A policy whose search is short: the first evaluations take as much memory as the last."""
    return ww.Policy(context_model=model, maximize=ww.MultiStart(screen=16, evaluations=2), **parts)


HELD = ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (0.5,), 1.0, 0.01))
MEASURED = [
    (quick(ww.KernelDensity(20_000), surrogate=HELD), 1, 1, 60, "suggest"),
    (quick(ww.KernelDensity(20_000), surrogate=HELD), 1, 1, 60, "recommend"),
    (quick(ww.KernelDensity(8000), belief=ww.Thompson(), surrogate=HELD), 1, 1, 40, "suggest"),
    (quick(ww.KernelDensity(900), objective=ww.Robust(ww.MMD(0.3), 0.1), surrogate=HELD), 1, 1, 10, "suggest"),
    (quick(ww.KernelDensity(2000), objective=ww.Robust(ww.Wasserstein(), 0.1)), 1, 1, 10, "suggest"),
    (quick(ww.KernelDensity(16), surrogate=HELD), 1, 1, 1800, "suggest"),
    (quick(ww.Grid(80_000), objective=ww.Minimum(), surrogate=HELD), 1, 4, 10, "suggest"),
    (quick(ww.KernelDensity(64), objective=ww.CVaR(0.2), belief=ww.OverallConfidence()), 1, 1, 700, "suggest"),
]


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is in KiB on Linux alone")
def test_what_is_counted_is_what_is_taken():
    lines = "\n".join(json.dumps([ww.to_json(policy), *rest]) for policy, *rest in MEASURED)
    script = Path(__file__).with_name("measured_memory.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, str(script)], input=lines, capture_output=True, text=True, env=environment, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(MEASURED)
    shares = {
        f"{policy} {rest}": counted / taken for (policy, *rest), (taken, counted) in zip(MEASURED, found, strict=True)
    }
    assert all(0.5 <= share <= 3.0 for share in shares.values()), shares
    assert all(taken > 30 * 2**20 for taken, _ in found), found  # more than what any call takes


def test_the_service_has_a_budget_of_its_own(client, url):
    assert Settings("sqlite:///x.db", ADMIN).memory == GIB
    with pytest.raises(ww.ArgumentError, match="memory"):
        Settings("sqlite:///x.db", ADMIN, memory=0)
    heavy = ww.Policy(context_model=ww.KernelDensity(count=60_000), belief=ww.Thompson())
    real = {"part": "Real", "low": 0, "high": 1}
    declared = {
        "name": "heavy",
        "decision": {"x": real},
        "context": {"c": real},
        "policy": json.loads(ww.to_json(heavy)),
    }
    ww.Study(ONE, heavy, journal=url, name="made in Python")  # where there is room for it
    for answer in (client.post("/api/studies", json=declared), client.post("/api/studies/made in Python/ask")):
        assert answer.status_code == 422
        assert "the budget is 1 GiB" in answer.json()["error"] and "lower count to" in answer.json()["error"]


def test_serve_takes_the_budget_in_mib(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr("windward.service.run.serve", lambda settings, *rest: kept.append(settings.memory))
    for options in ((), ("--memory", "2048")):
        said = CliRunner().invoke(serve, ["--journal", f"sqlite:///{tmp_path}/s.db", *options])
        assert said.exit_code == 0, said.output
    assert kept == [GIB, 2 * GIB]


@pytest.mark.parametrize(
    "policy",
    [
        lambda count: ww.Policy(context_model=ww.KernelDensity(count), objective=ww.Robust(ww.MMD(1.0), 0.1)),
        lambda count: ww.Policy(context_model=ww.KernelDensity(count), belief=ww.Thompson()),
    ],
)
def test_the_advice_of_a_refusal_is_accepted(policy):
    import re

    with pytest.raises(ww.ArgumentError) as caught:
        policy(10**9).check(ONE)
    (count,) = re.findall(r"lower count to ([\d,]+)", str(caught.value))
    pairs = policy(int(count.replace(",", "")))
    trials = Trials(ONE)
    check_memory(pairs, trials, Request())
    check_memory(pairs.reporting, trials, Request(), samples=SAMPLES)
