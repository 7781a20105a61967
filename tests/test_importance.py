"""What matters: indices against functions whose indices are known, contexts that come together, every surface."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import torch
from click.testing import CliRunner
from helpers import FAST, SHOP, policy, quadratic

import windward as ww
from windward import plots
from windward.basics import streams
from windward.cli.main import main
from windward.contexts import Contexts
from windward.present import records
from windward.suggest.influence import Influence, Interaction
from windward.suggest.sobol_indices import dependence, pair_variance, setting, shares_of

# Ishigami's function with a = 7 and b = 0.1, and its indices (Saltelli et al. 2000): first, total, pair 1-3.
FIRST, TOTAL, PAIR = (0.3139, 0.4424, 0.0), (0.5576, 0.4424, 0.2437), 0.2437
NONE = Contexts.uniform(torch.zeros(1, 0, dtype=torch.float64))
GRID = [(place + 0.5) / 24 * 2 * math.pi - math.pi for place in range(24)]


def ishigami(a, b, c):
    return torch.sin(a) + 7.0 * torch.sin(b) ** 2 + 0.1 * c**4 * torch.sin(a)


def angles(*names):
    return {name: ww.Real(-math.pi, math.pi) for name in names}


CUBE = ww.Space(angles("a", "b", "c"))
MIXED = ww.Space(angles("a", "b"), angles("c"))


# -- indices of functions --------------------------------------------------------------------------------------------------


def test_ishigami_over_decisions():
    at = setting(CUBE, NONE, [], streams.generator(0))

    def f(x, points):
        return ishigami(*((2 * x - 1) * math.pi).unbind(-1))[:, None].expand(-1, len(points))

    found = shares_of(f, at)
    assert found.first.tolist() == pytest.approx(FIRST, abs=0.003)
    assert found.total.tolist() == pytest.approx(TOTAL, abs=0.003)
    assert found.decisions == 1.0 and found.contexts == 0.0
    pairs = {
        (i, j): float(pair_variance(f, at, at.inputs[i], at.inputs[j])) / found.deviation**2
        for i, j in ((0, 1), (0, 2), (1, 2))
    }
    assert pairs[0, 2] == pytest.approx(PAIR, abs=0.003) and pairs[0, 1] < 1e-6 and pairs[1, 2] < 1e-6


@pytest.mark.parametrize("seed", [0, 1])
def test_ishigami_over_decisions_and_a_context(seed):
    contexts = Contexts.uniform(torch.tensor(GRID, dtype=torch.float64)[:, None])
    at = setting(MIXED, contexts, [], streams.generator(seed))
    assert [one.names for one in at.inputs] == [("a",), ("b",), ("c",)]

    def f(x, points):
        a, b = ((2 * x - 1) * math.pi).unbind(-1)
        return ishigami(a[:, None], b[:, None], points[None, :, 0])

    found = shares_of(f, at)
    assert found.first.tolist() == pytest.approx(FIRST, abs=0.03)
    assert found.total.tolist() == pytest.approx(TOTAL, abs=0.03)
    assert found.decisions == pytest.approx(FIRST[0] + FIRST[1], abs=0.06) and found.contexts < 0.03
    pair = float(pair_variance(f, at, at.inputs[0], at.inputs[2])) / found.deviation**2
    assert pair == pytest.approx(PAIR, abs=0.03)


def test_categories_and_whole_numbers():
    """y = 6 [route = sea] + visits, 1 to 5: variances 6^2 2/9 = 8 and 2; a third decision does nothing."""
    space = ww.Space(
        {"route": ww.Categorical(["sea", "air", "rail"]), "visits": ww.Integer(1, 5), "idle": ww.Real(0, 1)}
    )
    at = setting(space, NONE, [], streams.generator(0))

    def f(x, points):
        rows = [space.decode_decision(row) for row in x]
        return torch.tensor([[6.0 * (row["route"] == "sea") + row["visits"]] for row in rows], dtype=torch.float64)

    found = shares_of(f, at)
    assert found.first.tolist() == pytest.approx([0.8, 0.2, 0.0], abs=0.01)
    assert found.total.tolist() == pytest.approx([0.8, 0.2, 0.0], abs=0.01)
    assert [len(one.levels) for one in at.inputs] == [3, 5, 10]


def test_rare_contexts_count_as_often_as_they_come():
    """A choice that comes once in ten: the variance of its indicator is 0.09."""
    space = ww.Space({"a": ww.Real(0, 1)}, {"sky": ww.Categorical(["sun", "rain"])})
    weights = torch.tensor([0.9, 0.1], dtype=torch.float64)
    at = setting(space, Contexts(torch.eye(2, dtype=torch.float64), weights), [], streams.generator(0))
    f = lambda x, points: math.sqrt(12 * 0.09) * x + points[:, 1]  # noqa: E731  a: 0.09 too
    found = shares_of(f, at)
    assert found.first.tolist() == pytest.approx([0.5, 0.5], abs=0.01)


# -- contexts that come together -------------------------------------------------------------------------------------------


def together(columns, space):
    return setting(space, Contexts.uniform(torch.stack(columns, dim=1)), [], streams.generator(0))


def test_contexts_that_come_together_are_one():
    space = ww.Space({"x": ww.Real(0, 1)}, {name: ww.Real(0, 1) for name in "abc"})
    a, b, noise = torch.rand(3, 200, generator=streams.generator(3), dtype=torch.float64)
    at = together([a, 0.9 * a + 0.1 * noise, b], space)
    assert [one.names for one in at.inputs] == [("x",), ("a", "b"), ("c",)]
    assert [one.names for one in together([a, b, noise], space).inputs] == [("x",), ("a",), ("b",), ("c",)]
    # Whichever of two columns that are the same f takes, the group has it.
    found = [shares_of(lambda x, c, at=place: x + c[:, at], at).first.tolist() for place in (0, 1)]
    assert found[0] == pytest.approx(found[1], abs=0.1) and sum(found[0]) == pytest.approx(1.0, abs=0.05)


def test_how_strongly_contexts_depend():
    space = ww.Space(
        {"x": ww.Real(0, 1)},
        {"n": ww.Real(0, 1), "m": ww.Real(0, 1), "sky": ww.Categorical(["sun", "rain"]), "hour": ww.Cyclic(24)},
    )
    u, v = torch.rand(2, 400, generator=streams.generator(4), dtype=torch.float64)
    sun = (u > 0.5).double()
    contexts = Contexts.uniform(torch.stack([u, u**3, sun, 1 - sun, 24 * v], dim=1))
    assert dependence(space, "n", "m", contexts) == pytest.approx(1.0)  # by ranks
    assert dependence(space, "n", "sky", contexts) == pytest.approx(math.sqrt(0.75), abs=0.03)
    assert dependence(space, "sky", "m", contexts) > 0.5
    assert dependence(space, "n", "hour", contexts) < 0.2
    round_the_clock = Contexts.uniform(torch.stack([torch.cos(2 * math.pi * v), v, sun, 1 - sun, 24 * v], dim=1))
    assert dependence(space, "n", "hour", round_the_clock) > 0.9


# -- studies ---------------------------------------------------------------------------------------------------------------


def known(count=110, sign=1.0, **rest):
    """A study with a history of Ishigami's function."""
    made = ww.Study(
        MIXED,
        ww.Policy(context_model=ww.Empirical(), maximize=FAST),
        direction="maximize" if sign > 0 else "minimize",
        **rest,
    )
    places = torch.quasirandom.SobolEngine(3, scramble=True, seed=1).draw(count).double() * 2 * math.pi - math.pi
    rows = [(a, b, c, sign * float(ishigami(*row))) for row in places for a, b, c in [row.tolist()]]
    made.add_many([ww.Past({"a": a, "b": b}, y, {"c": c}) for a, b, c, y in rows])
    return made


@pytest.fixture(scope="module")
def found():
    return known().importance()


def test_a_study_finds_the_indices(found):
    inputs = {one.names[0]: one for one in found.inputs}
    for name, first, total in zip("abc", FIRST, TOTAL, strict=True):
        one = inputs[name]
        assert one.first == pytest.approx(first, abs=0.08) and one.total == pytest.approx(total, abs=0.1)
        assert one.first_interval[0] <= one.first <= one.first_interval[1]
        assert one.first_interval[0] <= first + 0.01 and first <= one.first_interval[1] + 0.01
        assert one.total_interval[0] <= total <= one.total_interval[1]
    assert found.strongest.names == (("a",), ("c",)) and found.strongest.share == pytest.approx(PAIR, abs=0.08)
    assert [one.total for one in found.inputs] == sorted((one.total for one in found.inputs), reverse=True)
    assert found.decisions == pytest.approx(0.7563, abs=0.12) and found.contexts < 0.05


def test_main_effects(found):
    (b,) = [one for one in found.inputs if one.names == ("b",)]
    mean = 3.5
    for level, value, (low, high) in zip(b.levels, b.effect, b.effect_interval, strict=True):
        wanted = mean + 7 * math.sin(level) ** 2 - 3.5
        assert value == pytest.approx(wanted, abs=1.0) and low < value < high


def test_a_study_that_minimizes_says_the_same_turned():
    up, down = known(16).importance(), known(16, -1.0).importance()
    assert [one.names for one in up.inputs] == [one.names for one in down.inputs]
    for one, other in zip(up.inputs, down.inputs, strict=True):
        assert other.total == pytest.approx(one.total, abs=1e-4)
        assert other.effect == pytest.approx([-value for value in one.effect], abs=1e-3)


def test_the_same_log_gives_the_same(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    made = known(12, journal=url, name="a")
    assert made.importance() == ww.Study.open("a", journal=url).importance() == known(12).importance()


def test_what_is_given_does_not_vary():
    given = known(12).importance(context={"c": 1.0})
    assert {one.names for one in given.inputs} == {("a",), ("b",)} and given.contexts == 0.0


def shop(results, **parts):
    made = ww.Study(SHOP, policy(**parts))
    made.add_many(
        [
            ww.Past({"order": (0.37 * at) % 1.0}, row.value, row.context)
            for at in range(results)
            for row in [quadratic(ww.Suggestion(at, {"order": (0.37 * at) % 1.0}))]
        ]
    )
    return made


@pytest.mark.parametrize(
    "parts",
    [
        {"objective": ww.Robust(ww.TotalVariation(), 0.3)},
        {"objective": ww.CVaR(0.2)},
        {"context_model": ww.NoContext()},
        {"surrogate": ww.GaussianProcess(kernel="matern52")},
    ],
    ids=["robust", "tail", "blind", "matern"],
)
def test_any_policy_can_be_asked(parts):
    found = shop(14, **parts).importance()
    assert found.inputs[0].names == ("order",) and found.inputs[0].total > 0.5
    assert (len(found.inputs) == 1) == ("context_model" in parts)
    assert all(
        0.0 <= low <= high <= 1.0 for one in found.inputs for low, high in (one.first_interval, one.total_interval)
    )


def test_too_early_and_nothing_to_find():
    with pytest.raises(ww.TrialError, match=r"study\.importance: nothing has arrived yet"):
        shop(0).importance()
    with pytest.raises(
        ww.TrialError, match=r"study\.importance: It is too early.*it takes 6 results.*3 have come back"
    ):
        shop(3).importance()
    flat = ww.Study(SHOP, policy())
    flat.add_many([ww.Past({"order": at / 9}, 1.0, {"demand": 0.5}) for at in range(9)])
    with pytest.raises(ww.TrialError, match="nothing makes a difference"):
        flat.importance()
    with pytest.raises(ww.SpaceError, match=r"study\.importance: unknown context 'demnd'"):
        flat.importance(context={"demnd": 0.5})


# -- words and surfaces ----------------------------------------------------------------------------------------------------


def influence(names, first, total, role="decision", width=0.02):
    return Influence(names, role, first, (first - width, first + width), total, (total - width, total + width))


def test_sentences():
    price, sky, rain = (
        influence(("price",), 0.62, 0.82),
        influence(("weather",), 0.1, 0.3, "context"),
        influence(("rain",), 0.01, 0.02),
    )
    pair = Interaction((("price",), ("weather",)), 0.2)
    said = ww.Importance((price, sky, rain), 0.62, 0.1, pair).sentences
    assert said == (
        "Price matters most: 62 % of the variation; together with weather 20 % more.",
        "Then comes weather (10 % by itself, 30 % in all).",
        "Rain hardly matters: below 5 %.",
        "What is decided accounts for 62 % of the variation, the contexts for 10 %, and how the two go together for 28 %.",
    )
    alone = ww.Importance((price, rain), 1.0, 0.0, Interaction((("price",), ("rain",)), 0.01)).sentences
    assert alone == ("Price matters most: 62 % of the variation.", "Rain hardly matters: below 5 %.")
    # First comes what does most in all, though another does more by itself.
    stock = influence(("stock",), 0.2, 0.5)
    assert ww.Importance((stock, replace(sky, first=0.24)), 0.2, 0.24, None).sentences[0] == (
        "Stock matters most: 20 % of the variation by itself, 50 % in all."
    )
    both = influence(("weather", "passers"), 0.5, 0.9, "context", width=0.3)
    grouped = ww.Importance((both, price), 0.3, 0.5, Interaction((("rain",), ("price",)), 0.1)).sentences
    assert grouped[0] == (
        "Weather and passers matter most: 50 % of the variation by themselves, 90 % in all. "
        "Together rain and price do 10 % more than each by itself."
    )
    assert "Weather and passers come together, so they count as one." in grouped
    assert grouped[-1].startswith("This is rough: with all that it does together with others, weather and passers may")


def test_the_figures():
    study = known(40)
    found, bars, curves = study.importance(), plots.importance(study), plots.effects(study)
    assert list(bars.data[1].x) == [one.first for one in found.inputs][::-1]
    assert found.sentences[0] in bars.layout.meta["caption"]
    assert [axis.title.text for axis in curves.select_xaxes()] == [one.names[0] for one in found.inputs]
    assert len(curves.data) == 6


def test_the_days_of_a_week_stand_beside_each_other_and_hours_are_a_range():
    space = ww.Space({"x": ww.Real(0, 1)}, {"weekday": ww.calendar("weekday"), "hour": ww.Cyclic(24)})
    study = ww.Study(space, policy())
    chance = random.Random(1)
    for day in range(28):
        hour = 24 * chance.random()
        value = 0.1 * (day % 7) + math.sin(hour / 4)
        at = datetime(2026, 5, 1, tzinfo=UTC) + timedelta(days=day)
        study.add({"x": (0.37 * day) % 1}, value, context={"hour": hour}, at=at)
    drawn = plots.effects(study)
    axes = {axis.title.text: axis for axis in drawn.select_xaxes()}
    assert axes["weekday"].type == "category" and axes["weekday"].categoryarray[0] == "Monday"
    assert len(axes["weekday"].categoryarray) == 7 and axes["hour"].type == "linear"


def test_on_the_command_line(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/a.db"
    monkeypatch.setenv("WINDWARD_JOURNAL", url)
    found = known(12, journal=url, name="a").importance()
    said = CliRunner().invoke(main, ["importance", "a"]).stdout.splitlines()
    assert said[: len(found.sentences)] == list(found.sentences)
    as_json = json.loads(CliRunner().invoke(main, ["importance", "a", "--json"]).stdout)
    assert as_json == json.loads(json.dumps(records.importance(found)))


def test_over_http(client, shop):
    name, _ = shop
    base = f"/api/studies/{name}"
    early = client.get(f"{base}/importance")
    assert early.status_code == 409 and "too early" in early.json()["error"]
    for id in range(3, 12):
        client.post(f"{base}/ask", json={})
        client.post(f"{base}/trials/{id}/tell", json={"value": 0.1 * id, "context": {"demand": 0.08 * id}})
    found = client.get(f"{base}/importance").json()
    assert {one["names"][0] for one in found["inputs"]} == {"order", "demand"} and found["sentences"]
