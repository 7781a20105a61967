"""What is said of forecasts and forecasters: sentences, the report, the command line, the service."""

from __future__ import annotations

import json
import math

import pytest
import torch
from click.testing import CliRunner
from helpers import policy

import windward as ww
from windward.basics.errors import WindwardError
from windward.cli.main import main
from windward.present import records, sentences
from windward.present.report import report_html
from windward.service import bodies, jobs
from windward.service.shelf import Shelf
from windward.suggest.forecasters import forecasters
from windward.trials.forecast_file import read_forecasts
from windward.trials.records import Trial
from windward.trials.trials import Trials

SPACE = ww.Space(
    {"order": ww.Real(0, 100)},
    {"demand": ww.Real(0, 120), "sky": ww.Categorical(["dry", "wet", "snow"]), "n": ww.Integer()},
)


def followed(count, demand=None, sky=None, n=None):
    """Trials with forecasts by turn, and what came: demand from 40 to 60, dry and wet in turn."""
    rows = []
    for i in range(count):
        level = 40.0 + (7 * i) % 20
        makes = {"demand": demand, "sky": sky, "n": n}
        forecast = {name: make(level, i) for name, make in makes.items() if make is not None}
        context = {"demand": level, "sky": ("dry", "wet")[i % 2], "n": i % 5}
        rows.append(Trial(i, {"order": 50.0}, context=context, context_source="revealed", forecast=forecast))
    return Trials(SPACE, tuple(rows))


def spread(off=0.0, width=3.0):
    normal = torch.special.ndtri((torch.arange(20).double() + 0.5) / 20)

    def make(level, i):
        return ww.Forecast(samples=(level + off + width * math.sin(3.0 * i) + width * normal).tolist())

    return make


def test_a_forecaster_in_words():
    (good,) = forecasters(followed(24, spread()))
    assert (
        good.sentences[0]
        == "Forecasts of demand: 24 of 24 outcomes fell into the 80 % range; 19 were expected, so the ranges are too wide."
    )
    assert (good.context, good.kind, good.judged, good.inside, good.expected) == (
        "demand",
        "number",
        24,
        24,
        pytest.approx(19.2),
    )
    assert good.score < good.usual_score and sum(good.shares.values()) == pytest.approx(1.0)
    (biased,) = forecasters(followed(24, spread(off=10.0)))
    assert biased.inside == 0 and biased.bias == pytest.approx(-10.0, abs=0.5) and biased.shares["corrected"] > 0.99
    said = " ".join(biased.sentences)
    assert "0 of 24 outcomes fell into the 80 % range; 19 were expected, so the ranges lie in the wrong place." in said
    assert "too high on average." in said and "The next one is used 8." in said and "lower," in said
    assert said.endswith("lower, 0.95 times as wide.")  # so nothing may call them too narrow
    (sure,) = forecasters(followed(24, spread(off=10.0, width=0.5)))
    assert "so the ranges are too narrow." in sure.sentences[0]
    (one,) = forecasters(followed(1, spread()))
    assert "; 1 was expected." in one.sentences[0]
    (few,) = forecasters(followed(3, spread()))
    assert few.score is None and few.sentences[-1].startswith(
        "They are judged once 5 outcomes have come, 2 more than now;"
    )


def test_chances_and_points_in_words():
    chances = ww.Forecast(chances={"dry": 0.8, "wet": 0.2})
    sky, number = forecasters(
        followed(20, sky=lambda level, i: chances, n=lambda level, i: ww.Forecast(point=i % 5 + 1))
    )
    assert sky.sentences[0] == "Forecasts of sky: the most probable choice came 10 of 20 times; 16 were expected."
    assert sky.bias is None and (sky.kind, number.kind) == ("category", "point")
    assert number.sentences[:2] == (
        "Forecasts of n: 20 points were followed by what came.",
        "They were 1 too high on average.",
    )
    assert number.inside is None and number.sentences[-1] == "The next one is used with the errors of those before."


def played(journal=None):
    space = ww.Space({"order": ww.Real(0, 100)}, {"demand": ww.Real(0, 120)})
    study = ww.Study(space, policy(), journal=journal, name="shop", seed=1)
    for turn in range(8):
        level = 40.0 + (7 * turn) % 20
        one = study.ask(context={"demand": spread(off=10.0)(level, turn)})
        study.tell(one.id, -abs(float(one.decision["order"]) - level), context={"demand": level})
    return study


def test_advice_report_and_records_speak_of_the_forecast():
    study = played()
    found = study.recommend(context={"demand": ww.Forecast(quantiles={0.1: 50, 0.9: 60})})
    said = sentences.advised(study, found)
    assert found.forecast == ("demand",) and records.recommendation(found)["forecast"] == ["demand"]
    assert said.value.endswith("on average over the contexts, as the forecast of demand says.")
    assert said.protection == "It is not protected against a wrong forecast."
    assert sentences.advised(study, study.recommend()).value.endswith("as often as they have come so far.")
    (one,) = study.forecasts()
    assert one.sentences[0] in report_html(study)
    status = records.status(study)
    assert status["forecasts"][0]["sentences"] == list(one.sentences)
    json.dumps(status, allow_nan=False)
    assert records.trial(study.trials[0], study.snapshot().now)["forecast"][0]["names"] == ["demand"]
    assert "Forecasts of" not in report_html(ww.Study(SPACE, policy()))


# -- the command line --------------------------------------------------------------------------------------------------


def written(tmp_path, text):
    path = tmp_path / "f.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("demand\n3\n4\n", {"demand": ww.Forecast(samples=[3.0, 4.0])}),
        ("demand,weight\n3,1\n4,3\n\n", {"demand": ww.Forecast([3.0, 4.0], [0.25, 0.75])}),
        (
            "quantile, demand, n\n0.1,20,1\n0.9,60,3\n",
            {"demand": ww.Forecast(quantiles={0.1: 20, 0.9: 60}), "n": ww.Forecast(quantiles={0.1: 1, 0.9: 3})},
        ),
        ("sky,chance\ndry,0.7\nwet,0.3\n", {"sky": ww.Forecast(chances={"dry": 0.7, "wet": 0.3})}),
        ("\ufeffdemand,sky\n3,dry\n", {("demand", "sky"): ww.Forecast(samples=[{"demand": 3.0, "sky": "dry"}])}),
    ],
)
def test_a_csv_file_is_a_forecast(text, found):
    assert read_forecasts("forecast", text, SPACE) == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "at least one row"),
        ("demand\n", "at least one row"),
        ("demand,demand\n1,2\n", "different names"),
        (
            "demnd\n1\n",
            "unknown column 'demnd' (did you mean 'demand'?); it may have demand, sky, n, weight, quantile, chance",
        ),
        ("weight\n1\n", "it needs a column for a context"),
        ("demand,weight,chance\n1,1,1\n", "at most one of weight, quantile and chance"),
        ("demand,n\n1\n", "line 2: it needs 2 cells"),
        ("demand\nhigh\n", "line 2: context 'demand' must be a number"),
        ("demand,weight\n1,x\n", "line 2: weight must be a number, got 'x'"),
        ("sky,chance\ndry,0.5\ndry,0.5\n", "'dry' comes twice"),
        ("sky,n,chance\ndry,1,1\n", "chances are of one context"),
        ("demand,weight\n1,-1\n", "must be >= 0"),
        ("demand\nnan\n", "must be finite"),
    ],
)
def test_a_csv_file_that_is_no_forecast_is_refused(text, says):
    study = ww.Study(SPACE, policy())
    with pytest.raises(WindwardError) as caught:
        study.ask(context=read_forecasts("forecast", text, SPACE))
    assert says in str(caught.value)


def test_the_command_line_takes_forecasts_and_says_how_good_they_were(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/log.db"
    monkeypatch.setenv("WINDWARD_JOURNAL", url)
    played(url)
    path = str(written(tmp_path, "quantile,demand\n0.1,60\n0.9,70\n"))

    def run(*arguments):
        return CliRunner().invoke(main, list(arguments))

    asked = run("ask", "shop", "--forecast", path)
    assert asked.exit_code == 0, asked.output
    study = ww.Study.open("shop", journal=url)
    assert study.trials[8].forecast["demand"].quantiles == {0.1: 60.0, 0.9: 70.0}
    advised = run("recommend", "shop", "--forecast", path)
    assert "as the forecast of demand says" in advised.output
    assert study.forecasts()[0].sentences[0] in run("status", "shop").output
    assert json.loads(run("status", "shop", "--json").output)["forecasts"][0]["judged"] == 8
    both = run("ask", "shop", "--forecast", path, "--context", "demand=61")
    assert both.exit_code == 1 and "both speak of 'demand'; give one of them" in both.output
    refused = run("ask", "shop", "--forecast", str(written(tmp_path, "demnd\n1\n")))
    assert refused.exit_code == 1 and "unknown column 'demnd'" in refused.output
    assert run("ask", "shop", "--radius", "0.1").exit_code != 0


# -- the service -------------------------------------------------------------------------------------------------------


def test_the_service_takes_forecasts(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    played(url)
    shelf = Shelf(url, 2**30, plugins=False)

    def ask(**body):
        return jobs.ask(shelf, "shop", bodies.Ask(**body).model_dump(), None)

    quantiles = {"demand": {"quantiles": {"0.1": 60, "0.9": 70}}}
    assert ask(context=quantiles)["id"] == 8
    assert ask(forecast={"samples": [{"demand": 60}, {"demand": 62}], "weights": [1, 3]})["id"] == 9
    kept = [trial.forecast["demand"] for trial in ww.Study.open("shop", journal=url).trials.rows[8:]]
    assert kept[0].quantiles == {0.1: 60.0, 0.9: 70.0} and kept[1].weights == (0.25, 0.75)
    advice = json.loads(jobs.recommend(shelf, "shop", quantiles))
    assert (
        advice["forecast"] == ["demand"] and advice["value"] != json.loads(jobs.recommend(shelf, "shop", None))["value"]
    )
    assert json.loads(jobs.settled(shelf, "shop", 1.0, quantiles))["probability"] <= 1.0
    for body, says in (
        ({"context": {"demand": {}}}, "give an object with one of samples"),
        ({"context": {"demand": {"sample": [1]}}}, "unknown field 'sample' (did you mean 'samples'?)"),
        ({"context": {"demand": {"quantiles": {"low": 1}}}}, "'low' is no probability"),
        ({"context": {"demand": {"quantiles": [1]}}}, "quantiles must be an object, or a list of pairs"),
        ({"context": {"demand": {"distribution": "norm"}}}, "a distribution is an object with a name"),
        ({"forecast": {"samples": [1, 2]}}, "names no context"),
        ({"radius": 0.1}, "has no radius"),
    ):
        with pytest.raises(WindwardError) as caught:
            ask(**body)
        assert says in str(caught.value)
