"""Names, units and steps: declared, kept in the log, searched by, and said everywhere a person reads."""

from __future__ import annotations

import csv
import io
import itertools
import json

import numpy as np
import old_logs
import pytest
import torch
from click.testing import CliRunner

import windward as ww
from windward.basics.codec import encode
from windward.basics.speech import Measure, digits_of
from windward.cli.main import main
from windward.contexts import Contexts
from windward.objectives.protocol import Speech
from windward.objectives.situation import Situation
from windward.present import plots, records, sentences
from windward.present.report import report_html
from windward.search.acquisition import Acquisition
from windward.search.region import Region
from windward.space import Outcome
from windward.space.outcomes import checked_outcome
from windward.study.declare import declared
from windward.testing.parameter import check_parameter

PRICE = ww.Real(2.5, 6, step=0.05, unit="EUR")
SPACE = ww.Space(
    {"price": PRICE, "crates": ww.Integer(0, 120, step=12, unit="pieces")}, {"rain": ww.Real(0, None, unit="mm")}
)
QUICK = ww.MultiStart(screen=64, starts=2, evaluations=12)
POLICY = ww.Policy(context_model=ww.KernelDensity(16), design=ww.Sobol(4), maximize=QUICK)
PROFIT = {"profit": ww.Maximize(unit="EUR")}


def on_steps(decision):
    """Whether a decision of SPACE lies on its steps, in as many digits as they have."""
    price, crates = decision["price"], decision["crates"]
    return price == round(2.5 + 0.05 * round((price - 2.5) / 0.05), 2) and type(crates) is int and crates % 12 == 0


def earned(decision, rain):
    return 100 - 30 * (decision["price"] - 4.12) ** 2 - 0.02 * (decision["crates"] - 50) ** 2 - 0.5 * rain


def told(study, rounds, seed=0):
    chance = np.random.default_rng(seed)
    for _ in range(rounds):
        asked, rain = study.ask(), float(chance.uniform(0, 12))
        study.tell(asked.id, earned(asked.decision, rain), context={"rain": rain})
    return study


@pytest.fixture(scope="module")
def study():
    made = ww.Study(SPACE, POLICY, outcomes=PROFIT, status_quo={"price": 3.333, "crates": 48}, name="stall")
    return told(made, 9)


# -- numbers ---------------------------------------------------------------------------------------------------------


def test_a_step_decides_the_digits():
    assert [digits_of(each) for each in (0.05, 0.5, 24, 1e-3, 1 / 3, 1e20)] == [2, 1, 0, 3, None, 0]
    price = Measure("EUR", 0.05)
    assert [price.text(each) for each in (2.5, 3, 3.333, "none", None)] == [
        "2.50 EUR",
        "3.00 EUR",
        "3.333 EUR",
        "none",
        "None",
    ]
    assert price.span(2, 3) == "2.00 to 3.00 EUR" and price.headed("price") == "price [EUR]"
    assert (
        Measure().text(2.5) == "2.5"
        and Measure(step=1).bare(12_000_000) == "12000000"
        and Measure(step=0.1).bare(-0.0) == "0.0"
    )


@pytest.mark.parametrize(
    "parameter", [PRICE, ww.Integer(0, 120, step=12), ww.Real(1, 9, step=2, log=True), ww.Real(0, 1, step=1 / 3)]
)
def test_values_lie_on_steps(parameter):
    check_parameter(parameter)
    every = [parameter.from_unit(row) for row in parameter.options(1000)]
    assert every[0] == parameter.low and every[-1] == parameter.high
    assert np.allclose(np.diff(every), parameter.step)
    assert all(parameter.from_unit(np.array([u])) in every for u in np.linspace(0, 1, 57))
    assert len(parameter.options(4)) <= 4


def test_in_words_and_as_data():
    assert PRICE.in_words() == "2.50 to 6.00 EUR, in steps of 0.05 EUR"
    assert SPACE.decision["crates"].in_words() == "whole numbers, 0 to 120 pieces, in steps of 12 pieces"
    assert (
        ww.Real(unit="mm").in_words() == "any number, in mm"
        and ww.Real(0, None, unit="mm").in_words() == "0 mm or more"
    )
    assert ww.from_json(ww.to_json(SPACE)) == SPACE
    # What does not use them is written as it always was.
    assert encode(ww.Real(0, 1)) == {"part": "Real", "low": 0.0, "high": 1.0, "log": False, "outside": "keep"}
    assert repr(ww.Integer(1, 5)) == "Integer(low=1, high=5, log=False, outside='keep')"
    assert encode(ww.Categorical(["a", "b"])) == {"part": "Categorical", "choices": ["a", "b"]}
    assert repr(ww.Real(0, 1, step=0.5)).endswith("outside='keep', step=0.5)")


def test_what_a_step_must_be():
    with pytest.raises(ww.SpaceError, match=r"Real\(2.5, 6.02, step=0.05\).*use high=6 or high=6.05"):
        ww.Real(2.5, 6.02, step=0.05)
    with pytest.raises(ww.SpaceError, match="give both bounds"):
        ww.Real(0, step=1)
    with pytest.raises(ww.SpaceError, match="more than 1,000,000,000 steps"):
        ww.Real(0, 1, step=1e-12)
    with pytest.raises(ww.SpaceError, match="steps are for what you choose; leave step out"):
        ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1, step=0.5)})


# -- outcomes --------------------------------------------------------------------------------------------------------


def test_an_outcome_has_a_name_a_goal_and_a_unit(study):
    assert study.outcomes == PROFIT and study.direction == "maximize"
    assert ww.Study(SPACE).outcomes == {"value": ww.Maximize()}
    assert ww.Study(SPACE, direction="minimize").outcomes == {"value": ww.Minimize()}
    assert ww.Study(SPACE, outcomes={"cost": ww.Minimize()}, direction="minimize").direction == "minimize"


@pytest.mark.parametrize(
    ("outcomes", "direction", "says"),
    [
        ({"a": ww.Maximize(), "b": ww.Minimize()}, None, "a study has one outcome, got 2 ('a', 'b'); combine them"),
        (PROFIT, "minimize", "these contradict each other; leave direction out"),
        ({}, None, "give a dict"),
        ("profit", None, "give a dict"),
        ({"profit": "maximize"}, None, "give a Maximize() or a Minimize()"),
        ({"profit": ww.Maximize}, None, "give a Maximize() or a Minimize()"),
        ({"price": ww.Maximize()}, None, "a decision or a context has that name"),
        ({"state": ww.Maximize()}, None, "a column of every table has that name"),
        ({"a\nb": ww.Maximize()}, None, "one line of 1 to 60 plain characters"),
        (None, "up", "direction must be one of 'maximize', 'minimize'"),
    ],
)
def test_outcomes_that_are_refused(outcomes, direction, says):
    with pytest.raises(ww.ArgumentError) as error:
        ww.Study(SPACE, outcomes=outcomes, direction=direction)
    assert says in str(error.value)


def test_titles_name_the_outcome():
    profit = Outcome("profit", "maximize", "EUR")
    assert profit.titled("worst average value under drift") == "worst average profit under drift"
    assert profit.axis("average value") == "average profit [EUR]" and Outcome().axis("average value") == "average value"
    assert checked_outcome("Study", None, None) == Outcome()


# -- the log ---------------------------------------------------------------------------------------------------------


def test_the_log_has_what_it_always_had_where_nothing_is_named():
    plain = ww.Study(ww.Space({"x": ww.Real(0, 1)}), POLICY)
    (created,) = plain.journal.read("study")
    assert created.body["outcomes"] == {"value": {"goal": "maximize", "unit": None}}
    assert "step" not in json.dumps(created.body["space"]) and "unit" not in json.dumps(created.body["space"])


def test_the_log_keeps_names_units_and_steps(tmp_path):
    url = f"sqlite:///{tmp_path}/stall.db"
    made = ww.Study(SPACE, POLICY, outcomes=PROFIT, journal=url, name="stall")
    asked = made.ask()
    made.tell(asked.id, 12.5, context={"rain": 3.0}, noise=1.0)
    again = ww.Study.open("stall", journal=url)
    assert (
        again.space == SPACE
        and again.outcomes == PROFIT
        and again.trials[0].value == 12.5
        and again.trials[0].noise == 1.0
    )
    created, *_, last = again.journal.read("stall")
    assert created.body["outcomes"] == {"profit": {"goal": "maximize", "unit": "EUR"}}
    assert last.body["values"] == {"profit": 12.5} and last.body["noise"] == {"profit": 1.0}


def test_a_log_with_names_opens_and_replays(tmp_path):
    opened = ww.Study.open("prices", journal=old_logs.placed("prices-v2", tmp_path))
    assert opened.outcomes == PROFIT and opened.space.decision["price"] == PRICE
    assert opened.status_quo == {"price": 3.333, "crates": 48}
    for trial in opened.trials:
        if trial.asked_at is not None:
            assert opened.replay(trial.id).decision == pytest.approx(trial.planned or trial.decision, rel=1e-6)
    assert on_steps(opened.recommend().decision)


# -- the search ------------------------------------------------------------------------------------------------------


def test_what_is_suggested_and_recommended_lies_on_the_steps(study):
    first, *rest = (trial.decision for trial in study.trials)
    assert first == {"price": 3.333, "crates": 48}  # the status quo is what it is
    assert all(on_steps(decision) for decision in rest)
    assert on_steps(study.recommend().decision)


def test_the_past_may_lie_between_steps_and_advice_does_not():
    for candidates in ("space", "evaluated"):
        policy = ww.Policy(context_model=ww.KernelDensity(16), maximize=QUICK, report=ww.Report(candidates=candidates))
        made = ww.Study(SPACE, policy)
        for price, crates in itertools.product((2.777, 4.111, 5.999), (36, 60)):
            decision = {"price": price, "crates": crates}
            made.add(decision, earned(decision, 1.0), context={"rain": 1.0})
        assert made.trials[0].decision["price"] == 2.777
        assert on_steps(made.recommend().decision)
        assert made.assess({"price": 3.333, "crates": 50}).value  # what is done now may be asked about


def test_the_best_that_was_tried_is_what_was_done():
    made = ww.Study(
        ww.Space({"price": ww.Real(0, 10, step=0.5)}), ww.Policy(context_model=ww.NoContext(), maximize=QUICK)
    )
    for price in (0.2, 0.7, 1.1, 1.6, 2.2, 2.7):  # it rises beyond all that was tried
        made.add({"price": price}, price)
    found = made.recommend()
    assert found.beyond and found.best_tried.decision == {"price": 2.7} and found.decision["price"] % 0.5 == 0


def test_what_is_fixed_must_lie_on_its_steps(study):
    made = ww.Study(SPACE, POLICY)
    assert made.ask(fix={"price": 3.3}).decision["price"] == 3.3
    assert made.ask(fix={"price": 2.5 + 0.05 * 7}).decision["price"] == 2.85  # rounding is no other price
    with pytest.raises(
        ww.SpaceError, match=r"'price' must lie on its steps of 0.05 EUR, got 3.333; the nearest is 3.35 EUR"
    ):
        made.ask(fix={"price": 3.333})


def test_constraints_and_guards_hold_on_the_steps():
    space = ww.Space(
        {"a": ww.Real(0, 1, step=0.05), "b": ww.Real(0, 1, step=0.1), "c": ww.Real(0, 1)},
        constraints=[ww.Linear({"a": 1, "b": 1, "c": 1}, lower=1, upper=1)],
    )
    guarded = ww.Policy(context_model=ww.NoContext(), design=ww.Sobol(3), maximize=QUICK, guard=ww.LargestStep(0.3))
    quo = {"a": 0.333, "b": 0.4, "c": 0.267}
    for policy in (ww.Policy(context_model=ww.NoContext(), design=ww.Sobol(3), maximize=QUICK), guarded):
        made = ww.Study(space, policy, status_quo=quo)
        for _ in range(6):
            asked = made.ask()
            if dict(asked.decision) != quo:
                a, b, c = (asked.decision[name] for name in "abc")
                assert round(a / 0.05, 9) % 1 == 0 and round(b / 0.1, 9) % 1 == 0 and a + b + c == pytest.approx(1)
            made.tell(asked.id, -((asked.decision["a"] - 0.42) ** 2) - (asked.decision["b"] - 0.33) ** 2)
    with pytest.raises(ww.SpaceError, match="'a' must lie on its steps; there are values between that would"):
        ww.Space({"a": ww.Real(0, 1, step=0.25)}, constraints=[ww.Linear({"a": 1}, lower=0.3, upper=0.4)])


def peak(places, slopes):
    """A concave function with its top at `places`, whose axes are turned against each other."""
    middle, turn = torch.tensor(places, dtype=torch.float64), torch.tensor(slopes, dtype=torch.float64)
    return lambda x: -((x - middle) @ turn).square().sum(-1)


@pytest.mark.parametrize("constrained", [False, True])
def test_the_search_finds_the_best_decision_on_fine_steps(constrained):
    names = ("a", "b")
    space = ww.Space(
        {name: ww.Real(0, 1, step=0.01) for name in names},
        constraints=[ww.Linear({"a": 1, "b": 1}, upper=1.083)] if constrained else (),
    )
    value = peak([0.6237, 0.5149], [[1.0, 0.9], [0.0, 0.3]])
    found = ww.MultiStart()(Acquisition(value), Region(space), torch.Generator().manual_seed(0))
    ladder = torch.linspace(0, 1, 101, dtype=torch.float64).round(decimals=2)
    every = torch.cartesian_prod(ladder, ladder)
    every = every[Region(space).feasible(every)]
    assert float(value(found[None])) == pytest.approx(float(value(every).max()), abs=1e-12)


# -- what people read ------------------------------------------------------------------------------------------------


def test_sentences_have_names_and_units(study):
    found = study.recommend()
    said = " ".join(sentences.advice(study, found))
    assert "Its estimated profit is " in said and " EUR on average over the contexts" in said
    assert (
        " EUR and crates " in said and f"price to {found.decision['price']:.2f} EUR" in said
    ) or "first guess is price" in said
    beside = " ".join(sentences.compared(study, study.compare({"price": 3, "crates": 48}, {"price": 4, "crates": 48})))
    assert (
        "The profit of price 4.00 EUR and crates 48 pieces" in beside and "lies between" in beside and "EUR." in beside
    )
    cells = study.by_context().sentences
    assert cells[0].startswith("This is what price ") and any(
        "rain up to " in each and " mm (" in each for each in cells
    )
    assert sentences.settled(0.5, 0.9, Outcome("profit", "maximize", "EUR")).endswith("by more than 0.5 EUR.")


def test_a_suggestion_says_why_in_units():
    made = told(ww.Study(SPACE, POLICY, outcomes=PROFIT), 6)
    asked = made.ask()
    assert "EUR, give or take" in " ".join(asked.sentences)
    assert asked.named["price"] == f"{asked.decision['price']:.2f} EUR"
    assert ww.Study(SPACE, POLICY).ask().sentences == (
        "Design 1 of 4: the first decisions are spread out to learn from.",
    )


def test_objectives_and_guards_speak_in_units(study):
    speech = Speech(
        Situation(Contexts.uniform(torch.zeros(2, 1)), 9, study.trials), outcome=Outcome("profit", "maximize", "EUR")
    )
    assert "misses it by least" in ww.Satisficing(ww.TotalVariation(), 500).sentence(-3.0, speech)
    assert "target is 500 EUR or more" in ww.Satisficing(ww.TotalVariation(), 500).sentence(-3.0, speech)
    assert "20 EUR less than the status quo" in ww.Floor(slack=20).sentence(speech)
    assert "price by more than 0.50 EUR" in ww.LargestStep({"price": 0.5}).sentence(speech)
    assert "(average profit, less a price for spread)" in ww.MeanVariance().sentence(1.0, speech)


def test_figures_and_the_report_have_units(study):
    drawn = plots.landscape(study, "price")
    assert drawn.layout.xaxis.title.text == "price [EUR]" and drawn.layout.yaxis.title.text == "average profit [EUR]"
    assert plots.history(study).layout.yaxis.title.text == "profit [EUR]"
    assert plots.contexts(study).layout.xaxis.title.text == "rain [mm]"
    assert plots.effects(study).layout.yaxis.title.text == "profit [EUR]"
    page = report_html(study)
    for said in (
        "for the highest profit.",
        ">price [EUR]</th>",
        ">profit [EUR]</th>",
        "in steps of 0.05 EUR",
        "<td>3.333</td>",
    ):
        assert said in page, said


def test_a_unit_is_text_wherever_it_stands():
    nasty = "<b>€</b>"
    made = told(
        ww.Study(
            ww.Space(
                {"price": ww.Real(2.5, 6, step=0.05, unit=nasty), "crates": ww.Integer(0, 120, step=12)}, SPACE.context
            ),
            POLICY,
            outcomes={"<i>": ww.Maximize(unit=nasty)},
        ),
        5,
    )
    assert nasty not in plots.landscape(made, "price").layout.xaxis.title.text
    assert nasty not in report_html(made).replace("&lt;b&gt;", "")


def test_csv_has_units_and_is_read_again(study, tmp_path, monkeypatch):
    monkeypatch.setenv("WINDWARD_JOURNAL", f"sqlite:///{tmp_path}/stall.db")
    text = records.csv_text(study.space, study.trials, study.trials.outcome)
    heads = next(csv.reader(io.StringIO(text)))
    assert heads[:6] == [
        "id",
        "decision.price [EUR]",
        "decision.crates [pieces]",
        "context.rain [mm]",
        "profit [EUR]",
        "noise [EUR]",
    ]
    (tmp_path / "trials.csv").write_text(text)
    made = ww.Study(SPACE, POLICY, outcomes=PROFIT, name="stall", journal=f"sqlite:///{tmp_path}/stall.db")
    answer = CliRunner().invoke(main, ["import", "stall", str(tmp_path / "trials.csv")])
    assert answer.exit_code == 0, answer.output
    assert "0 already there, 9 added." in answer.output and "price = 3.333 EUR lies between its steps" in answer.output
    made.sync()
    assert [t.value for t in made.trials] == [t.value for t in study.trials]
    (tmp_path / "usd.csv").write_text(text.replace("profit [EUR]", "profit [USD]"))
    answer = CliRunner().invoke(main, ["import", "stall", str(tmp_path / "usd.csv")])
    assert (
        answer.exit_code == 1
        and "'profit [USD]' is in USD, and the study counts profit in EUR; convert it" in answer.output
    )


TOML = """
name = "stall"

[outcomes.profit]
part = "Maximize"
unit = "EUR"

[decision.price]
part = "Real"
low = 2.5
high = 6
step = 0.05
unit = "EUR"

[decision.crates]
part = "Integer"
low = 0
high = 120
step = 12
unit = "pieces"

[context.rain]
part = "Real"
low = 0
unit = "mm"
"""


def test_the_command_line_speaks_in_units(tmp_path, monkeypatch):
    monkeypatch.setenv("WINDWARD_JOURNAL", f"sqlite:///{tmp_path}/stall.db")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stall.toml").write_text(TOML)

    def run(*words):
        answer = CliRunner().invoke(main, list(words))
        assert answer.exit_code == 0, answer.output
        return answer.output

    assert "Made study 'stall': maximize profit [EUR], 2 decisions, 1 context." in run("new", "stall.toml")
    assert ww.Study.open("stall", journal=f"sqlite:///{tmp_path}/stall.db").space == SPACE
    assert "price=" in run("ask", "stall", "--fix", "price=2.5 EUR") and "price=2.50 EUR" in run("status", "stall")
    assert "Trial 0: profit 12.5 EUR" in run("tell", "stall", "0", "12.5", "--context", "rain=3")
    assert "price [EUR]" in run("trials", "stall") and "profit [EUR]" in run("trials", "stall")
    assert "status quo price=3.333 EUR  crates=48 pieces" in run(
        "declare", "stall", "-s", "price=3.333", "-s", "crates=48"
    )


def test_declarations_as_data():
    data = {"name": "s", "decision": {"x": {"part": "Real", "low": 0, "high": 1}}}
    goal = {"part": "Minimize", "unit": "EUR"}
    made = declared({**data, "outcomes": {"cost": goal}})
    assert made.create(ww.MemoryJournal()).outcomes == {"cost": ww.Minimize(unit="EUR")}
    said = records.declaration(made.create(ww.MemoryJournal()))
    assert said["outcomes"] == {"cost": goal} and said["direction"] == "minimize"
    again = {name: entry for name, entry in said.items() if name in ("name", "direction", "outcomes", "decision")}
    assert declared(again).outcomes == made.outcomes
    for wrong, says in (
        ({"outcomes": 5}, "outcomes = 5: write a table [outcomes.profit]"),
        ({"outcomes": {"cost": {"part": "Real"}}}, "[outcomes.cost]: "),
        ({"outcomes": {"cost": goal}, "direction": "maximize"}, "contradict each other"),
        ({"outcomes": {"x": goal}}, "a decision or a context has that name"),
    ):
        with pytest.raises(ww.ArgumentError) as error:
            declared({**data, **wrong})
        assert says in str(error.value)
