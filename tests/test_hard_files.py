"""Files and steps that come from elsewhere: what spreadsheets write around a table, and numbers too large for their steps."""

from __future__ import annotations

import json

import pytest

import windward as ww
from windward.basics.errors import ArgumentError, SpaceError
from windward.space.outcomes import Outcome
from windward.trials.forecast_file import read_forecasts
from windward.trials.history_file import Said, Words, read_history, refuse_columns

WORDS = Words("--column", "--ignore", "--date", lambda h, n: f"--column {h}={n}", lambda h: f"--ignore {h}")
SPACE = ww.Space({"order": ww.Real(0, 100), "kind": ww.Categorical(["a", 2.5])}, {"demand": ww.Real()})


def read(text, ignore=()):
    found = read_history(text, SPACE, Said(ignore=ignore), WORDS)
    refuse_columns(found.columns, SPACE, Said(), WORDS)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "order;kind;demand;value;;\n5,5;a;1,5;2;;\n10;2,50;2;3;;\n",
        "sep=;\norder;kind;demand;value\n5,5;a;1,5;2\n10; 2,5 ;2;3\n",
        '"sep=|"\r\norder|kind|demand|value\r\n5,5|a|1,5|2\r\n10|2,5|2|3\r\n',
        "sep=\t\norder\tkind\tdemand\tvalue\n5,5\ta\t1,5\t2\n10\t2,5\t2\t3\n",
        "\n\norder,kind,demand,value\n5.5,a,1.5,2\n10,2.50,2,3,,\n",
        "order;kind;demand;value\r5,5;a;1,5;2\r10;2,5;2;3\r",
        "\ufefforder;kind;demand;value\r\n5,5;a;1,5;2\n;;;\r10;2,5;2;3",
    ],
    ids=["empty columns", "sep line", "quoted sep line", "tab", "blank lines", "carriage returns", "mixed line ends"],
)
def test_what_spreadsheets_write_around_a_table_is_understood(text):
    found = read(text)
    assert found.problems == []
    assert [dict(row.decision) for row in found.rows] == [{"order": 5.5, "kind": "a"}, {"order": 10.0, "kind": 2.5}]
    assert [(dict(row.context), row.value) for row in found.rows] == [({"demand": 1.5}, 2.0), ({"demand": 2.0}, 3.0)]


@pytest.mark.parametrize("sign", ['"', " ", "x", "", "\x00", "\u2028", "\u00df"])
def test_a_sep_line_with_a_sign_that_stands_between_no_cells_is_a_heading(sign):
    with pytest.raises(ArgumentError, match="neither a decision nor a context"):
        read(f"sep={sign}\n1,2\n")


def test_commas_in_a_quoted_heading_are_not_between_cells():
    text = 'order;kind;demand;value;"a, b, c, d, e, f"\n5;a;1,5;2;x\n'
    assert read(text, ["a, b, c, d, e, f"]).rows[0].context == {"demand": 1.5}


def test_a_cell_beyond_the_headings_is_refused_where_it_says_something():
    (problem,) = read("order,kind,demand,value,\n5,a,1,2,\n5,a,1,2,x\n").problems
    assert (problem.line, str(problem.error)) == (3, "it has more or fewer cells than the heading.")


def test_a_heading_that_is_no_heading_is_told_in_few_words():
    with pytest.raises(ArgumentError, match="heading of 9999 characters") as error:
        read("x" * 9999 + ",value\n1,2\n")
    assert len(str(error.value)) < 200


def test_a_forecast_may_stand_below_a_sep_line_with_choices_that_are_numbers():
    space = ww.Space({"order": ww.Real(0, 1)}, {"size": ww.Categorical([2.5, 3.0])})
    found = read_forecasts("forecast.csv", "sep=;\nsize;chance;\n2,50;0,25;\n3;0,75;\n", space)
    assert dict(found["size"].chances) == {2.5: 0.25, 3.0: 0.75}
    with pytest.raises(ArgumentError, match=r"^forecast.csv, line 3: '3.00' has a point"):
        read_forecasts("forecast.csv", "size;chance\n2,50;0,25\n3.00;0,75\n", space)


@pytest.mark.parametrize(
    "parameter",
    [
        lambda: ww.Real(1e15, 1e15 + 10, step=0.1),
        lambda: ww.Real(1e16, 1e16 + 10, step=1.0),
        lambda: ww.Integer(2**53 + 1, 2**53 + 10**12 + 1, step=10**6),
    ],
)
def test_a_step_that_drowns_in_the_rounding_of_its_bounds_is_refused(parameter):
    with pytest.raises(SpaceError, match="too small beside the bounds"):
        parameter()


def test_points_on_steps_of_logarithms_lie_inside_the_cube():
    parameter = ww.Real(0.9833197893296678, 250000.98331978932, log=True, step=0.25)
    assert parameter.snap(parameter.to_unit([[0.9833197893296678]])).min() >= 0.0


@pytest.mark.parametrize("part", [ww.GaussianProcess(), ww.Censor(0.0, 5), ww.delayed_width()])
def test_a_part_of_a_log_from_before_its_newer_fields_is_read(part):
    written = json.loads(ww.to_json(part))
    newer = {"priors", "amplitude", "learn_from", "terms"} & set(written)
    assert (
        newer
        and ww.from_json(json.dumps({name: entry for name, entry in written.items() if name not in newer})) == part
    )


def test_newer_fields_are_read_as_they_were_written():
    textbook = ww.GaussianProcess(priors=None, amplitude="fitted")
    assert ww.from_json(ww.to_json(textbook)) == textbook
    assert ww.from_json(ww.to_json(ww.Censor(0.0, 5, learn_from="arrived"))).learn_from == "arrived"


def test_a_named_outcome_reads_its_own_column():
    found = read_history("order,kind,demand,profit\n5,a,1,2\n", SPACE, Said(outcome=Outcome("profit")), WORDS)
    assert [row.value for row in found.rows] == [2.0]
