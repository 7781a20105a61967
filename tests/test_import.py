"""`windward import` of a file that grows: what is there already is recognised, counted, and never added twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import windward as ww
from windward.cli.main import main
from windward.journal.fingerprints import Lines, fingerprint

SPACE = ww.Space(
    decision={"price": ww.Real(0, 10, outside="clip"), "ads": ww.Integer(0, 5)},
    context={"demand": ww.Real(0, 100), "sky": ww.Categorical(["sun", "rain"])},
)
HEAD = "price,ads,demand,sky,value"
ROWS = ["4,1,50,sun,10.5", "5,2,60,rain,12", "4,1,50,sun,10.5", "6,0,70,sun,9", "3,5,20,rain,7.25"]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINDWARD_JOURNAL", f"sqlite:///{tmp_path}/shop.db")
    ww.Study(SPACE, journal=f"sqlite:///{tmp_path}/shop.db", name="shop")
    return tmp_path


def write(folder, rows, head=HEAD):
    (folder / "past.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def run(*options):
    return CliRunner().invoke(main, ["import", "shop", "past.csv", *options])


def trials():
    import os

    return ww.Study.open("shop", journal=os.environ["WINDWARD_JOURNAL"]).trials


def test_a_file_that_grows_adds_its_new_rows_alone(shop):
    write(shop, ROWS)
    assert run().output == "0 already there, 5 added.\n"  # two equal sales are two sales
    write(shop, [*ROWS, "7,1,40,sun,8"])
    assert run().output == "5 already there, 1 added.\n"
    write(shop, [*ROWS, "7,1,40,sun,8", "4.0,1,50.0,sun,10.50"])  # a third equal sale, typed otherwise
    assert run().output == "6 already there, 1 added.\n"
    assert len(trials()) == 7
    assert run("--again").output == "0 already there, 7 added.\n"


def test_dates_tell_equal_rows_apart(shop):
    head = f"day,{HEAD}"
    write(shop, ["2026-05-01,4,1,50,sun,10.5", "2026-05-02,4,1,50,sun,10.5"], head)
    assert run("--date", "day").output == "0 already there, 2 added.\n"
    assert trials()[0].told_at == datetime(2026, 5, 1, tzinfo=UTC)
    write(shop, ["2026-05-02,4,1,50,sun,10.5", "2026-05-03,4,1,50,sun,10.5"], head)
    assert run("--date", "day").output == "1 already there, 1 added.\n"
    write(shop, ["2026-05-02T14:30+02:00,4,1,50,sun,10.5"], head)
    run("--date", "day")
    assert trials()[3].told_at == datetime(2026, 5, 2, 12, 30, tzinfo=UTC)


def test_a_date_column_that_comes_later_knows_the_rows_without(shop):
    write(shop, ROWS[:2])
    run()
    write(shop, [f"2026-05-0{day},{row}" for day, row in enumerate([*ROWS[:2], ROWS[3]], start=1)], f"day,{HEAD}")
    assert run("--date", "day").output == "2 already there, 1 added.\n"


def test_other_headings_and_columns_to_leave_out(shop):
    write(shop, ["4,1,50,sun,10.5,friday"], "price,ads,demand,sky,profit,weekday")
    answer = run()
    assert answer.exit_code == 1 and "column 'profit'" in answer.stderr and "--column profit=NAME" in answer.stderr
    answer = run("--column", "profit=value")
    assert answer.exit_code == 1 and "--ignore weekday" in answer.stderr
    assert run("--column", "profit=value", "--ignore", "weekday").output == "0 already there, 1 added.\n"
    assert trials()[0].value == 10.5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--column", "profit"], "write HEADING=NAME"),
        (["--column", "gain=value"], "--column names 'gain', which is no column; it has 'price', 'ads'"),
        (["--ignore", "gain"], "--ignore names 'gain'"),
        (["--date", "gain"], "--date names 'gain'"),
        (["--date", "sky"], "no column 'sky'"),
        (["--date", "price", "--column", "ads=price"], "no column 'ads'"),
        (["--column", "ads=value"], "both hold 'value'"),
        (["--column", "ads=a", "--column", "ads=b"], "names 'ads' twice"),
        (["--column", "ads=value", "--ignore", "ads"], "named by two of --column, --ignore and --date"),
        (["--date", "sky", "--ignore", "sky"], "'sky' is named by two of"),
        (["--column", "ads=a", "--column", "sky=b"], "The same holds for 'sky'."),
        (["--column", "ads=nonsense"], "column 'ads' is 'nonsense', neither a decision nor a context"),
    ],
)
def test_options_that_do_not_fit_add_nothing(shop, options, says):
    write(shop, ROWS)
    answer = run(*options)
    assert answer.exit_code == 1 and says in answer.stderr, answer.stderr
    assert len(trials()) == 0


def test_a_date_that_is_none_is_named_with_its_line(shop):
    write(shop, ["2026-05-01,4,1,50,sun,10.5", "5/1/2026,4,1,50,sun,10.5"], f"day,{HEAD}")
    answer = run("--date", "day")
    assert answer.exit_code == 1 and "line 3: day must be a date such as 2026-05-01" in answer.stderr
    assert len(trials()) == 0


def test_a_row_outside_the_bounds_is_named(shop):
    write(shop, ["12,1,50,sun,10.5", "4,1,150,sun,10.5"])
    answer = run()
    assert "Note: line 2: price = 12 is above 10, outside its bounds; it counts as 10." in answer.output
    assert "Note: line 3: demand = 150 is above 100, outside its bounds; it is kept as it is." in answer.output
    assert [trial.decision["price"] for trial in trials()] == [10.0, 4.0]
    assert run().output == "2 already there, 0 added.\n"  # nothing new, nothing to note


def test_preview_shows_what_was_understood_and_adds_nothing(shop):
    write(
        shop,
        ["2026-05-01,4,1,50,sun,10.5,fri", "2026-05-02,5,1,50,rain,,sat"],
        "day,price,ads,demand,sky,profit,weekday",
    )
    options = ["--date", "day", "--column", "profit=value", "--ignore", "weekday", "--preview"]
    text = run(*options).output
    for said in (
        "profit",
        "decision price",
        "context sky",
        "ignored",
        "0 already there, 1 would be added, 1 without a value.",
    ):
        assert said in text
    found = json.loads(run(*options, "--json").output)
    assert found["columns"]["profit"] == "value" and found["new"] == 1 and found["without_value"] == 1
    assert found["rows"][0]["decision"] == {"price": 4.0, "ads": 1} and found["rows"][0]["date"].startswith(
        "2026-05-01"
    )
    assert len(trials()) == 0
    run(*options[:-1])
    assert "1 already there, 0 would be added" in run(*options).output


def test_a_row_that_was_amended_is_still_known(shop):
    write(shop, ROWS[:1])
    run()
    study = ww.Study.open("shop", journal=f"sqlite:///{shop}/shop.db")
    study.amend(0, value=99.0)
    assert run().output == "1 already there, 0 added.\n"


def test_two_imports_at_once_add_each_row_once(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    ww.Study(SPACE, journal=url, name="shop")
    one, two = (ww.Study.open("shop", journal=url) for _ in range(2))
    rows = [ww.Past({"price": 1.0, "ads": ads}, 2.0, {"demand": 5.0, "sky": "sun"}) for ads in range(4)]
    assert one.add_many(rows) == [0, 1, 2, 3]
    assert two.add_many([*rows, rows[0]]) == [
        None,
        None,
        None,
        None,
        4,
    ]  # it reads what came since, inside the transaction
    assert two.known_rows(rows) == [True] * 4


def test_add_many_in_python():
    study = ww.Study(SPACE)
    past = ww.Past({"price": 1.0, "ads": 1}, 2.0, {"demand": 5.0, "sky": "sun"})
    elsewhere = timezone(timedelta(hours=5))
    assert study.add_many([past, past]) == [0, 1] and study.add_many([]) == []
    assert study.add_many([past, past, past]) == [None, None, 2]
    dated = ww.Past(dict(past.decision), 3.0, past.context, at=datetime(2026, 5, 1, 5, tzinfo=elsewhere))
    assert study.add_many([dated]) == [3] and study.trials[3].told_at == datetime(2026, 5, 1, tzinfo=UTC)
    head = study.revision
    for wrong, says in (
        ("rows", "give a list of Past"),
        ([{"price": 1}], "give a list of Past"),
        ([past, ww.Past({"price": 1.0}, 2.0)], "lacks 'ads'"),
        ([ww.Past(dict(past.decision), float("nan"), past.context)], "value must be finite"),
        ([ww.Past(dict(past.decision), 1.0, past.context, at=datetime(2026, 5, 1))], "time zone"),
    ):
        with pytest.raises(ww.WindwardError, match=says):
            study.add_many(wrong)
    assert study.revision == head


DATES = st.sampled_from([None, datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC)])
LINES = st.lists(st.tuples(st.sampled_from("ab"), DATES), max_size=8)


@settings(max_examples=200, deadline=None)
@given(before=LINES, more=LINES)
def test_a_file_imported_twice_is_all_there_and_what_is_new_is_counted(before, more):
    def lines():
        made = Lines()
        for mark, date in before:
            made.add([mark], date)
        return made

    whole = [*more, *before]  # in any order: a row without a date leaves those of a date to rows that have it
    assert sum(lines().known(whole)) >= len(before) - sum(date is None for _, date in more)
    assert all(lines().known(before)) and all(lines().known(before[::-1]))
    assert sum(lines().known(sorted(whole, key=lambda line: line[1] is None))) == len(before)


def test_a_trial_stands_for_one_line(tmp_path):
    space = ww.Space({"x": ww.Real(0, 1)})
    first, second = (datetime(year, 5, 1, tzinfo=UTC) for year in (2020, 2021))
    study = ww.Study(space, ww.papers.gp_ucb())
    old = ww.Past({"x": 0.5}, 1.0, at=first)
    study.add_many([old])
    study.amend(0, value=2.0)
    # The old row is the amended trial; a row of another year that says what it says now is not.
    assert study.add_many([old, ww.Past({"x": 0.5}, 2.0, at=second)]) == [None, 1]
    study.add_many([ww.Past({"x": 0.1}, 0.0, at=first), ww.Past({"x": 0.1}, 0.0, at=second)])
    assert study.known_rows([ww.Past({"x": 0.1}, -0.0), ww.Past({"x": 0.1}, 0.0, at=first)]) == [True, True]


def test_fingerprints_know_what_was_said_not_how():
    same = fingerprint({"a": 1, "b": "x"}, {"c": 2.0}, 3, None)
    assert same == fingerprint({"b": "x", "a": 1.0}, {"c": 2}, 3.0, None)
    others = [
        fingerprint({"a": 1, "b": "y"}, {"c": 2.0}, 3, None),
        fingerprint({"a": 1, "b": "x"}, {"c": 2.5}, 3, None),
        fingerprint({"a": 1, "b": "x"}, {"c": 2.0}, 3, 0.1),
        fingerprint({"a": True, "b": "x"}, {"c": 2.0}, 3, None),
        fingerprint({"a": 1}, {"b": "x", "c": 2.0}, 3, None),
    ]
    assert len({same, *others}) == 6


def test_rows_that_were_asked_and_told_or_amended_are_known(shop):
    study = ww.Study.open("shop", journal=f"sqlite:///{shop}/shop.db")
    asked = study.ask()
    study.tell(asked.id, 7.0, context={"demand": 30.0, "sky": "sun"})
    done = study.trials[0].decision
    write(shop, [f"{done['price']},{done['ads']},30,sun,7", ROWS[0]])
    assert run().output == "1 already there, 1 added.\n"
    study.amend(1, value=11.5)
    write(shop, [ROWS[0].replace("10.5", "11.5")])  # corrected in both places
    assert run().output == "1 already there, 0 added.\n"


@pytest.mark.parametrize(
    ("head", "row", "says"),
    [
        (
            "price,ads,demand,sky,value,value",
            "4,1,50,sun,1,2",
            "the heading 'value' is there twice, in columns 5 and 6",
        ),
        (HEAD, "4,1,50,sun,1e400", "value must be a finite number, got '1e400'; leave the cell empty"),
        (HEAD, "4,1,50,sun,nan", "value must be a finite number, got 'nan'"),
    ],
)
def test_what_a_file_says_twice_or_not_at_all_is_named(shop, head, row, says):
    write(shop, [row], head)
    answer = run()
    assert answer.exit_code == 1 and says in answer.stderr and len(trials()) == 0


def test_a_decision_called_value_is_told_from_the_value(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/v.db"
    ww.Study(ww.Space(decision={"value": ww.Real(0, 1)}), journal=url, name="shop")
    write(tmp_path, ["0.5,2"], "decision.value,value")
    assert run("--journal", url).output == "0 already there, 1 added.\n"
    trial = ww.Study.open("shop", journal=url).trials[0]
    assert (trial.decision, trial.value) == ({"value": 0.5}, 2.0)
    write(tmp_path, ["0.5"], "value")
    answer = run("--journal", url)
    assert answer.exit_code == 1 and "there is no column 'value'" in answer.stderr
