"""The bench: one run by hand, pairing, resuming after a kill, metrics by hand, every experiment, reports, the command line."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import windward as ww
from windward.bench import compare, figures, listed, metrics, play, records, report, runner
from windward.bench.experiment import Case, Claim, Curve, Experiment, Panel, Quick, panel_per_case
from windward.bench.experiments import experiment, experiments
from windward.bench.metrics import Goal, Trace
from windward.bench.problem import Problem
from windward.cli import main

DATA = Path(os.environ.get("WINDWARD_DATA", Path(__file__).parents[2] / "shared" / "data"))


def toy(seed=0, data=None):
    """-(x - c)^2 with c at 0.25 or 0.75; the expectation is best at x = 0.5, where it is -1/16."""
    truth = ww.Contexts.uniform(torch.tensor([[0.25], [0.75]]))
    return Problem(
        name="toy",
        space=ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1)}),
        value=lambda x, c: -(x[..., 0] - c[..., 0]).square(),
        truth=truth,
        draw=lambda turn, generator: truth.draw(generator),
        reference=truth,
    )


def late_toy(seed=0, data=None):
    return replace(toy(), delay=lambda generator: 2, noise=0.5)


METHODS = {
    "SBO-KDE": lambda problem: replace(ww.papers.sbo_kde(samples=16), design=ww.Sobol(3)),
    "Random": lambda problem: ww.papers.random(),
}
CASES = (Case(name="toy", problem=toy), Case(name="late", problem=late_toy))
TOY = Experiment(
    name="toy-experiment",
    source="nowhere",
    shows="a parabola",
    cases=CASES,
    methods=METHODS,
    seeds=(0, 1, 2),
    rounds=6,
    metrics=(metrics.CUMULATIVE_REGRET, metrics.REGRET),
    panels=panel_per_case(CASES, METHODS, metrics.CUMULATIVE_REGRET, (3, 6)),
    claims=(Claim("toy", "SBO-KDE", "Random"),),
    quick=Quick(1, 4),
)


class Silent:
    def __init__(self):
        self.finish, self.fail, self.start = [], [], None

    def begin(self, total, skipped, workers):
        self.start = (total, skipped, workers)

    def finished(self, record, left):
        self.finish.append((record, left))

    def failed(self, failure):
        self.fail.append(failure)


def run(found, out, **settings):
    watching = Silent()
    outcome = runner.run_experiment(found, runner.Settings(out=out, workers=1, **settings), watching)
    return outcome, watching


def read(out):
    return records.read(out / records.FILE)[0]


# -- one run -------------------------------------------------------------------------------------------------------------


def test_a_record_says_what_happened(tmp_path):
    outcome, watching = run(TOY, tmp_path, cases=("toy",), seeds=(0,))
    assert (outcome.done, outcome.skipped, outcome.failures) == (2, 0, [])
    assert watching.start == (2, 0, 1) and watching.finish[-1][1] == 0.0
    for record in read(tmp_path):
        assert (record["problem"], record["seed"], record["rounds"], record["threads"]) == ("toy", 0, 6, 1)
        x, c = np.array(record["decisions"])[:, 0], np.array(record["contexts"])[:, 0]
        assert set(c) <= {0.25, 0.75}
        assert record["values"] == pytest.approx(-((x - c) ** 2), rel=1e-5, abs=1e-7)
        by_hand = np.cumsum(-1 / 16 - (-((x - 0.25) ** 2) - (x - 0.75) ** 2) / 2)
        assert record["series"]["cumulative_regret"] == pytest.approx(by_hand, rel=1e-5, abs=1e-6)
        assert len(record["ask_seconds"]) == 6 and record["seconds"] >= record["ask_total"] > 0
        assert record["versions"]["windward"] == ww.__version__ and {"torch", "python"} <= set(record["versions"])


def test_methods_meet_the_same_world(tmp_path):
    run(TOY, tmp_path)
    found = {(r["problem"], r["method"], r["seed"]): r for r in read(tmp_path)}
    assert len(found) == 12
    for case in ("toy", "late"):
        for seed in (0, 1, 2):
            one, other = found[case, "SBO-KDE", seed], found[case, "Random", seed]
            assert one["contexts"] == other["contexts"] and one["decisions"] != other["decisions"]
            if case == "late":
                noise = [np.subtract(r["received"], r["values"]) for r in (one, other)]
                np.testing.assert_allclose(*noise, atol=1e-6)
    assert found["toy", "Random", 0]["contexts"] != found["toy", "Random", 1]["contexts"]
    again = play.run_one(TOY, "late", "SBO-KDE", 2, 6, None)
    assert again["decisions"] == found["late", "SBO-KDE", 2]["decisions"]


def test_values_come_after_the_ask_at_which_they_are_due():
    """Delay 2: the value of ask 0 is told after ask 2, so three asks go by on the design alone."""
    seen = []
    policy = replace(METHODS["SBO-KDE"](None), design=ww.Sobol(0))

    def value(x, c):
        seen.append(float(x[0, 0]))
        return -x[..., 0]

    problem = replace(late_toy(), value=value)
    trace, _ = play.play(problem, policy, 6, world="w", case="c", seed=0)
    assert trace.arrived.tolist() == [2, 3, 4, 5, -1, -1]
    assert trace.decisions[:, 0].tolist() == seen
    lost = replace(problem, delay=lambda generator: None)
    assert play.play(lost, policy, 3, world="w", case="c", seed=0)[0].arrived.tolist() == [-1, -1, -1]


def test_a_context_known_before_is_given_at_the_ask():
    policy = ww.Policy(context_model=ww.Empirical(), belief=ww.PosteriorMean(), design=ww.Sobol(6))
    trace, _ = play.play(replace(toy(), context_first=True), policy, 16, world="w", case="c", seed=3)
    late = trace.decisions[10:, 0] - trace.contexts[10:, 0]
    assert float(late.abs().max()) < 0.1  # it decides for the context it was shown


def test_a_rule_chooses_contexts_and_reports_are_recommendations():
    problem = toy()
    samples = ww.Known({"c": [0.25, 0.75]})
    policy = replace(ww.papers.drbqo(samples, 1.0), design=ww.Sobol(4))
    objectives = {"robust": ww.Robust(ww.ChiSquare(), 1.0), "expected": ww.Expected()}
    trace, seconds = play.play(problem, policy, 8, world="w", case="c", seed=0, reports=objectives)
    assert set(trace.contexts[:, 0].tolist()) == {0.25, 0.75} and seconds > 0
    study = ww.Study(problem.space, policy)
    for x, c, y in zip(
        trace.decisions[:, 0].tolist(), trace.contexts[:, 0].tolist(), trace.values.tolist(), strict=True
    ):
        study.add({"x": x}, y, context={"c": c})
    assert float(trace.reports["robust"][-1, 0]) == study.recommend().decision["x"]
    study.use(replace(policy, report=ww.Report(ww.Expected(), "evaluated")))
    assert float(trace.reports["expected"][-1, 0]) == study.recommend().decision["x"]


def test_a_finite_set_of_decisions_is_all_there_is():
    few = torch.tensor([[0.1], [0.35], [0.5], [0.9]], dtype=torch.float64)
    problem = replace(toy(), decisions=few)
    traces = [
        play.play(problem, METHODS[name](problem), 9, world="w", case="c", seed=1)[0] for name in ("SBO-KDE", "Random")
    ]
    for trace in traces:
        assert set(trace.decisions[:, 0].tolist()) <= {0.1, 0.35, 0.5, 0.9}
    assert traces[0].decisions[:3].equal(traces[1].decisions[:3])  # the same design
    assert len(set(traces[1].decisions[:, 0].tolist())) > 1
    assert float(traces[0].decisions[-1, 0]) == 0.5  # learnt: the best of the four


def test_listed_decisions_in_their_own_units():
    space = ww.Space({"rate": ww.Real(1e-4, 1, log=True), "size": ww.Integer(1, 5)})
    problem = replace(toy(), space=space, decisions=torch.tensor([[1e-2, 5.0], [1.0, 1.0]], dtype=torch.float64))
    policy = listed.among_listed(ww.papers.random(), problem)
    np.testing.assert_allclose(policy.maximize.points, [[0.5, 1.0], [1.0, 0.0]])
    assert math.isinf(policy.design.rounds(space)) and ww.papers.random().design != policy.design
    assert listed.among_listed(policy, replace(problem, decisions=None)) is policy


def test_whole_numbers_and_categories_go_both_ways():
    parameters = {"n": ww.Integer(1, 5), "k": ww.Categorical(["a", "b"]), "r": ww.Real(0, 1)}
    row = torch.tensor([3.0, 1.0, 0.5], dtype=torch.float64)
    values = play.values_of(parameters, row)
    assert values == {"n": 3, "k": "b", "r": 0.5}
    assert play.numbers_of(parameters, values).equal(row)
    with pytest.raises(ww.ArgumentError, match="gave 1 numbers for"):
        play.values_of(parameters, row[:1])


# -- many runs -----------------------------------------------------------------------------------------------------------


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
    pages = report.write_report(read(tmp_path), tmp_path / "page", figures=False)
    assert "svm-breast-cancer for SVM Poisson(10)" in pages[0].read_text()


def test_an_experiment_of_ones_own_runs_in_one_process(tmp_path):
    with pytest.raises(ww.ArgumentError, match="use workers=1"):
        runner.run_experiment(TOY, runner.Settings(out=tmp_path, workers=2), Silent())


def command(*arguments):
    return [sys.executable, "-m", "windward", "bench", *map(str, arguments)]


def test_killed_and_resumed(tmp_path):
    """SIGKILL in the middle: finished runs stay, workers leave, the same command does the rest and nothing twice."""
    arguments = command("run", "huang2024-table2", "--seeds", 5, "--workers", 2, "--out", tmp_path)
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    file = tmp_path / records.FILE
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not file.exists() or file.read_bytes().count(b"\n") < 3):
        time.sleep(0.02)
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    children = listed.read_text().split() if listed.exists() else []
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = [json.loads(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    assert 3 <= len(before) < 20
    while time.monotonic() < deadline and any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.1)
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    answer = subprocess.run(arguments, capture_output=True, text=True, timeout=200)
    assert answer.returncode == 0, answer.stderr
    assert f"{len(before)} there before" in answer.stdout
    lines = [json.loads(line) for line in file.read_text().splitlines() if _whole(line)]
    keys = [records.key_of(record) for record in lines]
    assert len(keys) == len(set(keys)) == 20
    assert lines[: len(before)] == before


def _whole(line):
    try:
        json.loads(line)
    except json.JSONDecodeError:
        return False
    return True


# -- metrics by hand -----------------------------------------------------------------------------------------------------


def trace_of(x, c, values, arrived, reports=None):
    def column(numbers):
        return torch.tensor(numbers, dtype=torch.float64)

    return Trace(
        decisions=column(x)[:, None],
        contexts=column(c)[:, None],
        values=column(values),
        received=column(values),
        arrived=torch.tensor(arrived),
        seconds=column([0.5] * len(x)),
        reports={} if reports is None else {"r": column(reports)[:, None]},
    )


def test_metrics_by_hand():
    """x = 0, 0.5, 1: expectations -5/16, -1/16, -5/16; regrets 1/4, 0, 1/4."""
    trace = trace_of([0.0, 0.5, 1.0], [0.25, 0.75, 0.25], [-1 / 16, -1 / 16, -9 / 16], [1, 2, -1], [math.nan, 0.0, 0.5])
    problem = toy()

    def series(function):
        return function(problem, trace).tolist()

    assert series(metrics.regret()) == pytest.approx([0.25, 0.0, 0.25])
    assert series(metrics.summed_regret()) == pytest.approx([0.25, 0.25, 0.5])
    assert series(metrics.summed_regret(start=1)) == pytest.approx([0.0, 0.0, 0.25])
    assert series(metrics.summed_reward) == pytest.approx([-1 / 16, -2 / 16, -11 / 16])
    # Nothing is received after round 0; the best received is -1/16, the optimum -1/16.
    assert series(metrics.received_gap) == pytest.approx([math.nan, 0.0, 0.0], nan_ok=True)
    assert series(metrics.received_percent) == pytest.approx([math.nan, 106.25, 106.25], nan_ok=True)
    # The best decision for each context is the context itself, with value 0.
    assert series(metrics.summed_contextual) == pytest.approx([1 / 16, 2 / 16, 11 / 16])
    goal = Goal(over="reference")
    assert series(metrics.reported(goal, "r")) == pytest.approx([math.nan, -5 / 16, -1 / 16], nan_ok=True)
    assert series(metrics.best_reported(goal, "r")) == pytest.approx([math.nan, 0.25, 0.0], nan_ok=True)
    # The worst of the two contexts: -9/16 at x = 0, -1/16 at its optimum x = 0.5.
    robust = Goal(lambda problem: ww.Minimum(), "reference")
    assert series(metrics.best_reported(robust, "r")) == pytest.approx([math.nan, 0.5, 0.0], nan_ok=True)
    assert series(metrics.summed_seconds) == [0.5, 1.0, 1.5]


def test_the_best_so_far_never_rises():
    trace = trace_of([0.0] * 3, [0.25] * 3, [0.0] * 3, [0, 1, 2], [0.0, 0.5, 0.0])
    assert metrics.best_reported(Goal(), "r")(toy(), trace).tolist() == pytest.approx([0.25, 0.0, 0.0])


def test_error_on_test_data():
    trace = trace_of([0.0, 1.0], [0.25] * 2, [0.0] * 2, [0, 1], [0.25, 0.75])
    problem = replace(toy(), test=lambda x: x[..., 0])
    assert metrics.error_on_test("r")(problem, trace).tolist() == pytest.approx([75.0, 25.0])
    assert metrics.error_on_test("r", last=True)(problem, trace).tolist() == pytest.approx(
        [math.nan, 25.0], nan_ok=True
    )
    with pytest.raises(ww.ArgumentError, match="no test data"):
        metrics.error_on_test("r")(toy(), trace)
    with pytest.raises(ww.ArgumentError, match="no reference"):
        Goal(over="reference").best(replace(toy(), reference=None))


def test_the_density_estimate_against_scipy():
    """Huang2024's Eq. 2 for one context is scipy's estimate with a bandwidth of (4/3)^(1/5) t^(-1/5) times the deviation."""
    from scipy.integrate import quad
    from scipy.stats import gaussian_kde, norm

    from windward.bench.experiments.huang import LAWS, distance_to_truth

    seen = torch.linspace(0.3, 0.7, 12, dtype=torch.float64)
    factor = (4 / 3) ** 0.2 * 12 ** (-0.2) * float(seen.std(correction=0) / seen.std())
    estimate = gaussian_kde(seen.numpy(), factor)
    by_scipy = quad(lambda c: abs(estimate(c)[0] - norm(0.5, 0.1).pdf(c)), -0.5, 1.5, limit=400)[0]
    assert distance_to_truth(seen, LAWS["Normal"]) == pytest.approx(by_scipy, abs=2e-4)
    far = torch.full((3,), 50.0, dtype=torch.float64) + torch.tensor([0.0, 0.1, 0.2])
    assert distance_to_truth(far, LAWS["Normal"]) == pytest.approx(2.0, abs=1e-6)  # nothing in common


# -- comparisons ---------------------------------------------------------------------------------------------------------


def made_record(method, seed, series, rounds=2, problem="toy"):
    return {
        "format": 1,
        "experiment": "toy-experiment",
        "world": "toy-experiment",
        "problem": problem,
        "method": method,
        "seed": seed,
        "rounds": rounds,
        "versions": {"windward": "0", "torch": "0"},
        "seconds": 1.0,
        "series": {"cumulative_regret": series},
    }


def test_paired_differences_by_hand():
    """Gaps 1, 2, 3: mean 2, s = 1, t(2 degrees) = 4.302653: 2 +- 2.484."""
    rows = [made_record("SBO-KDE", seed, [0.0, 10.0 * seed]) for seed in range(3)]
    rows += [made_record("Random", seed, [0.0, 10.0 * seed + seed + 1]) for seed in range(3)]
    panel = TOY.panels[0]
    runs = compare.runs_of(panel, rows)
    assert runs["SBO-KDE"].mean().tolist() == [0.0, 10.0]
    assert runs["SBO-KDE"].error().tolist() == pytest.approx([0.0, 10.0 / math.sqrt(3)])
    found = compare.difference(Claim("toy", "SBO-KDE", "Random"), panel, runs)
    assert (found.mark, found.pairs, found.mean) == (2, 3, 2.0)
    assert (found.low, found.high) == pytest.approx(
        (2 - 4.302653 / math.sqrt(3), 2 + 4.302653 / math.sqrt(3)), abs=1e-6
    )
    assert found.verdict == "undecided"
    higher = replace(panel, metric=replace(panel.metric, lower=False))
    assert compare.difference(Claim("toy", "SBO-KDE", "Random"), higher, runs).mean == -2.0
    assert compare.difference(Claim("toy", "SBO-KDE", "nobody"), panel, runs).verdict == "not run"


@pytest.mark.parametrize(
    ("relation", "low", "high", "verdict"),
    [
        ("ahead", 0.1, 1.0, "holds"),
        ("ahead", -1.0, -0.1, "does not hold"),
        ("ahead", -1.0, 1.0, "undecided"),
        ("level", -0.4, 0.3, "holds"),
        ("level", 0.1, 0.4, "holds"),
        ("level", -1.0, 1.0, "undecided"),
        ("level", 0.1, 1.0, "undecided"),
        ("level", 0.6, 1.0, "does not hold"),
        ("level", -1.0, -0.6, "does not hold"),
    ],
)
def test_verdicts(relation, low, high, verdict):
    assert compare.judged(Claim("p", "a", "b", relation), low, high, margin=0.5) == verdict


def test_level_is_a_fifth_of_the_size():
    """Means 9 and 11: size 10, margin 2; gaps 2 +- 0 are level, gaps 3 of means 9 and 12 (margin 2.1) are not."""
    panel = TOY.panels[0]
    for other, verdict in ((11.0, "holds"), (12.0, "does not hold")):
        rows = [made_record("SBO-KDE", seed, [9.0]) for seed in range(3)]
        rows += [made_record("Random", seed, [other]) for seed in range(3)]
        claim = Claim("toy", "SBO-KDE", "Random", "level")
        assert compare.difference(claim, panel, compare.runs_of(panel, rows)).verdict == verdict


def test_one_seed_decides_nothing_and_only_common_seeds_are_paired():
    panel = TOY.panels[0]
    rows = [made_record("SBO-KDE", seed, [0.0, 1.0]) for seed in (0, 1)] + [made_record("Random", 1, [0.0, 5.0])]
    found = compare.difference(TOY.claims[0], panel, compare.runs_of(panel, rows))
    assert (found.pairs, found.mean, found.verdict) == (1, 4.0, "undecided")


def test_runs_of_a_quick_look_do_not_mix_with_the_others():
    rows = [made_record("SBO-KDE", 0, [1.0], rounds=1), made_record("SBO-KDE", 0, [1.0, 2.0])]
    assert [record["rounds"] for record in compare.longest(rows)] == [2]


# -- records and reports -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A small run of an experiment that takes no study."""
    out = tmp_path_factory.mktemp("table2")
    before = torch.get_num_threads()
    runner.run_experiment(
        experiment("huang2024-table2"), runner.Settings(out=out, seeds=(100, 101, 102), workers=1), Silent()
    )
    torch.set_num_threads(before)
    return out


def test_a_report_from_records_alone(table, tmp_path):
    answer = CliRunner().invoke(main, ["bench", "report", str(table), "--out", str(tmp_path / "page")])
    assert answer.exit_code == 0, answer.output
    page = (tmp_path / "page" / "huang2024-table2.md").read_text()
    rows = read(table)
    values = [r["series"]["total_variation"][-1] for r in rows if (r["problem"], r["method"]) == ("Normal", "as drawn")]
    assert report.number(float(np.mean(values))) in page and "0.0962" in page
    assert "12 of the paper's 80 runs" in page
    png = (tmp_path / "page" / "huang2024-table2.png").read_bytes()
    assert png.startswith(b"\x89PNG") and len(png) > 10_000
    html = (tmp_path / "page" / "huang2024-table2.html").read_text()
    assert "plotly.min.js" in html and "as drawn" in html
    assert '"text":"samples"' in html and '"text":"round"' not in html and '"mode":"lines"' in html
    assert (tmp_path / "page" / "plotly.min.js").exists()


def test_the_compact_form_gives_the_same_report(table, tmp_path):
    small = tmp_path / "kept" / "runs.jsonl.gz"
    folders = [str(tmp_path / name) for name in ("a", "b")]
    first = ["bench", "report", str(table), "--compact", str(small), "--out", folders[0], "--no-figures"]
    assert CliRunner().invoke(main, first).exit_code == 0
    assert CliRunner().invoke(main, ["bench", "report", str(small), "--out", folders[1], "--no-figures"]).exit_code == 0
    pages = [Path(folder, "huang2024-table2.md").read_text() for folder in folders]
    assert pages[0] == pages[1]
    written = small.read_bytes()
    records.write_compact(records.read_all([table])[0], small)
    assert small.read_bytes() == written  # the same records, the same bytes


def test_a_compact_study_record_keeps_decisions_and_series(tmp_path):
    run(TOY, tmp_path, cases=("toy",), seeds=(0,))
    record = read(tmp_path)[0]
    small = records.compact(record)
    assert small["decisions"] == [[float(f"{x:.5g}")] for (x,) in record["decisions"]]
    assert len(small["series"]["regret"]) == 6 and "ask_seconds" not in small and small["ask_total"] > 0


def test_a_long_run_keeps_every_fifth_round_in_the_compact_form():
    record = made_record("SBO-KDE", 0, [float(place) for place in range(1, 503)], rounds=502)
    small = records.compact(record)
    assert small["at"][:2] == [5, 10] and small["at"][-2:] == [500, 502]
    assert small["series"]["cumulative_regret"] == [float(at) for at in small["at"]]
    panel = replace(TOY.panels[0], marks=(3, 100, 502))
    runs = compare.runs_of(panel, [small, made_record("Random", 0, [0.0] * 502, rounds=502)])
    assert compare.marks_of(panel, runs) == [100, 502]


def test_a_record_of_a_later_format_is_refused(tmp_path):
    (tmp_path / records.FILE).write_text(json.dumps({"format": 99}) + "\n")
    with pytest.raises(ww.ArgumentError, match="use a newer windward"):
        records.read_all([tmp_path])
    with pytest.raises(ww.ArgumentError, match=r"there is no runs\.jsonl there"):
        records.read_all([tmp_path / "nowhere"])


def test_ties_are_all_bold():
    """1.00001 and 1 are both printed as 1."""
    ends = {"SBO-KDE": 1.0, "Random": 1.00001, "GP-UCB": 1.1}
    curves = tuple(Curve(name, "toy", name) for name in ends)
    panel = replace(TOY.panels[0], curves=curves)
    rows = [made_record(name, seed, [0.0, end]) for name, end in ends.items() for seed in range(2)]
    lines = report.table(TOY, panel, compare.runs_of(panel, rows))
    assert [line.split(" | ")[0] for line in lines[-4:-1]] == ["| **SBO-KDE**", "| **Random**", "| GP-UCB"]


def test_styles_are_those_of_the_method_and_differ():
    labels = ["SBO-KDE", *(f"mine {i}" for i in range(20)), "GP-UCB"]
    styles = figures.styles_of(labels)
    assert styles["SBO-KDE"] == figures.STYLES["SBO-KDE"] and len(set(styles.values())) == len(labels)


def test_a_log_axis_and_curves_that_begin_late(tmp_path):
    metric = replace(metrics.REGRET, name="cumulative_regret")
    panel = Panel(title="late", metric=metric, marks=(2,), curves=(Curve("mine", "toy", "SBO-KDE"),))
    rows = [made_record("SBO-KDE", seed, [None, 1.0 + seed, 0.5], rounds=3) for seed in range(2)]
    shown = [(panel, compare.runs_of(panel, rows))]
    figures.draw_png(shown, "late", tmp_path / "late.png")
    figures.draw_html(shown, "late", tmp_path / "late.html")
    assert (tmp_path / "late.png").stat().st_size > 5_000
    assert report.table(TOY, panel, shown[0][1])[-2] == "| **mine** | 2 | 1.5 (0.5) | 0.5 (0) |"


# -- every experiment ----------------------------------------------------------------------------------------------------


def test_experiments_are_consistent():
    for found in experiments().values():
        panels = {panel.title: panel for panel in found.panels}
        assert len(panels) == len(found.panels)
        recorded = {metric.name for metric in found.metrics}
        for panel in found.panels:
            for curve in panel.curves:
                assert curve.method in found.runs_on(found.case(curve.case)), (found.name, curve)
                assert (curve.series or panel.metric.name) in recorded, (found.name, curve)
        for claim in found.claims:
            labels = {curve.label for curve in panels[claim.panel].curves}
            assert {claim.first, claim.second} <= labels, (found.name, claim)
        for entry in found.published:
            assert entry.curve in {curve.label for curve in panels[entry.panel].curves}
            assert set(entry.values) <= set(panels[entry.panel].marks)
        chosen, jobs = runner.sized(found, runner.Settings(out=Path("x"), quick=True))
        assert jobs and chosen.name == found.name


def test_worlds_that_are_shared_record_the_same():
    worlds: dict[str, tuple] = {}
    for found in experiments().values():
        names = tuple(metric.name for metric in found.metrics), tuple(found.reports), found.own
        assert worlds.setdefault(found.world, names) == names, found.name


@pytest.mark.parametrize("name", list(experiments()))
def test_every_experiment_runs(name):
    found = experiment(name)
    case = found.cases[0]
    method = min(found.runs_on(case), key=lambda m: (not m.startswith(("DRBQO", "TS-BOCU", "GP-UCB-SDF")), m))
    try:
        rounds = 10 if found.own else _past_the_design(found, case, method)
        record = play.run_one(found, case.name, method, found.seeds[0], rounds, DATA)
    except ww.MissingData as error:
        pytest.skip(str(error))
    for metric in found.metrics:
        series = record["series"][metric.name]
        assert len(series) == len(record.get("at") or range(rounds)) and series[-1] is not None


def _past_the_design(found, case, method):
    """Two rounds more than the design lasts, and than the first late values take."""
    problem = play.make_problem(case, found.seeds[0], DATA)
    rounds = int(found.methods[method](problem).design.rounds(problem.space))
    return rounds + (2 if problem.delay is None else 15)


# -- the command line ----------------------------------------------------------------------------------------------------


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
    pages = report.write_report(read(out), out / "page", figures=False)
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
        done = subprocess.run(command(*arguments, "--json"), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    listed = spoken("list")
    assert {row["name"] for row in listed} == set(experiments())
    counts = spoken("run", "huang2024-table2", "--seeds", 1, "--rounds", 10, "--workers", 1, "--out", tmp_path)
    assert counts == {"done": 4, "there_before": 0, "failed": 0, "out": str(tmp_path)}
    told = spoken("report", tmp_path, "--no-figures", "--compact", tmp_path / "all.jsonl.gz")
    assert told["runs"] == 4 and told["pages"] and told["compact_bytes"] > 0
