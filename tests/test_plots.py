"""Figures: the numbers in them against values computed another way, and user text in them as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import coarse_figures
import pytest
import torch
from helpers import SHOP
from service_helpers import chromium

import windward as ww
from windward import plots
from windward.basics.speech import number
from windward.present.plots import style, worth
from windward.present.plots.style import plain
from windward.present.plots.view import view
from windward.suggest import unknown

EVIL = "<b onclick=alert(1)>x</b>"
QUICK = {"design": ww.Sobol(3), "maximize": ww.MultiStart(screen=64, starts=2, evaluations=20)}
QUICK_RANDOM = ww.Policy(context_model=ww.Empirical(), **QUICK)
ROBUST = ww.Policy(
    context_model=ww.KernelDensity(count=32), objective=ww.Robust(ww.TotalVariation(), radius=0.4), **QUICK
)


def day(suggestion):
    demand = 0.2 + 0.09 * (suggestion.id % 7)
    return ww.Result(1.0 - (float(suggestion.decision["order"]) - demand) ** 2, context={"demand": demand})


def played(policy=ROBUST, rounds=10, direction="maximize", space=SHOP, evaluate=day):
    study = ww.Study(space, policy, direction=direction)
    study.run(evaluate, rounds, progress=False)
    return study


@pytest.fixture(scope="module")
def study():
    torch.set_num_threads(1)
    made = played()
    made.ask()
    made.lose(made.ask().id, "till broken")
    made.tell(made.ask().id, 0.5)
    return made


@pytest.fixture(scope="module")
def drawn(study):
    """What its decisions are worth, at as many places as a person sees."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(worth, "STEPS", coarse_figures.AS_THEY_ARE[0])
        return plots.landscape(study)


@pytest.fixture
def coarse(monkeypatch):
    """Few places, and few plausible models: whether and how it is drawn does not depend on how finely."""
    monkeypatch.setattr(unknown, "THETAS", 6)
    monkeypatch.setattr(worth, "STEPS", 3)
    monkeypatch.setattr(worth, "STEPS_OF_TWO", 3)


def trace(figure, name):
    named = [each for each in figure.data if each.name is not None]
    (found,) = [each for each in named if each.name == name] or [each for each in named if each.name.startswith(name)]
    return found


def test_history_shows_every_trial_once(study):
    figure = plots.history(study)
    assert list(trace(figure, "results").x) == list(range(10))
    assert list(trace(figure, "results").y) == [trial.value for trial in study.trials.arrived]
    assert list(trace(figure, "still on the way (1)").x) == [10]
    assert list(trace(figure, "lost (1)").x) == [11]
    assert list(trace(figure, "results without their whole context").x) == [12]
    edge = trace(figure, "lost").y[0]
    assert edge < min(trial.value for trial in study.trials if trial.value is not None)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_running_value_is_the_best_assessed_decision_so_far(direction):
    made = played(direction=direction)
    assessed = [made.assess(trial.decision).value for trial in made.trials]  # one by one, by the public call
    pick = max if direction == "maximize" else min
    best = [pick(assessed[: at + 1]) for at in range(len(assessed))]
    line = trace(plots.history(made), "best so far")
    # Contexts are drawn per state of the log: the same here, where nothing was written in between.
    assert list(line.y) == pytest.approx(best, abs=1e-9)


def test_the_recommendation_in_a_figure_is_the_recommendation(study, drawn):
    found, seen = study.recommend(), view(study)
    assert seen.decision == found.decision and seen.value == found.value and seen.interval == found.interval
    star = trace(drawn, "recommended")
    assert star.x[0] == found.decision["order"] and star.y[0] == found.value
    curve = trace(drawn, "worst average value")
    assert len(curve.x) == 61
    # It was chosen by the fit alone and is judged with everything that is unknown: the top of the curve is near.
    assert max(curve.y) <= found.value + 0.1 * (found.interval[1] - found.interval[0])
    for place in (10, 30, 50):
        assert curve.y[place] == pytest.approx(study.assess({"order": curve.x[place]}).value, abs=1e-9)


def test_the_band_is_the_interval(study, drawn):
    band = trace(drawn, "90 % interval")
    count = len(band.x) // 2
    for place in (5, 30, 55):
        low, high = study.assess({"order": band.x[place]}).interval  # other draws of the same posterior
        width = high - low
        assert band.y[place] == pytest.approx(high, abs=0.35 * width)
        assert band.y[2 * count - 1 - place] == pytest.approx(low, abs=0.35 * width)


def test_contexts_are_distributions(study):
    figure, found = plots.contexts(study), study.recommend()
    bars = trace(figure, "expected")
    width = bars.x[1] - bars.x[0]
    for name, weights in (("expected", found.reference), ("protected against", found.adversary)):
        shown = trace(figure, name)
        y = shown.y if name == "expected" else shown.y[1:-1]
        assert sum(y) == pytest.approx(1.0)
        mean = sum(w * c["demand"] for w, c in zip(weights, found.contexts, strict=True))
        assert sum(x * y for x, y in zip(bars.x, y, strict=True)) == pytest.approx(mean, abs=width / 2)
    steps = trace(figure, "protected against")  # over whole bars, from the edge of the first to the edge of the last
    assert steps.line.shape == "hv" and (steps.y[0], steps.y[-1]) == (0.0, 0.0)
    assert [steps.x[0], steps.x[-1]] == pytest.approx([bars.x[0] - width / 2, bars.x[-1] + width / 2])
    assert sorted(trace(figure, "seen").x) == sorted(t.context["demand"] for t in study.trials if t.context)


def test_the_price_runs_from_expected_to_worst(study):
    figure = plots.price(study)
    curve = trace(figure, "recommended")
    seen = view(study)
    values = seen.situation.posterior.marginals(seen.x[None], seen.contexts.points)[0][0]
    assert curve.y[0] == pytest.approx(float(values @ seen.contexts.weights))
    assert curve.y[-1] == pytest.approx(float(values.min()), abs=1e-9)
    assert list(curve.x[:1]) + list(curve.x[-1:]) == [0.0, 1.0]  # half the L1 norm: the share of cases that change
    by_the_fit = float(seen.found.reduction(values))
    assert curve.y[8] == pytest.approx(by_the_fit, abs=1e-9) and curve.x[8] == pytest.approx(0.2)  # radius 0.4
    blind = trace(figure, "best if nothing drifts")
    assert blind.y[0] >= curve.y[0] - 1e-9 and curve.y[8] >= blind.y[8] - 1e-9
    assert curve.name.endswith(f"<br>expected {number(curve.y[0])}, worst {number(curve.y[-1])}")
    assert [text for text in figure.layout.annotations if "protected up to here (20 %)" in text.text]


@pytest.mark.parametrize("divergence", [ww.Wasserstein(), ww.ChiSquare(), ww.KullbackLeibler(), ww.MMD(0.2)])
def test_the_price_of_every_divergence_ends_near_the_worst(divergence):
    made = played(QUICK_RANDOM, 8)
    made.use(ww.Policy(context_model=ww.Empirical(), objective=ww.Robust(divergence, 0.05), **QUICK))
    near = plots.price(made)
    seen = view(made)
    values = seen.situation.posterior.marginals(seen.x[None], seen.contexts.points)[0][0]
    mean, least = float(values @ seen.contexts.weights), float(values.min())
    curve = trace(near, "recommended")
    assert curve.x[-1] == pytest.approx(0.25)  # five radii: the mark at 0.05 is not on the edge
    assert near.layout.shapes[0].x0 == 0.05 and "Beyond the right edge" in near.layout.meta["caption"]
    told = float(curve.name.rpartition("worst ")[2])
    made.use(ww.Policy(context_model=ww.Empirical(), objective=ww.Robust(divergence, 100.0), **QUICK))
    far = trace(plots.price(made), "recommended")  # a large radius: the curve is drawn to its end
    for line in (curve, far):
        assert all(a >= b - 1e-7 for a, b in zip(line.y, line.y[1:], strict=False))
    assert told <= least + 0.02 * (mean - least) + 1e-3
    assert float(far.name.rpartition("worst ")[2]) == pytest.approx(far.y[-1], abs=1e-3)


def test_minimizing_shows_the_users_signs(coarse):
    made = played(direction="minimize")
    found = made.recommend()
    curve = trace(plots.price(made), "recommended")
    assert curve.y[0] <= curve.y[-1]  # drift makes what is minimized larger
    assert trace(plots.landscape(made), "recommended").y[0] == found.value
    low, high = view(made).interval
    assert low <= high


def test_delays_count_what_happened():
    now = [datetime(2026, 3, 1, tzinfo=UTC)]
    made = ww.Study(SHOP, ROBUST, clock=lambda: now[0])
    for _ in range(4):
        now[0] += timedelta(days=1)
        made.ask()
    now[0] += timedelta(days=1)
    made.tell(0, 1.0, context={"demand": 0.5})
    made.lose(1, "broken")
    now[0] += timedelta(days=2)
    made.tell(1, 2.0, context={"demand": 0.5})  # lost, and there after all
    figure = plots.delays(made)
    series = {name: list(trace(figure, name).y) for name in ("arrived", "pending", "lost")}
    assert series["arrived"] == [0, 0, 0, 0, 1, 1, 2, 2]
    assert series["pending"] == [1, 2, 3, 4, 3, 2, 2, 2]
    assert series["lost"] == [0, 0, 0, 0, 0, 1, 0, 0]
    waited = trace(figure, "waited")
    assert list(waited.x) == [0, 1] and list(waited.y) == [4.0, 5.0] and figure.layout.yaxis2.title.text == "days"
    assert list(trace(figure, "still waiting").x) == [2, 3]


def test_two_decisions_and_categories(coarse, monkeypatch):
    monkeypatch.setattr(worth, "STEPS_OF_TWO", 5)
    space = ww.Space(
        {"dose": ww.Real(0.1, 10, log=True), "visits": ww.Integer(1, 5), "route": ww.Categorical(["oral", EVIL])},
        {"load": ww.Real(0, 1), "sky": ww.Categorical(["sun", EVIL])},
    )

    def evaluate(s):
        context = {"load": (s.id % 5) / 4, "sky": ["sun", EVIL][s.id % 2]}
        return ww.Result(float(s.decision["visits"]) - s.decision["dose"] * context["load"], context=context)

    made = played(rounds=8, space=space, evaluate=evaluate)
    both = plots.landscape(made, "dose", "visits")  # the first two: what is drawn where none is named
    surface = both.data[0]
    assert len(surface.x) == 5 and list(surface.y) == [1, 2, 3, 4, 5]
    place = {**made.recommend().decision, "dose": surface.x[2], "visits": 3}
    assert surface.z[2][2] == pytest.approx(made.assess(place).value, abs=1e-9)
    early = (plots.landscape, plots.importance, plots.effects)  # drawn above; these need more results
    others = [draw(made) for draw in plots.FIGURES.values() if draw not in early]
    for figure in (both, plots.landscape(made, "route"), plots.landscape(made, "route", "dose"), *others):
        assert EVIL not in figure.to_json().replace("\\u003c", "<")
    shown, found = plots.contexts(made), made.recommend()
    (bars,) = [each for each in shown.data if each.name == "protected against" and each.xaxis == "x2"]
    mass = sum(w for w, c in zip(found.adversary, found.contexts, strict=True) if c["sky"] == "sun")
    assert bars.x[0] == "sun" and bars.y[0] == pytest.approx(mass) and sum(bars.y) == pytest.approx(1.0)
    with pytest.raises(ww.ArgumentError, match="'dose', 'visits', 'route'"):
        plots.landscape(made, "price")


def test_every_figure_is_listed_and_explained():
    """`FIGURES` is the list that the report, the page and the service show; it leaves no figure out."""
    assert set(plots.FIGURES) == set(plots.__all__) - {"FIGURES", "png"}
    assert all(draw is getattr(plots, name) for name, draw in plots.FIGURES.items())
    page = (Path(__file__).parents[1] / "docs" / "plots.md").read_text()
    assert set(re.findall(r"^`(\w+)\(study", page, re.MULTILINE)) == set(plots.FIGURES)


@pytest.mark.parametrize(
    "policy",
    [
        ww.Policy(context_model=ww.NoContext(), **QUICK),
        ww.Policy(context_model=ww.Empirical(), objective=ww.LipschitzRobust(0.1), **QUICK),
        ww.Policy(context_model=ww.Empirical(), objective=ww.Satisficing(ww.TotalVariation(), 0.9), **QUICK),
        ww.Policy(context_model=ww.Empirical(), objective=ww.CVaR(0.2), **QUICK),
        ww.Policy(
            context_model=ww.Empirical(), objective=ww.Tradeoff(ww.TotalVariation(), 0.1), belief=ww.Thompson(), **QUICK
        ),
        ww.Policy(context_model=ww.Empirical(), objective=ww.Minimum(), **QUICK),
    ],
    ids=lambda policy: type(policy.objective).__name__,
)
def test_every_kind_of_objective_can_be_drawn(policy, coarse):
    made = played(policy, rounds=8)
    for name, draw in plots.FIGURES.items():
        if isinstance(policy.context_model, ww.NoContext) and name in ("contexts", "price", "by_context"):
            with pytest.raises(ww.IncompatibleError, match=r"looks at|ignores contexts"):
                draw(made)
            continue
        figure = draw(made)
        assert figure.data and figure.layout.title.text and figure.layout.meta["caption"], name


@pytest.mark.parametrize("objective", [ww.Minimum(), ww.Robust(ww.MMD("fitted"), 0.2)])
def test_what_is_solved_for_is_drawn_at_fewer_places(objective, monkeypatch):
    monkeypatch.setattr(worth, "STEPS", 5)
    monkeypatch.setattr(worth, "SOLVED_STEPS", 2)
    made = plots.landscape(played(ww.Policy(context_model=ww.Empirical(), objective=objective, **QUICK), rounds=3))
    curve = next(trace for trace in made.data if trace.name != "90 % interval")
    assert len(curve.x) == (5 if isinstance(objective, ww.Minimum) else 2)


def test_nothing_to_draw_is_said():
    made = ww.Study(SHOP, ROBUST)
    with pytest.raises(ww.TrialError, match="nothing has been asked"):
        plots.delays(made)
    assert plots.history(made).data == ()
    made.ask()
    for draw in (plots.landscape, plots.contexts, plots.price):
        with pytest.raises(ww.TrialError, match="nothing has arrived"):
            draw(made)


def test_a_landscape_names_every_decision_that_is_held(coarse):
    space = ww.Space({name: ww.Real(0, 1) for name in ("a", "b", "c")}, {"load": ww.Real(0, 1)})
    made = played(rounds=6, space=space, evaluate=lambda s: ww.Result(s.decision["a"], context={"load": 0.1 * s.id}))
    held = f"c = {number(made.recommend().decision['c'])}"
    figure = plots.landscape(made)
    assert held in figure.layout.title.subtitle.text and held in figure.layout.meta["caption"]
    assert figure.layout.title.text == "What each choice of a and b is worth"


def test_no_axis_that_counts_has_ticks_between_whole_numbers(study):
    assert plots.delays(played(rounds=3, policy=QUICK_RANDOM)).layout.xaxis2.dtick == 1
    assert plots.history(played(rounds=3, policy=QUICK_RANDOM)).layout.xaxis.dtick == 1
    assert style.whole_ticks([3, 60]) == {}


def test_every_label_of_a_figure_is_of_one_size(study, coarse):
    for name, draw in plots.FIGURES.items():
        made = draw(study)
        sizes = {made.layout.template.layout[axis].title.font.size for axis in ("xaxis", "yaxis")}
        sizes |= {each.font.size for each in made.layout.annotations if each.font.size}
        assert sizes == {style.SIZE} == {made.layout.font.size}, name


def test_colours_are_told_apart_with_any_colour_vision():
    """By the simulation of Vienot, Brettel and Mollon: no two marks become alike, and each is seen on both backgrounds."""

    def linear(colour):
        shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        return [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]

    def seen(colour, missing):
        red, green, blue = linear(colour)
        mixed = 0.11238 * red + 0.88762 * green if missing == "red" else 0.29275 * red + 0.70725 * green
        left = (0.00401 if missing == "red" else -0.02234) * (red - green)
        return [red, green, blue] if missing is None else [mixed, mixed, left + blue]

    def light(colour):
        return sum(w * each for w, each in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))

    marks = (style.VALUE, style.ADVERSE, style.CHOSEN, style.QUIET)
    for missing in (None, "red", "green"):
        for at, first in enumerate(marks):
            for second in marks[at + 1 :]:
                pairs = zip(seen(first, missing), seen(second, missing), strict=True)
                apart = sum(abs(max(a, 0.0) ** 0.45 - max(b, 0.0) ** 0.45) for a, b in pairs)
                assert apart > 0.15, (first, second, missing)
    for mark in marks:
        for ground in ("#ffffff", "#12181f"):
            bright, dark = sorted((light(mark) + 0.05, light(ground) + 0.05), reverse=True)
            assert bright / dark >= 3.0, (mark, ground)


def test_text_is_shown_as_it_is():
    assert plain(EVIL) == "&lt;b onclick=alert(1)&gt;x&lt;/b&gt;"
    assert plain("a\x00b\nc") == "a b c" and len(plain("x" * 500)) == 48


@pytest.mark.browser
def test_png(study, tmp_path):
    plots.png(plots.price(study), tmp_path / "price.png", width=400, height=300, scale=1)
    assert (tmp_path / "price.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(ww.ArgumentError, match="does not exist"):
        plots.png(plots.price(study), tmp_path / "no" / "price.png")


def test_png_needs_a_browser_and_says_so(study, tmp_path, monkeypatch):
    if chromium() is None:
        pytest.skip("there is no browser to hide")
    import plotly.graph_objects as go

    def fail(self, **named):
        raise RuntimeError("Kaleido requires Google Chrome to be installed.")

    monkeypatch.setattr(go.Figure, "to_image", fail)
    with pytest.raises(ww.MissingDependency, match="apt-get install chromium"):
        plots.png(plots.price(study), tmp_path / "price.png")


def test_what_happens_after_a_snapshot_is_not_in_its_figures():
    made = ww.Study(SHOP, ROBUST)
    made.ask()
    before = made.snapshot()
    made.ask()
    made.tell(0, 1.0, context={"demand": 0.5})
    assert list(trace(plots.delays(before), "pending").y) == [1, 1]
    assert list(trace(plots.delays(made), "arrived").y)[-1] == 1


@pytest.mark.parametrize(("direction", "said"), [("maximize", "falls"), ("minimize", "rises")])
def test_the_caption_of_the_price_says_which_way_the_curve_goes(direction, said):
    made = played(direction=direction)
    figure = plots.price(made)
    curve = trace(figure, "recommended")
    assert (curve.y[-1] < curve.y[0]) == (direction == "maximize")
    assert f"the average value {said} as" in figure.layout.meta["caption"]
    assert ({"falls", "rises"} - {said}).pop() not in figure.layout.meta["caption"]


def test_a_missed_target_is_told_in_words_that_fit_both_directions():
    from windward.objectives.protocol import Speech

    contexts = ww.Contexts.uniform(torch.zeros(1, 1, dtype=torch.float64))
    for sign in (1.0, -1.0):
        speech = Speech(ww.Situation(contexts), sign)
        said = ww.Satisficing(ww.TotalVariation(), 5.0).sentence(-sign, speech)
        assert "misses it by least" in said and "falls" not in said
