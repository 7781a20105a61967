"""What a decision is worth on each kind of day: cells that cover the contexts, values against a second way, every surface."""

from __future__ import annotations

import json
import re
from datetime import datetime

import pytest
import torch
from click.testing import CliRunner
from helpers import FAST, SHOP, policy, quadratic

import windward as ww
from windward import plots
from windward.cli.main import main
from windward.contexts import Contexts
from windward.present import records
from windward.space import Outcome
from windward.suggest import in_context
from windward.suggest.cells import Division, divided

SKY = ww.Space(
    {"order": ww.Real(0, 1)},
    {"sky": ww.Categorical(["sun", "rain", "snow"]), "wind": ww.Real(0, 10), "day": ww.calendar("weekday")},
)
DEMANDS = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8]


def shop(sign=1.0, results=14, **rest):
    made = ww.Study(
        SHOP,
        policy(**{"context_model": ww.Empirical(), **rest.pop("parts", {})}),
        direction="maximize" if sign > 0 else "minimize",
        **rest,
    )
    rows = [quadratic(ww.Suggestion(at, {"order": (0.37 * at) % 1.0})) for at in range(results)]
    made.add_many([ww.Past({"order": (0.37 * at) % 1.0}, sign * row.value, row.context) for at, row in enumerate(rows)])
    return made


def skies(count=20):
    made = ww.Study(SKY, ww.Policy(context_model=ww.Empirical(), maximize=FAST))
    for at in range(count):
        sky, wind = ("sun", "rain")[at % 2], (1.7 * at) % 10
        value = (2.0 if sky == "sun" else 1.0) - ((0.29 * at) % 1.0 - 0.5) ** 2 + 0.01 * wind
        when = f"2026-03-{at + 1:02d}T12:00:00+00:00"
        made.add(
            {"order": (0.29 * at) % 1.0}, value, context={"sky": sky, "wind": wind}, at=datetime.fromisoformat(when)
        )
    return made


# -- cells ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sky", "wind", "day"])
def test_the_cells_of_a_context_cover_it_once(name):
    found = skies().by_context(over=name)
    assert found.names == (name,) and sum(cell.share for cell in found.cells) == pytest.approx(1.0)
    assert sum(cell.seen for cell in found.cells) == 20
    assert len({cell.words for cell in found.cells}) == len(found.cells)


def test_a_numbers_cells_are_as_likely_and_their_ends_are_what_they_say():
    generator = torch.Generator().manual_seed(0)
    contexts = Contexts.uniform(100 * torch.rand(400, 1, generator=generator, dtype=torch.float64))
    space = ww.Space({"a": ww.Real(0, 1)}, {"wind": ww.Real(0, 100)})
    found = divided(space, "wind", contexts, seen=64)
    assert len(found.where) == 8 and found.where[0][0] is None and found.where[-1][1] is None
    values = contexts.points.flatten().tolist()
    places = found.places(values)
    assert all(40 <= places.count(cell) <= 60 for cell in range(8))
    for value, place in zip(values, places, strict=True):
        low, high = found.where[place]
        assert (low is None or low < value) and (high is None or value <= high)
    low, high = found.where[3]
    assert found.labels[3] == f"{low:g} to {high:g}" and found.labels[0] == f"up to {found.where[0][1]:g}"


@pytest.mark.parametrize(
    ("parameter", "values", "labels"),
    [
        (ww.Integer(0, 3), [0, 1, 2, 3], ("up to 0", "1", "2", "from 3")),
        (ww.Integer(0, 100), range(0, 100, 5), ("up to 30", "31 to 65", "from 66")),
        (ww.Real(0, 1), [0.5], ("any",)),
        (ww.Categorical([True, False]), [True, False, True], ("True", "False")),
    ],
)
def test_what_cells_are_called(parameter, values, labels):
    space = ww.Space({"a": ww.Real(0, 1)}, {"c": parameter})
    contexts = Contexts.uniform(space.encode_contexts([{"c": value} for value in values]))
    found = divided(space, "c", contexts, seen=len(values))
    assert found.labels == labels
    assert set(found.places(list(values))) == set(range(len(labels)))


# -- values --------------------------------------------------------------------------------------------------------------


def test_values_against_averages_over_the_cell():
    """The weights are certain: each cell is a mixture of averages in closed form, one for each draw of hyper-parameters."""
    study = shop(parts={"context_model": ww.Known({"demand": DEMANDS})})
    found = study.by_context({"order": 0.4})
    posteriors = study.snapshot().assessment("study.assess", decision={"order": 0.4}).base.unknowns.posteriors
    x = torch.tensor([[0.4]], dtype=torch.float64)
    assert len(found.cells) == 3 and len(posteriors) == 32
    for cell in found.cells:
        low, high = cell.where["demand"]
        inside = [d for d in DEMANDS if (low is None or d > low) and (high is None or d <= high)]
        points = torch.tensor(inside, dtype=torch.float64)[:, None]
        means, deviations = zip(*(each.average(x, Contexts.uniform(points)) for each in posteriors), strict=True)
        mean, spread = (
            torch.cat(means).mean(),
            torch.cat(means).var(correction=0) + torch.cat(deviations).square().mean(),
        )
        assert cell.value == pytest.approx(float(mean), abs=1e-9) and cell.share == pytest.approx(len(inside) / 6)
        half = 1.645 * float(spread.sqrt())
        assert cell.interval == pytest.approx((float(mean) - half, float(mean) + half), abs=0.1 * half)


def test_a_value_lies_in_its_interval_whatever_the_rounding():
    sky = SKY.context["sky"]
    division = Division("sky", sky.choices, sky.choices, sky)
    alike = [torch.full((448, 1), at * 1e59 / 7, dtype=torch.float64) for at in range(1, 30)]
    assert any(
        float(values.mean()) != float(values[0]) for values in alike
    )  # the mean of equal numbers need not be theirs
    for values in alike:
        cell = in_context._cell([division], (0,), 1.0, 0, values, Outcome())
        assert cell.interval[0] <= cell.value <= cell.interval[1]


@pytest.mark.parametrize("names", [None, ["sky"], ["sky", "wind"]])
def test_cells_average_to_what_recommend_says(names):
    study = skies()
    found, whole = study.by_context(over=names), study.recommend()
    assert dict(found.decision) == dict(whole.decision)
    for group in [["sky"], ["wind"], ["day"]] if names is None else [names]:
        cells = [cell for cell in found.cells if set(cell.where) == set(group)]
        assert sum(cell.share * cell.value for cell in cells) == pytest.approx(whole.value, abs=0.02)


def test_the_better_kind_of_day_is_found():
    cells = {cell.where["sky"]: cell for cell in skies().by_context(over="sky").cells}
    assert cells["sun"].value - cells["rain"].value == pytest.approx(1.0, abs=0.2)
    assert cells["snow"].seen == 0 and cells["snow"].share < 0.1
    assert cells["snow"].sentence.endswith("It has not been seen yet, so this is a guess.")
    low, high = cells["snow"].interval
    assert high - low > 2 * (cells["sun"].interval[1] - cells["sun"].interval[0])


def test_a_study_that_minimizes_says_the_same_turned():
    up, down = shop().by_context({"order": 0.4}), shop(-1.0).by_context({"order": 0.4})
    for one, other in zip(up.cells, down.cells, strict=True):
        assert one.where == other.where and other.value == pytest.approx(-one.value, abs=1e-6)
        assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]), abs=1e-4)


def test_under_a_robust_objective_values_are_plain_averages():
    robust = shop(parts={"objective": ww.Robust(ww.TotalVariation(), 0.4)})
    found, plain = robust.by_context({"order": 0.4}), shop().by_context({"order": 0.4})
    assert not found.average and plain.average and plain.notes == ()
    assert found.sentences[-1].startswith("These are plain averages.")
    for one, other in zip(found.cells, plain.cells, strict=True):
        assert one.value == pytest.approx(other.value, abs=0.01)
    mean = sum(cell.share * cell.value for cell in found.cells)
    assert robust.assess({"order": 0.4}).value < mean - 0.005


def test_the_status_quo_stands_beside_it():
    study = shop(status_quo={"order": 0.9})
    found, alone = study.by_context(), study.by_context({"order": 0.9})
    assert found.status_quo == {"order": 0.9} and alone.status_quo is None
    for cell, same in zip(found.cells, alone.cells, strict=True):
        assert cell.status_quo == pytest.approx(same.value) and cell.status_quo_interval == pytest.approx(same.interval)
        assert same.status_quo is None and "The status quo brings" in cell.sentence


def test_what_is_given_is_no_kind_of_day():
    study = skies()
    found = study.by_context(context={"sky": "rain"})
    assert found.names == ("wind", "day")
    whole = study.recommend(context={"sky": "rain"})
    cells = [cell for cell in found.cells if "wind" in cell.where]
    assert sum(cell.share * cell.value for cell in cells) == pytest.approx(whole.value, abs=0.02)


def test_it_is_computed_once_in_a_state(monkeypatch):
    study, counted = shop(), []
    from windward.present import snapshot

    real = snapshot.by_context
    monkeypatch.setattr(snapshot, "by_context", lambda *given: counted.append(1) or real(*given))
    assert study.by_context() == study.by_context() and len(counted) == 1
    study.add({"order": 0.5}, 0.9, context={"demand": 0.4})
    study.by_context()
    assert len(counted) == 2


# -- wrong calls ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"decision": {"ordr": 1}}, ww.SpaceError, r"study\.by_context: unknown decision 'ordr'"),
        ({"over": "demnd"}, ww.ArgumentError, r"over='demnd'\).*did you mean 'demand'.*the study has 'demand'"),
        ({"over": ["demand", "demand"]}, ww.ArgumentError, "give one or two different contexts of 'demand'"),
        ({"over": []}, ww.ArgumentError, "give one or two different contexts"),
        ({"over": 5}, ww.ArgumentError, r"over=5\): give the name of a context"),
        ({"over": [5]}, ww.ArgumentError, r"over=\[5\]\): give the name of a context"),
        ({"context": {"demand": 0.3}}, ww.ArgumentError, "every context is given"),
        ({"context": {"demnd": 0.3}}, ww.SpaceError, r"study\.by_context: unknown context 'demnd'"),
    ],
)
def test_wrong_calls(arguments, kind, said):
    with pytest.raises(kind, match=said):
        shop().by_context(**arguments)


def test_studies_that_have_no_kinds_of_days():
    with pytest.raises(ww.TrialError, match=r"study\.by_context: nothing has arrived yet"):
        shop(results=0).by_context()
    blind = shop(parts={"context_model": ww.NoContext()})
    with pytest.raises(ww.IncompatibleError, match="policy ignores contexts"):
        blind.by_context()
    none = ww.Study(ww.Space({"a": ww.Real(0, 1)}), policy())
    none.add({"a": 0.3}, 1.0)
    none.add({"a": 0.6}, 2.0)
    with pytest.raises(ww.IncompatibleError, match="space has no contexts"):
        none.by_context()


# -- surfaces ------------------------------------------------------------------------------------------------------------


def test_the_figure_has_a_panel_for_each_context():
    study = skies()
    made = plots.by_context(study)
    found = study.by_context()
    assert len(made.data) == 3 and [axis.title.text for axis in made.select_xaxes()] == ["sky", "wind", "day"]
    assert list(made.data[0].y) == [cell.value for cell in found.cells if "sky" in cell.where]
    assert made.data[0].mode == "markers" and made.data[1].mode == "lines+markers"
    assert len(plots.by_context(shop(status_quo={"order": 0.9})).data) == 2
    both = plots.by_context(study, "sky", "wind")
    cells = study.by_context(over=["sky", "wind"]).cells
    assert both.data[0].type == "heatmap" and set(both.data[0].y) == {cell.labels["wind"] for cell in cells}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_decision_and_a_context(sign):
    study = shop(sign)
    made = plots.landscape(study, "order", "demand")
    surface, best = made.data
    place = surface.x[5]
    cells = study.by_context({"order": place}).cells
    assert [row[5] for row in surface.z] == pytest.approx([cell.value for cell in cells], abs=1e-9)
    assert surface.y[0] == f"{cells[0].labels['demand']} ({cells[0].share * 100:.0f} %)"
    for row, x in zip(surface.z, best.x, strict=True):
        assert row[surface.x.index(x)] == (max if sign > 0 else min)(row)
    with pytest.raises(ww.ArgumentError, match="or one and a context"):
        plots.landscape(study, "demand", "order")


def test_on_the_command_line(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/shop.db"
    monkeypatch.setenv("WINDWARD_JOURNAL", url)
    study = shop(journal=url, name="shop", status_quo={"order": 0.9})
    done = CliRunner().invoke(main, ["by-context", "shop"])
    found = study.by_context()
    assert done.exit_code == 0 and done.stdout.splitlines()[0] == found.sentences[0]
    for cell in found.cells:
        assert re.search(rf"{re.escape(cell.words)} +{cell.share * 100:.0f} % +{cell.seen} ", done.stdout)
    as_json = CliRunner().invoke(main, ["by-context", "shop", "-d", "order=0.4", "--over", "demand", "--json"])
    assert json.loads(as_json.stdout) == json.loads(json.dumps(records.by_context(study.by_context({"order": 0.4}))))
    wrong = CliRunner().invoke(main, ["by-context", "shop", "-c", "demand=0.4"])
    assert wrong.exit_code == 1 and wrong.stderr.startswith("windward: windward by-context: every context is given")


def test_over_http(client, shop):
    name, _ = shop
    base = f"/api/studies/{name}"
    client.post(f"{base}/trials/1/tell", json={"value": 0.5, "context": {"demand": 0.8}})
    found = client.get(f"{base}/by-context").json()
    assert found["names"] == ["demand"] and found["sentences"] and found["revision"] >= 1
    asked = client.get(f"{base}/by-context", params={"decision": '{"order": 0.4}', "over": ["demand"]}).json()
    assert asked["decision"] == {"order": 0.4} and len(asked["cells"]) == len(found["cells"])
    wrong = client.get(f"{base}/by-context", params={"over": ["demnd"]})
    assert wrong.status_code in (409, 422) and "did you mean 'demand'" in wrong.json()["error"]


def test_many_ranges_have_labels_of_two_lines_without_their_unit():
    space = ww.Space({"x": ww.Real(0, 1)}, {"load": ww.Real(0, 1, unit="tons")})
    study = ww.Study(space, seed=0)
    for place in range(60):
        study.add({"x": (place % 7) / 6}, 0.1 * (place % 11), context={"load": (place * 37 % 60) / 60})
    labels = plots.by_context(study).layout.xaxis
    assert labels.title.text == "load [tons]" and not any("tons" in text for text in labels.ticktext)
    assert len(labels.ticktext) > 5 and all(text.count("<br>") == 2 for text in labels.ticktext)
