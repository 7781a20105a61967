"""The benchmark of coverage measures what it says: truths against closed forms, the split, references, and a tiny run."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

import windward as ww

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.append(str(FOLDER))  # at the end: `coverage` must stay the package that measures tests
cases = importlib.import_module("coverage_cases")
core = importlib.import_module("coverage_problem")
draws = importlib.import_module("coverage_draws")
later = importlib.import_module("coverage_later")
third = importlib.import_module("coverage_third")
listed = importlib.import_module("coverage_problems")
measuring = importlib.import_module("coverage_references")
tables = importlib.import_module("coverage_report")
spec = importlib.util.spec_from_file_location("coverage_bench", FOLDER / "coverage.py")
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)

NEW = hasattr(ww.Recommendation, "between")
NOISELESS = core.Noise(0.0)


def line(objective=None, *, direction="maximize", nature=None, bounds=(None, None), **rest):
    """A problem whose value is the context itself."""
    return core.Problem(
        "line",
        ww.Space(decision={"x": ww.Real(0, 1)}, context={"c": ww.Real(*bounds)}),
        lambda d, c: 0.0 * d["x"] + c["c"],
        nature or (lambda u, given: {"c": core.fixed(given, "c", core.normal(u[:, 0]))}),
        NOISELESS,
        {"x": 0.5},
        objective=objective or ww.Expected(),
        direction=direction,
        width=1,
        **rest,
    )


def test_the_truth_of_a_stock_is_its_closed_form():
    loaves, median, deviation = 90, 85.0, 0.35
    z = math.log(loaves / median) / deviation
    mean = median * math.exp(deviation**2 / 2.0)
    sold = mean * stats.norm.cdf(z - deviation) + loaves * stats.norm.sf(z)
    expected = 3.2 * sold - 1.1 * loaves - 0.4 * (mean - sold)
    assert listed.problems()["bakery-bread-stock"].truth.value({"loaves": loaves}) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("direction", "sign"), [("maximize", -1.0), ("minimize", 1.0)])
def test_the_truth_of_a_tail_is_on_the_bad_side(direction, sign):
    tail = stats.norm.pdf(stats.norm.ppf(0.2)) / 0.2
    assert line(ww.CVaR(0.2), direction=direction).truth.value({"x": 0.1}) == pytest.approx(sign * tail, rel=1e-3)


def test_the_truth_of_a_ball_has_the_studys_reach():
    # Half of the radius moves from the best contexts to the worst place in reach, which no true context comes near.
    problem = line(
        ww.Robust(ww.TotalVariation(), 0.2),
        nature=lambda u, given: {"c": u[:, 0]},
        bounds=(-1.0, 1.0),
        model=ww.Empirical(64),
    )
    worst = float(min(problem.truth.columns["c"][-64:]))
    assert -1.0 <= worst < -0.95
    assert problem.truth.value({"x": 0.1}) == pytest.approx(0.5 - 0.1 * 0.95 + 0.1 * worst, abs=2e-3)


def test_what_is_given_is_fixed_in_the_truth():
    problem = listed.problems()["draw-three-contexts-one-given"]
    columns = core.Truth.of(problem, 4096).columns
    assert set(columns["c"]) == {0.7}
    assert np.mean(columns["k"]) == pytest.approx(0.35, abs=0.02)


def test_the_best_decision_is_the_best_of_all_whole_numbers():
    problem = listed.problems()["bakery-bread-stock"]
    every = [{"loaves": n} for n in range(20, 201)]
    assert problem.best[1] == pytest.approx(problem.truth.values(every).max(), rel=1e-4)
    assert problem.best[1] == pytest.approx(problem.truth.value(problem.best[0]))


def test_a_draw_is_the_same_as_a_table_and_by_pairs():
    problem = listed.problems()["draw-with-kind-of-day"]
    chance = np.random.default_rng(0)
    contexts = problem.contexts(7, chance)
    decisions = problem.habit(problem, contexts, chance)
    table = problem.f(core.upright(problem.rows(decisions)), contexts)
    assert table.shape == (7, 7)
    np.testing.assert_allclose(np.diag(table), problem.f(decisions, contexts), atol=1e-12)


def test_a_draw_has_about_unit_variance_and_its_length_scale():
    heights, near = [], []
    for seed in range(200):
        draw = draws.Draw(1000 + seed, {"x1": 0.3, "c": 1.0})
        here, there = (draw({"x1": np.array([x])}, {"c": np.zeros(1)})[0] for x in (0.2, 0.5))
        heights.append(here)
        near.append(here * there)
    assert np.mean(np.square(heights)) == pytest.approx(1.0, abs=0.3)
    assert np.mean(near) == pytest.approx(math.exp(-0.5), abs=0.3)


def test_every_problem_makes_values_that_its_space_accepts():
    for problem in listed.problems().values():
        chance = np.random.default_rng(3)
        contexts = problem.contexts(40, chance)
        decisions = problem.habit(problem, contexts, chance)
        for decision, context in zip(problem.rows(decisions), problem.rows(contexts), strict=True):
            problem.space.check_decision("history", decision)
            problem.space.check_context("history", context)
        assert np.isfinite(problem.f(decisions, contexts)).all()
        assert np.isfinite(core.Truth.of(problem, 64).value(problem.status_quo))
        # Clumsy, not space filling: most choices lie near the usual one.
        usual = problem.space.encode_decisions([problem.status_quo])
        gaps = (problem.space.encode_decisions(problem.rows(decisions)) - usual).abs().amax(-1)
        assert float(gaps.median()) < 0.25 or not all(not p.choices for p in problem.space.decision.values())


def test_both_halves_have_every_kind_and_the_rule_is_the_name():
    assert listed.held("parcel-mode") and not listed.held("bakery-bread-stock")
    assert [
        listed.half_of(name) for name in ("parcel-mode", "bakery-bread-stock", "ferry-fares", "claims-reserve")
    ] == [*("held", "choose", "new", "choose")]
    assert set(later.PLAYED) <= {problem.name for problem in listed.chosen("new")} and len(listed.chosen("new")) >= 12
    names = {problem.name for problem in listed.chosen("third")}
    assert names == set(listed.third()) and len(names) >= 16 and set(third.PLAYED) <= names
    wanted = {"noisy", "categorical", "rare", "heavy tails", "given", "cvar", "robust", "minimize", "integer"}
    for half in ("choose", "held", "third"):
        problems = listed.chosen(half)
        assert len(problems) >= 13
        assert wanted <= {tag for problem in problems for tag in problem.tags}
    with pytest.raises(SystemExit, match="not in the half 'choose'"):
        listed.chosen("choose", ["parcel-mode"])
    with pytest.raises(SystemExit, match="no such problem"):
        listed.chosen("choose", ["parcels"])


def test_the_reference_with_f_known_has_the_width_of_dirichlet_weights():
    problem, count = line(), 60
    study = ww.Study(problem.space, problem.policy, seed=0)
    study.add_many(cases.history(problem, 0, count), again=True)
    found = measuring.references(problem, study, {"x": 0.5}, np.random.default_rng(0))
    seen = study.trials.seen_contexts[:, 0]
    spread = float(seen.std(correction=0)) / math.sqrt(count + 1)
    assert np.ptp(found["known"]) == pytest.approx(2 * 1.645 * spread, rel=0.1)
    assert np.mean(found["known"]) == pytest.approx(float(seen.mean()), abs=0.3 * spread)


def test_the_tail_under_weights_is_the_objectives_own():
    problem = line(ww.CVaR(0.25))
    chance = np.random.default_rng(1)
    points = torch.from_numpy(chance.standard_normal((9, 1)))
    weights = torch.from_numpy(chance.dirichlet(np.ones(9), 3))
    f = torch.from_numpy(chance.standard_normal((3, 9)))
    contexts = ww.Contexts.uniform(points)
    own = [ww.CVaR(0.25).bind(ww.Situation(ww.Contexts(points, w)))(v) for v, w in zip(f, weights, strict=True)]
    torch.testing.assert_close(measuring.reduced(problem, f[None], weights, contexts)[0], torch.stack(own))


def test_the_interval_score_charges_what_is_missed():
    assert tables.score([1.0, 2.0], 1.5) == 1.0
    assert tables.score([1.0, 2.0], 2.5) == pytest.approx(1.0 + 20.0 * 0.5)


def test_probabilities_are_binned_and_judged():
    said = [(0.95, i < 60) for i in range(100)] + [(0.05, False)] * 40
    records = [{"comparisons": [{"kind": "advice", "probability": p, "better": b}]} for p, b in said]
    low, high = tables.bins("advice", tables.stated_of(records)["advice"])
    assert (len(low.true), low.wrong) == (40, False)
    assert high.off == pytest.approx(-35.0) and high.wrong
    assert tables.brier(said)[0] == pytest.approx((60 * 0.05**2 + 40 * 0.95**2 + 40 * 0.05**2) / 140)
    assert "(!)" in tables.reliability(records)


def test_a_run_is_asked_again_as_it_was_played():
    problem = listed.problems()["ices-known-temperature"]
    rows = cases.trail(problem, 0, 12)
    first, again = (ww.Study(problem.space, policy, seed=0) for policy in (problem.policy, cases.replayed(problem)))
    for row in rows:
        asked = first.ask(context={"temperature": row.context["temperature"]})
        assert dict(asked.decision) == dict(row.decision)
        first.tell(asked.id, row.value, context=row.context)
    cases.feed(problem, again, "run", rows)
    assert [dict(trial.decision) for trial in again.trials] == [dict(row.decision) for row in rows]
    assert all(trial.asked_at is not None and "temperature" in trial.context_planned for trial in again.trials)
    one, other = (study.recommend(context=problem.given) for study in (first, again))
    assert one.decision == other.decision and one.interval == other.interval


def test_a_tiny_run_is_resumed_and_reported(tmp_path, capsys):
    out = tmp_path / "tiny.jsonl"
    words = ["run", "--only", "bakery-bread-stock", "--modes", "history", "--sizes", "15", "30", "--out", str(out)]
    words += ["--trails", str(tmp_path / "trails.jsonl"), *([] if NEW else ["--old"])]
    bench.main([*words, "--seeds", "1"])
    first = out.read_text()
    bench.main([*words, "--seeds", "2"])
    records = [json.loads(one) for one in out.read_text().splitlines()]
    assert out.read_text().startswith(first)
    assert [(r["n"], r["seed"]) for r in records] == [(15, 0), (30, 0), (15, 1), (30, 1)]
    for record in records:
        widths = [np.ptp(record["intervals"][level]) for level in ("0.5", "0.8", "0.9", "0.95")]
        assert widths == sorted(widths)
        assert record["truth"] <= record["best"] + 1e-6
        assert set(record["references"]) == {"mean", "draws", "known"}
    capsys.readouterr()
    bench.main(["report", str(out)])
    assert "| bakery-bread-stock | history | Expected | 2 |" in capsys.readouterr().out


def test_what_this_version_does_not_know_is_refused():
    caution = cases.Options(old=not NEW, cautions=(1.0,))
    knows = cases.has_field(ww.Report, "caution")
    with nullcontext() if knows else pytest.raises(SystemExit, match="no field 'caution'"):
        cases.check_library(caution)
    with pytest.raises(SystemExit, match="between"):
        cases.check_library(cases.Options(old=NEW))
